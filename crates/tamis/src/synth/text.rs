//! Text with a number to predict: rows like those of the E2006 sets (Kogan et al., NAACL 2009), every column in the
//! truth.
//!
//! ```text
//! words of a row   Poisson(m) draws, column j with probability ∝ exp(2 z_j), z_j normal     (log-normal frequencies)
//! value            ln(1 + count)·ln(1 + 1/s_j), the row brought to length 1, rounded to 0.0001
//! target           −3.5 + `signal`·x·w/σ + `noise`·normal,  w_j = s_j·normal for every column, σ the deviation of x·w
//! ```
//! Weights grow with s_j so that there is something to learn: with weights that know nothing of frequency most of the
//! target would depend on columns that occur in a handful of rows.
//!
//! s_j is the share of rows with column j; m is such that Σ s_j = `nonzeros`. The defaults have the size of
//! E2006-tfidf: 16,087 rows, 150,360 columns, 1,240 of them in a row. E2006-log1p is `p` = 4,272,227. All columns
//! matter, so the truth that is written lists only the k of largest part |w_j|·√(E x_j²), and says so.
//!
//! Cost: some 100 µs for a row of 1,240 columns; tables take 24 bytes a column.

use rand_distr::Poisson;

use super::alias::AliasTable;
use super::stream::Stream;
use super::zipf::{scaled_to, share};
use super::{Plan, Row, TrueFeature, Truth, round};

/// The deviation of the logarithm of a column's frequency.
const SPREAD: f64 = 2.0;
/// The mean target: that of E2006, the logarithm of a volatility.
const CENTRE: f64 = -3.5;
/// σ is estimated over this many rows.
const ESTIMATION_ROWS: u64 = 2000;

/// The rows of `text-regression`.
pub(super) struct Text {
    plan: Plan,
    words: AliasTable,
    word_count: Poisson<f64>,
    /// ln(1 + 1/s_j).
    rarity: Vec<f64>,
    /// `signal`·w/σ.
    weights: Vec<f64>,
    /// The mean of x·w, so that the target's is −3.5.
    shift: f64,
}

impl Text {
    pub(super) fn new(plan: &Plan) -> (Self, Truth) {
        let mut stream = Stream::of_setup(plan);
        let frequencies: Vec<f64> = (0..plan.p).map(|_| (SPREAD * stream.normal()).exp()).collect();
        let rates = scaled_to(frequencies, plan.nonzeros as f64);
        let total: f64 = rates.iter().sum();
        let mut text = Text {
            plan: plan.clone(),
            words: AliasTable::new(&rates),
            word_count: Poisson::new(total).expect("a positive finite mean"),
            rarity: rates.iter().map(|&rate| (1.0 + 1.0 / share(rate)).ln()).collect(),
            weights: rates.iter().map(|&rate| share(rate) * stream.normal()).collect(),
            shift: 0.0,
        };
        let squares = text.calibrate();
        let truth = text.truth(&rates, &squares);
        (text, truth)
    }

    pub(super) fn row(&self, number: u64) -> Row {
        let mut stream = Stream::of_row(&self.plan, number);
        let (ids, values) = self.draw(&mut stream);
        let target = CENTRE + self.margin(&ids, &values) - self.shift + self.plan.noise * stream.normal();
        Row { target: round(target), ids, values }
    }

    /// The columns of a row, from 1, and their values.
    fn draw(&self, stream: &mut Stream) -> (Vec<u32>, Vec<f64>) {
        let count = stream.draw(&self.word_count) as usize;
        let mut words: Vec<u32> = (0..count).map(|_| self.words.draw(stream)).collect();
        words.sort_unstable();
        let weighted = words.chunk_by(|a, b| a == b).map(|same| {
            let value = (same.len() as f64).ln_1p() * self.rarity[same[0] as usize];
            (same[0] + 1, value)
        });
        let entries: Vec<(u32, f64)> = weighted.collect();
        let length = entries.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
        entries.into_iter().map(|(id, value)| (id, round(value / length))).filter(|(_, value)| *value != 0.0).unzip()
    }

    fn margin(&self, ids: &[u32], values: &[f64]) -> f64 {
        ids.iter().zip(values).map(|(&id, value)| self.weights[id as usize - 1] * value).sum()
    }

    /// Brings the weights to the signal asked for; returns the mean square of each column.
    fn calibrate(&mut self) -> Vec<f64> {
        let (mut sum, mut square, mut squares) = (0.0, 0.0, vec![0.0; self.plan.p]);
        for number in 0..ESTIMATION_ROWS {
            let (ids, values) = self.draw(&mut Stream::of_row(&self.plan, number));
            let margin = self.margin(&ids, &values);
            (sum, square) = (sum + margin, square + margin * margin);
            for (&id, value) in ids.iter().zip(&values) {
                squares[id as usize - 1] += value * value / ESTIMATION_ROWS as f64;
            }
        }
        let mean = sum / ESTIMATION_ROWS as f64;
        let deviation = (square / ESTIMATION_ROWS as f64 - mean * mean).sqrt();
        let factor = if deviation > 0.0 { self.plan.signal / deviation } else { 0.0 };
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        self.shift = mean * factor;
        squares
    }

    /// What is written of the truth: the columns of largest part.
    fn truth(&self, rates: &[f64], squares: &[f64]) -> Truth {
        let part = |column: &u32| self.weights[*column as usize].abs() * squares[*column as usize].sqrt();
        let mut columns: Vec<u32> = (0..self.plan.p as u32).collect();
        columns.sort_by(|a, b| part(b).total_cmp(&part(a)).then(a.cmp(b)));
        columns.truncate(self.plan.k);
        columns.sort_unstable();
        let feature = |column: u32| TrueFeature {
            id: column + 1,
            weight: self.weights[column as usize],
            share: share(rates[column as usize]),
        };
        let notes = vec![
            format!("all {} columns have a weight: those listed have the largest part |w|√(E x²)", self.plan.p),
            format!("no rule has an RMSE below the noise, {}", self.plan.noise),
        ];
        let features = columns.into_iter().map(feature).collect();
        Truth { plan: self.plan.clone(), intercept: CENTRE - self.shift, features, bayes_error: None, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Kind, generate};

    fn small() -> Plan {
        Plan { n: 3000, p: 5000, nonzeros: 100, k: 50, ..Plan::new(Kind::TextRegression) }
    }

    #[test]
    fn rows_have_the_length_and_the_columns_asked_for() {
        let (_, rows) = generate(&small()).unwrap();
        let (mut columns, mut seen) = (0, vec![0u32; 5000]);
        for row in rows {
            let length = row.values.iter().map(|value| value * value).sum::<f64>();
            assert!((length - 1.0).abs() < 0.02, "{length}");
            columns += row.ids.len();
            row.ids.iter().for_each(|&id| seen[id as usize - 1] += 1);
        }
        assert!((columns as f64 / 3000.0 / 100.0 - 1.0).abs() < 0.03, "{columns}");
        seen.sort_unstable();
        // A log-normal share of deviation 2: the median column is e² below the mean, as long as it is rare.
        let (median, mean) = (f64::from(seen[2500]), columns as f64 / 5000.0);
        assert!(mean / median > 3.5 && mean / median < 8.0, "median {median}, mean {mean}");
    }

    #[test]
    fn targets_have_the_signal_and_the_noise_asked_for() {
        let spread = |plan: &Plan| {
            let targets: Vec<f64> = generate(plan).unwrap().1.map(|row| row.target).collect();
            let mean = targets.iter().sum::<f64>() / targets.len() as f64;
            (mean, targets.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / targets.len() as f64)
        };
        let (mean, variance) = spread(&Plan { noise: 0.5, ..small() });
        assert!((mean + 3.5).abs() < 0.1 && (variance - 1.25).abs() < 0.12, "{mean} {variance}");
        let (_, silent) = spread(&Plan { noise: 0.0, signal: 0.0, ..small() });
        assert!(silent < 1e-12);
    }

    #[test]
    fn the_truth_lists_the_largest_parts() {
        let (truth, rows) = generate(&Plan { noise: 0.0, ..small() }).unwrap();
        assert_eq!(truth.features.len(), 50);
        let rows: Vec<Row> = rows.take(1000).collect();
        let correlation = {
            let (margins, targets): (Vec<f64>, Vec<f64>) =
                rows.iter().map(|row| (truth.margin(row), row.target)).unzip();
            let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
            let (a, b) = (mean(&margins), mean(&targets));
            let product =
                |x: &[f64], m: f64, y: &[f64], n: f64| x.iter().zip(y).map(|(x, y)| (x - m) * (y - n)).sum::<f64>();
            product(&margins, a, &targets, b)
                / (product(&margins, a, &margins, a) * product(&targets, b, &targets, b)).sqrt()
        };
        assert!(correlation > 0.3, "{correlation}");
    }
}
