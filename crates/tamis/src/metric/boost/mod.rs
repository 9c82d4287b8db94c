//! The boosting loop: direction, weight, products, and new neighbours every few steps.
//!
//! Source: Ma 2017, Algorithm 2.2 with the remarks of section 2.6.
//! ```text
//! margins u = 0, residuals ρ = c
//! repeat   ξ from the truncated power method on A = Φ Λ(ρ) Φ′;  z = Φ′ξ;  g = margins of z
//!          w = ν · argmin Σ ρᵢ exp(−w gᵢ);  u += w g;  ρ = c exp(−u);  W += w ξξ′
//!          products of the chosen terms join the candidates
//!          every q steps: distances += what the new coordinates √w z bring; neighbours, u, ρ and E anew
//! ```
//! E holds the margins of every term, so that the diagonal of A is one product E ρ.
//! Departures (E17, E18, E19): margins as in `graph`; W starts at 0, and the Euclidean distance only finds the first
//! neighbours; L is the stack of rows √w ξ′. Margins are computed anew with the neighbourhoods; a step that finds no
//! descent is left out, the update due at it is not. w is not normalised: neighbours do not change.
//! Cost of a step: 6np; of an update: qn² + n² comparisons + 4knp. No p² anywhere; n² numbers unless there are too many.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::direction::{Direction, Problem, leading};
use super::draw::{bag, columns};
use super::graph::Graph;
use super::growth::grow;
use super::nearest::Distances;
use super::number::{Real, dot};
use super::sample::Sample;
use super::settings::{Engine, Settings};
use super::step::{best_weight, bounded_exp};
use super::terms::Terms;
use super::wide::WideRows;

mod update;

use self::update::{Memory, Watched};

/// One accepted step: W grows by weight · ξξ′.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    /// When, from 1.
    pub(super) number: usize,
    /// w, shrinkage included.
    pub(super) weight: f64,
    /// The terms of ξ.
    pub(super) support: Vec<u32>,
    /// Their entries.
    pub(super) values: Vec<f64>,
}

/// How good the metric was at one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Steps so far.
    pub(super) step: usize,
    /// Σ cᵢ exp(−uᵢ).
    pub(super) loss: f64,
    /// Variables in the metric.
    pub(super) variables: usize,
    /// Training rows that their own neighbours put in the wrong class.
    pub(super) wrong: usize,
    /// Rows watched that were put in the wrong class, by vote and by f_W.
    pub(super) watched: Option<[usize; 2]>,
}

/// What bounds a run and does not change what is learned on small data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Rows from which distances are streamed, not kept.
    pub(super) dense_rows: usize,
    /// Bytes for candidates and their margins.
    pub(super) term_bytes: u64,
    /// Rows that vote.
    pub(super) voters: usize,
    /// Seed of bags and drawn columns.
    pub(super) seed: u64,
}

impl Limits {
    /// Terms and their margins that fit.
    fn terms_of<T>(&self, rows: usize) -> usize {
        (self.term_bytes / (2 * size_of::<T>() * rows).max(1) as u64) as usize
    }
}

/// A metric in the making.
pub(super) struct Boost<'a, T> {
    sample: &'a Sample<T>,
    settings: &'a Settings,
    limits: Limits,
    pub(super) terms: Terms<T>,
    graph: Graph,
    energies: Vec<T>,
    importance: Vec<f64>,
    margins: Vec<f64>,
    residuals: Vec<f64>,
    masses: Vec<f64>,
    memory: Memory<T>,
    fresh: Vec<Vec<T>>,
    watched: Option<Watched<T>>,
    wide: Option<WideRows>,
    used: BTreeSet<u32>,
    pub(super) steps: Vec<Step>,
    pub(super) curve: Vec<Point>,
}

impl<'a, T: Real> Boost<'a, T> {
    /// Looks at the rows; every class must have two.
    pub(super) fn new(sample: &'a Sample<T>, settings: &'a Settings, limits: Limits) -> Self {
        let rows = sample.rows();
        let smallest = sample.classes.iter().map(|class| class.len()).min().unwrap_or(0);
        let neighbours = settings.neighbours.min(smallest.saturating_sub(1)).max(1);
        let importance = importance(sample, settings.balanced);
        let terms = first_terms(sample, settings, limits.terms_of::<T>(rows));
        let memory = match rows <= limits.dense_rows {
            true => Memory::Dense(Distances::new(rows, rows)),
            false => Memory::Streamed(Vec::new()),
        };
        let mut boost = Boost {
            sample,
            settings,
            limits,
            graph: Graph { neighbours, own: Vec::new(), others: Vec::new() },
            energies: Vec::new(),
            margins: vec![0.0; rows],
            residuals: importance.clone(),
            importance,
            masses: vec![0.0; terms.len()],
            terms,
            memory,
            fresh: Vec::new(),
            watched: None,
            wide: (settings.engine == Engine::Stabilized).then(|| WideRows::new(sample)),
            used: BTreeSet::new(),
            steps: Vec::new(),
            curve: Vec::new(),
        };
        boost.first_neighbours();
        boost
    }

    /// Also measures on these rows, given variable by variable.
    pub(super) fn watch(&mut self, values: Vec<T>, class_of: Vec<u32>) {
        let distances = Distances::new(class_of.len(), self.sample.rows());
        self.watched = Some(Watched { values, class_of, distances, fresh: Vec::new() });
    }

    /// Runs all steps; `go_on` is asked before each.
    pub(super) fn run(&mut self, go_on: &dyn Fn() -> bool) -> bool {
        let mut due = self.settings.update_every;
        for number in 1..=self.settings.steps {
            if !go_on() {
                return false;
            }
            self.step(number);
            if number == due || number == self.settings.steps {
                self.update(number);
                // Without kept distances an update costs more with every step: they come half as often each time.
                let streamed = matches!(self.memory, Memory::Streamed(_));
                due = if streamed { 2 * due } else { due + self.settings.update_every };
            }
        }
        true
    }

    fn keep(&self) -> usize {
        self.graph.neighbours.max(self.limits.voters)
    }

    fn step(&mut self, number: usize) {
        let Some(direction) = self.direction(number) else { return };
        let coordinate = self.terms.along(&direction.support, &direction.values);
        let margins = self.graph.margins(&coordinate);
        let Some(weight) = best_weight(&self.residuals, &margins) else { return };
        let weight = self.settings.shrinkage * weight;
        let root = weight.sqrt();
        if !coordinate.iter().all(|one| (root * one).abs() < 1e15) {
            return;
        }
        self.margins.iter_mut().zip(&margins).for_each(|(sum, margin)| *sum += weight * margin);
        self.find_residuals();
        self.fresh.push(coordinate.iter().map(|one| T::of(root * one)).collect());
        let Direction { support, values, .. } = direction;
        if let Some(watched) = &mut self.watched {
            let rows = watched.class_of.len();
            let coordinate = self.terms.along_others(&support, &values, &watched.values, rows);
            watched.fresh.push(coordinate.iter().map(|one| T::of(root * one)).collect());
        }
        for (&term, value) in support.iter().zip(&values) {
            self.masses[term as usize] += weight * value * value;
            self.used.extend(&self.terms.lists[term as usize]);
        }
        if number > self.settings.burn_in && self.settings.order > 1 {
            self.grow(&support);
        }
        self.steps.push(Step { number, weight, support, values });
    }

    fn direction(&self, number: usize) -> Option<Direction> {
        let columns = columns(self.terms.len(), self.settings, self.limits.seed, number);
        let residuals = self.bagged(number);
        let rows = self.sample.rows();
        let numbers: Vec<T> = residuals.iter().map(|&one| T::of(one)).collect();
        let energy = |term: u32| &self.energies[term as usize * rows..(term as usize + 1) * rows];
        let diagonal: Vec<f64> = columns.par_iter().with_min_len(32).map(|&term| dot(energy(term), &numbers)).collect();
        let problem = Problem {
            terms: &self.terms,
            graph: &self.graph,
            residuals: &residuals,
            columns: &columns,
            diagonal: &diagonal,
        };
        let entries = self.settings.entries_of(self.terms.len());
        match &self.wide {
            None => leading(&problem, entries, self.settings),
            Some(rows) => problem.on(rows.support(&residuals, entries, self.limits.seed.wrapping_add(number as u64))),
        }
    }

    /// The residuals a step looks at, scaled to a sum of one.
    fn bagged(&self, number: usize) -> Vec<f64> {
        let inside = bag(self.residuals.len(), self.settings, self.limits.seed, number);
        let mut residuals: Vec<f64> = self.residuals.iter().zip(inside).map(|(one, is)| one * f64::from(is)).collect();
        let total: f64 = residuals.iter().sum();
        if total > 0.0 {
            residuals.iter_mut().for_each(|one| *one /= total);
        }
        residuals
    }

    fn find_residuals(&mut self) {
        let residual = |(importance, margin): (&f64, &f64)| importance * bounded_exp(-margin);
        self.residuals = self.importance.iter().zip(&self.margins).map(residual).collect();
    }

    fn grow(&mut self, chosen: &[u32]) {
        let variables = self.sample.variables.len();
        let fits = self.limits.terms_of::<T>(self.sample.rows());
        let most = (variables + MOST_PRODUCTS).min(fits.max(variables));
        let before = self.terms.len();
        grow(&mut self.terms, chosen, &self.masses, self.settings, most);
        self.masses.resize(self.terms.len(), 0.0);
        for term in before..self.terms.len() {
            let energy = self.graph.margins(self.terms.row(term as u32));
            self.energies.extend(energy);
        }
    }
}

/// The variables, and their squares if they are wanted and as far as they fit.
fn first_terms<T: Real>(sample: &Sample<T>, settings: &Settings, most: usize) -> Terms<T> {
    let mut terms = Terms::new(sample.rows(), sample.values.clone());
    for variable in 0..sample.variables.len() as u32 {
        if settings.squares && terms.len() < most {
            terms.add(vec![variable; 2], settings.scale_products);
        }
    }
    terms
}

/// Products that may be added at most.
const MOST_PRODUCTS: usize = 2000;

/// c: the importance of each row, classes of equal weight if they are to be balanced; 1 on average.
fn importance<T>(sample: &Sample<T>, balanced: bool) -> Vec<f64> {
    let total: f64 = sample.weights.iter().sum();
    let of_class: Vec<f64> = sample.classes.iter().map(|class| sample.weights[class.clone()].iter().sum()).collect();
    let (rows, classes) = (sample.weights.len() as f64, sample.classes.len() as f64);
    let share = |(weight, &class): (&f64, &u32)| match balanced {
        true => weight * rows / (classes * of_class[class as usize]).max(f64::MIN_POSITIVE),
        false => weight * rows / total.max(f64::MIN_POSITIVE),
    };
    sample.weights.iter().zip(&sample.class_of).map(share).collect()
}
