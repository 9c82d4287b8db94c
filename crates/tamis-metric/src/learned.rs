//! A learned metric: what new rows need to be placed among the training rows.
//!
//! W = Σ w ξξ′ over few terms of few variables. A row becomes φ(x), the terms of its scaled variables, and then the
//! coordinates L φ(x), turned so that the first axis is the direction in which the training rows vary most, and so on:
//! a turn changes no distance. Axes along which nothing varies are left out. Plain k-NN is the metric whose coordinates
//! are the scaled variables themselves.

use faer::{Mat, Side};
use serde::{Deserialize, Serialize};

use super::boost::{Boost, Step};
use super::course::Judged;
use super::nearest::{Nearest, Points, Search, stream};
use super::number::{Real, double};
use super::sample::Sample;
use super::settings::Settings;
use super::table::{Table, Variable};
use super::vote::{Verdict, base, vote};
use tamis::data::{Dictionary, FeatureKey, Label, ParsedRows};
use tamis::parse::columns::KnownColumns;

/// A metric and the rows it was learned from, as points.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// What the candidate was called that became this metric.
    pub name: String,
    /// How it was learned; nothing for plain k-NN.
    pub settings: Option<Settings>,
    /// How every candidate did on rows held out; empty if there was nothing to choose.
    pub judged: Vec<Judged>,
    /// Rows that vote.
    pub voters: usize,
    /// k of f_W.
    pub neighbours: usize,
    /// The classes.
    pub classes: Vec<Label>,
    /// The roles of columns, if a table was read.
    pub columns: Option<KnownColumns>,
    /// The variables that count, and how they are scaled.
    pub variables: Vec<Variable>,
    /// Variables there were.
    pub width: usize,
    /// What coordinates are made of.
    pub terms: Vec<Term>,
    /// W as a sum: weight, and ξ as (term, entry).
    pub steps: Vec<(f64, Vec<(u32, f64)>)>,
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
    /// What the product of scaled variables is divided by.
    pub spread: f64,
}

/// What a metric says of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// k-NN under the metric.
    pub vote: Verdict,
    /// The base classifier f_W.
    pub base: Verdict,
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
    pub fn dictionary(&self) -> Dictionary {
        let mut dictionary = Dictionary::new(None);
        for variable in &self.variables {
            dictionary.intern(FeatureKey::from_name(&variable.name));
        }
        dictionary
    }

    /// The coordinates of rows, row by row.
    pub fn embed(&self, rows: &ParsedRows, dictionary: &Dictionary) -> Vec<Vec<f64>> {
        let batch = rows.lookup(dictionary);
        let mut values = vec![0.0; self.variables.len()];
        let one = |at: usize| {
            values.fill(0.0);
            batch.row(at).iter().for_each(|(id, value)| values[id as usize] = value);
            self.place(&values)
        };
        (0..batch.len()).map(one).collect()
    }

    /// The coordinates of one row, from its raw variables.
    fn place(&self, values: &[f64]) -> Vec<f64> {
        let scale = |(value, one): (&f64, &Variable)| value / one.spread - one.centre / one.spread;
        let scaled: Vec<f64> = values.iter().zip(&self.variables).map(scale).collect();
        let term = |term: &Term| {
            term.variables.iter().map(|&variable| scaled[variable as usize]).product::<f64>() / term.spread
        };
        let terms: Vec<f64> = self.terms.iter().map(term).collect();
        let coordinates: Vec<f64> = match self.axes.is_empty() {
            true => terms,
            false => {
                let along = |axis: &[f64]| axis.iter().zip(&terms).map(|(a, b)| a * b).sum::<f64>();
                self.axes.chunks_exact(self.terms.len()).map(along).collect()
            }
        };
        let bounded = |(one, offset): (f64, &f64)| {
            let one = one - offset;
            if one.is_nan() { 0.0 } else { one.clamp(-FARTHEST, FARTHEST) }
        };
        coordinates.into_iter().zip(&self.offsets).map(bounded).collect()
    }

    /// What the metric says of rows with these coordinates.
    pub fn classify(&self, places: &[Vec<f64>]) -> Vec<Answer> {
        let queries: Vec<f32> =
            (0..self.dimensions()).flat_map(|axis| places.iter().map(move |place| place[axis] as f32)).collect();
        let mut start = 0;
        let range = |&size: &usize| {
            start += size;
            start - size..start
        };
        let classes: Vec<std::ops::Range<usize>> = self.class_sizes.iter().map(range).collect();
        let search = Search { classes: &classes, keep: self.voters.max(self.neighbours), itself: false };
        let rows = Points { count: self.rows(), values: &self.points };
        let queries = Points { count: places.len(), values: &queries };
        let answer = |_: usize, lists: &[Nearest<f32>]| Answer {
            vote: vote(lists, self.voters),
            base: base(lists, self.neighbours),
        };
        stream(rows, queries, &search, answer)
    }

    /// Plain k-NN on scaled variables.
    pub(super) fn plain(table: &Table, sample: &Sample<f32>, voters: usize) -> Metric {
        let count = sample.variables.len();
        Metric {
            terms: (0..count as u32).map(|one| Term { variables: vec![one], spread: 1.0 }).collect(),
            variables: (0..count).map(|at| scaled_variable(table, sample, at)).collect(),
            points: sample.values.clone(),
            offsets: vec![0.0; count],
            ..Metric::empty(table, sample, voters)
        }
    }

    /// A metric that knows the rows and no coordinates yet.
    fn empty<T>(table: &Table, sample: &Sample<T>, voters: usize) -> Metric {
        Metric {
            name: String::new(),
            settings: None,
            judged: Vec::new(),
            voters,
            neighbours: voters,
            classes: table.classes.clone(),
            columns: table.columns.clone(),
            variables: Vec::new(),
            width: table.variables.len() + table.constant,
            terms: Vec::new(),
            steps: Vec::new(),
            axes: Vec::new(),
            offsets: Vec::new(),
            points: Vec::new(),
            class_sizes: sample.classes.iter().map(|class| class.len()).collect(),
        }
    }

    /// The metric of the first `steps` steps of a run.
    pub(super) fn learned<T: Real>(
        table: &Table,
        sample: &Sample<T>,
        boost: &Boost<'_, T>,
        settings: &Settings,
        (steps, voters): (usize, usize),
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
            spread: boost.terms.spreads[term as usize],
        };
        let step = |step: &&Step| {
            let entries = step.support.iter().zip(&step.values).map(|(term, &value)| (place(&used, term), value));
            (step.weight, entries.collect())
        };
        let mut metric = Metric {
            settings: Some(settings.clone()),
            neighbours: settings.neighbours,
            terms: used.iter().map(term).collect(),
            variables: variables.iter().map(|&at| scaled_variable(table, sample, at as usize)).collect(),
            steps: steps.iter().map(step).collect(),
            ..Metric::empty(table, sample, voters)
        };
        let values: Vec<Vec<f64>> =
            used.iter().map(|&term| boost.terms.row(term).iter().map(|&one| double(one)).collect()).collect();
        metric.turn(&values);
        metric
    }

    /// Finds the axes from the values of the terms on the training rows.
    fn turn(&mut self, values: &[Vec<f64>]) {
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
        let (steps, terms) = (self.steps.len(), self.terms.len());
        let mut stacked = Mat::zeros(steps, terms);
        for (at, (weight, entries)) in self.steps.iter().enumerate() {
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

/// A variable with the scale of the table and that of the sample in one.
fn scaled_variable<T>(table: &Table, sample: &Sample<T>, at: usize) -> Variable {
    let Variable { name, centre, spread } = table.variables[sample.variables[at]].clone();
    let (shift, scale) = sample.scales[at];
    Variable { name, centre: centre + shift * spread, spread: spread * scale }
}
