//! The state of a boosting run: terms, neighbours, margins and residuals, and the steps taken.

use std::collections::BTreeSet;

use super::super::euclidean::euclidean_neighbors;
use super::super::knn::DistanceMatrix;
use super::super::neighbor_graph::NeighborGraph;
use super::super::params::{Params, SupportSearch};
use super::super::real::Real;
use super::super::sample::Sample;
use super::super::sparse_support::SparseRows;
use super::super::terms::Terms;

/// One accepted step: W grows by weight · ξξ′.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// w, the learning rate included.
    pub(crate) weight: f64,
    /// The terms of ξ.
    pub(crate) support: Vec<u32>,
    /// Their entries.
    pub(crate) values: Vec<f64>,
}

/// How good the metric was at one update of the neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunPoint {
    /// Steps so far.
    pub(crate) step: usize,
    /// Σ cᵢ exp(−uᵢ).
    pub(crate) loss: f64,
    /// Variables in the metric.
    pub(crate) variables: usize,
    /// Training rows whose own neighbours put them in the wrong class (leave-one-out).
    pub(crate) wrong: usize,
    /// Held-out rows put in the wrong class, by k-NN and by f_W.
    pub(crate) held_out_wrong: Option<[usize; 2]>,
}

/// Limits of a run; they do not change what is learned on small data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// With more rows than this, distances are computed block by block and not stored.
    pub(crate) dense_rows: usize,
    /// Bytes for terms and their margins.
    pub(crate) term_bytes: u64,
    /// k of the k-NN classifier.
    pub(crate) n_neighbors: usize,
    /// Seed of the subsamples of rows and terms.
    pub(crate) seed: u64,
}

impl Limits {
    /// A place for the distances between rows, unless they are too many.
    pub(super) fn distances<T: Real>(&self, rows: usize) -> Option<DistanceMatrix<T>> {
        (rows <= self.dense_rows).then(|| DistanceMatrix::new(rows, rows))
    }

    /// The number of terms that fit, with their margins.
    pub(super) fn max_terms<T>(&self, rows: usize) -> usize {
        (self.term_bytes / (2 * size_of::<T>() * rows).max(1) as u64) as usize
    }
}

/// Held-out rows: the metric is not learned from them, and is evaluated on them.
pub(super) struct HeldOutRows<'a, T> {
    pub(super) values: &'a [T],
    pub(super) class_of: &'a [u32],
    pub(super) distances: DistanceMatrix<T>,
    /// Their coordinates, one of each step.
    pub(super) coordinates: Vec<Vec<T>>,
}

/// A boosting run.
pub(crate) struct Boost<'a, T> {
    pub(super) sample: &'a Sample<T>,
    pub(super) params: &'a Params,
    pub(super) limits: Limits,
    pub(crate) terms: Terms<T>,
    pub(super) graph: NeighborGraph,
    /// E: the margins of every term.
    pub(super) term_margins: Vec<T>,
    /// c: the importance of every row.
    pub(super) importance: Vec<f64>,
    /// u.
    pub(super) margins: Vec<f64>,
    /// ρ.
    pub(super) residuals: Vec<f64>,
    /// The diagonal of W.
    pub(super) diagonal: Vec<f64>,
    /// Distances between training rows, which grow with each coordinate. With too many rows there are none, and distances
    /// are computed from all coordinates.
    pub(super) distances: Option<DistanceMatrix<T>>,
    /// Coordinates of the training rows, one of each step.
    pub(super) coordinates: Vec<Vec<T>>,
    /// How many of them the distances have.
    pub(super) added: usize,
    pub(super) held_out: Option<HeldOutRows<'a, T>>,
    /// The rows for the stabilized learner, if it finds the support.
    pub(super) sparse_rows: Option<SparseRows>,
    /// Variables in the metric.
    pub(super) used: BTreeSet<u32>,
    /// Steps so far, those that found nothing included.
    pub(super) taken: usize,
    /// The step of the next update.
    pub(super) due: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) curve: Vec<RunPoint>,
}

impl<'a, T: Real> Boost<'a, T> {
    /// A run before its first step; every class must have two rows.
    pub(crate) fn new(sample: &'a Sample<T>, params: &'a Params, limits: Limits) -> Self {
        Self::with_neighbors(sample, params, limits, None)
    }

    /// The same; `euclidean` has at least as many neighbours as are wanted, by the Euclidean distance of the variables.
    pub(crate) fn with_neighbors(
        sample: &'a Sample<T>,
        params: &'a Params,
        limits: Limits,
        euclidean: Option<&NeighborGraph>,
    ) -> Self {
        let rows = sample.rows();
        let k = sample.most_neighbors(params.metric_neighbors);
        let importance = importance(sample, params.class_balance);
        let terms = first_terms(sample, params, limits.max_terms::<T>(rows));
        let mut boost = Boost {
            sample,
            params,
            limits,
            graph: match euclidean.filter(|_| !params.squares) {
                Some(graph) => graph.nearest(k),
                None => euclidean_neighbors(sample, terms.values(), k),
            },
            term_margins: Vec::new(),
            margins: vec![0.0; rows],
            residuals: importance.clone(),
            importance,
            diagonal: vec![0.0; terms.len()],
            terms,
            distances: limits.distances(rows),
            coordinates: Vec::new(),
            added: 0,
            held_out: None,
            sparse_rows: sparse_rows(sample, params),
            used: BTreeSet::new(),
            taken: 0,
            due: params.update_every,
            steps: Vec::new(),
            curve: Vec::new(),
        };
        boost.find_term_margins();
        boost
    }

    /// Evaluates the metric on these rows too, given variable by variable.
    pub(crate) fn hold_out(&mut self, values: &'a [T], class_of: &'a [u32]) {
        let distances = DistanceMatrix::new(class_of.len(), self.sample.rows());
        self.held_out = Some(HeldOutRows { values, class_of, distances, coordinates: Vec::new() });
    }
}

/// The rows for the stabilized learner, if it finds the support.
pub(super) fn sparse_rows<T: Real>(sample: &Sample<T>, params: &Params) -> Option<SparseRows> {
    (params.support_search == SupportSearch::Stabilized).then(|| SparseRows::new(sample))
}

/// The variables, and their squares if they are asked for and fit.
fn first_terms<T: Real>(sample: &Sample<T>, params: &Params, most: usize) -> Terms<T> {
    let mut terms = Terms::new(sample.rows(), sample.values.clone());
    for variable in 0..sample.variables.len() as u32 {
        if params.squares && terms.len() < most {
            terms.add(vec![variable; 2], params.scale_interactions);
        }
    }
    terms
}

/// c: the importance of each row, 1 on average; with class balance, all classes have the same total.
pub(super) fn importance<T>(sample: &Sample<T>, class_balance: bool) -> Vec<f64> {
    let total: f64 = sample.weights.iter().sum();
    let of_class: Vec<f64> = sample.classes.iter().map(|class| sample.weights[class.clone()].iter().sum()).collect();
    let (rows, classes) = (sample.weights.len() as f64, sample.classes.len() as f64);
    let share = |(weight, &class): (&f64, &u32)| {
        if class_balance {
            weight * rows / (classes * of_class[class as usize]).max(f64::MIN_POSITIVE)
        } else {
            weight * rows / total.max(f64::MIN_POSITIVE)
        }
    };
    sample.weights.iter().zip(&sample.class_of).map(share).collect()
}
