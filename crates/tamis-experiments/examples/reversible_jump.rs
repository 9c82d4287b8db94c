//! The kernel section of Ma 2017 (4.2) to the letter: random Fourier features sampled by reversible jumps, beside `kernel`.
//!
//! The thesis names a posterior over the number of features, their variables and frequencies, and no sampler. This one:
//! ```text
//! log-odds = c + Σ_l v_l·cos(w_l·x + b_l),   P(D) ∝ 2^−D,   c, v_l ~ N(0, 4),   w ~ N(0, 1) on the variables of a feature
//! the variables of a feature: a chain from a uniform start that stops with probability ½ and never returns; its
//! transitions have a Dirichlet prior, integrated out (a Pólya sequence over those of the other features)
//! ```
//! Moves: birth of a feature from the prior and death of a random one (accepted with the ratio of likelihoods times
//! P(D + 1)/P(D) or its inverse), and random walks of w, b and v of a feature or of c. Readings of E58–E63 apply: a start
//! outside the absorbing state, a phase, weights, a geometric prior of D.
//!
//! `cargo run --release -p tamis-experiments --example reversible_jump -- --runs 5` prints the table of docs/kernel.md:
//! exclusive or of two variables among p, 200 rows, 1000 other rows for errors. Cost of a move: the rows.

use rand_pcg::Pcg64;
use tamis::io::{Dense, Labels, MatrixRows};
use tamis::recipe::{Method, Recipe};
use tamis::rng::{RngStream, generator, uniform, uniform_below};
use tamis::train::{FitOptions, fit_rows};

const ROWS: usize = 200;
const TEST_ROWS: usize = 1000;
const MOVES: usize = 20_000;
/// The mass of the Dirichlet prior.
const PRIOR_MASS: f64 = 1.0;

fn normal(random: &mut Pcg64) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Rows of an exclusive or of the first two of `columns` variables (Bayes error 0.15), and their classes.
fn rows(random: &mut Pcg64, count: usize, columns: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut row = || {
        let signs = [0; 2].map(|_| if uniform(random) < 0.5 { -1.0 } else { 1.0 });
        let mut row: Vec<f64> = (0..columns).map(|_| normal(random)).collect();
        (0..2).for_each(|at| row[at] = signs[at] + 0.717 * row[at]);
        (row, signs[0] * signs[1])
    };
    (0..count).map(|_| row()).unzip()
}

#[derive(Clone)]
struct Feature {
    variables: Vec<usize>,
    frequencies: Vec<f64>,
    phase: f64,
    weight: f64,
}

impl Feature {
    fn value(&self, row: &[f64]) -> f64 {
        let angle: f64 = self.variables.iter().zip(&self.frequencies).map(|(&at, w)| w * row[at]).sum();
        self.weight * (angle + self.phase).cos()
    }
}

struct Chain<'a> {
    rows: &'a [Vec<f64>],
    labels: &'a [f64],
    features: Vec<Feature>,
    intercept: f64,
    margins: Vec<f64>,
}

impl Chain<'_> {
    fn likelihood(&self, margins: &[f64]) -> f64 {
        margins.iter().zip(self.labels).map(|(margin, label)| -(-label * margin).exp().ln_1p()).sum()
    }

    /// A feature from the prior, given the transitions of the others.
    fn draw(&self, random: &mut Pcg64) -> Feature {
        let columns = self.rows[0].len();
        let mut variables = vec![uniform_below(random, columns)];
        while uniform(random) < 0.5 && variables.len() < columns {
            let last = *variables.last().expect("it has a start");
            let steps = self.features.iter().flat_map(|feature| feature.variables.windows(2));
            let mut counts = vec![PRIOR_MASS / columns as f64; columns];
            steps.filter(|step| step[0] == last).for_each(|step| counts[step[1]] += 1.0);
            variables.iter().for_each(|&visited| counts[visited] = 0.0);
            let mut rest = uniform(random) * counts.iter().sum::<f64>();
            let next = counts.iter().position(|count| {
                rest -= count;
                rest < 0.0
            });
            variables.push(next.unwrap_or((last + 1) % columns));
        }
        Feature {
            frequencies: variables.iter().map(|_| normal(random)).collect(),
            phase: std::f64::consts::TAU * uniform(random),
            weight: 2.0 * normal(random),
            variables,
        }
    }

    /// One move; whether a birth was accepted, if it was one.
    fn step(&mut self, random: &mut Pcg64) -> Option<bool> {
        let now = self.likelihood(&self.margins);
        let kind = uniform(random);
        if kind < 0.25 {
            let feature = self.draw(random);
            let margins: Vec<f64> =
                self.margins.iter().zip(self.rows).map(|(margin, row)| margin + feature.value(row)).collect();
            let accepted = uniform(random).ln() < self.likelihood(&margins) - now - std::f64::consts::LN_2;
            if accepted {
                self.features.push(feature);
                self.margins = margins;
            }
            return Some(accepted);
        }
        if self.features.is_empty() || kind > 0.9 {
            let moved = 0.3 * normal(random);
            let margins: Vec<f64> = self.margins.iter().map(|margin| margin + moved).collect();
            let prior = (self.intercept.powi(2) - (self.intercept + moved).powi(2)) / 8.0;
            if uniform(random).ln() < self.likelihood(&margins) - now + prior {
                (self.intercept, self.margins) = (self.intercept + moved, margins);
            }
            return None;
        }
        let place = uniform_below(random, self.features.len());
        let old = self.features[place].clone();
        let (new, prior) = if kind < 0.5 { (None, std::f64::consts::LN_2) } else { walked(&old, random) };
        let value = |row: &Vec<f64>| new.as_ref().map_or(0.0, |new: &Feature| new.value(row)) - old.value(row);
        let margins: Vec<f64> = self.margins.iter().zip(self.rows).map(|(margin, row)| margin + value(row)).collect();
        if uniform(random).ln() < self.likelihood(&margins) - now + prior {
            self.margins = margins;
            match new {
                Some(new) => self.features[place] = new,
                None => drop(self.features.swap_remove(place)),
            }
        }
        None
    }
}

/// A random walk of a feature, and the logarithm of the ratio of its prior.
fn walked(old: &Feature, random: &mut Pcg64) -> (Option<Feature>, f64) {
    let mut new = old.clone();
    new.frequencies.iter_mut().for_each(|w| *w += 0.3 * normal(random));
    new.phase += 0.3 * normal(random);
    new.weight += 0.3 * normal(random);
    let squares =
        |feature: &Feature| feature.frequencies.iter().map(|w| w * w).sum::<f64>() / 2.0 + feature.weight.powi(2) / 8.0;
    let prior = squares(old) - squares(&new);
    (Some(new), prior)
}

/// Error on test rows, inclusion of the less included true variable, false variables included more than half of the time,
/// and the share of accepted births.
fn sample(random: &mut Pcg64, train: &(Vec<Vec<f64>>, Vec<f64>), test: &(Vec<Vec<f64>>, Vec<f64>)) -> [f64; 4] {
    let columns = train.0[0].len();
    let mut chain =
        Chain { rows: &train.0, labels: &train.1, features: Vec::new(), intercept: 0.0, margins: vec![0.0; ROWS] };
    let (mut births, mut accepted, mut kept) = (0.0, 0.0, 0.0);
    let (mut shares, mut included) = (vec![0.0; test.0.len()], vec![0.0; columns]);
    for number in 0..MOVES {
        if let Some(is_accepted) = chain.step(random) {
            births += 1.0;
            accepted += f64::from(u8::from(is_accepted));
        }
        if number >= MOVES / 2 && number % 50 == 0 {
            kept += 1.0;
            for (share, row) in shares.iter_mut().zip(&test.0) {
                let margin = chain.intercept + chain.features.iter().map(|feature| feature.value(row)).sum::<f64>();
                *share += 1.0 / (1.0 + (-margin).exp());
            }
            for (at, count) in included.iter_mut().enumerate() {
                *count += f64::from(u8::from(chain.features.iter().any(|feature| feature.variables.contains(&at))));
            }
        }
    }
    let wrong = shares.iter().zip(&test.1).filter(|(share, label)| (*share / kept > 0.5) != (**label > 0.0)).count();
    let false_ones = included[2..].iter().filter(|count| **count > 0.5 * kept).count();
    let found = included[0].min(included[1]) / kept;
    [wrong as f64 / test.0.len() as f64, found, false_ones as f64, accepted / births]
}

/// The same for `kernel`: error, whether both variables are in the model, false ones.
fn kernel(train: &(Vec<Vec<f64>>, Vec<f64>), test: &(Vec<Vec<f64>>, Vec<f64>)) -> [f64; 3] {
    let columns = train.0[0].len();
    let (cells, test_cells) = (train.0.concat(), test.0.concat());
    let matrix = Dense::new(&cells, ROWS, columns).expect("a matrix");
    let mut source = MatrixRows::new(matrix, Labels::Numbers(&train.1), None, None).expect("rows");
    let options = FitOptions::default();
    let model = fit_rows(&Recipe::new(Method::Kernel), &options, &mut source, None, &mut ()).expect("a model").model;
    let names = model.kernel.as_ref().map(|kernel| kernel.names()).unwrap_or_default();
    let both = ["1", "2"].iter().filter(|name| names.contains(name)).count();
    let matrix = Dense::new(&test_cells, TEST_ROWS, columns).expect("a matrix");
    let mut source = MatrixRows::new(matrix, Labels::Numbers(&test.1), None, None).expect("rows");
    let predictor = tamis::model::Predictor::new(&model);
    let (mut wrong, mut row) = (0, 0);
    while let Some(block) = tamis::io::RowSource::next_block(&mut source).expect("rows") {
        for prediction in predictor.predict(&block.rows) {
            wrong += usize::from((prediction.margins[0] > 0.0) != (test.1[row] > 0.0));
            row += 1;
        }
    }
    [wrong as f64 / TEST_ROWS as f64, f64::from(u8::from(both == 2)), (names.len() - both) as f64]
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--runs").skip(1);
    let runs: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    println!(
        "| variables | error | both found | false ones | births accepted | `kernel`: error | both found | false ones |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    for columns in [5, 10, 20, 50] {
        let mut sums = [0.0; 7];
        for run in 0..runs {
            let mut random = generator(run, RngStream::PassOrder, columns as u64);
            let (train, test) = (rows(&mut random, ROWS, columns), rows(&mut random, TEST_ROWS, columns));
            let found = sample(&mut random, &train, &test).into_iter().chain(kernel(&train, &test));
            sums.iter_mut().zip(found).for_each(|(sum, one)| *sum += one / runs as f64);
        }
        let [error, found, wrong, births, own, both, others] = sums;
        println!(
            "| {columns} | {error:.3} | {found:.2} | {wrong:.1} | {births:.4} | {own:.3} | {both:.2} | {others:.1} |"
        );
    }
}
