//! A learned metric: coordinates for new rows, and the training rows as reference rows of k-NN.
//!
//! W = Σ w ξξ′ over few terms of few variables. A row becomes φ(x), the terms of its scaled variables, and then the
//! coordinates L φ(x), turned so that the first axis is the direction in which the training rows vary most, and so on:
//! a turn changes no distance. Axes along which nothing varies are left out. Plain k-NN is the metric whose coordinates
//! are the scaled variables themselves.

use faer::{Mat, Side};
use serde::{Deserialize, Serialize};

use super::boost::{Boost, Step};
use super::classify::{ClassScore, base, shares, vote};
use super::dataset::{Dataset, Variable};
use super::knn::{NeighborList, Points, Search, search_in_blocks};
use super::learning_curve::CvResult;
use super::params::Params;
use super::real::{Real, double};
use super::sample::Sample;
use tamis::data::{FeatureKey, Label, RawRows, Vocabulary};
use tamis::model::MatrixColumns;
use tamis::parse::schema::ModelSchema;

/// A metric and its reference rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The name of the candidate.
    pub name: String,
    /// The parameters it was learned with; `None` for plain k-NN.
    pub params: Option<Params>,
    /// Cross-validation results of all candidates; empty without cross-validation.
    pub cv_results: Vec<CvResult>,
    /// Number of neighbours of the k-NN classifier.
    pub n_neighbors: usize,
    /// Number of neighbours of the base classifier f_W.
    pub metric_neighbors: usize,
    /// The classes.
    pub classes: Vec<Label>,
    /// The roles of columns, if a dataset was read.
    pub columns: Option<ModelSchema>,
    /// The columns of the matrix or frame it was learned from, where rows are not read from files.
    pub matrix: Option<MatrixColumns>,
    /// The variables in use and their standardization.
    pub variables: Vec<Variable>,
    /// Number of variables of the training data.
    pub n_features: usize,
    /// The terms of the coordinates.
    pub terms: Vec<Term>,
    /// W as a sum of rank-one updates: weight, and ξ as (term, entry).
    pub updates: Vec<(f64, Vec<(u32, f64)>)>,
    /// L, turned: axis by axis, an entry a term. Empty if terms are coordinates.
    pub(super) axes: Vec<f64>,
    /// The mean of each coordinate before it was centred.
    pub(super) offsets: Vec<f64>,
    /// The training rows, coordinate by coordinate, class by class.
    pub(super) points: Vec<f32>,
    /// Training rows of each class.
    pub(super) class_sizes: Vec<usize>,
}

/// A variable, or a product of variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The variables multiplied.
    pub variables: Vec<u32>,
    /// The divisor of the product of standardized variables.
    pub scale: f64,
}

/// The prediction for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// k-NN under the metric.
    pub vote: ClassScore,
    /// The base classifier f_W.
    pub base: ClassScore,
    /// The share of each class among the neighbours.
    pub shares: Vec<f64>,
}

/// Coordinates are kept finite, whatever rows hold.
const FARTHEST: f64 = 1e15;

impl Metric {
    /// The number of coordinates.
    pub fn dimensions(&self) -> usize {
        self.offsets.len()
    }

    /// The number of training rows.
    pub fn rows(&self) -> usize {
        self.class_sizes.iter().sum()
    }

    /// A term in words: `a`, `a·b`, `a²·b`.
    pub fn term_name(&self, term: usize) -> String {
        let list = &self.terms[term].variables;
        let mut parts: Vec<String> = Vec::new();
        for run in list.chunk_by(|a, b| a == b) {
            let power = match run.len() {
                1 => String::new(),
                2 => "²".into(),
                3 => "³".into(),
                more => format!("^{more}"),
            };
            parts.push(format!("{}{power}", self.variables[run[0] as usize].name));
        }
        parts.join("·")
    }

    /// Names of the variables, ready for lookup: the id is the place.
    pub fn vocabulary(&self) -> Vocabulary {
        let mut vocabulary = Vocabulary::new(None);
        for variable in &self.variables {
            vocabulary.intern(FeatureKey::from_name(&variable.name));
        }
        vocabulary
    }

    /// The coordinates of rows, row by row.
    pub fn transform(&self, rows: &RawRows, vocabulary: &Vocabulary) -> Vec<Vec<f64>> {
        let batch = rows.lookup(vocabulary);
        let mut values = vec![0.0; self.variables.len()];
        let one = |at: usize| {
            values.fill(0.0);
            batch.row(at).iter().for_each(|(id, value)| values[id as usize] = value);
            self.transform_row(&values)
        };
        (0..batch.len()).map(one).collect()
    }

    /// The coordinates of one row, from its raw variables.
    fn transform_row(&self, values: &[f64]) -> Vec<f64> {
        let standardize = |(value, one): (&f64, &Variable)| value / one.std - one.mean / one.std;
        let scaled: Vec<f64> = values.iter().zip(&self.variables).map(standardize).collect();
        let term = |term: &Term| {
            term.variables.iter().map(|&variable| scaled[variable as usize]).product::<f64>() / term.scale
        };
        let terms: Vec<f64> = self.terms.iter().map(term).collect();
        let coordinates: Vec<f64> = if self.axes.is_empty() {
            terms
        } else {
            let along = |axis: &[f64]| axis.iter().zip(&terms).map(|(a, b)| a * b).sum::<f64>();
            self.axes.chunks_exact(self.terms.len()).map(along).collect()
        };
        let bounded = |(one, offset): (f64, &f64)| {
            let one = one - offset;
            if one.is_nan() { 0.0 } else { one.clamp(-FARTHEST, FARTHEST) }
        };
        coordinates.into_iter().zip(&self.offsets).map(bounded).collect()
    }

    /// Predictions for rows with these coordinates.
    pub fn predict(&self, places: &[Vec<f64>]) -> Vec<Prediction> {
        let queries: Vec<f32> =
            (0..self.dimensions()).flat_map(|axis| places.iter().map(move |place| place[axis] as f32)).collect();
        let mut start = 0;
        let range = |&size: &usize| {
            start += size;
            start - size..start
        };
        let classes: Vec<std::ops::Range<usize>> = self.class_sizes.iter().map(range).collect();
        let search = Search { classes: &classes, k: self.n_neighbors.max(self.metric_neighbors), exclude_self: false };
        let rows = Points { count: self.rows(), values: &self.points };
        let queries = Points { count: places.len(), values: &queries };
        let answer = |_: usize, lists: &[NeighborList<f32>]| Prediction {
            vote: vote(lists, self.n_neighbors),
            base: base(lists, self.metric_neighbors),
            shares: shares(lists, self.n_neighbors),
        };
        search_in_blocks(rows, queries, &search, answer)
    }

    /// Plain k-NN on standardized variables.
    pub(super) fn plain(dataset: &Dataset, sample: &Sample<f32>, n_neighbors: usize) -> Metric {
        let count = sample.variables.len();
        Metric {
            terms: (0..count as u32).map(|one| Term { variables: vec![one], scale: 1.0 }).collect(),
            variables: (0..count).map(|at| scaled_variable(dataset, sample, at)).collect(),
            points: sample.values.clone(),
            offsets: vec![0.0; count],
            ..Metric::empty(dataset, sample, n_neighbors)
        }
    }

    /// A metric with the classes of the rows and without coordinates.
    fn empty<T>(dataset: &Dataset, sample: &Sample<T>, n_neighbors: usize) -> Metric {
        Metric {
            name: String::new(),
            params: None,
            cv_results: Vec::new(),
            n_neighbors,
            metric_neighbors: n_neighbors,
            classes: dataset.classes.clone(),
            columns: dataset.columns.clone(),
            matrix: None,
            variables: Vec::new(),
            n_features: dataset.variables.len() + dataset.constant,
            terms: Vec::new(),
            updates: Vec::new(),
            axes: Vec::new(),
            offsets: Vec::new(),
            points: Vec::new(),
            class_sizes: sample.classes.iter().map(|class| class.len()).collect(),
        }
    }

    /// The metric of the first `steps` steps of a run.
    pub(super) fn learned<T: Real>(
        dataset: &Dataset,
        sample: &Sample<T>,
        boost: &Boost<'_, T>,
        params: &Params,
        steps: usize,
        n_neighbors: usize,
    ) -> Metric {
        let steps: Vec<&Step> = boost.steps.iter().filter(|step| step.number <= steps).collect();
        let mut used: Vec<u32> = steps.iter().flat_map(|step| step.support.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let mut variables: Vec<u32> =
            used.iter().flat_map(|&term| boost.terms.lists[term as usize].iter().copied()).collect();
        variables.sort_unstable();
        variables.dedup();
        let place = |list: &[u32], one: &u32| list.binary_search(one).expect("it was put there") as u32;
        let term = |&term: &u32| Term {
            variables: boost.terms.lists[term as usize].iter().map(|one| place(&variables, one)).collect(),
            scale: boost.terms.scales[term as usize],
        };
        let step = |step: &&Step| {
            let entries = step.support.iter().zip(&step.values).map(|(term, &value)| (place(&used, term), value));
            (step.weight, entries.collect())
        };
        let mut metric = Metric {
            params: Some(params.clone()),
            metric_neighbors: params.metric_neighbors,
            terms: used.iter().map(term).collect(),
            variables: variables.iter().map(|&at| scaled_variable(dataset, sample, at as usize)).collect(),
            updates: steps.iter().map(step).collect(),
            ..Metric::empty(dataset, sample, n_neighbors)
        };
        let values: Vec<Vec<f64>> =
            used.iter().map(|&term| boost.terms.row(term).iter().map(|&one| double(one)).collect()).collect();
        metric.rotate(&values);
        metric
    }

    /// Finds the axes from the values of the terms on the training rows.
    fn rotate(&mut self, values: &[Vec<f64>]) {
        let rows = values.first().map_or(0, Vec::len);
        let factor = self.factor();
        let phi = Mat::from_fn(values.len(), rows, |term, row| values[term][row]);
        let coordinates = &factor * &phi;
        let size = coordinates.nrows();
        let mean = |at: usize| (0..rows).map(|row| coordinates[(at, row)]).sum::<f64>() / rows.max(1) as f64;
        let means: Vec<f64> = (0..size).map(mean).collect();
        let centred = Mat::from_fn(size, rows, |at, row| coordinates[(at, row)] - means[at]);
        let covariance = &centred * centred.transpose();
        let Ok(eigen) = covariance.self_adjoint_eigen(Side::Lower) else { return };
        let largest = eigen.S().column_vector().iter().fold(0.0, |most: f64, &one| most.max(one));
        let turned = eigen.U().transpose() * &factor;
        let (places, shifts) =
            (eigen.U().transpose() * &centred, eigen.U().transpose() * Mat::from_fn(size, 1, |at, _| means[at]));
        for at in (0..size).rev().filter(|&at| eigen.S()[at] > 1e-12 * largest) {
            let axis = || (0..values.len()).map(|term| turned[(at, term)]);
            let sign = axis().fold(0.0, |most: f64, one| if one.abs() > most.abs() { one } else { most }).signum();
            self.axes.extend(axis().map(|one| sign * one));
            self.offsets.push(sign * shifts[(at, 0)]);
            self.points.extend((0..rows).map(|row| (sign * places[(at, row)]) as f32));
        }
    }

    /// L with as few rows as there are steps, or terms.
    fn factor(&self) -> Mat<f64> {
        let (steps, terms) = (self.updates.len(), self.terms.len());
        let mut stacked = Mat::zeros(steps, terms);
        for (at, (weight, entries)) in self.updates.iter().enumerate() {
            entries.iter().for_each(|&(term, value)| stacked[(at, term as usize)] = weight.sqrt() * value);
        }
        if steps <= terms {
            return stacked;
        }
        let weights = stacked.transpose() * &stacked;
        match weights.self_adjoint_eigen(Side::Lower) {
            Ok(eigen) => Mat::from_fn(terms, terms, |at, term| eigen.S()[at].max(0.0).sqrt() * eigen.U()[(term, at)]),
            Err(_) => stacked,
        }
    }
}

/// A variable with the scale of the dataset and that of the sample in one.
fn scaled_variable<T>(dataset: &Dataset, sample: &Sample<T>, at: usize) -> Variable {
    let Variable { name, mean, std } = dataset.variables[sample.variables[at]].clone();
    let (shift, scale) = sample.scales[at];
    Variable { name, mean: mean + shift * std, std: std * scale }
}
