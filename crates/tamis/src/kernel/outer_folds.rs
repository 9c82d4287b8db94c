//! Nested cross-validation: the whole search again on the training rows of each outer fold, evaluated on its other rows.
//!
//! The scan and every elimination see all rows of their search, so that errors inside a search are optimistic: on pure
//! noise they claim to explain 4 to 5 % of the variance. Rows of an outer fold take no part in any of it (Varma & Simon
//! 2006). They choose the size, may say that no size is better than a constant, and compare with a linear model.
//!
//! The size is the least one whose squared error exceeds that of the best by at most one standard error of the paired
//! differences of rows, if the error inside the search on all rows does not contradict it. Then variables with less than a
//! hundredth of the largest sensitivity leave. A constant (no variables) competes, too.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | folds | [`FOLDS`] | 3 | time |
//! | weak | [`WEAK`] | 0.01 | planted data: false variables had at most 0.002, true ones at least 0.2 |

use faer::Mat;
use rayon::prelude::*;

use super::effect_tests::{EffectTests, FoldTests, combine, test_fold};
use super::linear::{choose_size, forward_selection};
use super::rows::Rows;
use super::sample::{Prepared, Sample};
use super::search::{Elimination, SearchPlan, Step, screen};
use crate::loss::{Logistic, Loss, argmax};
use crate::model::kernel::KernelScore;
use crate::platt::{self, Calibration, Scored};
use crate::recipe::InputKind;
use crate::select::Estimate;

/// Standard errors by which the error inside the search may exceed that of the best size.
const N_SE: f64 = 2.0;
/// Variables with a smaller share of the largest sensitivity are not kept.
const WEAK: f64 = 0.01;
/// Outer folds.
const FOLDS: usize = 3;

/// Held-out scores of every row of the sample, in units of the codes.
pub(super) struct HeldOut {
    /// By size of the path: a row for each row of the sample, a column for each output.
    pub(super) sizes: Vec<Mat<f64>>,
    pub(super) constant: Mat<f64>,
    pub(super) linear: Mat<f64>,
    /// The mean number of columns of the linear models.
    pub(super) linear_size: f64,
    /// By fold and size of the path: the selected columns.
    pub(super) selected: Vec<Vec<Vec<usize>>>,
    /// The tests of variables and pairs.
    pub(super) tests: EffectTests,
}

impl HeldOut {
    /// The share of folds that select a column at a size.
    pub(super) fn share(&self, size: usize, column: usize) -> f64 {
        let count = self.selected.iter().filter(|fold| fold[size].contains(&column)).count();
        count as f64 / FOLDS as f64
    }
}

struct Fold {
    rows: Vec<usize>,
    /// By step of its own search.
    steps: Vec<(Vec<usize>, Mat<f64>)>,
    constant: Vec<f64>,
    linear: Mat<f64>,
    linear_size: usize,
    tests: FoldTests,
}

/// Repeats the search without each fold. `sizes` are those of the search on all rows.
pub(super) fn cross_validate(sample: &Sample, plan: SearchPlan, sizes: &[usize], are_numbers: bool) -> HeldOut {
    let fold_of = sample.folds(FOLDS);
    let run = |fold: usize| run_fold(sample, plan, &fold_of, fold, are_numbers);
    let mut folds: Vec<Fold> = (0..FOLDS).into_par_iter().map(run).collect();
    let tests: Vec<FoldTests> = folds.iter_mut().map(|fold| std::mem::take(&mut fold.tests)).collect();
    let (count, outputs) = (sample.weights.len(), sample.codes.ncols());
    let gather = |of_fold: &dyn Fn(&Fold, usize, usize) -> f64| {
        let mut scores = Mat::zeros(count, outputs);
        for fold in &folds {
            for (place, &row) in fold.rows.iter().enumerate() {
                (0..outputs).for_each(|output| scores[(row, output)] = of_fold(fold, place, output));
            }
        }
        scores
    };
    // A fold with other sizes has the largest of them that is not above.
    let step = |fold: &Fold, size: usize| {
        fold.steps.iter().position(|(variables, _)| variables.len() <= size).unwrap_or(fold.steps.len() - 1)
    };
    HeldOut {
        sizes: sizes
            .iter()
            .map(|&size| gather(&|fold, place, output| fold.steps[step(fold, size)].1[(place, output)]))
            .collect(),
        constant: gather(&|fold, _, output| fold.constant[output]),
        linear: gather(&|fold, place, output| fold.linear[(place, output)]),
        linear_size: folds.iter().map(|fold| fold.linear_size as f64).sum::<f64>() / FOLDS as f64,
        selected: folds
            .iter()
            .map(|fold| sizes.iter().map(|&size| fold.steps[step(fold, size)].0.clone()).collect())
            .collect(),
        tests: combine(&tests, sample.ids.len()),
    }
}

fn run_fold(sample: &Sample, plan: SearchPlan, fold_of: &[usize], fold: usize, are_numbers: bool) -> Fold {
    let (held, train): (Vec<usize>, Vec<usize>) = (0..fold_of.len()).partition(|&row| fold_of[row] == fold);
    let prepared = sample.prepare(&train, plan.inputs);
    let screened = screen(&prepared.rows, plan.max_variables);
    let search = Elimination::new(&screened, plan.family, plan.k, (plan.seed, 1 + fold as u64)).predicting();
    let steps = search.down_to(&prepared.rows, 1).steps;
    let tests = test_fold(sample, &prepared, &steps, &held, plan, are_numbers);
    let steps = steps.iter().map(|step| (step.variables.clone(), scores(sample, &prepared, step, &held))).collect();
    let (linear, linear_size) = linear_scores(sample, &train, &held);
    let constant = prepared.units.iter().map(|unit| unit.0).collect();
    Fold { rows: held, steps, constant, linear, linear_size, tests }
}

/// The scores of some rows of the sample by a step of a search.
fn scores(sample: &Sample, prepared: &Prepared, step: &Step, rows: &[usize]) -> Mat<f64> {
    let features = step.frequencies.phases.len();
    let weights = step.weights.as_ref().expect("searches of folds predict");
    let inputs = prepared.inputs_of(sample, &step.variables, rows);
    let waves = step.frequencies.cosines(inputs.as_ref());
    let mut found = &waves * weights.get(..features, ..) + &inputs * weights.get(features..weights.nrows() - 1, ..);
    for (output, &(mean, deviation)) in prepared.units.iter().enumerate() {
        let intercept = weights[(weights.nrows() - 1, output)];
        let cells = found.col_as_slice_mut(output).iter_mut();
        cells.for_each(|cell| *cell = mean + deviation * (*cell + intercept));
    }
    found
}

fn linear_scores(sample: &Sample, train: &[usize], held: &[usize]) -> (Mat<f64>, usize) {
    // Training rows first: their maps apply to the held-out rows, too.
    let prepared = sample.prepare(train, InputKind::ZScore);
    let all: Vec<usize> = train.iter().chain(held).copied().collect();
    let columns: Vec<usize> = (0..sample.ids.len()).collect();
    let inputs = prepared.inputs_of(sample, &columns, &all);
    let mut rows = Rows { inputs, ..prepared.rows };
    let blocks = rows.blocks.clone();
    rows.targets = Mat::from_fn(all.len(), sample.codes.ncols(), |row, output| {
        (sample.codes[(all[row], output)] - prepared.units[output].0) / prepared.units[output].1
    });
    rows.weights = all.iter().map(|&row| sample.weights[row]).collect();
    rows.blocks = blocks.into_iter().chain(held.iter().map(|_| 0)).collect();
    let (train, held): (Vec<usize>, Vec<usize>) = ((0..train.len()).collect(), (train.len()..all.len()).collect());
    let size = choose_size(&rows, &train);
    let found = forward_selection(&rows, &train, &held, size);
    let last = found.predictions.last().expect("no columns are the first prediction");
    let scores = Mat::from_fn(held.len(), last.ncols(), |row, output| {
        prepared.units[output].0 + prepared.units[output].1 * last[(row, output)]
    });
    (scores, found.predictions.len() - 1)
}

/// Which size was chosen, and why.
pub(super) struct Choice {
    /// The place of the smallest size about as good as the best; `None` if a constant is.
    pub(super) chosen: Option<usize>,
    /// The place of the size of least error.
    pub(super) best: usize,
    /// Whether the linear model is as good as the chosen size.
    pub(super) is_linear_as_good: bool,
}

/// Chooses a size by the errors of rows. `steps` are those of the search on all rows, which become the model: its
/// variables of a size may be others than those of the folds, and worse.
pub(super) fn choose(sample: &Sample, held_out: &HeldOut, steps: &[Step], asked: Option<usize>) -> Choice {
    let errors: Vec<Vec<f64>> = held_out.sizes.iter().map(|scores| row_errors(sample, scores)).collect();
    let (constant, linear) = (row_errors(sample, &held_out.constant), row_errors(sample, &held_out.linear));
    let mean = |errors: &[f64]| difference(sample, errors, None).mean;
    let place = (0..errors.len()).min_by(|&a, &b| mean(&errors[a]).total_cmp(&mean(&errors[b]))).unwrap_or(0);
    let best = if mean(&constant) < mean(&errors[place]) { &constant } else { &errors[place] };
    let is_near = |one: &[f64], other: &[f64]| {
        let excess = difference(sample, one, Some(other));
        excess.mean <= excess.standard_error
    };
    let deviation = difference(sample, &errors[place], None).standard_error;
    let is_sound = |size: usize| steps[size].inner <= steps[place].inner + N_SE * deviation;
    let is_eligible = |&size: &usize| is_near(&errors[size], best) && is_sound(size);
    let smallest = (0..errors.len()).rev().find(is_eligible).unwrap_or(place);
    let sizes: Vec<usize> = steps.iter().map(|step| step.variables.len()).collect();
    let small = without_weak(&steps[smallest].sensitivities, &sizes, smallest);
    let chosen = if is_near(&constant, best) { None } else { Some(small) };
    let used = asked.or(chosen);
    Choice {
        chosen,
        best: place,
        is_linear_as_good: chosen.is_some() && used.is_some_and(|used| is_near(&linear, &errors[used])),
    }
}

/// The place of the smallest size that has all variables of a step that matter: those with at least a hundredth of the
/// largest sensitivity. If one fold loses a true variable early, the held-out error asks for a larger size, whose other
/// variables do nothing.
fn without_weak(sensitivities: &[f64], sizes: &[usize], chosen: usize) -> usize {
    let largest = sensitivities.iter().copied().fold(0.0, f64::max);
    let strong = sensitivities.iter().filter(|&&one| one >= WEAK * largest).count();
    (chosen..sizes.len()).rev().find(|&place| sizes[place] >= strong).unwrap_or(chosen)
}

/// The mean of errors of rows, or of their differences to others.
fn difference(sample: &Sample, errors: &[f64], others: Option<&[f64]>) -> Estimate {
    let value = |row: usize| errors[row] - others.map_or(0.0, |others| others[row]);
    Estimate::of((0..errors.len()).map(|row| (sample.weights[row], value(row))))
}

/// The squared error of each row, in units of the variance, averaged over outputs.
fn row_errors(sample: &Sample, scores: &Mat<f64>) -> Vec<f64> {
    let (count, outputs) = (sample.weights.len(), sample.codes.ncols());
    let all: Vec<usize> = (0..count).collect();
    let units = sample.units(&all);
    let square =
        |row: usize, output: usize| ((sample.codes[(row, output)] - scores[(row, output)]) / units[output].1).powi(2);
    (0..count).map(|row| (0..outputs).map(|output| square(row, output)).sum::<f64>() / outputs as f64).collect()
}

/// Slope and shift of the log-odds for each output, by held-out scores.
pub(super) fn calibrations(sample: &Sample, scores: &Mat<f64>) -> Vec<Calibration> {
    (0..scores.ncols()).map(|output| platt::logistic(&scored(sample, scores, output))).collect()
}

/// The log-odds of each output.
pub(super) fn class_odds(sample: &Sample) -> Vec<f64> {
    (0..sample.codes.ncols()).map(|output| platt::log_odds(&scored(sample, &sample.codes, output))).collect()
}

fn scored(sample: &Sample, scores: &Mat<f64>, output: usize) -> Vec<Scored> {
    let row = |row: usize| Scored {
        score: scores[(row, output)],
        target: sample.codes[(row, output)],
        weight: sample.weights[row],
    };
    (0..sample.weights.len()).map(row).collect()
}

/// The held-out score of a size: `loss_unit` brings squared errors of numbers to the units of the label, `None` for
/// classes.
pub(super) fn score(sample: &Sample, scores: &Mat<f64>, loss_unit: Option<f64>) -> KernelScore {
    let squared = difference(sample, &row_errors(sample, scores), None);
    if let Some(unit) = loss_unit {
        let all: Vec<usize> = (0..sample.weights.len()).collect();
        let variance = sample.units(&all)[0].1.powi(2);
        let loss = squared.mean * variance * unit;
        return KernelScore {
            squared: squared.mean,
            squared_se: squared.standard_error,
            error: None,
            error_se: None,
            loss,
        };
    }
    let calibrations = calibrations(sample, scores);
    let outputs = scores.ncols();
    let margins = |row: usize| -> Vec<f64> {
        calibrations.iter().enumerate().map(|(output, fit)| fit.apply(scores[(row, output)])).collect()
    };
    let is_wrong = |row: usize| {
        let margins = margins(row);
        let class = if outputs == 1 { usize::from(margins[0] > 0.0) } else { argmax(&margins) };
        f64::from(u8::from(class as f64 != sample.targets[row]))
    };
    let loss = |row: usize| {
        let losses =
            margins(row).into_iter().enumerate().map(|(o, margin)| Logistic.value(margin, sample.codes[(row, o)]));
        losses.sum::<f64>() / outputs as f64
    };
    let rows = || 0..sample.weights.len();
    let error = Estimate::of(rows().map(|row| (sample.weights[row], is_wrong(row))));
    KernelScore {
        squared: squared.mean,
        squared_se: squared.standard_error,
        error: Some(error.mean),
        error_se: Some(error.standard_error),
        loss: Estimate::of(rows().map(|row| (sample.weights[row], loss(row)))).mean,
    }
}

#[cfg(test)]
mod tests {
    use super::without_weak;

    #[test]
    fn variables_of_no_weight_leave_and_no_other() {
        let sizes = [11, 7, 6, 5, 4, 3, 2, 1];
        let step = |strong: usize| (0..7).map(|at| if at < strong { 0.3 } else { 0.001 }).collect::<Vec<f64>>();
        assert_eq!(without_weak(&step(7), &sizes, 1), 1);
        assert_eq!(without_weak(&step(4), &sizes, 1), 4);
        assert_eq!(without_weak(&[0.3, 0.004], &sizes, 6), 6, "more than a hundredth");
        // Nine of eleven matter, but no size has nine.
        let nine: Vec<f64> = (0..11).map(|at| if at < 9 { 1.0 } else { -0.1 }).collect();
        assert_eq!(without_weak(&nine, &sizes, 0), 0);
    }
}
