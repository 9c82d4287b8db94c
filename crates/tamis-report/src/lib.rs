//! Pictures and reports of what was learned: numbers in, SVG and HTML out.
//!
//! The last room of the flow. It draws and tells, and does no arithmetic of learning: whoever has a curve to show gives its
//! points to a [`Chart`] and gets one self-contained picture back, readable on light and dark ground and to those who cannot
//! see it. [`of_model`], [`of_runs`], [`of_periods`] and [`of_metric`] make whole pages; a page is a list of [`Section`]s, made by [`parts`] of
//! plain data. Text gets into a page through [`Html`] only, where it is escaped.
//!
//! ```
//! use tamis_report::Chart;
//!
//! let svg = Chart::new("Error over the stream").x("rows").y("error (%)")
//!     .line("tamis", vec![(0.0, 50.0), (100.0, 12.0), (200.0, 9.0)])
//!     .svg();
//! assert!(svg.starts_with("<svg"));
//! ```

mod axis;
mod bars;
mod build;
mod chart;
mod draw;
mod glossary;
mod html;
mod metric;
mod page;
pub mod parts;
mod svg;
mod table;

pub use self::axis::AxisKind;
pub use self::build::{Told, of_model, of_periods, of_runs};
pub use self::chart::Chart;
pub use self::html::{Html, command, paragraph, prose, shell};
pub use self::metric::{ByClass, MetricTold, of_metric};
pub use self::page::{Report, Section, Tile};
pub use self::svg::escape;
