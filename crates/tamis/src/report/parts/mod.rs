//! The sections of reports. Each takes plain data and gives a [`Section`](super::Section), or nothing where there is nothing
//! to say; none knows of the others, so a report is a list of them.

pub mod asked;
pub mod density;
pub mod drift;
pub mod features;
pub mod judged;
pub mod metric;
pub mod next;
pub mod path;
pub mod pixels;
pub mod runs;
pub mod sizes;
pub mod stream;
pub mod sure;
pub mod worth;
