//! Weighted sums of products of columns.
//!
//! Of n columns only the first `given` are multiplied with all others; of the rest, only the squares are summed. Sparse
//! rows cost the products of their entries; dense rows are added four at a time, which the compiler vectorises. The sums
//! have a fixed order.

/// A row over the columns of a matrix: (position, value).
pub(super) type Entries = [(u32, f64)];

/// Rows that are added at a time if they are dense.
const BLOCK: usize = 4;
/// A row with at least this share of the columns is dense.
const DENSE: usize = 4;

/// Σ w·xₐ·x_b over rows.
pub(super) struct Gram {
    given: usize,
    width: usize,
    /// Row a < `given`, column b ≥ a.
    products: Vec<f64>,
    /// Σ w·x² of the columns from `given` on.
    squares: Vec<f64>,
    /// Dense rows that are not added yet, and their weights.
    waiting: Vec<f64>,
    weights: Vec<f64>,
}

impl Gram {
    pub(super) fn new(given: usize, width: usize) -> Self {
        let (products, squares) = (vec![0.0; given * width], vec![0.0; width - given]);
        Gram { given, width, products, squares, waiting: Vec::new(), weights: Vec::new() }
    }

    pub(super) fn add(&mut self, row: &Entries, weight: f64) {
        for &(position, value) in row.iter().filter(|entry| entry.0 as usize >= self.given) {
            self.squares[position as usize - self.given] += weight * value * value;
        }
        if row.len() * DENSE >= self.width {
            return self.add_dense(row, weight);
        }
        for &(first, value) in row.iter().filter(|entry| (entry.0 as usize) < self.given) {
            let (factor, start) = (weight * value, first as usize * self.width);
            let products = &mut self.products[start..start + self.width];
            for &(second, value) in row.iter().filter(|entry| entry.0 >= first) {
                products[second as usize] += factor * value;
            }
        }
    }

    fn add_dense(&mut self, row: &Entries, weight: f64) {
        let start = self.waiting.len();
        self.waiting.resize(start + self.width, 0.0);
        row.iter().for_each(|&(position, value)| self.waiting[start + position as usize] = value);
        self.weights.push(weight);
        if self.weights.len() == BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let width = self.width;
        self.waiting.resize(BLOCK * width, 0.0);
        self.weights.resize(BLOCK, 0.0);
        let (first, rest) = self.waiting.split_at(width);
        let (second, rest) = rest.split_at(width);
        let (third, fourth) = rest.split_at(width);
        for column in 0..self.given {
            let factor = |number: usize, row: &[f64]| self.weights[number] * row[column];
            let factors = [factor(0, first), factor(1, second), factor(2, third), factor(3, fourth)];
            let products = &mut self.products[column * width + column..(column + 1) * width];
            let rows = first[column..].iter().zip(&second[column..]).zip(&third[column..]).zip(&fourth[column..]);
            for (product, (((a, b), c), d)) in products.iter_mut().zip(rows) {
                *product += (factors[0] * a + factors[1] * b) + (factors[2] * c + factors[3] * d);
            }
        }
        self.waiting.clear();
        self.weights.clear();
    }

    /// Ends the sums.
    pub(super) fn finish(&mut self) {
        if !self.weights.is_empty() {
            self.flush();
        }
    }

    /// The products of given column `a` with column `b` ≥ a.
    pub(super) fn product(&self, a: usize, b: usize) -> f64 {
        self.products[a * self.width + b]
    }

    /// Σ w·x² of a column.
    pub(super) fn square(&self, column: usize) -> f64 {
        if column < self.given { self.product(column, column) } else { self.squares[column - self.given] }
    }

    /// The matrix of the given columns, both halves.
    pub(super) fn given(&self) -> Vec<f64> {
        let size = self.given;
        let mut matrix = vec![0.0; size * size];
        for a in 0..size {
            for b in a..size {
                (matrix[a * size + b], matrix[b * size + a]) = (self.product(a, b), self.product(a, b));
            }
        }
        matrix
    }

    /// The products of all given columns with column `b`.
    pub(super) fn column(&self, b: usize) -> Vec<f64> {
        (0..self.given).map(|a| if a <= b { self.product(a, b) } else { self.product(b, a) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_and_dense_rows_give_the_same_sums() {
        let dense = [[1.0, 2.0, 0.0, -1.0, 0.5], [1.0, 0.0, 3.0, 0.0, 0.0], [1.0, -1.0, 1.0, 2.0, 4.0]];
        let mut gram = Gram::new(3, 5);
        for row in dense {
            let entries: Vec<(u32, f64)> = (0..).zip(row).filter(|entry| entry.1 != 0.0).collect();
            gram.add(&entries, 2.0);
        }
        // The same columns among many others, so that rows are sparse.
        let mut wide = Gram::new(3, 50);
        for row in dense {
            let entries: Vec<(u32, f64)> = (0..).zip(row).filter(|entry| entry.1 != 0.0).collect();
            wide.add(&entries, 2.0);
        }
        gram.finish();
        wide.finish();
        for a in 0..3 {
            for b in a..5 {
                let expected: f64 = dense.iter().map(|row| 2.0 * row[a] * row[b]).sum();
                assert_eq!((gram.product(a, b), wide.product(a, b)), (expected, expected), "{a} {b}");
            }
        }
        assert_eq!((gram.square(3), gram.square(4)), (10.0, 32.5));
        assert_eq!(gram.column(1), [2.0, 10.0, -2.0]);
    }
}
