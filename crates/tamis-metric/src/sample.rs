//! Rows to learn from, class by class, each variable centred and scaled by these rows alone.
//!
//! Rows of a class lie together, so that "the nearest of a class" is a search in one stretch of memory.

use std::ops::Range;

use super::number::Real;
use super::table::{Table, centre_and_spread};

/// Rows of a table, sorted by class.
pub(super) struct Sample<T> {
    /// The row of the table at each place.
    pub(super) order: Vec<usize>,
    /// The places of each class.
    pub(super) classes: Vec<Range<usize>>,
    /// The class at each place.
    pub(super) class_of: Vec<u32>,
    /// The importance at each place.
    pub(super) weights: Vec<f64>,
    /// The variables of the table that vary here.
    pub(super) variables: Vec<usize>,
    /// Mean and deviation of each, in the table's units.
    pub(super) scales: Vec<(f64, f64)>,
    /// What a zero of the data became, variable by variable.
    pub(super) zeros: Vec<f64>,
    /// Variable by variable.
    pub(super) values: Vec<T>,
}

impl<T: Real> Sample<T> {
    /// Takes the rows named.
    pub(super) fn new(table: &Table, rows: &[usize]) -> Self {
        let mut order = rows.to_vec();
        order.sort_by_key(|&row| (table.class_of[row], row));
        let class_of: Vec<u32> = order.iter().map(|&row| table.class_of[row]).collect();
        let start = |class: usize| class_of.partition_point(|&one| (one as usize) < class);
        let classes = (0..table.classes.len()).map(|class| start(class)..start(class + 1)).collect();
        let weights = order.iter().map(|&row| table.weights[row]).collect();
        let (mut variables, mut scales, mut zeros) = (Vec::new(), Vec::new(), Vec::new());
        let mut values = Vec::with_capacity(order.len() * table.variables.len());
        for variable in 0..table.variables.len() {
            let column = table.values(variable);
            let column: Vec<f64> = order.iter().map(|&row| f64::from(column[row])).collect();
            if let Some((centre, spread)) = centre_and_spread(&column) {
                variables.push(variable);
                scales.push((centre, spread));
                let of_table = &table.variables[variable];
                zeros.push((-of_table.centre / of_table.spread - centre) / spread);
                values.extend(column.iter().map(|value| T::of((value - centre) / spread)));
            }
        }
        Sample { order, classes, class_of, weights, variables, scales, zeros, values }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.order.len()
    }

    /// Other rows of the same table, scaled by these rows, variable by variable.
    pub(super) fn scaled(&self, table: &Table, rows: &[usize]) -> Vec<T> {
        let scaled = self.variables.iter().zip(&self.scales).flat_map(|(&variable, &(centre, spread))| {
            let column = table.values(variable);
            rows.iter().map(move |&row| T::of((f64::from(column[row]) - centre) / spread))
        });
        scaled.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::*;

    #[test]
    fn rows_lie_class_by_class_and_are_scaled_by_themselves() {
        let table = table("t.csv", "a,b,y\n5,0,q\n1,0,p\n3,0,p\n9,1,q\n100,0,p\n").unwrap();
        let sample = Sample::<f64>::new(&table, &[0, 1, 2, 3]);
        assert_eq!((&sample.order[..], &sample.classes[..]), (&[1, 2, 0, 3][..], &[0..2, 2..4][..]));
        let spread = 8.75f64.sqrt();
        let expected = [-3.5, -1.5, 0.5, 4.5].map(|value| value / spread);
        assert!(sample.values[..4].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{:?}", sample.values);
        let other = sample.scaled(&table, &[4]);
        assert!((other[0] - 95.5 / spread).abs() < 1e-4 && other.len() == 2);
        assert_eq!(Sample::<f64>::new(&table, &[0, 1, 2]).variables, [0]);
    }
}
