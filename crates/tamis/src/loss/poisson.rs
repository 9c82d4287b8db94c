//! Poisson loss for counts, half the deviance: eᶠ − y·f − (y − y·ln y). Margins are logarithms of the expected count.
//!
//! Above f = 30 it goes on as its tangent, so that no margin overflows: an expected count of e³⁰ times the mean is an
//! error of the data or of the step size.

use super::{EvalMetric, Loss, LossDefinition, LossFacts, Targets};

/// Where the exponential becomes its tangent.
const LARGEST: f64 = 30.0;

/// The Poisson loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson;

/// eᶠ, or its tangent.
fn exp(margin: f64) -> f64 {
    let within = margin.min(LARGEST);
    within.exp() * (1.0 + (margin - within))
}

impl Loss for Poisson {
    fn value(&self, margin: f64, target: f64) -> f64 {
        if target <= 0.0 {
            return exp(margin);
        }
        // y·(eᵘ − 1 − u) with u = f − ln y keeps its digits where the loss is small.
        let from_best = margin - target.ln();
        let beyond = (margin - LARGEST).max(0.0);
        let near = target * ((from_best - beyond).exp_m1() - (from_best - beyond));
        (near + beyond * (LARGEST.exp() - target)).max(0.0)
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        margin.min(LARGEST).exp() - target
    }

    fn curvature(&self, margin: f64, _target: f64) -> f64 {
        if margin <= LARGEST { margin.exp() } else { 0.0 }
    }

    fn shortfall(&self, margin: f64, target: f64) -> f64 {
        // A count of 0 has its best margin at −∞: the loss stands for the distance.
        if target > 0.0 { (margin - target.ln()).abs() } else { exp(margin) }
    }

    fn response(&self, margin: f64) -> f64 {
        margin.exp()
    }

    fn codes(&self) -> [f64; 2] {
        [0.0, 1.0]
    }

    fn boundary(&self) -> f64 {
        -std::f64::consts::LN_2
    }
}

impl LossDefinition for Poisson {
    const FACTS: LossFacts = LossFacts {
        name: "poisson",
        targets: Targets::Counts,
        is_probabilistic: false,
        has_bounded_slope: false,
        half_curvature: 5343237290762.231, // e³⁰/2
        divides_rows: false,
        metric: Some(EvalMetric::OwnLoss),
        scales_linearly: true,
        is_online_only: true,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        Poisson
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Expected 2, counted 3: half the deviance is 3·ln(3/2) − (3 − 2).
        let half = 3.0 * 1.5f64.ln() - 1.0;
        assert!((Poisson.value(2f64.ln(), 3.0) - half).abs() < 1e-15);
        assert!((Poisson.slope(2f64.ln(), 3.0) + 1.0).abs() < 1e-15);
        assert!((Poisson.curvature(2f64.ln(), 3.0) - 2.0).abs() < 1e-15);
        assert_eq!(Poisson.value(0.0, 0.0), 1.0);
        assert_eq!((Poisson.value(0.0, 1.0), Poisson.response(0.0)), (0.0, 1.0));
    }

    #[test]
    fn the_tangent_joins() {
        for target in [0.0, 2.0] {
            let [below, above] = [LARGEST - 1e-9, LARGEST + 1e-9].map(|margin| Poisson.value(margin, target));
            assert!(((above - below) / 2e-9 / (LARGEST.exp() - target) - 1.0).abs() < 1e-3, "{below} {above}");
            let beyond = Poisson.value(LARGEST + 5.0, target) - Poisson.value(LARGEST, target);
            assert!((beyond / (5.0 * (LARGEST.exp() - target)) - 1.0).abs() < 1e-12);
        }
    }
}
