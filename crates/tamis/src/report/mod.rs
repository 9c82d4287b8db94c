//! Pictures of what was learned: numbers in, SVG out.
//!
//! The last room of the flow. It draws and does no arithmetic of learning: whoever has a curve to show gives its points to a
//! [`Chart`] and gets one self-contained picture back, readable on light and dark ground and to those who cannot see it.
//!
//! ```
//! use tamis::report::Chart;
//!
//! let svg = Chart::new("Error over the stream").x("rows").y("error (%)")
//!     .line("tamis", vec![(0.0, 50.0), (100.0, 12.0), (200.0, 9.0)])
//!     .svg();
//! assert!(svg.starts_with("<svg"));
//! ```

mod axis;
mod chart;
mod svg;

pub use self::axis::AxisKind;
pub use self::chart::Chart;
pub use self::svg::escape;
