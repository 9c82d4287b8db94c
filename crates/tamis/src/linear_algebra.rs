//! Small dense vectors and symmetric matrices, stored row by row. All sums have a fixed order.

/// The inverse of the lower Cholesky factor of a positive definite matrix of `size` columns (only its upper half is read).
/// A column that earlier ones determine, or that is zero, gets a zero row.
pub(crate) fn inverse_factor(mut matrix: Vec<f64>, size: usize) -> Vec<f64> {
    let diagonal: Vec<f64> = (0..size).map(|column| matrix[column * size + column]).collect();
    let mut inverse = vec![0.0; size * size];
    for k in 0..size {
        let pivot = matrix[k * size + k];
        let (above, below) = matrix.split_at_mut((k + 1) * size);
        let row = &mut above[k * size + k + 1..];
        if pivot <= 1e-12 * diagonal[k] || pivot <= f64::MIN_POSITIVE {
            row.fill(0.0);
            continue;
        }
        let root = pivot.sqrt();
        row.iter_mut().for_each(|number| *number /= root);
        for (step, &factor) in row.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            let start = step * size + k + 1 + step;
            axpy(-factor, &row[step..], &mut below[start..(step + 1) * size]);
        }
        // Row k of the inverse: (e_k − Σ_{i<k} L_ki · row i)/L_kk, where L_ki is in row i of the upper factor.
        let (done, rest) = inverse.split_at_mut(k * size);
        let own = &mut rest[..k + 1];
        own[k] = 1.0;
        for i in 0..k {
            axpy(-above[i * size + k], &done[i * size..i * size + i + 1], &mut own[..i + 1]);
        }
        own.iter_mut().for_each(|number| *number /= root);
    }
    inverse
}

/// The inverse of a matrix, from the inverse of its lower factor.
pub(crate) fn inverse(factor: &[f64], size: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; size * size];
    for row in factor.chunks_exact(size.max(1)) {
        for (a, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            axpy(value, row, &mut inverse[a * size..(a + 1) * size]);
        }
    }
    inverse
}

/// vᵀ·matrix.
pub(crate) fn times(vector: &[f64], matrix: &[f64]) -> Vec<f64> {
    let size = vector.len();
    let mut product = vec![0.0; size];
    for (row, &factor) in matrix.chunks_exact(size.max(1)).zip(vector) {
        axpy(factor, row, &mut product);
    }
    product
}

/// target += factor·row.
pub(crate) fn axpy(factor: f64, row: &[f64], target: &mut [f64]) {
    pulp::Arch::new().dispatch(|| target.iter_mut().zip(row).for_each(|(target, number)| *target += factor * number));
}

pub(crate) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_times_the_matrix_is_one() {
        let matrix = vec![4.0, 2.0, 0.4, 2.0, 5.0, 1.0, 0.4, 1.0, 3.0];
        let inverse = inverse(&inverse_factor(matrix.clone(), 3), 3);
        for column in 0..3 {
            let unit: Vec<f64> = (0..3).map(|row| f64::from(u8::from(row == column))).collect();
            let product = times(&times(&unit, &matrix), &inverse);
            assert!(product.iter().zip(&unit).all(|(a, b)| (a - b).abs() < 1e-14), "{product:?}");
        }
    }

    #[test]
    fn nothing_has_an_empty_inverse() {
        assert!(inverse(&inverse_factor(Vec::new(), 0), 0).is_empty());
        assert!(times(&[], &[]).is_empty());
    }

    #[test]
    fn a_column_that_another_determines_is_left_out() {
        let factor = inverse_factor(vec![1.0, 2.0, 2.0, 4.0], 2);
        assert_eq!(factor, [1.0, 0.0, 0.0, 0.0]);
    }
}
