//! Co-moments of columns: one pass over the rows is enough to fit models of any sparsity later.
//!
//! Source: Sun et al. 2018, *A Novel Framework for Online Supervised Learning with Feature Selection*, sections 2 and
//! 3.8. [`Comoments`] holds the count, the means and the centred co-moments of numbered columns; it can be merged,
//! subtracted and decayed. [`Accumulator`] adds dense or sparse rows to it on all threads. [`Moments`] adds the names
//! of the columns and cross-validation folds, and can be saved. [`collect`] reads a stream of data,
//! [`IncrementalMoments`] takes rows as they arrive, [`merge_blocks`] adds the parts of many machines, and [`crate::solve`] fits models to the result.
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
mod blocks;
mod columns;
mod comoments;
mod error;
mod file;
mod from_stream;
mod incremental;
mod named;
mod packed_symmetric;
mod row_identity;
mod screening;

pub use accumulator::Accumulator;
pub use blocks::merge_blocks;
pub use columns::{Column, Products};
pub use comoments::Comoments;
pub use error::MomentsError;
pub use from_stream::{CollectOptions, collect};
pub use incremental::IncrementalMoments;
pub use named::Moments;
pub use packed_symmetric::PackedSymmetric;
pub use row_identity::RowIdentity;
