//! Dense, evenly correlated columns with a linear truth, fixed (`correlated`) or moving with time (`drift`).
//!
//! Source: Sun et al. 2018, *A Novel Framework for Online Supervised Learning with Feature Selection*, sections 5.1
//! and 5.3, equations (15), (16), (17):
//! ```text
//! x = z·1 + u,  z ~ N(0, 1),  u ~ N(0, I)        any two columns are correlated 0.5  (α = 1)
//! y = x·β + η  or  sign(x·β + η),  η ~ N(0, σ²)   β_j ≠ 0 at j = 10, 20, …, 10k only
//! correlated: β_10j = β                           drift: β_10j = β (a sin(2π (t − 100 j)/T) + b), t = 1, 2, …
//! ```
//! | symbol | here | default |
//! |---|---|---|
//! | β | `signal` | 1, the strong signal of section 5.1 |
//! | σ | `noise` | 1, section 5.1 |
//! | a, b, T | constants | 0.4, 0.6, 1000, section 5.3 |
//! | rows with one t | `period_rows` | 1000, section 5.3 |
//!
//! Departures: values of x are rounded to 0.0001 (before y is made, so the model holds exactly); t goes on beyond T.

use std::f64::consts::PI;

use super::stream::Stream;
use super::{Kind, Plan, Row, TrueFeature, Truth, round};

const AMPLITUDE: f64 = 0.4;
const LEVEL: f64 = 0.6;
const CYCLE: f64 = 1000.0;
/// The distance between planted columns.
const GAP: usize = 10;

/// The rows of `correlated` and `drift`.
pub(super) struct Linear {
    plan: Plan,
}

impl Linear {
    pub(super) fn new(plan: &Plan) -> (Self, Truth) {
        let linear = Linear { plan: plan.clone() };
        let weights = linear.weights(plan.n as u64 - 1);
        let features = weights.iter().enumerate().map(|(j, &weight)| TrueFeature {
            id: (GAP * (j + 1)) as u32,
            weight,
            share: 1.0,
        });
        let truth = Truth {
            plan: plan.clone(),
            intercept: 0.0,
            features: features.collect(),
            bayes_error: plan.classes.then(|| bayes_error(&weights, plan.noise)),
            notes: notes(plan),
        };
        (linear, truth)
    }

    pub(super) fn row(&self, number: u64) -> Row {
        let mut dense = vec![0.0; self.plan.p];
        let target = self.fill(number, &mut dense);
        Row::from_dense(target, &dense)
    }

    /// Writes all columns of row `number` and returns its target.
    pub(super) fn fill(&self, number: u64, dense: &mut [f64]) -> f64 {
        let plan = &self.plan;
        let mut stream = Stream::of_row(plan, number);
        let common = stream.normal();
        dense.iter_mut().for_each(|value| *value = round(common + stream.normal()));
        let planted = dense.iter().skip(GAP - 1).step_by(GAP);
        let margin: f64 = self.weights(number).iter().zip(planted).map(|(weight, value)| weight * value).sum();
        let response = margin + plan.noise * stream.normal();
        match plan.classes {
            true if response < 0.0 => -1.0,
            true => 1.0,
            false => response,
        }
    }

    /// β of the planted columns when row `number` is made.
    fn weights(&self, number: u64) -> Vec<f64> {
        let Plan { kind, k, signal, .. } = self.plan;
        match kind {
            Kind::Drift => {
                let time = number / self.plan.period_rows as u64 + 1;
                (1..=k).map(|j| signal * wave(time as f64, j as f64)).collect()
            }
            _ => vec![signal; k],
        }
    }
}

/// Equation (17).
fn wave(time: f64, j: f64) -> f64 {
    AMPLITUDE * (2.0 * PI * (time - 100.0 * j) / CYCLE).sin() + LEVEL
}

/// P(sign(x·β) ≠ sign(x·β + η)) = arctan(σ / sd(x·β)) / π, since both are normal; var(x·β) = Σβ² + (Σβ)².
fn bayes_error(weights: &[f64], noise: f64) -> f64 {
    let sum: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    noise.atan2((squares + sum * sum).sqrt()) / PI
}

fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = vec!["any two columns are correlated 0.5".to_string()];
    if !plan.classes {
        notes.push(format!("no prediction has a root mean square error below {}", plan.noise));
    }
    if plan.kind == Kind::Drift {
        let last = (plan.n - 1) / plan.period_rows + 1;
        notes.push(format!(
            "weights move with time; those given, and the Bayes error if any, are of the last time period, t = {last}"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::generate;

    fn close(a: f64, b: f64, slack: f64) {
        assert!((a - b).abs() < slack, "{a} is not within {slack} of {b}");
    }

    #[test]
    fn pairs_of_columns_are_correlated_one_half() {
        let (_, rows) = generate(&Plan { n: 20_000, p: 20, k: 2, ..Plan::new(Kind::Correlated) }).unwrap();
        let (mut own, mut cross, mut count) = (0.0, 0.0, 0.0);
        for row in rows.filter(|row| row.values.len() == 20) {
            own += row.values[3] * row.values[3] + row.values[17] * row.values[17];
            cross += row.values[3] * row.values[17];
            count += 1.0;
        }
        close(own / (2.0 * count), 2.0, 0.1);
        close(cross / (own / 2.0), 0.5, 0.03);
    }

    #[test]
    fn targets_are_the_model_plus_noise() {
        let plan = Plan { n: 5000, p: 50, k: 5, signal: 0.3, ..Plan::new(Kind::Correlated) };
        let (truth, rows) = generate(&plan).unwrap();
        assert_eq!(truth.features.iter().map(|feature| feature.id).collect::<Vec<_>>(), [10, 20, 30, 40, 50]);
        assert!(truth.features.iter().all(|feature| feature.weight == 0.3 && feature.share == 1.0));
        let residuals: Vec<f64> = rows.map(|row| row.target - truth.margin(&row)).collect();
        close(residuals.iter().sum::<f64>() / 5000.0, 0.0, 0.06);
        close(residuals.iter().map(|r| r * r).sum::<f64>() / 5000.0, 1.0, 0.08);
    }

    #[test]
    fn without_noise_the_targets_are_exact() {
        let plan = Plan { n: 50, p: 30, k: 3, noise: 0.0, ..Plan::new(Kind::Correlated) };
        let (truth, mut rows) = generate(&plan).unwrap();
        assert!(rows.all(|row| (row.target - truth.margin(&row)).abs() < 1e-12));
    }

    #[test]
    fn classes_err_as_often_as_the_formula_says() {
        let plan = Plan { n: 50_000, p: 20, k: 2, classes: true, ..Plan::new(Kind::Correlated) };
        let (truth, rows) = generate(&plan).unwrap();
        let wrong = rows.filter(|row| truth.margin(row) * row.target < 0.0).count();
        // var = 2 + 4, so arctan(1/√6)/π = 0.1234.
        close(truth.bayes_error.unwrap(), 0.12338, 1e-4);
        close(wrong as f64 / 50_000.0, 0.12338, 0.006);
    }

    #[test]
    fn waves_by_hand() {
        close(wave(100.0, 1.0), 0.6, 1e-12); // sin 0
        close(wave(350.0, 1.0), 1.0, 1e-12); // sin π/2
        close(wave(250.0, 5.0), 0.2, 1e-12); // sin −π/2
        close(wave(1000.0, 5.0), 0.6, 1e-12); // sin π
    }

    #[test]
    fn time_advances_every_thousand_rows() {
        let (drift, truth) = Linear::new(&Plan { n: 350_000, ..Plan::new(Kind::Drift) });
        assert_eq!(drift.weights(0), drift.weights(999));
        assert_ne!(drift.weights(999), drift.weights(1000));
        close(drift.weights(99_000)[0], 0.6, 1e-12);
        close(truth.features[0].weight, 1.0, 1e-12); // t = 350
        assert_eq!(truth.features.len(), 10);
        assert!(truth.notes.iter().any(|note| note.ends_with("t = 350")));
    }
}
