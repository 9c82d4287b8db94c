//! The sections of reports, one file each. A section of a model's report is a function from the [`Model`](tamis::model::Model)
//! and the [`ReportContext`](crate::ReportContext) to a [`Section`](crate::Section), or to nothing where it does not apply. To
//! add one, write its file, declare the module below, and add its line to the list in `build.rs`.
//!
//! ```
//! use tamis::model::Model;
//! use tamis_report::{ReportContext, Section, paragraph};
//!
//! /// How many output functions the model has.
//! fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
//!     let outputs = model.outputs.len().to_string();
//!     let body = paragraph("The model in `{}` has *{}* linear outputs.", &[context.file, &outputs]);
//!     (model.outputs.len() > 1).then(|| Section::new("outputs", "Outputs", body))
//! }
//! let sections: &[fn(&Model, &ReportContext<'_>) -> Option<Section>] = &[section];
//! assert_eq!(sections.len(), 1);
//! ```

pub mod certainty;
pub mod configuration;
pub mod density;
pub mod drift;
pub mod evaluation;
pub mod features;
pub mod headline;
pub mod kernel_effects;
pub mod kernel_sizes;
pub mod learning_curve;
pub mod metric;
pub mod path;
pub mod pixels;
pub mod repeated_fits;
pub mod selection_frequency;
pub mod sizes;
pub mod suggestions;
