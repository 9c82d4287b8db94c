//! Steps of a boosting run: a direction, its weight, and new interactions.

use rayon::prelude::*;

use super::super::interactions::add_interactions;
use super::super::line_search::{clipped_exp, line_search};
use super::super::real::{Real, dot};
use super::super::subsample::{sample_rows, sample_terms};
use super::super::truncated_power::{Direction, MarginMatrix, leading};
use super::state::{Boost, Step};

/// The most interactions that are added.
const MAX_INTERACTIONS: usize = 2000;

impl<T: Real> Boost<'_, T> {
    /// Takes the steps up to `last`; `go_on` is asked before each. Returns whether it always said yes.
    pub(crate) fn run(&mut self, last: usize, go_on: &dyn Fn() -> bool) -> bool {
        for number in self.taken + 1..=last {
            if !go_on() {
                return false;
            }
            self.step(number);
            self.taken = number;
            let is_due = number == self.due;
            if is_due || number == last {
                self.update(number);
            }
            if is_due {
                // Without stored distances an update costs more with every step: the interval doubles each time.
                let is_streamed = self.distances.is_none();
                self.due = if is_streamed { 2 * self.due } else { self.due + self.params.update_every };
            }
        }
        true
    }

    /// Neighbours of each class that are searched for.
    pub(super) fn keep(&self) -> usize {
        self.graph.k.max(self.limits.n_neighbors)
    }

    fn step(&mut self, number: usize) {
        let Some(direction) = self.direction(number) else { return };
        let Direction { support, values, along: coordinate, margins, .. } = direction;
        let Some(weight) = line_search(&self.residuals, &margins) else { return };
        let weight = self.params.learning_rate * weight;
        let root = weight.sqrt();
        if !coordinate.iter().all(|one| (root * one).abs() < 1e15) {
            return;
        }
        self.margins.iter_mut().zip(&margins).for_each(|(sum, margin)| *sum += weight * margin);
        self.find_residuals();
        self.coordinates.push(coordinate.iter().map(|one| T::of(root * one)).collect());
        if let Some(held_out) = &mut self.held_out {
            let rows = held_out.class_of.len();
            let coordinate = self.terms.along_others(&support, &values, held_out.values, rows);
            held_out.coordinates.push(coordinate.iter().map(|one| T::of(root * one)).collect());
        }
        for (&term, value) in support.iter().zip(&values) {
            self.diagonal[term as usize] += weight * value * value;
            self.used.extend(&self.terms.lists[term as usize]);
        }
        if number > self.params.burn_in && self.params.max_order > 1 {
            self.grow(&support);
        }
        self.steps.push(Step { number, weight, support, values });
    }

    fn direction(&self, number: usize) -> Option<Direction> {
        let columns = sample_terms(self.terms.len(), self.params, self.limits.seed, number);
        let residuals = self.subsampled_residuals(number);
        let rows = self.sample.rows();
        let numbers: Vec<T> = residuals.iter().map(|&one| T::of(one)).collect();
        let margins = |term: u32| &self.term_margins[term as usize * rows..(term as usize + 1) * rows];
        let diagonal: Vec<f64> =
            columns.par_iter().with_min_len(32).map(|&term| dot(margins(term), &numbers)).collect();
        let matrix = MarginMatrix {
            terms: &self.terms,
            graph: &self.graph,
            residuals: &residuals,
            columns: &columns,
            diagonal: &diagonal,
        };
        let max_terms = self.params.max_terms_of(self.terms.len());
        match &self.sparse_rows {
            None => leading(&matrix, max_terms, self.params),
            Some(rows) => {
                matrix.on_support(rows.support(&residuals, max_terms, self.limits.seed.wrapping_add(number as u64)))
            }
        }
    }

    /// The residuals of the rows of a step, scaled to a sum of one.
    fn subsampled_residuals(&self, number: usize) -> Vec<f64> {
        let inside = sample_rows(self.residuals.len(), self.params, self.limits.seed, number);
        let mut residuals: Vec<f64> = self.residuals.iter().zip(inside).map(|(one, is)| one * f64::from(is)).collect();
        let total: f64 = residuals.iter().sum();
        if total > 0.0 {
            residuals.iter_mut().for_each(|one| *one /= total);
        }
        residuals
    }

    pub(super) fn find_residuals(&mut self) {
        let residual = |(importance, margin): (&f64, &f64)| importance * clipped_exp(-margin);
        self.residuals = self.importance.iter().zip(&self.margins).map(residual).collect();
    }

    fn grow(&mut self, chosen: &[u32]) {
        let variables = self.sample.variables.len();
        let fits = self.limits.max_terms::<T>(self.sample.rows());
        let most = (variables + MAX_INTERACTIONS).min(fits.max(variables));
        let before = self.terms.len();
        add_interactions(&mut self.terms, chosen, &self.diagonal, self.params, most);
        self.diagonal.resize(self.terms.len(), 0.0);
        for term in before..self.terms.len() {
            let margins = self.graph.margins(self.terms.row(term as u32));
            self.term_margins.extend(margins);
        }
    }
}
