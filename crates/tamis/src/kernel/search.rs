//! Backward elimination: from the variables that the scan passes on down to one.
//!
//! At each size, features of the remaining variables are drawn by the chain, fitted on halves of the rows, and the
//! variables with the least cross-fitted sensitivity leave. Sensitivities give the next chain and the next scales.
//! Thus the kernel is learned along the way: frequencies of a variable that matters grow, others shrink.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | D | [`features_of`] | 150 + 50 for each variable, at most 400 | accuracy levels off; few variables need fewer |
//! | race | [`RACED_SIZE`], [`FINALISTS`], [`FINAL_SIZE`] | 2 searches from 18 variables, 1 from 7 | time |
//! | K₀ | `max_variables` | 48 | true variables were among the 48 best of the scan in all trials |
//! | sizes | [`next_size`] | 0.6 of the last, then one by one from 8 | noise variables leave one at a time |
//! | least scale | 0.05, at the start 0.2 | | a weak variable keeps a chance |
//!
//! The error of a step is that of half-sample fits on the other half. It is optimistic, since the variables were selected
//! on the same rows: it compares searches with each other, and is not shown as an error of the model. Cost: about eleven
//! steps, each a pass over at most 6000 rows and 14 to 20 solutions of order D + k.

use faer::Mat;

use super::block_moments::{BlockMoments, PENALTIES};
use super::frequencies::{Evidence, MANY_VARIABLES, draw};
use super::rows::{HALVES, Rows};
use super::scan::{Scan, scan};
use super::sensitivity::Sensitivity;
use super::triples::{self, best_triple};
use crate::recipe::{FrequencyFamily, InputKind};
use crate::rng::{RngStream, generator, splitmix64};

/// Random Fourier features of a step, at most.
pub const SEARCH_FEATURES: usize = 400;
/// Several searches go down to this size; those with the least errors go on.
pub const RACED_SIZE: usize = MANY_VARIABLES;
/// Searches that go on...
pub const FINALISTS: usize = 2;
/// ...down to this size, from which the best one goes to the end.
pub const FINAL_SIZE: usize = 7;
/// The place of the first penalty that is tried.
const FIRST_PENALTY: usize = 8;
/// Above this number of variables, the scan uses two halves.
const MANY_TO_SCAN: usize = 200;
const LEAST_SCALE: f64 = 0.05;
const LEAST_FIRST_SCALE: f64 = 0.2;
/// A triple is accepted if its score is this many times the noise.
const TRIPLE_RATIO: f64 = 2.0;

/// What a search needs beside its rows.
#[derive(Clone, Copy)]
pub(super) struct SearchPlan {
    pub(super) inputs: InputKind,
    pub(super) family: FrequencyFamily,
    pub(super) max_variables: usize,
    pub(super) k: Option<usize>,
    pub(super) seed: u64,
}

/// What the scan found.
#[derive(Clone, Debug)]
pub struct Screened {
    /// The variables with the largest scores, ascending.
    pub variables: Vec<usize>,
    /// Scores of these variables beyond the noise, by themselves or in a pair.
    single: Vec<f64>,
    /// Scores of their pairs beyond the noise.
    pairs: Mat<f64>,
    /// The triple that was accepted.
    pub triple: Option<[usize; 3]>,
}

/// A size of the search.
#[derive(Clone, Debug)]
pub struct Step {
    /// Columns of the rows, ascending.
    pub variables: Vec<usize>,
    /// The features and their moments.
    pub frequencies: super::frequencies::Frequencies,
    /// Ridge weights on all rows of the search, if it predicts.
    pub weights: Option<Mat<f64>>,
    /// The place of the penalty.
    pub penalty: usize,
    /// The squared error of half-sample fits on the other half.
    pub inner: f64,
    /// What the next features are drawn by.
    pub evidence: Evidence,
    /// The cross-fitted sensitivity of each variable.
    pub sensitivities: Vec<f64>,
    /// Those of pairs.
    pub pairs: Mat<f64>,
}

/// The size after `size`; `asked` is not skipped.
pub fn next_size(size: usize, asked: Option<usize>) -> usize {
    let next = if size > 8 { (0.6 * size as f64).ceil() as usize } else { size - 1 };
    asked.filter(|&asked| next < asked && asked < size).unwrap_or(next)
}

/// Scans singles, pairs and, for few variables, triples; passes on the variables with the largest scores.
pub fn screen(rows: &Rows, most: usize) -> Screened {
    let size = rows.inputs.ncols();
    let halves = if size > MANY_TO_SCAN { 2 } else { HALVES.len() };
    let Scan { single, mut pairs } = scan::<f32>(rows, &HALVES[..halves]);
    let best_pair = Scan { single: single.clone(), pairs: pairs.clone() }.best_pairs();
    let mut scores: Vec<f64> = single.iter().zip(&best_pair).map(|(one, pair)| one.max(*pair)).collect();
    let largest_pair = best_pair.iter().copied().fold(0.0, f64::max);
    let triple = (3..=triples::MOST_VARIABLES).contains(&size).then(|| best_triple::<f32>(rows)).flatten();
    let triple = triple.filter(|best| best.score > TRIPLE_RATIO * best.noise && best.score > largest_pair);
    if let Some(best) = &triple {
        let top = scores.iter().copied().fold(0.0, f64::max) + best.score;
        for &a in &best.variables {
            scores[a] = top;
            for &b in best.variables.iter().filter(|&&b| b != a) {
                pairs[(a, b)] += best.score;
            }
        }
    }
    let noise = single.iter().copied().fold(0.0, f64::min);
    let pair_noise = (0..size).flat_map(|column| pairs.col(column).iter()).copied().fold(0.0, f64::min);
    let clear = |variable: usize| {
        let pair = pairs.col(variable).iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (single[variable] + noise).max(pair + pair_noise).max(0.0)
    };
    let largest = (0..size).map(clear).fold(1e-9, f64::max);
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order.truncate(most);
    order.sort_unstable();
    Screened {
        single: order.iter().map(|&variable| clear(variable) + 1e-3 * largest).collect(),
        pairs: Mat::from_fn(order.len(), order.len(), |row, column| {
            if row == column { 0.0 } else { (pairs[(order[row], order[column])] + pair_noise).max(0.0) }
        }),
        triple: triple.map(|best| best.variables),
        variables: order,
    }
}

/// Random Fourier features of a step with so many variables.
pub fn features_of(variables: usize) -> usize {
    (150 + 50 * variables).min(SEARCH_FEATURES)
}

/// A backward elimination that can be continued.
pub struct Elimination {
    /// The sizes so far, the largest first.
    pub steps: Vec<Step>,
    variables: Vec<usize>,
    /// What the next features are drawn by: scores of the variables and of their pairs.
    single: Vec<f64>,
    pairs: Mat<f64>,
    family: FrequencyFamily,
    asked: Option<usize>,
    predicts: bool,
    seed: (u64, u64),
}

impl Elimination {
    /// The start. `seed` has the number of the search, which tells searches of one seed apart.
    pub fn new(screened: &Screened, family: FrequencyFamily, asked: Option<usize>, seed: (u64, u64)) -> Self {
        Elimination {
            steps: Vec::new(),
            variables: screened.variables.clone(),
            single: screened.single.clone(),
            pairs: screened.pairs.clone(),
            family,
            asked,
            predicts: false,
            seed,
        }
    }

    /// The same search, with weights of all rows at each size.
    pub fn predicting(self) -> Self {
        Elimination { predicts: true, ..self }
    }

    /// Continues down to a size of at most `least` variables.
    pub fn down_to(mut self, rows: &Rows, least: usize) -> Self {
        while !self.variables.is_empty() && self.steps.last().is_none_or(|step| step.variables.len() > least) {
            self.advance(rows);
        }
        self
    }

    /// The least error of half-sample fits so far.
    pub fn inner(&self) -> f64 {
        self.steps.iter().map(|step| step.inner).fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, rows: &Rows) {
        let start = self.steps.last().map_or(FIRST_PENALTY, |step| step.penalty);
        let variables = std::mem::take(&mut self.variables);
        let size = variables.len();
        let (seed, number) = self.seed;
        let mut random = generator(seed, RngStream::Frequencies, splitmix64(number << 16 | size as u64));
        let least = if self.steps.is_empty() { LEAST_FIRST_SCALE } else { LEAST_SCALE };
        let evidence = Evidence::new(&self.single, &self.pairs, self.family, least);
        let frequencies = draw(&evidence, self.family, features_of(size), &mut random);
        let (moments, mut step) = fit_step(rows, variables, frequencies, self.family, start);
        step.weights = self.predicts.then(|| moments.sum(|_| true).ridge(PENALTIES[step.penalty]));
        let next = if size > 1 { next_size(size, self.asked) } else { 0 };
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| step.sensitivities[b].total_cmp(&step.sensitivities[a]).then(a.cmp(&b)));
        order.truncate(next);
        order.sort_unstable();
        self.variables = order.iter().map(|&place| step.variables[place]).collect();
        self.single = order.iter().map(|&place| step.sensitivities[place]).collect();
        self.pairs = Mat::from_fn(order.len(), order.len(), |row, column| step.pairs[(order[row], order[column])]);
        self.steps.push(step);
    }
}

fn fit_step(
    rows: &Rows,
    variables: Vec<usize>,
    frequencies: super::frequencies::Frequencies,
    family: FrequencyFamily,
    start: usize,
) -> (BlockMoments, Step) {
    let moments = BlockMoments::of(rows, &variables, frequencies);
    let (penalty, fits) = moments.fit_best_halves(start);
    let sensitivity = Sensitivity::new(&moments);
    let share = 1.0 / fits.weights.len() as f64;
    let mut sensitivities = vec![0.0; variables.len()];
    let features = moments.frequencies.phases.len();
    let mut form = Mat::<f64>::zeros(features, features);
    for weights in &fits.weights {
        let own = sensitivity.of_variables(weights);
        sensitivities.iter_mut().zip(own).for_each(|(sum, one)| *sum += share * one);
        form += sensitivity.pair_form(weights) * faer::Scale(share);
    }
    let pairs = sensitivity.of_pairs(&form);
    let step = Step {
        weights: None,
        evidence: Evidence::new(&sensitivities, &pairs, family, LEAST_SCALE),
        frequencies: moments.frequencies.clone(),
        variables,
        penalty,
        inner: fits.error,
        sensitivities,
        pairs,
    };
    (moments, step)
}

#[cfg(test)]
mod tests {
    use super::next_size;

    #[test]
    fn sizes_fall_to_one_and_pass_the_one_asked_for() {
        let path = |asked| {
            let mut sizes = vec![48];
            while *sizes.last().unwrap() > 1 {
                sizes.push(next_size(*sizes.last().unwrap(), asked));
            }
            sizes
        };
        assert_eq!(path(None), [48, 29, 18, 11, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(path(Some(9)), [48, 29, 18, 11, 9, 6, 5, 4, 3, 2, 1]);
    }
}
