#![doc = "HTML reports and SVG charts of the models of tamis."]
//!
//! A report shows what the library found and computes nothing of its own. A curve becomes a [`Chart`]: one self-contained SVG,
//! readable on a light and a dark background and described in words for screen readers. [`of_model`], [`of_runs`],
//! [`of_periods`], [`of_metric`] and [`of_scorecard`] make whole pages; a page is a list of [`Section`]s, each made by one file of [`parts`].
//! Text enters a page only through [`Html`], which escapes it.
//!
//! ```
//! use tamis_report::Chart;
//!
//! let svg = Chart::new("Learning curve").x("rows").y("error (%)")
//!     .line("tamis", vec![(0.0, 50.0), (100.0, 12.0), (200.0, 9.0)])
//!     .svg();
//! assert!(svg.starts_with("<svg"));
//! ```

mod axis;
mod bars;
mod build;
mod chart;
mod context;
mod draw;
mod glossary;
mod html;
mod metric;
mod page;
pub mod parts;
mod scorecard;
mod script_hash;
mod svg;
mod table;

pub use self::axis::AxisKind;
pub use self::build::{of_model, of_periods, of_runs};
pub use self::chart::Chart;
pub use self::context::ReportContext;
pub use self::html::{Html, command, paragraph, prose, shell};
pub use self::metric::{ByClass, MetricContext, of_metric};
pub use self::page::{Report, Section, Tile, live_page};
pub use self::scorecard::of_scorecard;
pub use self::svg::escape;
