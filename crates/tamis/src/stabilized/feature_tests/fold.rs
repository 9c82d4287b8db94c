//! The rows of a fold as a test sees them: columns, targets, margins, and residual columns.

use crate::data::Batch;
use crate::loss::{Logistic, Loss};

/// w of a row, at least.
const MIN_WEIGHT: f64 = 1e-4;

/// How margins become means of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The mean is the margin.
    Identity,
    /// The margin is the log-odds of the target 1 against 0.
    Logistic,
}

impl Link {
    /// μ(η).
    pub fn mean(self, margin: f64) -> f64 {
        match self {
            Link::Identity => margin,
            Link::Logistic => Logistic.response(margin),
        }
    }

    /// w(η): the variance of the target, but for a factor.
    pub fn weight(self, margin: f64) -> f64 {
        match self {
            Link::Identity => 1.0,
            Link::Logistic => {
                let mean = self.mean(margin);
                (mean * (1.0 - mean)).max(MIN_WEIGHT)
            }
        }
    }
}

/// Facts about a column over all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColumnStats {
    /// The mean, by importance weight.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
    /// The share of rows that contain it.
    pub share: f64,
}

/// The rows of one fold, and what the ensemble that never saw them says.
#[derive(Clone, Debug, Default)]
pub struct TestFold {
    /// The rows over the columns. Targets are numbers, or 1 and 0.
    pub rows: Batch,
    /// η: the margin of each row by the ensemble.
    pub margins: Vec<f64>,
    /// b: the weight of each column in these margins.
    pub own: Vec<f64>,
    /// S: the columns to condition on.
    pub given: Vec<u32>,
}

/// Where columns stand in the matrices of a fold: the intercept first, then the given columns, then others.
pub(super) struct Design {
    pub(super) places: Vec<u32>,
    /// The given columns with the intercept.
    pub(super) given: usize,
    pub(super) width: usize,
}

impl Design {
    pub(super) const ABSENT: u32 = u32::MAX;

    pub(super) fn new(given: &[u32], others: &[u32], columns: usize) -> Self {
        let mut places = vec![Self::ABSENT; columns];
        for (place, &column) in (1..).zip(given.iter().chain(others)) {
            places[column as usize] = place;
        }
        Design { places, given: given.len() + 1, width: 1 + given.len() + others.len() }
    }

    /// The entries of a row, with the intercept.
    pub(super) fn entries(&self, rows: &Batch, row: usize, entries: &mut Vec<(u32, f64)>) {
        entries.clear();
        entries.push((0, 1.0));
        for (column, value) in rows.row(row).iter() {
            let place = self.places[column as usize];
            if place != Self::ABSENT {
                entries.push((place, value));
            }
        }
    }
}

/// A tested column as its residual: x̃ = x + Σ coefficient·(given column); x is left out if it is one of these.
pub(super) struct Residual {
    pub(super) column: u32,
    pub(super) coefficients: Vec<f64>,
    /// The place of x behind the given columns.
    pub(super) outside: Option<u32>,
    /// Σ v·w·x̃² with the ridge, which the normal equations give.
    pub(super) ridged: f64,
}

/// A column as a sum of representatives, but for a constant and a small rest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Determined {
    pub(super) column: u32,
    /// Columns of representatives with their coefficients.
    pub(super) parts: Vec<(u32, f64)>,
}

impl Determined {
    /// Writes margins without the determined columns: what `own` weighs them with goes to their parts.
    pub(super) fn substitute(list: &[Determined], own: &mut [f64], given: &mut Vec<u32>) {
        given.retain(|column| list.iter().all(|one| one.column != *column));
        for one in list {
            let weight = std::mem::take(&mut own[one.column as usize]);
            one.parts.iter().for_each(|&(part, coefficient)| own[part as usize] += coefficient * weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_a_one_hot_code_do_not_depend_on_how_it_is_written() {
        // Three values, of which the last is left out: x₂ = 1 − x₀ − x₁.
        let determined = [Determined { column: 2, parts: vec![(0, -1.0), (1, -1.0)] }];
        let without = |mut own: Vec<f64>| {
            let mut given = vec![2, 0, 3];
            Determined::substitute(&determined, &mut own, &mut given);
            assert_eq!(given, [0, 3]);
            own
        };
        assert_eq!(without(vec![5.0, 0.0, 0.0, 7.0]), [5.0, 0.0, 0.0, 7.0]);
        assert_eq!(without(vec![3.0, -2.0, -2.0, 7.0]), [5.0, 0.0, 0.0, 7.0], "a constant less for each value");
    }
}
