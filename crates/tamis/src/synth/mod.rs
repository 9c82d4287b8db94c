//! Synthetic data with known coefficients: the relevant columns, their weights and the Bayes error.
//!
//! | kind | rows | truth |
//! |---|---|---|
//! | [`Kind::Zipf`] | sparse, text-like | logistic model on k columns from common to rare |
//! | [`Kind::TextRegression`] | sparse, text-like, of unit length | linear, every column |
//! | [`Kind::Correlated`] | dense, pairs correlated 0.5 | linear, columns 10, 20, …, 10k |
//! | [`Kind::Drift`] | the same | the same, weights on sine waves over time |
//! | [`Kind::DoubleRing`] | dense | two rings in the plane of columns 1 and 2 |
//! | [`Kind::Xor`] | dense | sign of the product of columns 1 and 2 |
//!
//! The same plan gives the same rows, and row `i` is the same whatever `n` is: to have more of the same data, or a test
//! set with the same truth, ask for more rows and skip those already used (skipping costs nothing). Values are
//! multiples of 0.0001, so they are short as text; a value of 0 is left out.
//!
//! ```
//! use tamis::synth::{Kind, Plan, generate};
//!
//! let plan = Plan { n: 3, noise: 0.0, ..Plan::new(Kind::Correlated) };
//! let (truth, rows) = generate(&plan)?;
//! assert_eq!(truth.features[0].id, 10);
//! for row in rows {
//!     assert!((row.target - truth.margin(&row)).abs() < 1e-9);
//! }
//! # Ok::<(), tamis::synth::SynthError>(())
//! ```

mod alias;
mod linear;
mod plan;
mod planar;
mod stream;
mod text;
mod write;
mod zipf;

pub use plan::{Kind, Plan, SynthError};
pub use write::write_svmlight;

use linear::Linear;
use planar::Planar;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use text::Text;
use zipf::Zipf;

/// A generated row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The number to predict, or the class, −1 or 1.
    pub target: f64,
    /// Column numbers from 1, ascending.
    pub ids: Vec<u32>,
    /// The value of each column, never 0.
    pub values: Vec<f64>,
}

impl Row {
    /// A row that holds the non-zeros of `dense`.
    fn from_dense(target: f64, dense: &[f64]) -> Row {
        let (ids, values) = (1u32..).zip(dense).filter(|&(_, &value)| value != 0.0).unzip();
        Row { target, ids, values }
    }
}

/// A relevant column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrueFeature {
    /// The column number, from 1.
    pub id: u32,
    /// Its weight in the linear model; 0 where the rule is not linear.
    pub weight: f64,
    /// The expected share of rows in which it is not zero.
    pub share: f64,
}

/// The true model of the generated rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The plan; its fields are written beside the others.
    #[serde(flatten)]
    pub plan: Plan,
    /// The intercept of the linear model.
    pub intercept: f64,
    /// The relevant columns, by ascending number.
    pub features: Vec<TrueFeature>,
    /// The Bayes error, for classes and if it is known.
    pub bayes_error: Option<f64>,
    /// A note for readers.
    pub notes: Vec<String>,
}

impl Truth {
    /// The margin that the true weights give a row; for drift, those of the last time period.
    pub fn margin(&self, row: &Row) -> f64 {
        let value = |id: u32| row.ids.binary_search(&id).map_or(0.0, |place| row.values[place]);
        self.intercept + self.features.iter().map(|feature| feature.weight * value(feature.id)).sum::<f64>()
    }
}

enum Source {
    Zipf(Zipf),
    Text(Text),
    Linear(Linear),
    Planar(Planar),
}

/// The rows of a plan, made one at a time.
pub struct Rows {
    source: Source,
    columns: usize,
    next: u64,
    end: u64,
}

impl Rows {
    /// Writes rows from number `first` on (from 0, also beyond `n`), one after the other: the target, then all p
    /// columns. Rows are made side by side, which changes none of them.
    ///
    /// # Panics
    /// If `cells` does not hold whole rows of p + 1 numbers.
    pub fn fill(&self, first: u64, cells: &mut [f64]) {
        let width = self.columns + 1;
        assert_eq!(cells.len() % width, 0, "whole rows");
        cells.par_chunks_exact_mut(width).enumerate().with_min_len(64).for_each(|(at, cells)| {
            let (target, dense) = cells.split_first_mut().expect("at least a target");
            *target = self.fill_one(first + at as u64, dense);
        });
    }

    fn fill_one(&self, number: u64, dense: &mut [f64]) -> f64 {
        if let Source::Linear(linear) = &self.source {
            return linear.fill(number, dense);
        }
        let row = self.source.row(number);
        dense.fill(0.0);
        row.ids.iter().zip(&row.values).for_each(|(&id, &value)| dense[id as usize - 1] = value);
        row.target
    }
}

impl Source {
    fn row(&self, number: u64) -> Row {
        match self {
            Source::Zipf(zipf) => zipf.row(number),
            Source::Text(text) => text.row(number),
            Source::Linear(linear) => linear.row(number),
            Source::Planar(planar) => planar.row(number),
        }
    }
}

impl Iterator for Rows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.next >= self.end {
            return None;
        }
        let number = self.next;
        self.next += 1;
        Some(self.source.row(number))
    }

    /// Rows passed over are not made.
    fn nth(&mut self, count: usize) -> Option<Row> {
        self.next = self.next.saturating_add(count as u64).min(self.end);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Rows {}

/// The truth of a plan, and its rows.
pub fn generate(plan: &Plan) -> Result<(Truth, Rows), SynthError> {
    plan.check()?;
    let (source, truth) = match plan.kind {
        Kind::Zipf => {
            let (zipf, truth) = Zipf::new(plan)?;
            (Source::Zipf(zipf), truth)
        }
        Kind::TextRegression => {
            let (text, truth) = Text::new(plan);
            (Source::Text(text), truth)
        }
        Kind::Correlated | Kind::Drift => {
            let (linear, truth) = Linear::new(plan);
            (Source::Linear(linear), truth)
        }
        Kind::DoubleRing | Kind::Xor => {
            let (planar, truth) = Planar::new(plan);
            (Source::Planar(planar), truth)
        }
    };
    Ok((truth, Rows { source, columns: plan.p, next: 0, end: plan.n as u64 }))
}

/// The nearest multiple of 0.0001.
fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of each kind, the text-like ones made small.
    fn plans(n: usize) -> Vec<Plan> {
        let small = |plan: Plan| match plan.kind {
            Kind::Zipf => Plan { p: 2000, k: 10, ..plan },
            Kind::TextRegression => Plan { p: 2000, k: 10, nonzeros: 50, ..plan },
            _ => plan,
        };
        Kind::ALL.into_iter().map(|kind| Plan { n, ..small(Plan::new(kind)) }).collect()
    }

    fn rows(plan: &Plan) -> Vec<Row> {
        generate(plan).unwrap().1.collect()
    }

    #[test]
    fn same_seed_same_rows_other_seed_other_rows() {
        for plan in plans(30) {
            assert_eq!(rows(&plan), rows(&plan));
            assert_eq!(generate(&plan).unwrap().0, generate(&plan).unwrap().0);
            assert_ne!(rows(&plan), rows(&Plan { seed: 1, ..plan.clone() }));
        }
    }

    #[test]
    fn the_first_rows_do_not_depend_on_how_many_are_asked_for() {
        for (few, many) in plans(100).iter().zip(plans(1000)) {
            let longer = rows(&many);
            assert_eq!(longer.len(), 1000);
            assert_eq!(rows(few), longer[..100]);
        }
    }

    #[test]
    fn skipping_is_the_same_as_passing_over() {
        for plan in plans(60) {
            let (_, skipped) = generate(&plan).unwrap();
            assert_eq!(skipped.len(), 60);
            assert_eq!(skipped.skip(50).collect::<Vec<_>>(), rows(&plan)[50..]);
            assert_eq!(generate(&plan).unwrap().1.nth(60), None);
        }
    }

    #[test]
    fn rows_are_well_formed() {
        for plan in plans(200) {
            for row in rows(&plan) {
                assert_eq!(row.ids.len(), row.values.len());
                assert!(row.ids.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(row.ids.iter().all(|&id| id >= 1 && id as usize <= plan.p));
                assert!(row.values.iter().all(|&value| value != 0.0 && value == round(value)));
                assert!(row.target.is_finite() && (!plan.classes || row.target.abs() == 1.0));
            }
        }
    }

    #[test]
    fn dense_blocks_hold_the_same_rows() {
        for plan in plans(300) {
            let (_, stream) = generate(&plan).unwrap();
            let mut cells = vec![f64::NAN; 200 * (plan.p + 1)];
            stream.fill(100, &mut cells);
            for (cells, row) in cells.chunks(plan.p + 1).zip(&rows(&plan)[100..]) {
                assert_eq!(&Row::from_dense(cells[0], &cells[1..]), row);
            }
        }
    }

    #[test]
    fn truth_is_plain_data() {
        for plan in plans(10) {
            let (truth, _) = generate(&plan).unwrap();
            let text = serde_json::to_string(&truth).unwrap();
            assert!(text.starts_with(&format!("{{\"kind\":\"{}\",\"n\":10,", plan.kind.name())), "{text}");
            assert_eq!(serde_json::from_str::<Truth>(&text).unwrap(), truth);
            assert_eq!(truth.features.len(), plan.k);
            assert!(truth.features.windows(2).all(|pair| pair[0].id < pair[1].id));
        }
    }

    #[test]
    fn bad_plans_are_refused() {
        assert!(generate(&Plan { k: 51, ..Plan::new(Kind::Xor) }).is_err());
        assert!(generate(&Plan { n: 0, ..Plan::new(Kind::Drift) }).is_err());
    }
}
