//! Running averages: one pass over the rows, then a model of any sparsity without seeing them again.
//!
//! Source: Sun et al. 2018, *A Novel Framework for Online Supervised Learning with Feature Selection*, sections 2 and
//! 3.8. [`Sums`] holds count, means and centred co-moments of numbered columns; they add, subtract, decay and merge.
//! [`Gatherer`] turns rows into them, dense or sparse, on all threads. [`Moments`] adds names and folds, and has a file.
//! [`collect`] does it for a stream of data, [`Gathering`] for rows that come now and then; [`crate::solve`] makes models of the result.
//!
//! ```
//! use tamis::moments::Sums;
//!
//! let [mut monday, mut tuesday] = [Sums::new(2), Sums::new(2)];
//! monday.observe_dense(&[1.0, 2.0, 3.0, 6.0], &[]);
//! tuesday.observe_dense(&[5.0, 1.0], &[]);
//! let mut both = monday.clone();
//! both.merge(&tuesday);
//! assert_eq!((both.rows, both.means[0]), (3, 3.0));
//! both.subtract(&monday).unwrap();
//! assert_eq!(both.means, tuesday.means);
//! ```

mod collect;
mod columns;
mod error;
mod file;
mod gather;
mod gathering;
mod named;
mod packed;
mod screen;
mod sums;

pub use collect::{CollectOptions, collect};
pub use columns::{Column, Products};
pub use error::MomentsError;
pub use gather::Gatherer;
pub use gathering::Gathering;
pub use named::Moments;
pub use packed::Packed;
pub use sums::Sums;
