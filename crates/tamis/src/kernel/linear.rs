//! Forward selection of a linear model, with which a kernel model is compared.
//!
//! Orthogonal matching pursuit (Pati, Rezaiifar & Krishnaprasad 1993): the column that correlates most with the residual
//! enters, is made orthogonal to those before it, and the residual loses its part along it. Squares of columns and their
//! products with the residual are updated, so that a step needs one product a column. The same steps on the columns
//! of held-out rows give their predictions, so that no system is solved. The number of columns is the one of least error
//! on the other half of the training rows. Cost: n·p for each column that enters.

use faer::Mat;

use super::rows::{HALVES, Rows};
use super::scan::weighted_dot;

/// Columns that enter, at most.
const MOST_STEPS: usize = 40;
/// Rows for each column that enters, at least.
const ROWS_PER_STEP: usize = 3;

/// Predictions for rows of a forward selection after each step.
pub struct ForwardSelection {
    /// By number of columns, from 0: a row for each predicted row, a column for each output.
    pub predictions: Vec<Mat<f64>>,
}

/// Selects columns on the rows `train` and predicts the rows `test` of the same matrix.
pub fn forward_selection(rows: &Rows, train: &[usize], test: &[usize], steps: usize) -> ForwardSelection {
    let (columns, outputs) = (rows.inputs.ncols(), rows.targets.ncols());
    let steps = steps.min(columns).min(train.len() / ROWS_PER_STEP);
    let weights: Vec<f64> = train.iter().map(|&row| rows.weights[row]).collect();
    let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let dot = |a: &[f64], b: &[f64]| weighted_dot(a, b, Some(&weights));
    let mean = |values: &[f64]| values.iter().zip(&weights).map(|(value, weight)| weight * value).sum::<f64>() / total;
    // All columns are kept orthogonal to those that have entered, on the training rows.
    let mut inside: Vec<Vec<f64>> = Vec::with_capacity(columns);
    let mut outside: Vec<Vec<f64>> = Vec::with_capacity(columns);
    for column in 0..columns {
        let all = rows.inputs.col(column);
        let mut own: Vec<f64> = train.iter().map(|&row| all[row]).collect();
        let centre = mean(&own);
        own.iter_mut().for_each(|value| *value -= centre);
        inside.push(own);
        outside.push(test.iter().map(|&row| all[row] - centre).collect());
    }
    let first: Vec<f64> = inside.iter().map(|column| dot(column, column)).collect();
    let mut prediction = Mat::zeros(test.len(), outputs);
    // By output: the products of the columns with the residual.
    let mut products: Vec<Vec<f64>> = Vec::new();
    for output in 0..outputs {
        let mut own: Vec<f64> = train.iter().map(|&row| rows.targets[(row, output)]).collect();
        let centre = mean(&own);
        own.iter_mut().for_each(|value| *value -= centre);
        products.push(inside.iter().map(|column| dot(column, &own)).collect());
        (0..test.len()).for_each(|row| prediction[(row, output)] = centre);
    }
    let mut squares = first.clone();
    let mut predictions = vec![prediction.clone()];
    let mut entered = vec![false; columns];
    for _ in 0..steps {
        let gain = |column: usize| {
            // A column that depends on those that have entered has nothing left but rounding errors.
            let is_left = !entered[column] && squares[column] > 1e-9 * first[column].max(f64::MIN_POSITIVE);
            let parts = || products.iter().map(|own| own[column].powi(2)).sum::<f64>();
            if is_left { parts() / squares[column] } else { -1.0 }
        };
        let gains: Vec<f64> = (0..columns).map(gain).collect();
        let Some(best) = (0..columns).max_by(|&a, &b| gains[a].total_cmp(&gains[b]).then(b.cmp(&a))) else { break };
        if gains[best] <= 0.0 {
            break;
        }
        entered[best] = true;
        let (own, own_test) = (std::mem::take(&mut inside[best]), std::mem::take(&mut outside[best]));
        let weighted: Vec<f64> = own.iter().zip(&weights).map(|(value, weight)| weight * value).collect();
        let square = weighted_dot(&own, &weighted, None);
        let slopes: Vec<f64> = products.iter().map(|products| products[best] / square).collect();
        for (output, slope) in slopes.iter().enumerate() {
            own_test.iter().enumerate().for_each(|(row, value)| prediction[(row, output)] += slope * value);
        }
        for column in (0..columns).filter(|&column| !entered[column]) {
            let product = weighted_dot(&weighted, &inside[column], None);
            let part = product / square;
            inside[column].iter_mut().zip(&own).for_each(|(value, other)| *value -= part * other);
            outside[column].iter_mut().zip(&own_test).for_each(|(value, other)| *value -= part * other);
            squares[column] -= part * product;
            products.iter_mut().zip(&slopes).for_each(|(products, slope)| products[column] -= slope * product);
        }
        predictions.push(prediction.clone());
    }
    ForwardSelection { predictions }
}

/// The number of columns with the least error on the other half of some rows.
pub fn choose_size(rows: &Rows, members: &[usize]) -> usize {
    let part = |inside: bool| -> Vec<usize> {
        members.iter().copied().filter(|&row| HALVES[0].contains(&rows.blocks[row]) == inside).collect()
    };
    let halves = [part(true), part(false)];
    let mut errors = vec![0.0; MOST_STEPS + 1];
    let mut last = MOST_STEPS;
    for (train, test) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
        let found = forward_selection(rows, train, test, MOST_STEPS);
        last = last.min(found.predictions.len() - 1);
        for (error, prediction) in errors.iter_mut().zip(&found.predictions) {
            *error += squared_error(rows, test, prediction);
        }
    }
    (0..=last).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0)
}

fn squared_error(rows: &Rows, members: &[usize], prediction: &Mat<f64>) -> f64 {
    let of_row = |(place, &row): (usize, &usize)| {
        let squares = (0..prediction.ncols()).map(|o| (rows.targets[(row, o)] - prediction[(place, o)]).powi(2));
        rows.weights[row] * squares.sum::<f64>()
    };
    members.iter().enumerate().map(of_row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_two_columns_is_found() {
        let value = |row: usize, column: usize| ((row * 31 + column * 17 + row * row * 7) % 101) as f64 / 50.0 - 1.0;
        let inputs = Mat::from_fn(80, 6, value);
        let targets = Mat::from_fn(80, 1, |row, _| 2.0 * value(row, 1) - value(row, 4) + 0.5);
        let rows = Rows { inputs, targets, weights: vec![1.0; 80], blocks: (0..80).map(|row| row % 8).collect() };
        let (train, test): (Vec<usize>, Vec<usize>) = (0..80).partition(|row| row % 4 != 0);
        let found = forward_selection(&rows, &train, &test, 6);
        let errors: Vec<f64> = found.predictions.iter().map(|one| squared_error(&rows, &test, one)).collect();
        assert!(errors[1] < errors[0] && errors[2] < 1e-20, "{errors:?}");
        assert_eq!(choose_size(&rows, &train).max(2), choose_size(&rows, &train), "both columns are needed");
    }
}
