//! Platt scaling: two numbers that turn scores into predictions, f ← A·s + B.
//!
//! The scores are of held-out rows, as they will be on new data. For classes A and B maximise the likelihood of a logistic
//! model of the score (by Newton's method); for regression they are the least-squares line. A is never negative: if the
//! scores are negatively correlated with the targets there is nothing to learn, and A = 0.

use serde::{Deserialize, Serialize};

/// A score with its target and importance weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The score.
    pub score: f64,
    /// ±1 for classes, or the number itself.
    pub target: f64,
    /// The importance weight.
    pub weight: f64,
}

/// f = slope·score + shift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// A.
    pub slope: f64,
    /// B.
    pub shift: f64,
}

impl Calibration {
    /// The identity.
    pub const NONE: Calibration = Calibration { slope: 1.0, shift: 0.0 };

    /// The prediction for a score.
    pub fn apply(&self, score: f64) -> f64 {
        self.slope * score + self.shift
    }
}

/// A weak prior keeps the slope finite on separable data: the curvature of this many rows.
const PRIOR: f64 = 1e-3;
const MOST_STEPS: usize = 50;

/// The logistic fit, targets ±1.
pub fn logistic(rows: &[Scored]) -> Calibration {
    let (centre, unit) = (mean(rows, |row| row.score), spread(rows));
    // A spread that is rounding of the mean is none.
    if unit <= 1e-9 * centre.abs() {
        return Calibration { slope: 0.0, shift: log_odds(rows) };
    }
    let (mut slope, mut shift) = (1.0, 0.0);
    for _ in 0..MOST_STEPS {
        let (mut g0, mut g1, mut h00, mut h01, mut h11) = (PRIOR * shift, PRIOR * slope, PRIOR, 0.0, PRIOR);
        for row in rows {
            let x = (row.score - centre) / unit;
            let margin = row.target * (slope * x + shift);
            let miss = 1.0 / (1.0 + margin.clamp(-700.0, 700.0).exp());
            let (gradient, curvature) = (-row.weight * row.target * miss, row.weight * miss * (1.0 - miss));
            (g0, g1) = (g0 + gradient, g1 + gradient * x);
            (h00, h01, h11) = (h00 + curvature, h01 + curvature * x, h11 + curvature * x * x);
        }
        let determinant = h00 * h11 - h01 * h01;
        let (down0, down1) = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant);
        let size = down0.abs().max(down1.abs());
        // From a flat start Newton's method may step too far: the length of a step is at most 3.
        let damp = (3.0 / size).min(1.0);
        (shift, slope) = (shift - damp * down0, slope - damp * down1);
        if size < 1e-10 {
            break;
        }
    }
    match slope > 0.0 && shift.is_finite() {
        true => Calibration { slope: slope / unit, shift: shift - slope * centre / unit },
        false => Calibration { slope: 0.0, shift: log_odds(rows) },
    }
}

/// The least-squares fit.
pub fn linear(rows: &[Scored]) -> Calibration {
    let (score, target) = (mean(rows, |row| row.score), mean(rows, |row| row.target));
    let variance = mean(rows, |row| (row.score - score).powi(2));
    let together = mean(rows, |row| (row.score - score) * (row.target - target));
    let slope = if variance > 0.0 { (together / variance).max(0.0) } else { 0.0 };
    Calibration { slope, shift: target - slope * score }
}

fn mean(rows: &[Scored], number: impl Fn(&Scored) -> f64) -> f64 {
    let weight: f64 = rows.iter().map(|row| row.weight).sum();
    rows.iter().map(|row| row.weight * number(row)).sum::<f64>() / weight.max(f64::MIN_POSITIVE)
}

fn spread(rows: &[Scored]) -> f64 {
    let centre = mean(rows, |row| row.score);
    mean(rows, |row| (row.score - centre).powi(2)).sqrt()
}

/// The log-odds of the target 1, with half a row more of each.
pub fn log_odds(rows: &[Scored]) -> f64 {
    let share = |sign: f64| rows.iter().filter(|row| row.target == sign).map(|row| row.weight).sum::<f64>() + 0.5;
    (share(1.0) / share(-1.0)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(pairs: &[(f64, f64)]) -> Vec<Scored> {
        pairs.iter().map(|&(score, target)| Scored { score, target, weight: 1.0 }).collect()
    }

    #[test]
    fn a_line_is_found() {
        let fit = linear(&scored(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]));
        assert!((fit.slope - 2.0).abs() < 1e-12 && (fit.shift - 1.0).abs() < 1e-12);
        assert_eq!(linear(&scored(&[(0.0, 1.0), (1.0, 0.0)])).slope, 0.0, "a negative slope is clipped to zero");
    }

    #[test]
    fn log_odds_are_found() {
        // At score 1 three of four rows are positive, at −1 one of four: log-odds ± ln 3.
        let mut rows = scored(&[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, -1.0)]);
        rows.extend(scored(&[(-1.0, -1.0), (-1.0, -1.0), (-1.0, -1.0), (-1.0, 1.0)]));
        let fit = logistic(&rows);
        assert!((fit.slope - 3f64.ln()).abs() < 2e-3 && fit.shift.abs() < 1e-9, "{fit:?}");
        let thousandfold: Vec<Scored> = rows.iter().map(|row| Scored { score: row.score * 1000.0, ..*row }).collect();
        assert!((logistic(&thousandfold).slope * 1000.0 - fit.slope).abs() < 1e-9, "invariant to scale");
    }

    #[test]
    fn a_shift_of_the_scores_does_not_matter() {
        let rows = |offset: f64| -> Vec<Scored> {
            let pairs = [(1.0, 1.0), (2.0, 1.0), (0.5, -1.0), (-1.0, -1.0), (-2.0, -1.0), (-0.5, 1.0)];
            scored(&pairs.map(|(score, target)| (score + offset, target)))
        };
        let (near, far) = (logistic(&rows(0.0)), logistic(&rows(1000.0)));
        assert!((near.slope - far.slope).abs() < 1e-6, "{near:?} {far:?}");
        assert!((near.apply(1.0) - far.apply(1001.0)).abs() < 1e-6);
    }

    #[test]
    fn useless_scores_give_the_class_odds() {
        let fit = logistic(&scored(&[(0.0, 1.0), (0.0, 1.0), (0.0, -1.0)]));
        assert_eq!(fit, Calibration { slope: 0.0, shift: (2.5f64 / 1.5).ln() });
        let fit = logistic(&scored(&[(1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)]));
        assert_eq!(fit.slope, 0.0);
    }

    #[test]
    fn separable_scores_stay_finite() {
        let fit = logistic(&scored(&[(1.0, 1.0), (2.0, 1.0), (-1.0, -1.0)]));
        assert!(fit.slope.is_finite() && fit.slope > 1.0);
    }
}
