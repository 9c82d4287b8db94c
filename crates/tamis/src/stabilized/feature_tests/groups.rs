//! Groups of columns that determine each other: of these, "which one matters" has no answer.
//!
//! The columns are taken in the order of their evidence. One that the representatives before it determine (R² above 0.9, adjusted
//! for their number) joins the group of the representative that it is most correlated with; any other one becomes a representative. So
//! equal columns, a column and its complement, all values of a one-hot code and sums of other columns lose the freedom
//! that they do not have. With few rows for many columns, only the strongest representatives count as regressors, and pairs.

use super::gather::Gathered;
use crate::data::FeatureId;
use crate::stabilized::gram::{Gram, axpy};

/// A column with a smaller share of its variance left is determined by the representatives.
const LEFT: f64 = 0.1;
/// Leaders that count as regressors: one for each eight rows, and at most 512.
const ROWS_PER_REPRESENTATIVE: usize = 8;
const MOST_REGRESSORS: usize = 512;

/// A feature, and those that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) representative: FeatureId,
    pub(super) others: Vec<FeatureId>,
}

/// Groups of features, given from the most to the least evidence.
pub(super) fn groups(gathered: &Gathered, features: &[FeatureId]) -> Vec<Group> {
    let columns = gathered.columns_of(features);
    let (correlations, rows) = correlations(gathered, &columns);
    let (representatives, represented_by) = representatives(correlations, features.len(), rows);
    let mut groups: Vec<Group> = representatives
        .iter()
        .map(|&representative| Group { representative: features[representative], others: Vec::new() })
        .collect();
    for (number, representative) in represented_by.iter().enumerate() {
        if let Some(representative) = representative {
            groups[*representative].others.push(features[number]);
        }
    }
    groups
}

/// The correlations of columns (the upper half), and the number of rows.
fn correlations(gathered: &Gathered, columns: &[u32]) -> (Vec<f64>, usize) {
    let size = columns.len();
    let mut places = vec![u32::MAX; gathered.stats.len()];
    (0..).zip(columns).for_each(|(place, &column)| places[column as usize] = place);
    let mut gram = Gram::new(size, size);
    let (mut entries, mut total, mut rows) = (Vec::new(), 0.0, 0);
    for example in gathered.folds.iter().flat_map(|fold| fold.rows.examples()) {
        entries.clear();
        let placed = |(column, value): (u32, f64)| (places[column as usize], value);
        entries.extend(example.row.iter().map(placed).filter(|entry| entry.0 != u32::MAX));
        gram.add(&entries, example.weight);
        total += example.weight;
        rows += 1;
    }
    gram.finish();
    let stats = |place: usize| gathered.stats[columns[place] as usize];
    let mut matrix = vec![0.0; size * size];
    for a in 0..size {
        for b in a..size {
            let covariance = gram.product(a, b) / total - stats(a).mean * stats(b).mean;
            let scale = (stats(a).variance * stats(b).variance).sqrt();
            matrix[a * size + b] = if scale > 0.0 { covariance / scale } else { 0.0 };
        }
    }
    (matrix, rows)
}

/// The representatives, and for each other column the number of its representative: Cholesky's algorithm on the correlations, in order.
fn representatives(mut matrix: Vec<f64>, size: usize, rows: usize) -> (Vec<usize>, Vec<Option<usize>>) {
    let most = (rows / ROWS_PER_REPRESENTATIVE).clamp(1, MOST_REGRESSORS);
    let (mut representatives, mut represented_by): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), vec![None; size]);
    // The largest |correlation| of each column with a representative, and which one.
    let mut nearest: Vec<(f64, usize)> = vec![(0.0, 0); size];
    let mut regressors = 0;
    let correlations = matrix.clone();
    for k in 0..size {
        // Chance alone explains about a share regressors/rows of the variance.
        let left = matrix[k * size + k] * rows as f64 / (rows - regressors) as f64;
        let is_pair = nearest[k].0 * nearest[k].0 > 1.0 - LEFT;
        if !representatives.is_empty() && (left < LEFT || is_pair) {
            represented_by[k] = Some(nearest[k].1);
            continue;
        }
        for (column, nearest) in nearest.iter_mut().enumerate().skip(k + 1) {
            let correlation = correlations[k * size + column].abs();
            if correlation > nearest.0 {
                *nearest = (correlation, representatives.len());
            }
        }
        representatives.push(k);
        if regressors < most && matrix[k * size + k] > 1e-9 {
            regressors += 1;
            sweep(&mut matrix, size, k);
        }
    }
    (representatives, represented_by)
}

/// Takes column k out of all later columns.
fn sweep(matrix: &mut [f64], size: usize, k: usize) {
    let (above, below) = matrix.split_at_mut((k + 1) * size);
    let row = &above[k * size + k..];
    for (step, &number) in row[1..].iter().enumerate().filter(|(_, number)| **number != 0.0) {
        let start = step * size + k + 1 + step;
        axpy(-number / row[0], &row[step + 1..], &mut below[start..(step + 1) * size]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The correlations of columns of ±1 or other numbers.
    fn represented(columns: &[Vec<f64>]) -> Vec<Option<usize>> {
        let rows = columns[0].len();
        let standard = |column: &Vec<f64>| {
            let mean = column.iter().sum::<f64>() / rows as f64;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / rows as f64;
            column.iter().map(|x| (x - mean) / variance.sqrt()).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> = columns.iter().map(standard).collect();
        let size = columns.len();
        let mut matrix = vec![0.0; size * size];
        for a in 0..size {
            for b in a..size {
                matrix[a * size + b] =
                    columns[a].iter().zip(&columns[b]).map(|(x, y)| x * y).sum::<f64>() / rows as f64;
            }
        }
        representatives(matrix, size, rows).1
    }

    fn wave(step: usize) -> Vec<f64> {
        (0..400).map(|row| f64::from(((row * step) % 401 > 200) as u8)).collect()
    }

    #[test]
    fn complements_and_sums_are_represented_by_what_they_are_most_like() {
        let (one, two) = (wave(7), wave(31));
        let complement: Vec<f64> = one.iter().map(|x| 3.0 - x).collect();
        let sum: Vec<f64> = one.iter().zip(&two).map(|(x, y)| x + 3.0 * y).collect();
        assert_eq!(represented(&[one.clone(), two.clone(), complement, sum]), [None, None, Some(0), Some(1)]);
        assert_eq!(represented(&[one, two, wave(83), wave(151)]), [None; 4]);
    }

    #[test]
    fn a_one_hot_code_has_a_value_less_than_its_levels() {
        let level = |level: usize| (0..400).map(|row| f64::from((row % 3 == level) as u8)).collect::<Vec<f64>>();
        let represented = represented(&[level(0), level(1), level(2)]);
        assert_eq!(represented[..2], [None, None]);
        assert!(represented[2].is_some());
    }

    #[test]
    fn more_columns_than_rows_do_not_determine_each_other() {
        let columns: Vec<Vec<f64>> = (0..60)
            .map(|seed| (0..40u64).map(|row| (crate::rng::splitmix64(seed * 1000 + row) % 1000) as f64).collect())
            .collect();
        assert!(represented(&columns).iter().filter(|representative| representative.is_some()).count() <= 2);
    }
}
