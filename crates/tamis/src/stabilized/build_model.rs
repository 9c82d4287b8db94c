//! The chosen size and its weights in raw units: how the size path becomes a model.

use std::collections::BTreeSet;

use super::cross_fit::CrossFit;
use super::ensemble::SizeStep;
use super::holdout::CutScore;
use super::stage::{ClassCoding, PathMeans};
use crate::data::FeatureId;
use crate::loss::argmax;
use crate::model::{Cut, FeatureTests, LARGEST_FDR, Model, Output, Resize, SizePath, SizePoint, TrainingSummary};
use crate::select::{Estimate, SizeScore, hardly_worse, slack, smallest_near_least, smallest_on_path};
use crate::trainer::{BufferedRows, ScaledWeight, TrainError, TrainingData, output};

/// The model keeps the weights of sizes up to this multiple of the chosen size, so that `tamis resize` needs no data.
const KEPT_SIZES: usize = 4;
/// It keeps the weights of sizes up to this in any case: each feature has about two hundred bytes a size in the file.
const ALWAYS_KEPT: usize = 64;

/// The weight of a feature that must be named but has no effect.
const NEGLIGIBLE: f64 = 1e-9;

/// The size that becomes the model: the last one that the paths learned if a size is given. Else the smallest of these
/// within the tolerance of the best, by the scores before refinement (refinement favours larger sizes, so it must not
/// influence the number of features); and then a size below it that is hardly worse.
pub(super) fn select(ensembles: &CrossFit, k: Option<usize>) -> &SizeStep {
    let steps = &ensembles.steps;
    let last = steps.len() - 1;
    if k.is_some() {
        return &steps[last];
    }
    let score = |step: &SizeStep| step.before_refinement.as_ref().unwrap_or(&step.holdout).size_score();
    let scores: Vec<SizeScore> = steps.iter().map(score).collect();
    let chosen = smallest_on_path(&scores);
    let step = &steps[chosen];
    let next = steps.get(chosen + 1).map_or(0, |next| next.active.len());
    let below = ensembles.between.iter().filter(|size| (next + 1..step.active.len()).contains(&size.active.len()));
    if chosen == last {
        let sizes: Vec<&SizeStep> = std::iter::once(step).chain(below).collect();
        let losses: Vec<Estimate> = sizes.iter().map(|size| size.holdout.size_score().loss).collect();
        return sizes[smallest_near_least(&losses, |a, b| sizes[a].holdout.loss_above(&sizes[b].holdout))];
    }
    let below: Vec<&SizeStep> = below.collect();
    let below_scores: Vec<SizeScore> = below.iter().map(|size| size.holdout.size_score()).collect();
    let hardly_worse = hardly_worse(step.holdout.size_score(), slack(&scores, chosen), &below_scores);
    hardly_worse.map_or(step, |last| below[last])
}

/// All sizes, from the largest down.
fn all_sizes(ensembles: &CrossFit) -> Vec<&SizeStep> {
    let mut sizes: Vec<&SizeStep> = ensembles.steps.iter().chain(&ensembles.between).collect();
    sizes.sort_by_key(|size| std::cmp::Reverse(size.active.len()));
    sizes
}

/// The model of a size, with its size path.
pub(super) fn finish(data: &TrainingData, ensembles: &CrossFit, step: &SizeStep, tests: FeatureTests) -> Model {
    let largest = step.active.len().saturating_mul(KEPT_SIZES).max(ALWAYS_KEPT);
    let largest = largest.max(confirmed_size(data, ensembles, &tests));
    let kept = |step: &SizeStep| if step.active.len() <= largest { outputs(data, ensembles, step) } else { Vec::new() };
    let all = all_sizes(ensembles);
    let chosen = all.iter().position(|size| size.active == step.active).expect("the size is one of them");
    let sizes: Vec<SizePoint> = all.into_iter().map(|step| path_step(step, data, kept(step))).collect();
    let outputs = sizes[chosen].outputs.clone();
    let size_path = SizePath { paths: ensembles.main.ensemble.paths(), chosen, sizes };
    Model { size_path: Some(size_path), tests: Some(tests), ..model_of(data, ensembles, step, outputs) }
}

/// The smallest size that contains all features that may be confirmed.
fn confirmed_size(data: &TrainingData, ensembles: &CrossFit, tests: &FeatureTests) -> usize {
    let confirmed: BTreeSet<&str> = tests.confirmed(LARGEST_FDR).iter().map(|test| test.name.as_str()).collect();
    let contained = |step: &&SizeStep| {
        step.active.iter().filter(|&&id| confirmed.contains(data.vocabulary.name(id).as_str())).count()
            == confirmed.len()
    };
    let smallest = ensembles.steps.iter().rev().filter(|_| !confirmed.is_empty()).find(contained);
    smallest.map_or(0, |step| step.active.len())
}

/// The model with only its confirmed features: with none of them, it predicts the same for every row.
pub(super) fn only_confirmed(data: &TrainingData, model: Model, fdr: f64, base_scores: &[f64]) -> Model {
    if let Ok(confirmed) = model.resize(Resize::Fdr(fdr)) {
        return confirmed;
    }
    let empty = |(number, &score)| output(&data.targets, &data.vocabulary, number, score, std::iter::empty());
    Model { outputs: base_scores.iter().enumerate().map(empty).collect(), ..model }
}

/// The best prediction without features for each output: the mean of numbers, the log-odds of a class.
pub(super) fn base_scores(codings: &[ClassCoding], rows: &mut BufferedRows) -> Result<Vec<f64>, TrainError> {
    let (mut sums, mut total) = (vec![0.0; codings.len()], 0.0);
    for chunk in rows.store.chunks(0) {
        for example in chunk?.examples() {
            total += example.weight;
            for (sum, coding) in sums.iter_mut().zip(codings) {
                *sum += example.weight * coding.output.code(example.target);
            }
        }
    }
    // The mean of ±1 is 2p − 1.
    let score = |(sum, coding): (f64, &ClassCoding)| match coding.output.class {
        Some(_) => ((total + sum).max(f64::MIN_POSITIVE) / (total - sum).max(f64::MIN_POSITIVE)).ln(),
        None => sum / f64::max(total, f64::MIN_POSITIVE),
    };
    Ok(sums.into_iter().zip(codings).map(score).collect())
}

/// A size as the model file stores it.
pub(super) fn path_step(step: &SizeStep, data: &TrainingData, outputs: Vec<Output>) -> SizePoint {
    let unit = data.targets.loss_unit();
    let in_units = |standard_error, error: Option<f64>| standard_error * if error.is_some() { 1.0 } else { unit };
    let cut = |cut: &CutScore| Cut {
        without: data.vocabulary.name(cut.feature),
        loss: cut.loss * unit,
        error: cut.error,
        standard_error: in_units(cut.standard_error, cut.error),
    };
    SizePoint {
        size: step.active.len(),
        gravity: step.gravity,
        loss: step.holdout.loss * unit,
        error: step.holdout.error,
        standard_error: in_units(step.holdout.standard_error(), step.holdout.error),
        selected: step.outputs.iter().map(|means| means.frequency.iter().sum::<f64>()).fold(0.0, f64::max),
        cuts: if outputs.is_empty() { Vec::new() } else { step.cuts.iter().map(cut).collect() },
        outputs,
        is_cut: false,
    }
}

/// The model of a single size, with its [`outputs`].
pub(super) fn model_of(data: &TrainingData, ensembles: &CrossFit, step: &SizeStep, outputs: Vec<Output>) -> Model {
    let summary = TrainingSummary {
        passes: ensembles.done.div_ceil(data.buffered_rows) as u32,
        progressive_loss: step.holdout.loss * data.targets.loss_unit(),
        progressive_error: step.holdout.error,
        ..TrainingSummary::default()
    };
    data.model(outputs, summary)
}

/// The outputs of a size as those of a model.
pub(super) fn outputs(data: &TrainingData, ensembles: &CrossFit, step: &SizeStep) -> Vec<Output> {
    raw_outputs(step, data, |id| ensembles.main.transform.column(id))
}

/// A negligible weight for a feature that has none in any output, if a number of features was asked for: with a signal so
/// weak that the held-out rows contradict it, the model still names exactly so many.
fn placeholder(step: &SizeStep, data: &TrainingData, output: usize, position: usize) -> f64 {
    let has_weight =
        |(number, means): (usize, &PathMeans)| step.holdout.calibrations[number].slope * means.weights[position] != 0.0;
    if data.recipe.k.is_none() || step.outputs.iter().enumerate().any(has_weight) {
        return 0.0;
    }
    let evidence: Vec<f64> = step.outputs.iter().map(|means| means.evidence[position]).collect();
    let strengths: Vec<f64> = evidence.iter().map(|evidence| evidence.abs()).collect();
    if argmax(&strengths) == output { NEGLIGIBLE.copysign(evidence[output]) } else { 0.0 }
}

/// The outputs of a size in raw units; `column` gives the divisor and the mean of a column.
pub(super) fn raw_outputs(
    step: &SizeStep,
    data: &TrainingData,
    column: impl Fn(FeatureId) -> (f64, f64),
) -> Vec<Output> {
    let of_output = |number: usize| {
        let (means, calibration) = (&step.outputs[number], step.holdout.calibrations[number]);
        let weighted = |(position, &id): (usize, &FeatureId)| ScaledWeight {
            id,
            weight: calibration.slope * means.weights[position] + placeholder(step, data, number, position),
            column: column(id),
            frequency: Some(means.frequency[position]),
            evidence: Some([means.evidence[position], means.spread[position]]),
        };
        let weights = step.active.iter().enumerate().map(weighted);
        output(&data.targets, &data.vocabulary, number, calibration.apply(means.bias), weights)
    };
    (0..step.outputs.len()).map(of_output).collect()
}
