//! Logistic loss ln(1 + exp(−yf)), y ∈ {−1, +1}: margins are log-odds, responses are probabilities.

use super::{EvalMetric, Loss, LossDefinition, LossFacts, Targets};

/// The logistic loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic;

impl Loss for Logistic {
    fn value(&self, margin: f64, target: f64) -> f64 {
        let z = target * margin;
        (-z.abs()).exp().ln_1p() + (-z).max(0.0)
    }

    fn slope(&self, margin: f64, target: f64) -> f64 {
        -target / (1.0 + (target * margin).exp())
    }

    fn curvature(&self, margin: f64, _target: f64) -> f64 {
        // p(1 − p), of the smaller of the two so that it does not vanish in rounding.
        let odds = (-margin.abs()).exp();
        odds / ((1.0 + odds) * (1.0 + odds))
    }

    fn response(&self, margin: f64) -> f64 {
        1.0 / (1.0 + (-margin).exp())
    }
}

impl LossDefinition for Logistic {
    const FACTS: LossFacts = LossFacts {
        name: "logistic",
        targets: Targets::Classes,
        is_probabilistic: true,
        has_bounded_slope: true,
        half_curvature: 0.125,
        divides_rows: false,
        metric: Some(EvalMetric::LogLoss),
        scales_linearly: false,
        is_online_only: false,
        shape: None,
    };

    fn build(_shape: f64) -> Self {
        Logistic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Logistic.value(0.0, 1.0), 2f64.ln());
        assert_eq!(Logistic.slope(0.0, 1.0), -0.5);
        assert_eq!(Logistic.curvature(0.0, 1.0), 0.25);
        assert!((Logistic.value(3.0, -1.0) - (1.0 + 3f64.exp()).ln()).abs() < 1e-15);
        assert_eq!(Logistic.response(0.0), 0.5);
    }
}
