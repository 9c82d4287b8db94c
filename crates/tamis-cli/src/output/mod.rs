//! What is shown: tables for people, a bar while they wait.

pub mod progress;
pub mod rows;
pub mod table;
