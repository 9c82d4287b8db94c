//! Text-like rows: a long tail of columns, a few planted ones, two classes from a logistic model.
//!
//! ```text
//! words of a row   Poisson(m) draws, rank r with probability ∝ 1/(r + 2.7)^1.05      (Zipf and Mandelbrot's law)
//! column           rank r stands in column π(r), π a permutation: numbers say nothing about frequency
//! value            ln(1 + count), rounded to 0.0001
//! label            1 with probability 1/(1 + exp(−b − x·w)), else −1; then flipped with probability `noise`
//! ```
//! Counts of different columns are therefore independent Poisson numbers with means λ_r, and column r occurs in the
//! share s_r = 1 − exp(−λ_r) of the rows; m is such that Σ s_r = `nonzeros`.
//!
//! *The truth.* The k planted ranks are one from each of k strata, even in ln(r + 10), from the commonest column to the
//! last with s_r ≥ `rarest`: common, middling and rare. When present, a planted column adds about
//! ± `signal` · s_r^(−1/4) to the log-odds, so that its part of the margin's variance, ~ `signal`² √s_r, differs far
//! less from rank to rank than s_r does. Signs come in opposite pairs; b makes the mean margin of the first 10,000 rows
//! 0, which about balances the classes. Over the same rows the Bayes error, the mean of min(P(1), P(−1)), is estimated.
//!
//! Cost: some 3 µs for a row of 75 columns; the table takes 8 bytes a column, about 40 while it is built.

use rand_distr::Poisson;
use rustc_hash::FxHashMap;

use super::alias::AliasTable;
use super::plan::require;
use super::stream::Stream;
use super::{Plan, Row, SynthError, TrueFeature, Truth, round};

/// The exponent of the law, typical of English text.
const EXPONENT: f64 = 1.05;
/// Mandelbrot's shift of the ranks.
const SHIFT: f64 = 2.7;
/// Strata of planted ranks are even in the logarithm of rank plus this.
const STRATA_SHIFT: f64 = 10.0;
/// The intercept and the Bayes error are estimated over this many rows.
const ESTIMATION_ROWS: u64 = 10_000;

/// The rows of `zipf`.
pub(super) struct Zipf {
    plan: Plan,
    words: AliasTable,
    word_count: Poisson<f64>,
    weights: FxHashMap<u32, f64>,
    intercept: f64,
}

impl Zipf {
    pub(super) fn new(plan: &Plan) -> Result<(Self, Truth), SynthError> {
        let rates = rates(plan.p, plan.nonzeros as f64);
        let mut stream = Stream::of_setup(plan);
        let columns = permutation(plan.p, &mut stream);
        let mut features = plant(plan, &rates, &columns, &mut stream)?;
        features.sort_unstable_by_key(|feature| feature.id);

        let total: f64 = rates.iter().sum();
        let mut by_column = vec![0.0; plan.p];
        for (&column, &rate) in columns.iter().zip(&rates) {
            by_column[column as usize] = rate;
        }
        let mut zipf = Zipf {
            plan: plan.clone(),
            words: AliasTable::new(&by_column),
            word_count: Poisson::new(total).expect("a positive finite mean"),
            weights: features.iter().map(|feature| (feature.id, feature.weight)).collect(),
            intercept: 0.0,
        };
        let bayes_error = zipf.center();
        let (intercept, notes) = (zipf.intercept, notes(plan, &features));
        Ok((zipf, Truth { plan: plan.clone(), intercept, features, bayes_error: Some(bayes_error), notes }))
    }

    pub(super) fn row(&self, number: u64) -> Row {
        let mut stream = Stream::of_row(&self.plan, number);
        let (ids, values) = self.draw(&mut stream);
        let flip = if stream.uniform() < self.plan.noise { -1.0 } else { 1.0 };
        let positive = stream.uniform() < probability(self.margin(&ids, &values));
        Row { target: if positive { flip } else { -flip }, ids, values }
    }

    /// The columns of a row and their values.
    fn draw(&self, stream: &mut Stream) -> (Vec<u32>, Vec<f64>) {
        let count = stream.draw(&self.word_count) as usize;
        let mut ids: Vec<u32> = (0..count).map(|_| self.words.draw(stream) + 1).collect();
        ids.sort_unstable();
        let values = ids.chunk_by(|a, b| a == b).map(|same| round((same.len() as f64).ln_1p())).collect();
        ids.dedup();
        (ids, values)
    }

    fn margin(&self, ids: &[u32], values: &[f64]) -> f64 {
        let parts = ids.iter().zip(values).filter_map(|(id, value)| Some(self.weights.get(id)? * value));
        self.intercept + parts.sum::<f64>()
    }

    /// Sets the intercept; returns the Bayes error.
    fn center(&mut self) -> f64 {
        let rows = (0..ESTIMATION_ROWS).map(|number| self.draw(&mut Stream::of_row(&self.plan, number)));
        let margins: Vec<f64> = rows.map(|(ids, values)| self.margin(&ids, &values)).collect();
        let mean = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>() / ESTIMATION_ROWS as f64;
        self.intercept = -mean(&mut margins.iter().copied());
        let error = mean(&mut margins.iter().map(|margin| probability(-(margin + self.intercept).abs())));
        error + self.plan.noise * (1.0 - 2.0 * error)
    }
}

fn probability(margin: f64) -> f64 {
    1.0 / (1.0 + (-margin).exp())
}

/// λ by rank, the commonest first: how often each column is drawn in a row with `nonzeros` different ones on average.
fn rates(p: usize, nonzeros: f64) -> Vec<f64> {
    scaled_to((1..=p).map(|rank| (rank as f64 + SHIFT).powf(-EXPONENT)).collect(), nonzeros)
}

/// Rates proportional to `weights`, such that rows have `nonzeros` different columns on average.
pub(super) fn scaled_to(weights: Vec<f64>, nonzeros: f64) -> Vec<f64> {
    // Newton's method: Σ 1 − exp(−c w) is concave in c, so from below it never overshoots.
    let mut scale = nonzeros / weights.iter().sum::<f64>();
    for _ in 0..100 {
        let (mut count, mut slope) = (0.0, 0.0);
        for weight in &weights {
            let absent = (-scale * weight).exp();
            count += 1.0 - absent;
            slope += weight * absent;
        }
        let step = (nonzeros - count) / slope;
        scale += step;
        if step.abs() < 1e-9 * scale {
            break;
        }
    }
    weights.into_iter().map(|weight| scale * weight).collect()
}

/// The share of rows in which a column of rate λ occurs.
pub(super) fn share(rate: f64) -> f64 {
    -(-rate).exp_m1()
}

/// The column, from 0, of each rank.
fn permutation(p: usize, stream: &mut Stream) -> Vec<u32> {
    let mut columns: Vec<u32> = (0..p as u32).collect();
    for last in (1..p).rev() {
        columns.swap(last, stream.cell(last + 1).0);
    }
    columns
}

/// The planted columns, the commonest first.
fn plant(plan: &Plan, rates: &[f64], columns: &[u32], stream: &mut Stream) -> Result<Vec<TrueFeature>, SynthError> {
    let frequent = rates.partition_point(|&rate| share(rate) >= plan.rarest);
    let expected = format!("at most {frequent}, as many columns occur in a share of {} of the rows", plan.rarest);
    require("k", plan.k as f64, plan.k <= frequent, &expected)?;
    let mut sign = 1.0;
    let features = planted_ranks(frequent, plan.k, stream).into_iter().enumerate().map(|(j, rank)| {
        sign = if j % 2 == 0 { stream.sign() } else { -sign };
        let share = share(rates[rank]);
        let usual_value = (rates[rank] / share).ln_1p();
        let weight = sign * plan.signal * share.powf(-0.25) / usual_value;
        TrueFeature { id: columns[rank] + 1, weight, share }
    });
    Ok(features.collect())
}

/// One rank, from 0, of each of `k` strata of `0..frequent`; ascending and different.
fn planted_ranks(frequent: usize, k: usize, stream: &mut Stream) -> Vec<usize> {
    let span = 1.0 + frequent as f64 / STRATA_SHIFT;
    let mut ranks: Vec<usize> = Vec::with_capacity(k);
    for j in 0..k {
        let drawn = STRATA_SHIFT * (span.powf((j as f64 + stream.uniform()) / k as f64) - 1.0);
        let least = ranks.last().map_or(0, |last| last + 1);
        ranks.push((drawn as usize).max(least));
    }
    // Narrow strata may have pushed the last ones out.
    for (j, rank) in ranks.iter_mut().enumerate() {
        *rank = (*rank).min(frequent - k + j);
    }
    ranks
}

fn notes(plan: &Plan, features: &[TrueFeature]) -> Vec<String> {
    let rarest = features.iter().map(|feature| feature.share).fold(1.0, f64::min);
    let expected = rarest * plan.n as f64;
    let mut notes = vec![
        "labels -1 and 1 from a logistic model; values are ln(1 + count) rounded to 0.0001".to_string(),
        format!("the Bayes error is estimated over the first {ESTIMATION_ROWS} rows of the stream"),
        format!("the rarest planted column is expected in {expected:.0} of {} rows", plan.n),
    ];
    if expected < 200.0 {
        notes.push("columns expected in fewer than 200 rows can hardly be found".to_string());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::{Kind, generate};

    fn small() -> Plan {
        Plan { n: 10_000, p: 20_000, k: 30, ..Plan::new(Kind::Zipf) }
    }

    /// The share of rows in which each column occurs, from column 0, and the mean number of columns in a row.
    fn observed(plan: &Plan) -> (Vec<f64>, f64) {
        let mut shares = vec![0.0; plan.p];
        for row in generate(plan).unwrap().1 {
            row.ids.iter().for_each(|&id| shares[id as usize - 1] += 1.0 / plan.n as f64);
        }
        let mean = shares.iter().sum();
        (shares, mean)
    }

    #[test]
    fn rows_have_as_many_columns_as_asked_for() {
        for (p, nonzeros) in [(20_000, 75), (20_000, 10), (400, 200)] {
            let plan = Plan { p, nonzeros, k: 5, n: 2000, ..small() };
            let (_, mean) = observed(&plan);
            assert!((mean / nonzeros as f64 - 1.0).abs() < 0.05, "{mean} instead of {nonzeros}");
        }
    }

    #[test]
    fn frequencies_fall_with_rank_as_the_law_says() {
        let plan = small();
        let rates = rates(plan.p, plan.nonzeros as f64);
        assert!((rates.iter().map(|&rate| share(rate)).sum::<f64>() - 75.0).abs() < 1e-6);
        assert!((rates[0] / rates[9] - (12.7f64 / 3.7).powf(1.05)).abs() < 1e-9);

        let columns = permutation(plan.p, &mut Stream::of_setup(&plan));
        let (shares, _) = observed(&plan);
        let tenfold: Vec<f64> = [0..10, 10..100, 100..1000, 1000..10_000]
            .map(|ranks| {
                let count = ranks.len() as f64;
                let expected: f64 = ranks.clone().map(|rank| share(rates[rank])).sum();
                let found: f64 = ranks.map(|rank| shares[columns[rank] as usize]).sum();
                assert!((found / expected - 1.0).abs() < 0.02, "{found} instead of {expected}");
                found / count
            })
            .into();
        assert!(tenfold.windows(2).all(|pair| pair[0] > 2.0 * pair[1]), "{tenfold:?}");
    }

    #[test]
    fn planted_columns_are_common_middling_and_rare_and_frequent_enough() {
        let plan = Plan { rarest: 0.02, ..small() };
        let (truth, _) = generate(&plan).unwrap();
        let (shares, _) = observed(&plan);
        for feature in &truth.features {
            let found = shares[feature.id as usize - 1];
            assert!(feature.share >= 0.02 && found * plan.n as f64 > 140.0, "{feature:?} in {found}");
            assert!((found / feature.share - 1.0).abs() < 0.3, "{feature:?} in {found}");
        }
        let between = |low, high| truth.features.iter().filter(|f| f.share >= low && f.share < high).count();
        assert!(between(0.02, 0.06) >= 5 && between(0.06, 0.2) >= 5 && between(0.2, 1.0) >= 5);
        assert!(truth.notes.iter().all(|note| !note.contains("hardly")));
        assert!(generate(&small()).unwrap().0.notes.iter().any(|note| note.contains("hardly")));
    }

    #[test]
    fn labels_are_balanced_and_err_as_often_as_stated() {
        for noise in [0.0, 0.1] {
            let (truth, rows) = generate(&Plan { noise, n: 20_000, ..small() }).unwrap();
            let (mut positive, mut wrong) = (0, 0);
            for row in rows {
                positive += usize::from(row.target > 0.0);
                wrong += usize::from(row.target * truth.margin(&row) < 0.0);
            }
            let (balance, error) = (positive as f64 / 20_000.0, wrong as f64 / 20_000.0);
            assert!((balance - 0.5).abs() < 0.05, "{balance} positive");
            assert!((error - truth.bayes_error.unwrap()).abs() < 0.015, "{error} against {:?}", truth.bayes_error);
        }
    }

    #[test]
    fn planted_parts_of_the_margin_are_comparable() {
        let (truth, _) = generate(&Plan { p: 1_000_000, ..small() }).unwrap();
        let parts = truth.features.iter().map(|f| f.weight.abs() * (f.share * (1.0 - f.share)).sqrt());
        let (low, high) = parts.fold((f64::INFINITY, 0.0f64), |(low, high), part| (low.min(part), high.max(part)));
        let shares = truth.features.iter().map(|f| f.share);
        let (rare, common) = shares.fold((1.0f64, 0.0f64), |(low, high), share| (low.min(share), high.max(share)));
        assert!(common / rare > 300.0 && high / low < 8.0, "shares {common}/{rare}, parts {high}/{low}");
        let up = truth.features.iter().filter(|feature| feature.weight > 0.0).count();
        assert_eq!(up, 15);
    }

    #[test]
    fn ranks_are_different_even_when_all_are_taken() {
        let mut stream = Stream::of_setup(&small());
        assert_eq!(planted_ranks(7, 7, &mut stream), [0, 1, 2, 3, 4, 5, 6]);
        let ranks = planted_ranks(6000, 50, &mut stream);
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]) && ranks[49] < 6000 && ranks[49] > 4000);
    }

    #[test]
    fn too_few_frequent_columns_are_an_error() {
        let error = generate(&Plan { rarest: 0.5, ..small() }).err().unwrap().to_string();
        assert!(error.starts_with("k must be at most ") && error.ends_with("got 30"), "{error}");
    }
}
