//! The sections of reports. Each takes plain data and gives a [`Section`](super::Section), or nothing where there is nothing
//! to say; none knows of the others, so a report is a list of them.

pub mod configuration;
pub mod density;
pub mod drift;
pub mod evaluation;
pub mod features;
pub mod headline;
pub mod learning_curve;
pub mod metric;
pub mod path;
pub mod pixels;
pub mod repeated_fits;
pub mod sizes;
pub mod stability;
pub mod suggestions;
