//! Terms: the variables, and interactions (products of variables) that the learner adds.
//!
//! A term is the sorted list of the variables it multiplies; the first p terms are the variables themselves. Values lie
//! term by term (features as rows), so that a product with a direction's residuals is one pass over memory.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::real::{Real, dot, double};

/// The terms and their values on the training rows.
pub(super) struct Terms<T> {
    rows: usize,
    /// The variables of each term.
    pub(super) lists: Vec<Vec<u32>>,
    /// The divisor of each term.
    pub(super) scales: Vec<f64>,
    places: BTreeMap<Vec<u32>, u32>,
    values: Vec<T>,
}

impl<T: Real> Terms<T> {
    /// The variables alone.
    pub(super) fn new(rows: usize, values: Vec<T>) -> Self {
        let count = (values.len() / rows.max(1)) as u32;
        Terms {
            rows,
            lists: (0..count).map(|variable| vec![variable]).collect(),
            scales: vec![1.0; count as usize],
            places: BTreeMap::new(),
            values,
        }
    }

    /// Forgets the values on the rows.
    pub(super) fn without_values(self) -> Self {
        Terms { values: Vec::new(), ..self }
    }

    /// The same terms with the values of the variables given, from which those of the interactions follow.
    pub(super) fn with_values(mut self, variables: Vec<T>) -> Self {
        let count = variables.len() / self.rows.max(1);
        self.values = variables;
        for (list, &scale) in self.lists[count..].iter().zip(&self.scales[count..]) {
            let values = product(list, &self.values, self.rows);
            self.values.extend(values.iter().map(|value| T::of(value / scale)));
        }
        self
    }

    /// The number of terms (p_m).
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    /// All terms on all rows, term by term.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    /// A term on all rows.
    pub(super) fn row(&self, term: u32) -> &[T] {
        &self.values[term as usize * self.rows..(term as usize + 1) * self.rows]
    }

    /// Adds an interaction, unless it exists, is constant, or has one variable only.
    pub(super) fn add(&mut self, list: Vec<u32>, scaled: bool) -> Option<u32> {
        if list.len() < 2 || self.places.contains_key(&list) {
            return None;
        }
        let values = product(&list, &self.values, self.rows);
        let mean = values.iter().sum::<f64>() / self.rows as f64;
        let spread = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / self.rows as f64).sqrt();
        let place = self.len() as u32;
        self.places.insert(list.clone(), place);
        if spread.is_nan() || spread <= 1e-6 || spread > 1e15 {
            return None;
        }
        let spread = if scaled { spread } else { 1.0 };
        self.values.extend(values.iter().map(|value| T::of(value / spread)));
        self.lists.push(list);
        self.scales.push(spread);
        Some(place)
    }

    /// Φ v for the terms named: one number a term.
    pub(super) fn times(&self, terms: &[u32], vector: &[f64]) -> Vec<f64> {
        let vector: Vec<T> = vector.iter().map(|&one| T::of(one)).collect();
        terms.par_iter().with_min_len(32).map(|&term| dot(self.row(term), &vector)).collect()
    }

    /// Φ′ξ: the direction's coordinate of each row.
    pub(super) fn along(&self, support: &[u32], direction: &[f64]) -> Vec<f64> {
        let mut coordinate = vec![0.0; self.rows];
        for (&term, &value) in support.iter().zip(direction) {
            coordinate.iter_mut().zip(self.row(term)).for_each(|(sum, &one)| *sum += value * double(one));
        }
        coordinate
    }

    /// The same coordinate of other rows, whose variables are given.
    pub(super) fn along_others(&self, support: &[u32], direction: &[f64], values: &[T], rows: usize) -> Vec<f64> {
        let mut coordinate = vec![0.0; rows];
        for (&term, &value) in support.iter().zip(direction) {
            let factor = value / self.scales[term as usize];
            let products = product(&self.lists[term as usize], values, rows);
            coordinate.iter_mut().zip(products).for_each(|(sum, one)| *sum += factor * one);
        }
        coordinate
    }
}

/// The product of variables, row by row.
fn product<T: Real>(list: &[u32], values: &[T], rows: usize) -> Vec<f64> {
    let mut product = vec![1.0; rows];
    for &variable in list {
        let column = &values[variable as usize * rows..(variable as usize + 1) * rows];
        product.iter_mut().zip(column).for_each(|(product, &value)| *product *= double(value));
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_added_once_and_scaled() {
        let mut terms = Terms::new(4, vec![1.0, -1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 5.0]);
        assert_eq!(terms.add(vec![0, 1], true), Some(2));
        assert_eq!(terms.add(vec![0, 1], true), None);
        assert_eq!(terms.add(vec![0], true), None);
        // 1, −1, 6, 0: mean 1.5, variance 7.25.
        let spread = 7.25f64.sqrt();
        assert!((terms.scales[2] - spread).abs() < 1e-12 && (terms.row(2)[2] - 6.0 / spread).abs() < 1e-12);
        assert_eq!(terms.times(&[0, 2], &[1.0, 0.0, 0.0, 1.0])[0], 1.0);
        let others = terms.along_others(&[0, 2], &[0.5, 2.0], &[3.0, 4.0], 1);
        assert!((others[0] - (1.5 + 2.0 * 12.0 / spread)).abs() < 1e-12);
        assert_eq!(terms.along(&[0], &[2.0]), [2.0, -2.0, 4.0, 0.0]);
    }

    #[test]
    fn values_come_back_from_those_of_the_variables() {
        let variables: Vec<f32> = (0..15).map(|at| ((at * 7) % 11) as f32 * 0.3 - 1.0).collect();
        let mut terms = Terms::new(5, variables.clone());
        for list in [vec![0, 1], vec![1, 1], vec![0, 0, 2]] {
            terms.add(list, true).unwrap();
        }
        let values = terms.values.clone();
        let terms = terms.without_values();
        assert!(terms.values.is_empty() && terms.len() == 6);
        let terms = terms.with_values(variables);
        assert_eq!(terms.values, values);
    }

    #[test]
    fn a_product_that_does_not_vary_is_no_candidate() {
        let mut terms = Terms::new(3, vec![1.0f32, -1.0, 1.0]);
        assert_eq!(terms.add(vec![0, 0], false), None);
        assert_eq!(terms.len(), 1);
    }
}
