//! p-values of z-scores, and Benjamini–Hochberg q-values.
//!
//! Source: Benjamini & Hochberg, *Controlling the False Discovery Rate* (JRSS B 57, 1995). Of the hypotheses with a
//! q-value of at most q, at most a share q is expected to be true on average over data sets. Features that were never
//! tested count with a p-value of 1, so `hypotheses` may be larger than the number of p-values.
//! ```text
//! p₍₁₎ ≤ p₍₂₎ ≤ …,   q₍ᵢ₎ = min over l ≥ i of m·p₍ₗ₎/l
//! ```

/// The two-sided p-value of a standard normal z-score, 2Φ(−|z|).
pub fn two_sided_p_value(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    if x.is_nan() { 1.0 } else { erfc(x) }
}

/// The z-score with about the p-value that a t-score has under Student's distribution: Wallace's approximation (Annals of
/// Mathematical Statistics 30, 1959).
pub fn student_z(t: f64, freedom: f64) -> f64 {
    let factor = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0);
    (factor * (freedom * (t * t / freedom).ln_1p()).sqrt()).copysign(t)
}

/// The complementary error function of x ≥ 0: its power series for small x, else Legendre's continued fraction.
fn erfc(x: f64) -> f64 {
    if x < 2.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-17 * sum.abs() {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    // exp(−x²)/√π · 1/(x + ½/(x + 1/(x + 3⁄2/(x + …)))); 60 terms suffice for x ≥ 2.
    let fraction = (1..=60).rev().fold(x, |rest, n| x + 0.5 * f64::from(n) / rest);
    (-x * x).exp() / fraction * 0.5 * std::f64::consts::FRAC_2_SQRT_PI
}

/// The q-value of each p-value among this many hypotheses, at least as many as there are p-values.
pub fn q_values(p_values: &[f64], hypotheses: usize) -> Vec<f64> {
    let hypotheses = hypotheses.max(p_values.len()) as f64;
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let (mut q_values, mut least) = (vec![1.0; p_values.len()], 1.0f64);
    for (rank, &number) in order.iter().enumerate().rev() {
        least = least.min(hypotheses * p_values[number] / (rank + 1) as f64);
        q_values[number] = least;
    }
    q_values
}

/// Hypotheses with a larger q-value are not tested in sequence, nor are more of them.
const LOOSE: f64 = 0.3;
const MOST_IN_SEQUENCE: usize = 200;

/// The z-scores after a second step: those with a small q-value are tested again, from the largest |z| on, each given those
/// before it, and the smaller |z| counts. `in_sequence` gives the z-scores of hypotheses in such an order.
pub fn two_steps(
    mut z_scores: Vec<f64>,
    hypotheses: usize,
    in_sequence: impl FnOnce(&[usize]) -> Vec<f64>,
) -> Vec<f64> {
    let p_values: Vec<f64> = z_scores.iter().map(|&z| two_sided_p_value(z)).collect();
    let q_values = q_values(&p_values, hypotheses);
    let mut order: Vec<usize> = (0..z_scores.len()).filter(|&number| q_values[number] <= LOOSE).collect();
    order.sort_by(|&a, &b| z_scores[b].abs().total_cmp(&z_scores[a].abs()));
    order.truncate(MOST_IN_SEQUENCE);
    for (&number, z) in order.iter().zip(in_sequence(&order)) {
        if z.abs() < z_scores[number].abs() {
            z_scores[number] = z;
        }
    }
    z_scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_distribution_has_heavier_tails() {
        // Two-sided p-values of tables: t = 2.086 with 20 degrees of freedom has 0.05.
        for (t, freedom, p) in [(2.086, 20.0, 0.05), (2.660, 60.0, 0.01), (3.373, 100.0, 0.00105)] {
            let found = two_sided_p_value(student_z(t, freedom));
            assert!((found / p - 1.0).abs() < 0.03, "{t} with {freedom}: {found}, expected {p}");
        }
        assert_eq!(student_z(-3.0, 50.0), -student_z(3.0, 50.0));
        assert!((student_z(3.0, 1e9) - 3.0).abs() < 1e-6);
    }

    #[test]
    fn q_values_by_hand() {
        let close = |ours: Vec<f64>, theirs: [f64; 4]| {
            assert!(ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-12), "{ours:?}, not {theirs:?}");
        };
        close(q_values(&[0.001, 0.02, 0.03, 0.5], 4), [0.004, 0.04, 0.04, 0.5]);
        close(q_values(&[0.001, 0.02, 0.03, 0.5], 40), [0.04, 0.4, 0.4, 1.0]);
        close(q_values(&[0.5, 0.03, 0.02, 0.001], 4), [0.5, 0.04, 0.04, 0.004]);
        assert!(q_values(&[], 10).is_empty());
    }

    #[test]
    fn p_values_of_the_normal_distribution() {
        // Abramowitz & Stegun, table 26.1 and 26.2.
        for (z, p) in
            [(0.0, 1.0), (1.0, 0.317_310_507_862_914), (1.959_963_984_540_054, 0.05), (-3.0, 0.002_699_796_063_26)]
        {
            assert!((two_sided_p_value(z) - p).abs() < 1e-14, "{z}: {}", two_sided_p_value(z));
        }
        for (z, p) in [(6.0, 1.973_175_290_075_396e-9), (10.0, 1.523_970_604_832_094e-23)] {
            assert!((two_sided_p_value(z) / p - 1.0).abs() < 1e-12, "{z}: {}", two_sided_p_value(z));
        }
        assert_eq!(two_sided_p_value(f64::NAN), 1.0);
        assert_eq!(two_sided_p_value(f64::INFINITY), 0.0);
        let both = [2.828_427, 2.828_428].map(two_sided_p_value);
        assert!((both[0] - both[1]).abs() < 1e-7, "both formulas agree where one takes over: {both:?}");
    }
}
