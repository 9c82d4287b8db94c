//! Platt scaling (Platt 1999) of held-out scores: the log-odds of a class as slope·score + shift.
//!
//! Newton's method on the logistic loss of ±1 targets, with a weak prior that keeps separable scores finite. A score that
//! does not rise with the target gets slope 0 and the log-odds of the class.

/// A score, its target (±1) and its weight.
pub type Scored = (f64, f64, f64);

/// The curvature of the prior, in rows.
const PRIOR: f64 = 1e-3;
const MOST_STEPS: usize = 50;
/// The longest step.
const LONGEST: f64 = 3.0;

/// Slope and shift.
pub fn calibrate(rows: &[Scored]) -> [f64; 2] {
    let total = rows.iter().map(|row| row.2).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = |of: &dyn Fn(&Scored) -> f64| rows.iter().map(|row| row.2 * of(row)).sum::<f64>() / total;
    let centre = mean(&|row| row.0);
    let spread = mean(&|row| (row.0 - centre).powi(2)).sqrt();
    let constant = [0.0, log_odds(rows)];
    if spread <= 1e-9 * centre.abs() {
        return constant;
    }
    let (mut slope, mut shift) = (1.0, 0.0);
    for _ in 0..MOST_STEPS {
        let (mut g0, mut g1, mut h00, mut h01, mut h11) = (PRIOR * shift, PRIOR * slope, PRIOR, 0.0, PRIOR);
        for &(score, target, weight) in rows {
            let x = (score - centre) / spread;
            let miss = 1.0 / (1.0 + (target * (slope * x + shift)).clamp(-700.0, 700.0).exp());
            let (gradient, curvature) = (-weight * target * miss, weight * miss * (1.0 - miss));
            (g0, g1) = (g0 + gradient, g1 + gradient * x);
            (h00, h01, h11) = (h00 + curvature, h01 + curvature * x, h11 + curvature * x * x);
        }
        let determinant = h00 * h11 - h01 * h01;
        let (down0, down1) = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant);
        let length = down0.abs().max(down1.abs());
        let damp = (LONGEST / length).min(1.0);
        (shift, slope) = (shift - damp * down0, slope - damp * down1);
        if length < 1e-10 {
            break;
        }
    }
    if slope > 0.0 && shift.is_finite() { [slope / spread, shift - slope * centre / spread] } else { constant }
}

/// The log-odds of the target 1, with half a row more of each.
pub fn log_odds(rows: &[Scored]) -> f64 {
    let sum = |sign: f64| rows.iter().filter(|row| row.1 == sign).map(|row| row.2).sum::<f64>() + 0.5;
    (sum(1.0) / sum(-1.0)).ln()
}

/// The logistic loss of a margin.
pub fn logistic_loss(margin: f64, target: f64) -> f64 {
    let m = target * margin;
    (-m.abs()).exp().ln_1p() + (-m).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_odds_are_found() {
        // At score 1 three of four rows are positive, at −1 one of four: log-odds ± ln 3.
        let mut rows = vec![(1.0, 1.0, 3.0), (1.0, -1.0, 1.0), (-1.0, -1.0, 3.0), (-1.0, 1.0, 1.0)];
        let [slope, shift] = calibrate(&rows);
        assert!((slope - 3f64.ln()).abs() < 2e-3 && shift.abs() < 1e-9, "{slope} {shift}");
        rows.iter_mut().for_each(|row| row.0 = 10.0 * row.0 + 5.0);
        let [scaled, shifted] = calibrate(&rows);
        assert!((10.0 * scaled - slope).abs() < 1e-9 && (5.0 * scaled + shifted).abs() < 1e-9);
    }

    #[test]
    fn useless_scores_give_the_odds_of_the_class() {
        assert_eq!(calibrate(&[(0.0, 1.0, 2.0), (0.0, -1.0, 1.0)]), [0.0, (2.5f64 / 1.5).ln()]);
        assert_eq!(calibrate(&[(1.0, -1.0, 1.0), (-1.0, 1.0, 1.0)])[0], 0.0);
        assert!(calibrate(&[(1.0, 1.0, 1.0), (-1.0, -1.0, 1.0)])[0].is_finite());
    }

    #[test]
    fn losses_do_not_overflow() {
        assert!((logistic_loss(0.0, 1.0) - 2f64.ln()).abs() < 1e-15);
        assert_eq!((logistic_loss(1e3, 1.0), logistic_loss(-1e3, 1.0)), (0.0, 1e3));
    }
}
