//! The rejection rate of `stabilized`, preset `paper`, against the share of features still active: Ma & Zheng 2016,
//! Figure 2, eq. (12).

use serde::Deserialize;
use tamis::learn::stabilized::paper::{Curve, rejection_rate};
use tamis::report::Chart;

/// Which curves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// β₀.
    rejection: f64,
    /// γ of each curve.
    annealing: Vec<f64>,
}

/// Points of a curve.
const POINTS: u32 = 100;

impl Plan {
    pub fn draw(&self, title: &str) -> Vec<Chart> {
        let mut chart = Chart::new(title).x("share of features still active, d").y("rejection rate, β").y_holds(0.0);
        for &annealing in &self.annealing {
            let share = |point: u32| f64::from(point) / f64::from(POINTS);
            let rate = |share| rejection_rate(share, self.rejection, annealing, Curve::Corrected);
            let points = (0..=POINTS).map(share).map(|share| (share, rate(share)));
            chart = chart.line(&format!("γ = {annealing}"), points.collect());
        }
        vec![chart]
    }
}
