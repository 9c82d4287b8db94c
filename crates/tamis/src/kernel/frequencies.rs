//! Random Fourier features of few variables, drawn by a Markov chain over the variables.
//!
//! Source: Ma 2017, section 4.2 (sparse random Fourier features), after Rahimi & Recht 2007. The variables of a
//! frequency vector w are the states that a chain visits:
//! ```text
//! z₁ ~ π,  z_t ~ Θ[z_{t−1}] without those visited,   π = (1 − α)·I/ΣI + α/k,   Θ_j = (1 − α)·J_j/ΣJ_j + α·π
//! w_j = σ·a_j·N(0, 1)·√(2/max(1, Σ a²)) for the visited j,   σ = exp U(ln 0.3, ln 3),   b ~ U(0, 2π)
//! ```
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | I, J | `single`, `pairs` | sensitivities of variables and pairs, or scores of the scan | ours |
//! | α | [`EVEN_SHARE`] | 0.1 | ours |
//! | a_j | `scales` | (I_j/max I)^½, or ^¼ where most features have all variables | ours |
//! | length | [`LENGTHS`] | 1, 2, 3 or all k variables, by the family | ours |
//!
//! Departures (E58, E59, E61): the thesis starts the chain in its absorbing state, lets it return to a variable, and learns a mean and a
//! covariance for each feature alone. Here it starts from π, never returns, and one scale a variable is shared by all
//! features. The phase b is kept (E24): sums of cos(w·x) alone are even functions. Cost: D·k.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use crate::model::kernel::cos_all;
use crate::recipe::FrequencyFamily;
use crate::rng::uniform;

/// The share of probability that is spread evenly (α).
const EVEN_SHARE: f64 = 0.1;
/// The range of the scale σ of a feature.
const SCALES: [f64; 2] = [0.3, 3.0];
/// With more variables than this, every family uses the lengths of `mixed`.
pub(super) const MANY_VARIABLES: usize = 18;

/// Shares of features with 1, 2, 3 and all variables.
type Lengths = [f64; 4];

/// The lengths of each family.
const LENGTHS: [(FrequencyFamily, Lengths); 2] =
    [(FrequencyFamily::Mixed, [0.25, 0.30, 0.10, 0.35]), (FrequencyFamily::Whole, [0.10, 0.10, 0.05, 0.75])];

/// What is known about variables and pairs before features are drawn.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// By variable; not negative.
    pub single: Vec<f64>,
    /// By pair; not negative, 0 on the diagonal.
    pub pairs: Mat<f64>,
    /// The scale of the frequencies of each variable, at most 1.
    pub scales: Vec<f64>,
}

impl Evidence {
    /// Evidence from sensitivities; negative ones are noise. No scale is below `least`.
    pub fn new(single: &[f64], pairs: &Mat<f64>, family: FrequencyFamily, least: f64) -> Self {
        let single: Vec<f64> = single.iter().map(|score| score.max(0.0) + 1e-12).collect();
        let largest = single.iter().copied().fold(0.0, f64::max);
        let power = if family == FrequencyFamily::Mixed { 0.5 } else { 0.25 };
        let scales = single.iter().map(|score| (score / largest).powf(power).clamp(least, 1.0)).collect();
        let size = single.len();
        let pairs =
            Mat::from_fn(size, size, |row, column| if row == column { 0.0 } else { pairs[(row, column)].max(0.0) });
        Evidence { single, pairs, scales }
    }

    /// π.
    fn start(&self) -> Vec<f64> {
        let (sum, size) = (self.single.iter().sum::<f64>(), self.single.len() as f64);
        self.single.iter().map(|one| (1.0 - EVEN_SHARE) * one / sum + EVEN_SHARE / size).collect()
    }
}

/// Frequencies and phases of features.
#[derive(Clone, Debug)]
pub struct Frequencies {
    /// A row for each variable, a column for each feature.
    pub matrix: Mat<f64>,
    /// By feature.
    pub phases: Vec<f64>,
}

impl Frequencies {
    /// cos(w·z + b) of rows of inputs: a row each, a column for each feature.
    pub(super) fn cosines(&self, inputs: MatRef<'_, f64>) -> Mat<f64> {
        let mut waves = Mat::zeros(inputs.nrows(), self.phases.len());
        matmul(waves.as_mut(), Accum::Replace, inputs, self.matrix.as_ref(), 1.0, Par::Seq);
        for (feature, phase) in self.phases.iter().enumerate() {
            cos_all(waves.col_as_slice_mut(feature), *phase);
        }
        waves
    }
}

/// The family that a number of variables has.
fn family_of(variables: usize, family: FrequencyFamily) -> FrequencyFamily {
    if variables > MANY_VARIABLES { FrequencyFamily::Mixed } else { family }
}

/// Draws `count` features.
pub fn draw(evidence: &Evidence, family: FrequencyFamily, count: usize, random: &mut Pcg64) -> Frequencies {
    let size = evidence.single.len();
    let family = family_of(size, family);
    let (_, lengths) = LENGTHS.into_iter().find(|(one, _)| *one == family).expect("every family has lengths");
    let start = evidence.start();
    let mut matrix = Mat::zeros(size, count);
    let mut phases = Vec::with_capacity(count);
    for feature in 0..count {
        let length = [1, 2, 3, size][pick(&lengths, random)].min(size);
        let visited = if length == size { vec![true; size] } else { visit(evidence, &start, length, random) };
        let [low, high] = SCALES.map(f64::ln);
        let squares: f64 = (0..size).filter(|&one| visited[one]).map(|one| evidence.scales[one].powi(2)).sum();
        let scale = (low + (high - low) * uniform(random)).exp() * (2.0 / squares.max(1.0)).sqrt();
        for variable in (0..size).filter(|&one| visited[one]) {
            let normal: f64 = StandardNormal.sample(random);
            matrix[(variable, feature)] = scale * evidence.scales[variable] * normal;
        }
        phases.push(std::f64::consts::TAU * uniform(random));
    }
    Frequencies { matrix, phases }
}

/// The variables that a chain of some length visits.
fn visit(evidence: &Evidence, start: &[f64], length: usize, random: &mut Pcg64) -> Vec<bool> {
    let size = start.len();
    let mut visited = vec![false; size];
    let mut state = pick(start, random);
    visited[state] = true;
    for _ in 1..length {
        let row = evidence.pairs.col(state);
        let sum = row.iter().sum::<f64>().max(1e-12);
        let chance = |next: usize| {
            let learned = (1.0 - EVEN_SHARE) * row[next] / sum;
            if visited[next] { 0.0 } else { learned + EVEN_SHARE * start[next] }
        };
        let chances: Vec<f64> = (0..size).map(chance).collect();
        state = pick(&chances, random);
        visited[state] = true;
    }
    visited
}

/// A place, drawn in proportion to its share.
fn pick(shares: &[f64], random: &mut Pcg64) -> usize {
    let mut rest = uniform(random) * shares.iter().sum::<f64>();
    for (place, share) in shares.iter().enumerate() {
        rest -= share;
        if rest < 0.0 {
            return place;
        }
    }
    shares.iter().rposition(|share| *share > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{RngStream, generator};

    #[test]
    fn chains_follow_the_evidence() {
        let mut pairs = Mat::zeros(20, 20);
        (pairs[(0, 1)], pairs[(1, 0)]) = (5.0, 5.0);
        let mut single = [0.0; 20];
        single[0] = 1.0;
        let evidence = Evidence::new(&single, &pairs, FrequencyFamily::Mixed, 0.05);
        assert_eq!((evidence.scales[0], evidence.scales[5]), (1.0, 0.05));
        let drawn = draw(&evidence, FrequencyFamily::Whole, 4000, &mut generator(1, RngStream::Frequencies, 0));
        let uses = |feature: usize, variable: usize| drawn.matrix[(variable, feature)] != 0.0;
        let lengths: Vec<usize> = (0..4000).map(|one| (0..20).filter(|&j| uses(one, j)).count()).collect();
        let share = |length| lengths.iter().filter(|&&one| one == length).count() as f64 / 4000.0;
        assert!((share(1) - 0.25).abs() < 0.03 && (share(2) - 0.3).abs() < 0.03 && (share(20) - 0.35).abs() < 0.03);
        let of_two = (0..4000).filter(|&one| lengths[one] == 2);
        let with_first: Vec<usize> = of_two.filter(|&one| uses(one, 0)).collect();
        let both = with_first.iter().filter(|&&one| uses(one, 1)).count() as f64;
        assert!(both > 0.85 * with_first.len() as f64, "the chain steps from 0 to 1: {both} of {}", with_first.len());
        assert!(drawn.phases.iter().all(|phase| (0.0..std::f64::consts::TAU).contains(phase)));
    }

    #[test]
    fn one_variable_is_enough() {
        let evidence = Evidence::new(&[0.0], &Mat::zeros(1, 1), FrequencyFamily::Whole, 0.05);
        let drawn = draw(&evidence, FrequencyFamily::Whole, 50, &mut generator(1, RngStream::Frequencies, 0));
        assert!((0..50).all(|feature| drawn.matrix[(0, feature)] != 0.0));
    }
}
