//! The functions of the kept sizes: features of the search with weights of all rows, sensitivities, partial dependence.
//!
//! The chosen size and the best one get a new draw of more features by their own chain; smaller sizes keep those of the
//! search. One pass over all rows adds their moments; rows of the sample also give the moments of sines, which
//! only sensitivities need.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | D | `n_fourier` | the number of rows, from 400 up to 1000 | more features lower the error of Madelon from 0.133 to 0.112 |
//! | strong pair | [`STRONG_PAIR`] | J_jk ≥ 0.1·√(I_j·I_k), and above 0 on every split | true pairs had 0.16 or more, others at most 0.08 |

use faer::{Mat, MatRef};

use super::block_moments::{BlockMoments, PENALTIES};
use super::curves::CurveRows;
use super::frequencies::{Frequencies, draw};
use super::search::{SEARCH_FEATURES, SearchPlan, Step};
use super::sensitivity::Sensitivity;
use crate::data::{State, StateError};
use crate::model::kernel::{KernelEffect, KernelFunction, KernelInteraction, KernelScore, KernelSize, KernelVariable};
use crate::platt::Calibration;
use crate::rng::{RngStream, generator, splitmix64};

/// Random Fourier features of a model, at most, if nothing is given.
const MOST_FEATURES: usize = 1000;
const STRONG_PAIR: f64 = 0.1;
/// Pairs with a surface, at most.
const MOST_SURFACES: usize = 10;

/// A size that is being fitted to all rows.
pub(super) struct FinalFit {
    /// Its variables, by their place among those of the model, ascending.
    pub(super) variables: Vec<usize>,
    /// By variable: the share of folds that select it.
    pub(super) shares: Vec<f64>,
    /// By output: what brings scores to margins.
    pub(super) calibrations: Vec<Calibration>,
    moments: BlockMoments,
    penalty: usize,
}

/// A fitted size: its variables by decreasing sensitivity.
pub(super) struct FittedSize {
    pub(super) penalty: f64,
    pub(super) effects: Vec<KernelEffect>,
    pub(super) interactions: Vec<KernelInteraction>,
    pub(super) function: KernelFunction,
}

impl FinalFit {
    /// Prepares a step of the search, whose variables have the given places; `features` is the number of a new draw, if
    /// there is one.
    pub(super) fn new(
        step: &Step,
        variables: Vec<usize>,
        outputs: usize,
        plan: SearchPlan,
        features: Option<usize>,
    ) -> Self {
        let frequencies = match features {
            None => step.frequencies.clone(),
            Some(count) => {
                let stream = splitmix64(u64::MAX << 16 | step.variables.len() as u64);
                draw(&step.evidence, plan.family, count, &mut generator(plan.seed, RngStream::Frequencies, stream))
            }
        };
        FinalFit {
            variables,
            shares: Vec::new(),
            calibrations: Vec::new(),
            moments: BlockMoments::new(frequencies, outputs),
            penalty: step.penalty,
        }
    }

    /// Adds rows of a block; `inputs` has a column for each variable of the model.
    pub(super) fn add(
        &mut self,
        block: usize,
        inputs: MatRef<'_, f64>,
        targets: MatRef<'_, f64>,
        weights: &[f64],
        with_sines: bool,
    ) {
        let own = Mat::from_fn(inputs.nrows(), self.variables.len(), |row, at| inputs[(row, self.variables[at])]);
        self.moments.add(block, own.as_ref(), targets, weights, with_sines);
    }

    /// The weights of all rows, with sensitivities and partial dependence.
    pub(super) fn finish(
        &self,
        variables: &[KernelVariable],
        units: &[(f64, f64)],
        curve_rows: &CurveRows,
    ) -> FittedSize {
        let (penalty, halves) = self.moments.fit_best_halves(self.penalty);
        let weights = self.moments.sum(|_| true).ridge(PENALTIES[penalty]);
        let sensitivity = Sensitivity::new(&self.moments);
        let splits: Vec<Vec<f64>> = halves.weights.iter().map(|pair| sensitivity.of_variables(pair)).collect();
        let of_pair = |pair: &[Mat<f64>; 2]| sensitivity.of_pairs(&sensitivity.pair_form(pair));
        let pairs: Vec<Mat<f64>> = halves.weights.iter().map(of_pair).collect();
        let single: Vec<[f64; 2]> =
            (0..self.variables.len()).map(|j| mean_and_least(splits.iter().map(|s| s[j]))).collect();
        let mut order: Vec<usize> = (0..single.len()).collect();
        order.sort_by(|&a, &b| single[b][0].total_cmp(&single[a][0]).then(a.cmp(&b)));
        let function = function(&self.moments.frequencies, &weights, &order, units, &self.calibrations);
        let own: Vec<usize> = order.iter().map(|&place| self.variables[place]).collect();
        let maps = own.iter().map(|&variable| &variables[variable].map).collect();
        let curves = curve_rows.of(&own, maps, &function);
        let effect = |(place, &at): (usize, &usize)| {
            let (values, margins) = curves.curve(place);
            let [sensitivity, least] = single[at];
            KernelEffect { variable: own[place], sensitivity, least, share: self.shares[at], at: values, margins }
        };
        let effects = order.iter().enumerate().map(effect).collect();
        let mut strong: Vec<(usize, usize, [f64; 2])> = Vec::new();
        for (a, &i) in order.iter().enumerate() {
            for (b, &j) in order.iter().enumerate().skip(a + 1) {
                let both = mean_and_least(pairs.iter().map(|pair| pair[(i, j)]));
                let scale = (single[i][0].max(0.0) * single[j][0].max(0.0)).sqrt();
                if both[1] > 0.0 && both[0] >= STRONG_PAIR * scale {
                    strong.push((a, b, both));
                }
            }
        }
        strong.sort_by(|one, other| other.2[0].total_cmp(&one.2[0]).then((one.0, one.1).cmp(&(other.0, other.1))));
        let interaction = |(number, &(a, b, [sensitivity, least])): (usize, &(usize, usize, [f64; 2]))| {
            let (at, margins) = if number < MOST_SURFACES { curves.surface([a, b]) } else { Default::default() };
            KernelInteraction { variables: [own[a], own[b]], sensitivity, least, at, margins }
        };
        let interactions = strong.iter().enumerate().map(interaction).collect();
        FittedSize { penalty: PENALTIES[penalty], effects, interactions, function }
    }

    /// Adds it to a state.
    pub(super) fn save(&self, state: &mut State) {
        let Frequencies { matrix, phases } = &self.moments.frequencies;
        state.put("variables", self.variables.iter().map(|&one| one as f64).collect());
        state.put("shares", self.shares.clone());
        state.put("calibrations", self.calibrations.iter().flat_map(|one| [one.slope, one.shift]).collect());
        state.put("penalty", vec![self.penalty as f64]);
        let columns = (0..matrix.ncols()).flat_map(|feature| matrix.col_as_slice(feature));
        state.put("frequencies", columns.copied().collect());
        state.put("phases", phases.clone());
        self.moments.save(state);
    }

    /// Takes it out of a state; `variables` is the number of those of the model.
    pub(super) fn restore(state: &mut State, variables: usize, outputs: usize) -> Result<Self, StateError> {
        let own: Vec<usize> = state.take("variables")?.into_iter().map(|one| one as usize).collect();
        let (shares, calibrations) = (state.take("shares")?, state.take("calibrations")?);
        let [penalty] = state.take_fixed("penalty")?;
        let (numbers, phases) = (state.take("frequencies")?, state.take("phases")?);
        let fits = own.windows(2).all(|pair| pair[0] < pair[1])
            && own.last().is_some_and(|&last| last < variables)
            && shares.len() == own.len()
            && calibrations.len() == 2 * outputs
            && (0.0..PENALTIES.len() as f64).contains(&penalty)
            && numbers.len() == own.len() * phases.len();
        if !fits {
            return Err(state.wrong_shape("variables"));
        }
        let matrix = Mat::from_fn(own.len(), phases.len(), |row, feature| numbers[feature * own.len() + row]);
        Ok(FinalFit {
            moments: BlockMoments::restore(state, Frequencies { matrix, phases }, outputs)?,
            variables: own,
            shares,
            calibrations: calibrations.chunks(2).map(|pair| Calibration { slope: pair[0], shift: pair[1] }).collect(),
            penalty: penalty as usize,
        })
    }

    /// Bytes of its moments.
    pub(super) fn bytes(&self) -> usize {
        let size = self.moments.frequencies.phases.len() + self.variables.len() + 1;
        9 * size * size * 8
    }
}

impl FittedSize {
    /// The size with its held-out score.
    pub(super) fn with_score(self, size: usize, score: KernelScore) -> KernelSize {
        let FittedSize { penalty, effects, interactions, function } = self;
        let (penalty, function) = (Some(penalty), Some(function));
        KernelSize { size, score, penalty, variables: effects, interactions, function }
    }
}

/// The number of features of the final draw.
pub(super) fn number_of_features(given: Option<usize>, rows: usize) -> usize {
    given.unwrap_or_else(|| rows.clamp(SEARCH_FEATURES, MOST_FEATURES))
}

fn mean_and_least(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let count = values.clone().count() as f64;
    [values.clone().sum::<f64>() / count, values.fold(f64::INFINITY, f64::min)]
}

/// The function of margins, its variables in the given order.
fn function(
    frequencies: &Frequencies,
    weights: &Mat<f64>,
    order: &[usize],
    units: &[(f64, f64)],
    calibrations: &[Calibration],
) -> KernelFunction {
    let features = frequencies.phases.len();
    let used = |feature: usize| -> Vec<usize> {
        (0..order.len()).filter(|&place| frequencies.matrix[(order[place], feature)] != 0.0).collect()
    };
    let scaled = |row: usize, output: usize| calibrations[output].slope * units[output].1 * weights[(row, output)];
    let by_output = |rows: &dyn Fn(usize) -> Vec<f64>| (0..units.len()).map(rows).collect();
    KernelFunction {
        variables: (0..features).map(|one| used(one).into_iter().map(|place| place as u32).collect()).collect(),
        frequencies: (0..features)
            .map(|one| used(one).into_iter().map(|place| frequencies.matrix[(order[place], one)]).collect())
            .collect(),
        phases: frequencies.phases.clone(),
        weights: by_output(&|output| (0..features).map(|row| scaled(row, output)).collect()),
        linear: by_output(&|output| order.iter().map(|&at| scaled(features + at, output)).collect()),
        intercepts: (0..units.len())
            .map(|output| {
                let last = weights[(weights.nrows() - 1, output)];
                calibrations[output].apply(units[output].0 + units[output].1 * last)
            })
            .collect(),
    }
}
