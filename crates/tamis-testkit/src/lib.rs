//! What every learner of Tamis must pass.
//!
//! [`naive`] holds a literal, dense, eager version of each algorithm, written from the formulas; [`streams`] makes
//! random sparse data with a fixed seed; [`contract`] holds the laws all learners keep, the list of cases they are
//! tried on, and the table of those that opt out of a law, with the reason. The tests of this crate run every law over
//! every case.

pub mod contract;
pub mod learner;
pub mod naive;
pub mod streams;
