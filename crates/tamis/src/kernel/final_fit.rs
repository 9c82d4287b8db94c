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
use super::frequencies::{Frequencies, draw};
use super::inputs::quantile;
use super::outer_folds::SearchPlan;
use super::sample::{Prepared, Sample};
use super::search::{SEARCH_FEATURES, Step};
use super::sensitivity::Sensitivity;
use crate::model::kernel::{InputMap, KernelEffect, KernelFunction, KernelInteraction};
use crate::platt::Calibration;
use crate::rng::{RngStream, generator, splitmix64};

/// Random Fourier features of a model, at most, if nothing is given.
const MOST_FEATURES: usize = 1000;
const STRONG_PAIR: f64 = 0.1;
/// Pairs with a surface, at most.
const MOST_SURFACES: usize = 10;
/// Rows that partial dependence is averaged over, at most.
const CURVE_ROWS: usize = 400;
/// Points of a curve, and of each side of a surface, at most.
const CURVE_POINTS: usize = 33;
const SURFACE_POINTS: usize = 15;

/// A size that is being fitted to all rows.
pub(super) struct FinalFit {
    /// Columns of the sample.
    pub(super) variables: Vec<usize>,
    moments: BlockMoments,
    penalty: usize,
}

/// A fitted size: its variables by decreasing sensitivity.
pub(super) struct FittedSize {
    /// Columns of the sample, in this order; effects and interactions count places in it.
    pub(super) columns: Vec<usize>,
    pub(super) effects: Vec<KernelEffect>,
    pub(super) interactions: Vec<KernelInteraction>,
    pub(super) function: KernelFunction,
}

impl FinalFit {
    /// Prepares a step of the search; `features` is the number of a new draw, if there is one.
    pub(super) fn new(step: &Step, outputs: usize, plan: SearchPlan, features: Option<usize>) -> Self {
        let frequencies = match features {
            None => step.frequencies.clone(),
            Some(count) => {
                let stream = splitmix64(u64::MAX << 16 | step.variables.len() as u64);
                draw(&step.evidence, plan.family, count, &mut generator(plan.seed, RngStream::Frequencies, stream))
            }
        };
        let moments = BlockMoments::new(frequencies, outputs);
        FinalFit { variables: step.variables.clone(), moments, penalty: step.penalty }
    }

    /// Adds rows of a block. `columns` are the columns of the sample that `inputs` has.
    pub(super) fn add(
        &mut self,
        block: usize,
        (columns, inputs): (&[usize], MatRef<'_, f64>),
        targets: MatRef<'_, f64>,
        weights: &[f64],
        in_sample: bool,
    ) {
        let place = |variable: &usize| columns.binary_search(variable).expect("its columns are read");
        let places: Vec<usize> = self.variables.iter().map(place).collect();
        let own = Mat::from_fn(inputs.nrows(), places.len(), |row, at| inputs[(row, places[at])]);
        self.moments.add(block, own.as_ref(), targets, weights, in_sample);
    }

    /// The weights of all rows, with sensitivities and partial dependence. `calibrations` bring scores to
    /// margins, one for each output. `shares` gives the share of folds that select a column.
    pub(super) fn finish(
        &self,
        sample: &Sample,
        prepared: &Prepared,
        calibrations: &[Calibration],
        shares: impl Fn(usize) -> f64,
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
        let function = function(&self.moments.frequencies, &weights, &order, &prepared.units, calibrations);
        let columns: Vec<usize> = order.iter().map(|&place| self.variables[place]).collect();
        let curves = CurveData::new(sample, prepared, &columns, &function);
        let effect = |(place, &at): (usize, &usize)| {
            let (values, margins) = curves.curve(place);
            let [sensitivity, least] = single[at];
            KernelEffect { variable: place, sensitivity, least, share: shares(self.variables[at]), at: values, margins }
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
            KernelInteraction { variables: [a, b], sensitivity, least, at, margins }
        };
        let interactions = strong.iter().enumerate().map(interaction).collect();
        FittedSize { columns, effects, interactions, function }
    }

    /// Bytes of its moments.
    pub(super) fn bytes(&self) -> usize {
        let size = self.moments.frequencies.phases.len() + self.variables.len() + 1;
        9 * size * size * 8
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

/// What curves are drawn from: rows of the sample with the inputs of a size.
struct CurveData<'a> {
    inputs: Vec<Vec<f64>>,
    weights: &'a [f64],
    /// By variable: sorted raw values, and the map.
    values: Vec<Vec<f64>>,
    maps: Vec<&'a InputMap>,
    function: &'a KernelFunction,
}

impl<'a> CurveData<'a> {
    fn new(sample: &'a Sample, prepared: &'a Prepared, columns: &[usize], function: &'a KernelFunction) -> Self {
        let rows = sample.weights.len().min(CURVE_ROWS);
        let input = |row: usize| columns.iter().map(|&column| prepared.rows.inputs[(row, column)]).collect();
        let sorted = |&column: &usize| {
            let mut values: Vec<f64> = sample.values.col(column).iter().copied().collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        CurveData {
            inputs: (0..rows).map(input).collect(),
            weights: &sample.weights[..rows],
            values: columns.iter().map(sorted).collect(),
            maps: columns.iter().map(|&column| &prepared.maps[column]).collect(),
            function,
        }
    }

    /// Distinct quantiles of a variable, from the 1st to the 99th percentile.
    fn grid(&self, place: usize, points: usize) -> Vec<f64> {
        let share = |point: usize| 0.01 + 0.98 * point as f64 / (points - 1) as f64;
        let mut values: Vec<f64> = (0..points).map(|point| quantile(&self.values[place], share(point))).collect();
        values.dedup();
        values
    }

    fn dependence(&self, fixed: &[usize], points: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let rows = self.inputs.iter().map(Vec::as_slice).zip(self.weights.iter().copied());
        let found = self.function.partial_dependence(fixed, points, rows);
        (0..self.function.intercepts.len())
            .map(|output| found.iter().map(|margins| margins[output]).collect())
            .collect()
    }

    /// The partial dependence of a variable: raw values, and margins by output.
    fn curve(&self, place: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let values = self.grid(place, CURVE_POINTS);
        let points: Vec<Vec<f64>> = values.iter().map(|&value| vec![self.maps[place].apply(value)]).collect();
        let margins = self.dependence(&[place], &points);
        (values, margins)
    }

    /// The partial dependence of a pair on a grid.
    fn surface(&self, [a, b]: [usize; 2]) -> ([Vec<f64>; 2], Vec<Vec<f64>>) {
        let at = [a, b].map(|place| self.grid(place, SURFACE_POINTS));
        let point = |x: f64, y: f64| vec![self.maps[a].apply(x), self.maps[b].apply(y)];
        let points: Vec<Vec<f64>> =
            at[0].iter().flat_map(|&x| at[1].iter().map(move |&y| (x, y))).map(|(x, y)| point(x, y)).collect();
        let margins = self.dependence(&[a, b], &points);
        (at, margins)
    }
}
