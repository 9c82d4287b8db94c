//! Repeated fits of one recipe, with other orders, seeds or subsamples of the rows: how stable are its results?
//!
//! Source: Ma & Zheng 2016, section 6.1. The paper permutes the rows (`order`). Once a method has converged, the order
//! is a weak test; subsamples of nine tenths of the rows (`subsample`) are a stronger one, and estimate the variation
//! between data sets of the same kind.
//!
//! | measured | how |
//! |---|---|
//! | κ | mean over all pairs of runs (eq. 17, see [`crate::eval::kappa`]), p = features of the data, or as given (E7) |
//! | error | on rows the run has not seen: those left out of the subsample, one part in five kept from all orderings, or another file |
//! | size | features used, by any class |
//! | selection frequency | for each feature, the share of runs that use it |
//!
//! In another order only the order changes: everything else that depends on the seed stays as it is. The stabilized
//! learner visits rows in an order that depends on their content, so the input order changes nothing (κ = 1); use `seed`
//! to measure the effect of its random choices.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cross_validation::{alone, common_measure, measure_on, value_of};
use super::parallel::{Watch, side_by_side};
use super::{DataSummary, Measure, TuneData, TuneError};
use crate::data::FeatureId;
use crate::data::RowFilter;
use crate::eval::{EvalError, Metrics, deviation, mean, mean_kappa};
use crate::io::ReadError;
use crate::model::Model;
use crate::recipe::Recipe;
use crate::train::{FitOptions, TrainError};

/// What differs from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variation {
    /// The order of the rows.
    Order,
    /// The seed, on the same rows: every random choice of the method, the order of its visits among them.
    Seed,
    /// The rows: each run has this share of them.
    Subsample(f64),
}

/// Options of [`repeat`].
#[derive(Clone, Copy)]
pub struct RepeatOptions<'a> {
    /// Runs (B), at least 2.
    pub runs: u64,
    /// The difference between runs.
    pub by: Variation,
    /// The seed of orders and subsamples.
    pub seed: u64,
    /// The columns κ is over (p); `None` counts the features of the data.
    pub columns: Option<u64>,
    /// What is measured; `None` is the error of classes or the RMSE of numbers.
    pub measure: Option<Measure>,
    /// Other rows to evaluate on.
    pub validation: Option<&'a dyn TuneData>,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The measure on rows not seen.
    pub error: f64,
    /// Rows it was measured on.
    pub rows: u64,
    /// Features used.
    pub nonzeros: usize,
}

/// A feature that some run used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Selected {
    /// Its name.
    pub name: String,
    /// The share of runs that used it.
    pub share: f64,
    /// Its mean weight in the runs that used it; nothing with more than two classes.
    pub weight: Option<f64>,
}

/// The results of all runs.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// The measure.
    pub measure: Measure,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// Mean κ over pairs of runs.
    pub kappa: f64,
    /// Mean and standard deviation of the measure.
    pub error: (f64, f64),
    /// Mean and standard deviation of the number of features.
    pub nonzeros: (f64, f64),
    /// Columns κ is over.
    pub columns: u64,
    /// Features used by any run, most often used first, then by size of the weight, then by name.
    pub selected: Vec<Selected>,
}

/// Parts of which one is held out when the order varies and no other file is given.
pub(super) const HELD_OUT_OF: u32 = 5;

/// Fits the recipe `runs` times to the data, in parallel.
pub fn repeat(
    recipe: &Recipe,
    data: &dyn TuneData,
    summary: &DataSummary,
    options: &FitOptions,
    repeat: &RepeatOptions<'_>,
    watch: Watch<'_>,
) -> Result<Repeated, TuneError> {
    let run = |watch: Watch<'_>| {
        let threads = options.read.threads.max(1);
        let alone = alone(options, threads, summary);
        side_by_side(repeat.runs as usize, threads, watch, |run| one_run(recipe, data, &alone, repeat, run as u64))
    };
    repeat_by(summary, repeat, &run, watch)
}

/// The metrics and models of all runs, in order.
pub type RunAll<'a> = &'a (dyn Fn(Watch<'_>) -> Result<Vec<(Metrics, Model)>, TuneError> + 'a);

/// Compares the fits of all runs; `run` fits the models.
pub fn repeat_by(
    summary: &DataSummary,
    repeat: &RepeatOptions<'_>,
    run: RunAll<'_>,
    watch: Watch<'_>,
) -> Result<Repeated, TuneError> {
    check(repeat, summary)?;
    let columns = repeat.columns.unwrap_or(summary.features);
    compare(&run(watch)?, repeat.measure, columns)
}

fn check(repeat: &RepeatOptions<'_>, summary: &DataSummary) -> Result<(), TuneError> {
    let range = |what, low: f64, high: f64, found: f64| match (low..=high).contains(&found) {
        true => Ok(()),
        false => Err(TuneError::Range { what, low, high, found }),
    };
    range("the number of runs", 2.0, 10_000.0, repeat.runs as f64)?;
    if let Variation::Subsample(share) = repeat.by {
        range("the share of rows", 0.01, 0.99, share)?;
    }
    let columns = repeat.columns.unwrap_or(summary.features) as f64;
    range("the number of columns", summary.features as f64, u32::MAX as f64, columns)
}

/// The fit of one run, and its metrics on rows that it had not seen. The number of passes is to be that of all rows: see
/// [`FitOptions::passes_for_rows`].
pub fn one_run(
    recipe: &Recipe,
    data: &dyn TuneData,
    options: &FitOptions,
    repeat: &RepeatOptions<'_>,
    run: u64,
) -> Result<(Metrics, Model), TuneError> {
    fit_and_measure(recipe, data, options, repeat, run).map_err(|error| match error {
        TuneError::Eval(EvalError::NoRows) => TuneError::EmptyShare { run: run + 1, where_: "to evaluate on" },
        TuneError::Train(TrainError::Read(ReadError::NoRows { .. })) => {
            TuneError::EmptyShare { run: run + 1, where_: "to learn from" }
        }
        other => other,
    })
}

fn fit_and_measure(
    recipe: &Recipe,
    data: &dyn TuneData,
    options: &FitOptions,
    repeat: &RepeatOptions<'_>,
    run: u64,
) -> Result<(Metrics, Model), TuneError> {
    let (mut recipe, mut training) = (recipe.clone(), options.clone());
    let kept = match repeat.by {
        Variation::Order => {
            recipe.shuffle = Some(true);
            training.order = Some(repeat.seed.wrapping_add(run));
            RowFilter::held_out(HELD_OUT_OF, repeat.seed).turned(false)
        }
        Variation::Seed => {
            recipe.shuffle = Some(true);
            recipe.seed = repeat.seed.wrapping_add(run);
            RowFilter::held_out(HELD_OUT_OF, repeat.seed).turned(false)
        }
        Variation::Subsample(share) => RowFilter::Share { share, seed: repeat.seed, run, inside: true },
    };
    let left_out = match kept {
        RowFilter::Fold { .. } => kept.turned(true),
        RowFilter::Share { .. } => kept.turned(false),
    };
    let is_part = matches!(repeat.by, Variation::Subsample(_)) || repeat.validation.is_none();
    let model = data.fit(&recipe, &training, if is_part { std::slice::from_ref(&kept) } else { &[] })?.model;
    let measures = match repeat.validation {
        Some(other) => measure_on(&model, other, &[])?,
        None => measure_on(&model, data, &[left_out])?,
    };
    Ok((measures, model))
}

fn compare(outcomes: &[(Metrics, Model)], asked: Option<Measure>, columns: u64) -> Result<Repeated, TuneError> {
    let measure = common_measure(asked, outcomes.iter().map(|(measures, _)| measures))?;
    let run = |(measures, model): &(Metrics, Model)| {
        Ok(Run { error: value_of(measure, measures)?, rows: measures.n, nonzeros: model.nonzeros() })
    };
    let runs = outcomes.iter().map(run).collect::<Result<Vec<Run>, TuneError>>()?;
    let spread = |values: Vec<f64>| (mean(&values), deviation(&values));
    let models: Vec<&Model> = outcomes.iter().map(|(_, model)| model).collect();
    let (selected, sets) = selections(&models);
    Ok(Repeated {
        measure,
        kappa: mean_kappa(&sets, columns).expect("at least two runs"),
        error: spread(runs.iter().map(|run| run.error).collect()),
        nonzeros: spread(runs.iter().map(|run| run.nonzeros as f64).collect()),
        runs,
        columns,
        selected,
    })
}

/// Features by how often they were used, and each model's features as numbers in a common count.
fn selections(models: &[&Model]) -> (Vec<Selected>, Vec<Vec<FeatureId>>) {
    // The variables of a kernel model have no weights.
    let single = models.iter().all(|model| model.outputs.len() == 1 && model.kernel.is_none());
    // A bucket of hashed features may carry another name in each run: the bucket is what was selected.
    let mut found: BTreeMap<String, (String, BTreeMap<usize, f64>)> = BTreeMap::new();
    for (run, model) in models.iter().enumerate() {
        for feature in model.outputs.iter().flat_map(|output| &output.features) {
            let key = feature.bucket.map_or_else(|| feature.name.clone(), |bucket| format!("bucket {bucket}"));
            let (_, weights) = found.entry(key).or_insert_with(|| (feature.name.clone(), BTreeMap::new()));
            weights.insert(run, feature.weight);
        }
        for name in model.kernel.iter().flat_map(|kernel| kernel.names()) {
            let (_, weights) = found.entry(name.into()).or_insert_with(|| (name.into(), BTreeMap::new()));
            weights.insert(run, 0.0);
        }
    }
    let mut sets = vec![Vec::new(); models.len()];
    let mut selected = Vec::with_capacity(found.len());
    for (id, (name, weights)) in found.into_values().enumerate() {
        weights.keys().for_each(|&run| sets[run].push(id as FeatureId));
        let weight = single.then(|| mean(&weights.values().copied().collect::<Vec<_>>()));
        selected.push(Selected { name, share: weights.len() as f64 / models.len() as f64, weight });
    }
    let size = |one: &Selected| one.weight.unwrap_or(0.0).abs();
    selected.sort_by(|a, b| b.share.total_cmp(&a.share).then(size(b).total_cmp(&size(a))).then(a.name.cmp(&b.name)));
    (selected, sets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TrainingSummary;
    use serde_json::json;

    fn model(weights: &[(&str, f64)]) -> Model {
        let feature = |&(name, weight): &(&str, f64)| json!({"name": name, "weight": weight});
        let output = json!({"intercept": 0, "features": weights.iter().map(feature).collect::<Vec<_>>()});
        let (recipe, seen) = (Recipe::default(), TrainingSummary::default());
        let fields =
            json!({"recipe": recipe, "loss": "squared", "task": "regression", "seen": seen, "outputs": [output]});
        serde_json::from_value(fields).expect("a model")
    }

    #[test]
    fn what_runs_have_in_common_by_hand() {
        let measured = |rmse: f64| Metrics { n: 7, rmse: Some(rmse), ..Metrics::default() };
        let outcomes = [
            (measured(1.0), model(&[("a", 2.0), ("b", -1.0), ("c", 1.0)])),
            (measured(2.0), model(&[("b", -3.0), ("c", 1.0), ("d", 9.0)])),
        ];
        let found = compare(&outcomes, None, 10).unwrap();
        assert!((found.kappa - 0.22 / 0.42).abs() < 1e-15, "the sets of eval::kappa's own test");
        assert_eq!((found.measure, found.error), (Measure::Rmse, (1.5, 0.5f64.sqrt())));
        assert_eq!(found.nonzeros, (3.0, 0.0));
        let order: Vec<(&str, f64, f64)> =
            found.selected.iter().map(|one| (one.name.as_str(), one.share, one.weight.unwrap())).collect();
        assert_eq!(order, [("b", 1.0, -2.0), ("c", 1.0, 1.0), ("d", 0.5, 9.0), ("a", 0.5, 2.0)]);
    }

    #[test]
    fn a_hashed_feature_is_known_by_its_bucket() {
        let [mut one, mut other] = [model(&[("first", 1.0)]), model(&[("second", 1.0)])];
        assert_eq!(selections(&[&one, &other]).1, [vec![0], vec![1]]);
        one.outputs[0].features[0].bucket = Some(3);
        other.outputs[0].features[0].bucket = Some(3);
        assert_eq!(selections(&[&one, &other]).1, [vec![0], vec![0]]);
    }

    #[test]
    fn limits_are_told() {
        let options = |runs, by, columns| RepeatOptions { runs, by, seed: 0, columns, measure: None, validation: None };
        let summary = DataSummary { rows: 100, features: 50, ..DataSummary::default() };
        let message = |options: RepeatOptions<'_>| check(&options, &summary).unwrap_err().to_string();
        assert_eq!(
            message(options(1, Variation::Order, None)),
            "the number of runs must lie between 2 and 10000, got 1"
        );
        assert!(message(options(3, Variation::Subsample(1.0), None)).contains("between 0.01 and 0.99, got 1"));
        assert!(
            message(options(3, Variation::Order, Some(49))).contains("the number of columns must lie between 50 and")
        );
    }
}
