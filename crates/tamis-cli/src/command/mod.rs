//! One file for each command: its arguments and what it does with them.

pub mod completions;
pub mod convert;
pub mod demo;
pub mod eval;
pub mod export;
pub mod fit;
pub mod inspect;
pub mod man;
pub mod metric;
pub mod moments;
pub mod predict;
pub mod report;
pub mod resize;
pub mod serve;
pub mod solve;
pub mod stability;
pub mod synth;
pub mod tune;
