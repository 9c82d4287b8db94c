//! The tests that every learner of Tamis must pass.
//!
//! [`naive`] has a literal, dense, eager version of each algorithm, written from the formulas; [`generators`] makes
//! random sparse data with a fixed seed; [`contract`] has the laws that all learners keep, the cases they are checked
//! on, and the table of cases that opt out of a law, with the reasons. The tests of this crate check every law on every
//! case.

pub mod contract;
pub mod generators;
pub mod learner;
pub mod naive;
