//! Running averages: one pass over the rows, then a model of any sparsity without seeing them again.
//!
//! Source: Sun et al. 2018, *A Novel Framework for Online Supervised Learning with Feature SizePath*, sections 2 and
//! 3.8. [`Comoments`] holds count, means and centred co-moments of numbered columns; they add, subtract, decay and merge.
//! [`Accumulator`] turns rows into them, dense or sparse, on all threads. [`Moments`] adds names and folds, and has a file.
//! [`collect`] does it for a stream of data, [`IncrementalMoments`] for rows that come now and then; [`crate::solve`] makes models of the result.
//!
//! ```
//! use tamis::moments::Comoments;
//!
//! let [mut monday, mut tuesday] = [Comoments::new(2), Comoments::new(2)];
//! monday.observe_dense(&[1.0, 2.0, 3.0, 6.0], &[]);
//! tuesday.observe_dense(&[5.0, 1.0], &[]);
//! let mut both = monday.clone();
//! both.merge(&tuesday);
//! assert_eq!((both.rows, both.means[0]), (3, 3.0));
//! both.subtract(&monday).unwrap();
//! assert_eq!(both.means, tuesday.means);
//! ```

mod accumulator;
mod columns;
mod comoments;
mod error;
mod file;
mod from_stream;
mod incremental;
mod named;
mod packed_symmetric;
mod screening;

pub use accumulator::Accumulator;
pub use columns::{Column, Products};
pub use comoments::Comoments;
pub use error::MomentsError;
pub use from_stream::{CollectOptions, collect};
pub use incremental::IncrementalMoments;
pub use named::Moments;
pub use packed_symmetric::PackedSymmetric;
