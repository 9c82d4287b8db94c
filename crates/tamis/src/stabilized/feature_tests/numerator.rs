//! What a column's own part in the margins adds to its score.
//!
//! The margin η of a row contains b·x of the tested column. It is taken out around the mean m of the column, so that the
//! margins stay right on average: Σ v·x̃·(μ(η) − μ(η − b·(x − m))) is added to Σ v·x̃·(y − μ(η)). For a rare column, rows
//! that do not contain it are taken together: there μ(η) − μ(η + b·m) ≈ −w·b·m, and Σ v·w·x̃ over all rows is zero.

use super::fold::{ColumnStats, Design, Link, Residual, TestFold};
use crate::linear_algebra::axpy;

/// Columns of fewer rows than this share are rare.
const RARE: f64 = 1.0 / 16.0;

/// The link, and facts about the columns.
type Columns<'a> = (Link, &'a [ColumnStats]);

/// A tested column with a weight in the margins.
struct Own<'a> {
    number: usize,
    residual: &'a Residual,
    weight: f64,
    mean: f64,
}

/// For each residual, the sum over the rows.
pub(super) fn own_parts(test: Columns<'_>, fold: &TestFold, design: &Design, residuals: &[Residual]) -> Vec<f64> {
    let mut sums = vec![0.0; residuals.len()];
    let own = |(number, residual): (usize, &'_ Residual)| (number, residual.column as usize);
    let with_weight: Vec<(usize, usize)> =
        residuals.iter().enumerate().map(own).filter(|&(_, column)| fold.own[column] != 0.0).collect();
    let of = |&(number, column): &(usize, usize)| Own {
        number,
        residual: &residuals[number],
        weight: fold.own[column],
        mean: test.1[column].mean,
    };
    let (rare, common): (Vec<_>, Vec<_>) = with_weight.iter().partition(|&&(_, column)| test.1[column].share < RARE);
    add_common(test, fold, design, &common.iter().map(of).collect::<Vec<_>>(), &mut sums);
    add_rare(test, fold, design, &rare.iter().map(of).collect::<Vec<_>>(), &mut sums);
    sums
}

/// Adds columns that most rows contain: every row counts.
fn add_common(test: Columns<'_>, fold: &TestFold, design: &Design, columns: &[Own<'_>], sums: &mut [f64]) {
    if columns.is_empty() {
        return;
    }
    // Row c has the coefficients of all columns for the given column c.
    let coefficient = |place: usize| columns.iter().map(move |own| own.residual.coefficients[place]);
    let table: Vec<f64> = (0..design.given).flat_map(coefficient).collect();
    let mut positions = vec![Design::ABSENT; test.1.len()];
    (0..).zip(columns).for_each(|(position, own)| positions[own.residual.column as usize] = position);
    let (mut residual, mut values, mut entries) = (vec![0.0; columns.len()], vec![0.0; columns.len()], Vec::new());
    for (row, &margin) in fold.margins.iter().enumerate() {
        let example = fold.rows.example(row);
        residual.fill(0.0);
        values.fill(0.0);
        design.entries(&fold.rows, row, &mut entries);
        for &(place, value) in entries.iter().filter(|entry| (entry.0 as usize) < design.given) {
            let start = place as usize * columns.len();
            axpy(value, &table[start..start + columns.len()], &mut residual);
        }
        for (column, value) in example.row.iter() {
            let position = positions[column as usize];
            if position != Design::ABSENT {
                values[position as usize] = value;
            }
        }
        let mean = test.0.mean(margin);
        for ((own, &value), &residual) in columns.iter().zip(&values).zip(&residual) {
            let residual = if own.residual.outside.is_some() { residual + value } else { residual };
            let change = mean - test.0.mean(margin - own.weight * (value - own.mean));
            sums[own.number] += example.weight * residual * change;
        }
    }
}

/// Adds rare columns: rows that contain them are exact, the others to first order.
fn add_rare(test: Columns<'_>, fold: &TestFold, design: &Design, columns: &[Own<'_>], sums: &mut [f64]) {
    let mut positions = vec![Design::ABSENT; test.1.len()];
    (0..).zip(columns).for_each(|(position, own)| positions[own.residual.column as usize] = position);
    let mut entries = Vec::new();
    for (row, &margin) in fold.margins.iter().enumerate() {
        let example = fold.rows.example(row);
        let is_tested = |&(column, _): &(u32, f64)| positions[column as usize] != Design::ABSENT;
        let mut tested = example.row.iter().filter(is_tested).peekable();
        if tested.peek().is_none() {
            continue;
        }
        design.entries(&fold.rows, row, &mut entries);
        let (mean, weight) = (test.0.mean(margin), test.0.weight(margin));
        for (column, value) in tested {
            let own = &columns[positions[column as usize] as usize];
            let given = entries.iter().filter(|entry| (entry.0 as usize) < design.given);
            let on_given: f64 = given.map(|&(place, value)| own.residual.coefficients[place as usize] * value).sum();
            let residual = if own.residual.outside.is_some() { on_given + value } else { on_given };
            let change = mean - test.0.mean(margin - own.weight * (value - own.mean));
            sums[own.number] += example.weight * residual * (change + weight * own.weight * own.mean);
        }
    }
}
