//! Logistic loss ln(1 + exp(−yf)), y ∈ {−1, +1}: margins are log-odds, responses are probabilities.

use super::{EvalMetric, Loss, LossDefinition, LossFacts, Targets};

/// A product of 1 + odds is not continued beyond this.
const LARGE_PRODUCT: f64 = 1e300;

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

    /// Of one exponential.
    fn value_and_slope(&self, margin: f64, target: f64) -> [f64; 2] {
        let z = target * margin;
        let odds = (-z.abs()).exp();
        let numerator = if z > 0.0 { odds } else { 1.0 };
        [odds.ln_1p() + (-z).max(0.0), -target * (numerator / (1.0 + odds))]
    }

    fn curvature(&self, margin: f64, _target: f64) -> f64 {
        // p(1 − p), of the smaller of the two so that it does not vanish in rounding.
        let odds = (-margin.abs()).exp();
        odds / ((1.0 + odds) * (1.0 + odds))
    }

    fn derivatives(&self, margin: f64, target: f64) -> [f64; 2] {
        let odds = (-margin.abs()).exp();
        let less = 1.0 / (1.0 + odds);
        let miss = if target * margin > 0.0 { odds * less } else { less };
        [-target * miss, odds * less * less]
    }

    /// Σ ln(1 + odds) is the logarithm of a product, which needs one logarithm for many rows of weight 1.
    fn total(&self, weights: &[f64], margins: &[f64], targets: &[f64]) -> f64 {
        let (mut sum, mut product) = (0.0, 1.0);
        for ((&weight, &margin), &target) in weights.iter().zip(margins).zip(targets) {
            if weight == 1.0 {
                let z = target * margin;
                product *= 1.0 + (-z.abs()).exp();
                sum += (-z).max(0.0);
                if product > LARGE_PRODUCT {
                    sum += f64::ln(product);
                    product = 1.0;
                }
            } else {
                sum += weight * self.value(margin, target);
            }
        }
        sum + f64::ln(product)
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
        for (margin, target) in [(0.0, 1.0), (2.5, 1.0), (2.5, -1.0), (-40.0, 1.0), (-700.0, -1.0)] {
            let (slope, curvature) = (Logistic.slope(margin, target), Logistic.curvature(margin, target));
            let [first, second] = Logistic.derivatives(margin, target);
            assert!((first - slope).abs() <= 1e-15 * slope.abs() && (second - curvature).abs() <= 1e-15 * curvature);
        }
    }
    #[test]
    fn a_total_is_the_sum_of_the_losses() {
        let rows: Vec<(f64, f64, f64)> = (0..3000)
            .map(|row| {
                let weight = if row % 7 == 0 { 0.5 } else { 1.0 };
                (weight, f64::from(row % 41) / 4.0 - 5.0, if row % 3 == 0 { 1.0 } else { -1.0 })
            })
            .collect();
        let (weights, margins): (Vec<f64>, Vec<f64>) = rows.iter().map(|row| (row.0, row.1)).unzip();
        let targets: Vec<f64> = rows.iter().map(|row| row.2).collect();
        let plain: f64 = rows.iter().map(|&(weight, margin, target)| weight * Logistic.value(margin, target)).sum();
        assert!((Logistic.total(&weights, &margins, &targets) - plain).abs() < 1e-11 * plain);
        assert!(Logistic.total(&[1.0], &[f64::NAN], &[1.0]).is_nan());
        assert_eq!(Logistic.total(&[1.0; 2], &[-1e9, 1e9], &[1.0; 2]), 1e9);
    }
}
