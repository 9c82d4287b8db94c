//! Runs that wait between two steps: what can be computed again from the rows is not kept.
//!
//! Cross-validation compares runs at some step and continues a few of them. A waiting run has its terms by name, its
//! neighbours and one coordinate a step: 4n bytes a step. Distances, values of interactions and margins of terms, which take
//! 4n² and 8np bytes, are computed again from these when the run goes on, so that its bits are those of a run that never
//! waited. That costs about as much as an update of the neighbours for every five steps so far.

use std::collections::BTreeSet;

use super::super::knn::DistanceMatrix;
use super::super::neighbor_graph::NeighborGraph;
use super::super::params::Params;
use super::super::real::Real;
use super::super::sample::Sample;
use super::super::terms::Terms;
use super::state::{Boost, HeldOutRows, Limits, RunPoint, Step, importance, sparse_rows};

/// A run after an update of its neighbours.
pub(crate) struct PausedRun<T> {
    terms: Terms<T>,
    graph: NeighborGraph,
    margins: Vec<f64>,
    residuals: Vec<f64>,
    diagonal: Vec<f64>,
    coordinates: Vec<Vec<T>>,
    coordinates_of_held_out: Vec<Vec<T>>,
    used: BTreeSet<u32>,
    /// Steps so far.
    pub(crate) taken: usize,
    due: usize,
    steps: Vec<Step>,
    /// The run so far.
    pub(crate) curve: Vec<RunPoint>,
}

impl<T: Real> Boost<'_, T> {
    /// The run without what can be computed again.
    pub(crate) fn pause(self) -> PausedRun<T> {
        PausedRun {
            terms: self.terms.without_values(),
            graph: self.graph,
            margins: self.margins,
            residuals: self.residuals,
            diagonal: self.diagonal,
            coordinates: self.coordinates,
            coordinates_of_held_out: self.held_out.map_or(Vec::new(), |held_out| held_out.coordinates),
            used: self.used,
            taken: self.taken,
            due: self.due,
            steps: self.steps,
            curve: self.curve,
        }
    }
}

impl<T: Real> PausedRun<T> {
    /// The run on the same rows and held-out rows, ready for its next step. Distances are due at its next update.
    pub(crate) fn resume<'a>(
        self,
        sample: &'a Sample<T>,
        params: &'a Params,
        limits: Limits,
        (values, class_of): (&'a [T], &'a [u32]),
    ) -> Boost<'a, T> {
        let rows = sample.rows();
        let terms = self.terms.with_values(sample.values.clone());
        let mut term_margins = vec![T::default(); terms.len() * rows];
        self.graph.margins_of_all(terms.values(), &mut term_margins);
        let distances = DistanceMatrix::new(class_of.len(), rows);
        Boost {
            sample,
            params,
            limits,
            terms,
            graph: self.graph,
            term_margins,
            importance: importance(sample, params.class_balance),
            margins: self.margins,
            residuals: self.residuals,
            diagonal: self.diagonal,
            distances: limits.distances(rows),
            coordinates: self.coordinates,
            added: 0,
            held_out: Some(HeldOutRows { values, class_of, distances, coordinates: self.coordinates_of_held_out }),
            sparse_rows: sparse_rows(sample, params),
            used: self.used,
            taken: self.taken,
            due: self.due,
            steps: self.steps,
            curve: self.curve,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::dataset::tests::dataset;
    use super::*;
    use tamis::rng::{RngStream, generator, uniform};

    #[test]
    fn a_run_that_waited_has_the_bits_of_one_that_did_not() {
        let mut random = generator(4, RngStream::ShardRows, 0);
        let mut text = String::from("a,b,c,d,y\n");
        for row in 0..90 {
            let [a, b, c, d] = [0; 4].map(|_| uniform(&mut random) - 0.5);
            text += &format!("{a},{b},{c},{d},{}\n", if a * b + 0.05 * (row % 3) as f64 > 0.03 { "p" } else { "q" });
        }
        let dataset = dataset("t.csv", &text).unwrap();
        let (train, held_out): (Vec<usize>, Vec<usize>) = (0..90).partition(|row| row % 4 > 0);
        let sample = Sample::<f32>::new(&dataset, &train);
        let values = sample.scaled(&dataset, &held_out);
        let class_of: Vec<u32> = held_out.iter().map(|&row| dataset.class_of[row]).collect();
        let params = Params { burn_in: 2, metric_neighbors: 3, ..Params::default() };
        let limits = Limits { dense_rows: 1000, term_bytes: 1 << 30, n_neighbors: 3, seed: 1 };
        for params in [params.clone(), Params { subsample: 0.5, squares: true, ..params }] {
            let run = |parts: &[usize]| {
                let mut boost = Boost::new(&sample, &params, limits);
                boost.hold_out(&values, &class_of);
                for &last in parts {
                    boost = boost.pause().resume(&sample, &params, limits, (&values, &class_of));
                    assert!(boost.run(last, &|| true));
                }
                (boost.steps, boost.curve, boost.residuals, boost.term_margins)
            };
            let (steps, curve, ..) = run(&[60]);
            assert!(steps.len() > 30 && curve.len() == 12, "{} steps", steps.len());
            assert_eq!(run(&[60]), run(&[10, 15, 40, 60]));
        }
    }
}
