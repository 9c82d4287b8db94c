//! A linear system by Gaussian elimination with pivoting.

/// x of `matrix`·x = `right`.
pub fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for column in 0..size {
        let magnitude = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..size).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b))).expect("a row is left");
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..size {
            let factor = matrix[row][column] / matrix[column][column];
            let above = matrix[column].clone();
            matrix[row].iter_mut().zip(&above).for_each(|(cell, above)| *cell -= factor * above);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_solves() {
        // The first pivot is zero, so that rows must be exchanged.
        let matrix = vec![vec![0.0, 2.0, 1.0], vec![4.0, -1.0, 3.0], vec![1.0, 5.0, -2.0]];
        let solution = solve(matrix.clone(), vec![7.0, 11.0, 5.0]);
        for (row, right) in matrix.iter().zip([7.0, 11.0, 5.0]) {
            let left: f64 = row.iter().zip(&solution).map(|(a, x)| a * x).sum();
            assert!((left - right).abs() < 1e-12, "{left} {right}");
        }
    }
}
