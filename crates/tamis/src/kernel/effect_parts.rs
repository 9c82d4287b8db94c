//! What a fold's fit says about one effect, and its score on held-out rows. The head of `effect_tests.rs` has the formulas.

use faer::Mat;

use super::block_moments::PENALTIES;
use super::frequencies::{Frequencies, draw};
use super::ridge::Moments;
use super::sample::{Prepared, Sample};
use super::scan::weighted_dot;
use super::search::{SearchPlan, Step};
use crate::model::kernel::cos_sin_all;
use crate::rng::{RngStream, generator, splitmix64};

/// Features of the fits.
const FEATURES: usize = 120;
/// Newton steps of a logistic fit.
const NEWTON_STEPS: usize = 4;
/// Margins beyond this are clipped while a logistic fit converges.
const LARGEST_MARGIN: f64 = 8.0;

/// Score and variance, for each output.
pub(super) type Sums = Vec<[f64; 2]>;

/// Rows with their inputs, targets and weights, and the waves of all features.
struct Side {
    inputs: Mat<f64>,
    targets: Mat<f64>,
    weights: Vec<f64>,
    /// Cosine and sine of w·z + b, a column for each feature.
    waves: [Mat<f64>; 2],
}

impl Side {
    fn new(frequencies: &Frequencies, inputs: Mat<f64>, targets: Mat<f64>, weights: Vec<f64>) -> Self {
        let mut cosines = &inputs * &frequencies.matrix;
        let mut sines = Mat::zeros(cosines.nrows(), cosines.ncols());
        for (feature, phase) in frequencies.phases.iter().enumerate() {
            cos_sin_all(cosines.col_as_slice_mut(feature), *phase, sines.col_as_slice_mut(feature));
        }
        Side { inputs, targets, weights, waves: [cosines, sines] }
    }

    /// e^{i·w·z} of a variable.
    fn turn(&self, variable: usize, w: f64) -> Turn {
        let inputs = self.inputs.col_as_slice(variable);
        let (mut cosines, mut sines) =
            (inputs.iter().map(|input| w * input).collect::<Vec<f64>>(), vec![0.0; inputs.len()]);
        cos_sin_all(&mut cosines, 0.0, &mut sines);
        (cosines, sines)
    }
}

/// Real and imaginary parts by row.
type Turn = (Vec<f64>, Vec<f64>);

/// A fold: a fit to the rows of its search, and the rows that are held out.
pub(super) struct Fold {
    /// The rows of the search, and those that are held out.
    sides: [Side; 2],
    frequencies: Frequencies,
    /// β, γ and the intercept, a column for each output.
    weights: Mat<f64>,
    penalty: f64,
    /// Mean and deviation of the codes of each output.
    units: Vec<(f64, f64)>,
}

/// An effect on one side: its part of the fit by output, and features that cannot express it.
struct Parts {
    own: Mat<f64>,
    without: Mat<f64>,
}

impl Fold {
    /// Fits features of the variables of a step to the rows of the search.
    pub(super) fn new(sample: &Sample, prepared: &Prepared, step: &Step, held: &[usize], plan: SearchPlan) -> Self {
        let stream = splitmix64(0x7e57 << 32 | held.first().copied().unwrap_or(0) as u64);
        let mut random = generator(plan.seed, RngStream::Frequencies, stream);
        let frequencies = draw(&step.evidence, plan.family, FEATURES, &mut random);
        let (rows, columns, units) = (&prepared.rows, &step.variables, prepared.units.clone());
        let own = Mat::from_fn(rows.inputs.nrows(), columns.len(), |row, at| rows.inputs[(row, columns[at])]);
        let train = Side::new(&frequencies, own, rows.targets.clone(), rows.weights.clone());
        let target =
            |row: usize, output: usize| (sample.codes[(held[row], output)] - units[output].0) / units[output].1;
        let held = Side::new(
            &frequencies,
            prepared.inputs_of(sample, columns, held),
            Mat::from_fn(held.len(), units.len(), target),
            held.iter().map(|&row| sample.weights[row]).collect(),
        );
        let penalty = PENALTIES[step.penalty];
        let all: Vec<&[f64]> = (0..FEATURES).map(|feature| train.waves[0].col_as_slice(feature)).collect();
        let weights = Moments::of(&design(&all, &train.inputs, None), &train.targets, &train.weights).ridge(penalty);
        Fold { sides: [train, held], frequencies, weights, penalty, units }
    }

    /// Score and variance of an effect of one or two variables, for each output.
    pub(super) fn test(&self, effect: &[usize], on_log_odds: bool) -> Sums {
        let [train, held] = self.parts(effect);
        let of_output = |output: usize| {
            let fit = match on_log_odds {
                false => {
                    let columns = [self.sides[0].targets.col_as_slice(output), train.own.col_as_slice(output)];
                    let targets = Mat::from_fn(train.own.nrows(), 2, |row, at| columns[at][row]);
                    Moments::of(&train.without, &targets, &self.sides[0].weights).ridge(self.penalty)
                }
                true => self.logistic(output, &train),
            };
            let fitted = &held.without * &fit;
            let target = |row: usize| self.sides[1].targets[(row, output)];
            let residual = |row: usize| match on_log_odds {
                false => target(row) - fitted[(row, 0)],
                true => self.label(output, target(row)) - sigmoid(fitted[(row, 0)]),
            };
            let residuals: Vec<f64> = (0..fitted.nrows()).map(residual).collect();
            let directions: Vec<f64> =
                (0..fitted.nrows()).map(|row| held.own[(row, output)] - fitted[(row, 1)]).collect();
            sums(&residuals, &directions, &self.sides[1].weights)
        };
        (0..self.units.len()).map(of_output).collect()
    }

    /// A standardised ±1 as 0 or 1.
    fn label(&self, output: usize, target: f64) -> f64 {
        let (mean, deviation) = self.units[output];
        f64::from(u8::from(mean + deviation * target > 0.0))
    }

    /// The logistic fit g of a class by the features that cannot express an effect, and the weighted fit m of the effect.
    fn logistic(&self, output: usize, parts: &Parts) -> Mat<f64> {
        let side = &self.sides[0];
        let rows = side.weights.len();
        let mut margins = vec![0.0; rows];
        let mut fit = Mat::zeros(parts.without.ncols(), 2);
        for _ in 0..NEWTON_STEPS {
            let shares: Vec<f64> = margins.iter().map(|&margin| sigmoid(margin)).collect();
            let weights: Vec<f64> =
                shares.iter().zip(&side.weights).map(|(share, v)| v * share * (1.0 - share)).collect();
            let response = |row: usize| {
                let (share, margin) = (shares[row], margins[row]);
                let label = self.label(output, side.targets[(row, output)]);
                f64::clamp(margin, -LARGEST_MARGIN, LARGEST_MARGIN) + (label - share) / (share * (1.0 - share))
            };
            let targets =
                Mat::from_fn(rows, 2, |row, at| if at == 0 { response(row) } else { parts.own[(row, output)] });
            // The curvature of a row is at most a quarter.
            fit = Moments::of(&parts.without, &targets, &weights).ridge(0.25 * self.penalty);
            let fitted = &parts.without * fit.get(.., ..1);
            margins.copy_from_slice(fitted.col_as_slice(0));
        }
        fit
    }

    /// The parts of an effect on both sides. With E = e^{i(w·z + b)}, a feature without variable j is Re E·conj(e_j), and
    /// e^{i·a}(e_j − ē_j) is E·(1 − ē_j·conj(e_j)).
    fn parts(&self, effect: &[usize]) -> [Parts; 2] {
        let (features, outputs) = (self.frequencies.phases.len(), self.units.len());
        let matrix = &self.frequencies.matrix;
        let total: f64 = self.sides[0].weights.iter().sum();
        let mut own = self.sides.each_ref().map(|side| Mat::<f64>::zeros(side.weights.len(), outputs));
        let mut reduced: [Vec<Vec<f64>>; 2] = [Vec::new(), Vec::new()];
        let mut whole: Vec<usize> = Vec::new();
        for feature in 0..features {
            if effect.iter().any(|&variable| matrix[(variable, feature)] == 0.0) {
                whole.push(feature);
                continue;
            }
            let others = (0..matrix.nrows()).filter(|variable| !effect.contains(variable));
            let stays = effect.len() > 1 || others.into_iter().any(|variable| matrix[(variable, feature)] != 0.0);
            let turn =
                |variable: usize| self.sides.each_ref().map(|side| side.turn(variable, matrix[(variable, feature)]));
            let turns: Vec<[Turn; 2]> = effect.iter().map(|&variable| turn(variable)).collect();
            let mean = |values: &[f64]| weighted_dot(values, &self.sides[0].weights, None) / total;
            let means: Vec<[f64; 2]> =
                turns.iter().map(|[(real, imaginary), _]| [mean(real), mean(imaginary)]).collect();
            for (number, side) in self.sides.iter().enumerate() {
                let [cosines, sines] = side.waves.each_ref().map(|waves| waves.col_as_slice(feature));
                let (mut real, mut imaginary) = (cosines.to_vec(), sines.to_vec());
                for (turn, [c, s]) in turns.iter().zip(&means) {
                    let (x, y) = &turn[number];
                    if stays {
                        let without = (0..x.len()).map(|row| cosines[row] * x[row] + sines[row] * y[row]);
                        reduced[number].push(without.collect());
                    }
                    for row in 0..x.len() {
                        // 1 − ē·conj(e).
                        let (p, q) = (1.0 - (c * x[row] + s * y[row]), c * y[row] - s * x[row]);
                        (real[row], imaginary[row]) =
                            (real[row] * p - imaginary[row] * q, real[row] * q + imaginary[row] * p);
                    }
                }
                for output in 0..outputs {
                    let beta = self.weights[(feature, output)];
                    let cells = own[number].col_as_slice_mut(output).iter_mut().zip(&real);
                    cells.for_each(|(cell, real)| *cell += beta * real);
                }
            }
        }
        let linear = if let [variable] = effect { Some(*variable) } else { None };
        if let Some(variable) = linear {
            let mean = weighted_dot(self.sides[0].inputs.col_as_slice(variable), &self.sides[0].weights, None) / total;
            for (side, own) in self.sides.iter().zip(&mut own) {
                for output in 0..outputs {
                    let gamma = self.weights[(features + variable, output)];
                    let cells = own.col_as_slice_mut(output).iter_mut().zip(side.inputs.col_as_slice(variable));
                    cells.for_each(|(cell, z)| *cell += gamma * (z - mean));
                }
            }
        }
        let mut number = 0;
        own.map(|own| {
            let side = &self.sides[number];
            let waves = whole.iter().map(|&feature| side.waves[0].col_as_slice(feature));
            let columns: Vec<&[f64]> = waves.chain(reduced[number].iter().map(Vec::as_slice)).collect();
            number += 1;
            Parts { own, without: design(&columns, &side.inputs, linear) }
        })
    }
}

fn sigmoid(margin: f64) -> f64 {
    1.0 / (1.0 + (-margin.clamp(-LARGEST_MARGIN, LARGEST_MARGIN)).exp())
}

/// Features, inputs and 1; the input that is left out is 0.
fn design(features: &[&[f64]], inputs: &Mat<f64>, left_out: Option<usize>) -> Mat<f64> {
    let mut values = Mat::zeros(inputs.nrows(), features.len() + inputs.ncols() + 1);
    for (column, feature) in features.iter().enumerate() {
        values.col_as_slice_mut(column).copy_from_slice(feature);
    }
    for column in (0..inputs.ncols()).filter(|&column| Some(column) != left_out) {
        values.col_as_slice_mut(features.len() + column).copy_from_slice(inputs.col_as_slice(column));
    }
    values.col_as_slice_mut(features.len() + inputs.ncols()).fill(1.0);
    values
}

/// Score and variance of residuals along directions of unit mean square.
fn sums(residuals: &[f64], directions: &[f64], weights: &[f64]) -> [f64; 2] {
    let total: f64 = weights.iter().sum();
    let square = directions.iter().zip(weights).map(|(h, v)| v * h * h).sum::<f64>() / total;
    if square.is_nan() || square <= 1e-20 {
        return [0.0; 2];
    }
    let parts = residuals.iter().zip(directions).zip(weights).map(|((r, h), v)| v * r * h / square.sqrt());
    parts.fold([0.0; 2], |[score, variance], part| [score + part, variance + part * part])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::uniform;

    /// Some rows, features of three variables, and weights of two outputs.
    fn fold() -> Fold {
        let mut random = generator(3, RngStream::Frequencies, 0);
        let mut numbers = |rows, columns| Mat::from_fn(rows, columns, |_, _| 2.0 * uniform(&mut random) - 1.0);
        let mut matrix = numbers(3, 6);
        // One feature of one variable, two of two.
        [(1, 0), (2, 0), (0, 1), (2, 2)].into_iter().for_each(|(variable, feature)| matrix[(variable, feature)] = 0.0);
        let frequencies = Frequencies { matrix, phases: vec![0.3, 1.0, 2.0, 3.0, 4.0, 5.0] };
        let sides = [7, 5].map(|rows| {
            let weights = (0..rows).map(|row| 1.0 + row as f64 / 3.0).collect();
            Side::new(&frequencies, numbers(rows, 3), numbers(rows, 2), weights)
        });
        let weights = numbers(10, 2);
        Fold { sides, frequencies, weights, penalty: 0.1, units: vec![(0.0, 1.0); 2] }
    }

    fn value(fold: &Fold, inputs: &[f64], output: usize) -> f64 {
        let wave = |feature: usize| {
            let angle: f64 =
                (0..3).map(|variable| fold.frequencies.matrix[(variable, feature)] * inputs[variable]).sum();
            fold.weights[(feature, output)] * (angle + fold.frequencies.phases[feature]).cos()
        };
        let linear: f64 = (0..3).map(|variable| fold.weights[(6 + variable, output)] * inputs[variable]).sum();
        (0..6).map(wave).sum::<f64>() + linear
    }

    /// The mean of the fit over training rows' values of some variables, the other inputs given.
    fn averaged(fold: &Fold, inputs: &[f64], output: usize, variables: &[usize]) -> f64 {
        let Some((variable, rest)) = variables.split_first() else { return value(fold, inputs, output) };
        let train = &fold.sides[0];
        let total: f64 = train.weights.iter().sum();
        let at = |row: usize| {
            let mut moved = inputs.to_vec();
            moved[*variable] = train.inputs[(row, *variable)];
            train.weights[row] * averaged(fold, &moved, output, rest)
        };
        (0..train.weights.len()).map(at).sum::<f64>() / total
    }

    #[test]
    fn the_part_of_an_effect_is_what_averages_over_its_variables_leave() {
        let fold = fold();
        for effect in [vec![0], vec![2], vec![0, 1], vec![1, 2]] {
            let parts = fold.parts(&effect);
            for (side, part) in fold.sides.iter().zip(&parts) {
                for row in 0..side.weights.len() {
                    let inputs: Vec<f64> = (0..3).map(|variable| side.inputs[(row, variable)]).collect();
                    for output in 0..2 {
                        let mean = |variables: &[usize]| averaged(&fold, &inputs, output, variables);
                        let expected = match effect[..] {
                            [j] => mean(&[]) - mean(&[j]),
                            [j, k] => mean(&[]) - mean(&[j]) - mean(&[k]) + mean(&[j, k]),
                            _ => unreachable!("one or two variables"),
                        };
                        assert!((part.own[(row, output)] - expected).abs() < 1e-12, "{effect:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_features_do_not_change_with_the_effect() {
        let fold = fold();
        let [single, _] = fold.parts(&[0]);
        // Feature 0 has this variable alone: it leaves. The others, two inputs, a column of 0 and 1 stay.
        assert_eq!(single.without.ncols(), 5 + 3 + 1);
        let angle = |row: usize, feature: usize| {
            let own =
                |variable: usize| fold.frequencies.matrix[(variable, feature)] * fold.sides[0].inputs[(row, variable)];
            own(1) + own(2) + fold.frequencies.phases[feature]
        };
        // Feature 1 is without it anyway and comes first; feature 2 follows.
        for (column, feature) in [(0, 1), (1, 2), (4, 5)] {
            assert!((0..7).all(|row| (single.without[(row, column)] - angle(row, feature).cos()).abs() < 1e-12));
        }
        let [pair, _] = fold.parts(&[0, 1]);
        let with_both =
            (0..6).filter(|&l| fold.frequencies.matrix[(0, l)] != 0.0 && fold.frequencies.matrix[(1, l)] != 0.0);
        assert_eq!(pair.without.ncols(), 6 + with_both.count() + 3 + 1, "two for each feature with both");
    }
}
