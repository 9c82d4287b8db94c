//! Cross-validation: every setting is fitted to all folds but one and evaluated on the held-out fold.
//!
//! For folds f = 1 … F with n_f rows and measured values e_f, a setting's value and its standard error are
//! ```text
//! mean = Σ n_f e_f / Σ n_f        se² = Σ n_f (e_f − mean)² / Σ n_f / (F − 1)
//! ```
//! which are the usual ones for equal folds; folds by hash are only about equal. The size of a setting is the
//! mean number of features its models use. All settings see the same folds. A setting that
//! diverges in any fold has no value and is never chosen. A fold makes as many passes over its rows as the fit to all rows
//! makes over them. Cost: folds × settings fits, each with its own pass over the data.

use serde::Serialize;

use super::parallel::{Watch, side_by_side};
use super::{DataSummary, GridPoint, Measure, TuneData, TuneError};
use crate::data::RowFilter;
use crate::eval::{EvalError, Metrics, UnknownClasses, measure};
use crate::model::Model;
use crate::recipe::Recipe;
use crate::select::Estimate;
use crate::train::{FitOptions, TrainError};

/// How to cross-validate.
#[derive(Clone, Copy, Debug)]
pub struct CrossOptions {
    /// Folds, at least 2.
    pub folds: u32,
    /// The seed of the folds.
    pub seed: u64,
    /// What to compare; `None` is the error of classes or the RMSE of numbers.
    pub measure: Option<Measure>,
}

/// A setting and its cross-validation results.
#[derive(Clone, Debug)]
pub struct Point {
    /// The setting.
    pub setting: GridPoint,
    /// The mean of the measure over folds; infinite if the setting could not be fitted.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The mean number of features.
    pub size: f64,
    /// The folds, in order; empty if the setting could not be fitted.
    pub folds: Vec<Fold>,
}

/// The result of a setting on one fold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fold {
    /// The measure on the fold.
    pub value: f64,
    /// Rows of the fold.
    pub rows: u64,
    /// Features of the model.
    pub nonzeros: usize,
}

/// All settings of a grid with their values.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The measure.
    pub measure: Measure,
    /// The settings, in the order of the grid.
    pub points: Vec<Point>,
    /// Rows of the data.
    pub rows: u64,
    /// Features of the data.
    pub features: u64,
}

/// Metrics and size of a model; `None` if its weights diverged.
pub type Outcome = Option<(Metrics, usize)>;

/// Runs all folds of every setting, wherever: the outcomes are in the order of the settings, fold by fold.
pub type RunFolds<'a> = &'a (dyn Fn(&[GridPoint], Watch<'_>) -> Result<Vec<Outcome>, TuneError> + 'a);

/// Evaluates every setting by cross-validation on the data, with parallel fits.
pub fn cross_validate(
    settings: &[GridPoint],
    data: &dyn TuneData,
    summary: &DataSummary,
    options: &FitOptions,
    cross: &CrossOptions,
    watch: Watch<'_>,
) -> Result<Curve, TuneError> {
    cross_validate_by(settings, summary, cross, &on_threads(data, summary, options, cross), watch)
}

/// Evaluates every setting by cross-validation; `run` fits the models.
pub fn cross_validate_by(
    settings: &[GridPoint],
    summary: &DataSummary,
    cross: &CrossOptions,
    run: RunFolds<'_>,
    watch: Watch<'_>,
) -> Result<Curve, TuneError> {
    if cross.folds < 2 || u64::from(cross.folds) > summary.rows.max(2) {
        let (what, high) = ("the number of folds", summary.rows.max(2) as f64);
        return Err(TuneError::Range { what, low: 2.0, high, found: cross.folds.into() });
    }
    let folds = cross.folds as usize;
    let outcomes = run(settings, watch).map_err(|error| match error {
        TuneError::EmptyFold { fold, folds, .. } => TuneError::EmptyFold { fold, folds, rows: summary.rows },
        other => other,
    })?;
    let measure = common_measure(cross.measure, outcomes.iter().flatten().map(|(measures, _)| measures))?;
    let point = |(setting, outcomes): (&GridPoint, &[Outcome])| point(setting, outcomes, measure);
    let points = settings.iter().zip(outcomes.chunks(folds)).map(point).collect::<Result<Vec<_>, _>>()?;
    if points.iter().all(|point| point.folds.is_empty()) {
        return Err(TuneError::AllDiverged);
    }
    Ok(Curve { measure, points, rows: summary.rows, features: summary.features })
}

/// Fits side by side on the threads of this process.
pub(super) fn on_threads<'a>(
    data: &'a dyn TuneData,
    summary: &'a DataSummary,
    options: &'a FitOptions,
    cross: &'a CrossOptions,
) -> impl Fn(&[GridPoint], Watch<'_>) -> Result<Vec<Outcome>, TuneError> + 'a {
    move |settings, watch| {
        let (folds, threads) = (cross.folds as usize, options.read.threads.max(1));
        let alone = alone(options, threads, summary);
        side_by_side(settings.len() * folds, threads, watch, |job| {
            one_fold(&settings[job / folds].recipe, data, &alone, cross, (job % folds) as u32)
        })
    }
}

/// Fits a recipe to all folds but one, and measures the model on that one. The number of passes is to be that of all rows:
/// see [`FitOptions::passes_for_rows`].
pub fn one_fold(
    recipe: &Recipe,
    data: &dyn TuneData,
    options: &FitOptions,
    cross: &CrossOptions,
    number: u32,
) -> Result<Outcome, TuneError> {
    let fold = RowFilter::Fold { number, of: cross.folds, seed: cross.seed, inside: true };
    let model = match data.fit(recipe, options, &[fold.turned(false)]) {
        Err(TrainError::Diverged { .. }) => return Ok(None),
        fitted => fitted?.model,
    };
    let measures = measure_on(&model, data, &[fold]).map_err(|error| match error {
        TuneError::Eval(EvalError::NoRows) => TuneError::EmptyFold { fold: number + 1, folds: cross.folds, rows: 0 },
        other => other,
    })?;
    Ok(Some((measures, model.nonzeros())))
}

fn point(setting: &GridPoint, outcomes: &[Outcome], measure: Measure) -> Result<Point, TuneError> {
    let setting = setting.clone();
    let Some(outcomes) = outcomes.iter().cloned().collect::<Option<Vec<_>>>() else {
        return Ok(Point { setting, mean: f64::INFINITY, standard_error: 0.0, size: 0.0, folds: Vec::new() });
    };
    let fold = |(measures, nonzeros): (Metrics, usize)| {
        Ok(Fold { value: value_of(measure, &measures)?, rows: measures.n, nonzeros })
    };
    let folds = outcomes.into_iter().map(fold).collect::<Result<Vec<_>, TuneError>>()?;
    let Estimate { mean, standard_error } =
        Estimate::over_folds(folds.iter().map(|fold| (fold.rows as f64, fold.value)));
    let size = folds.iter().map(|fold| fold.nonzeros as f64).sum::<f64>() / folds.len() as f64;
    Ok(Point { setting, mean, standard_error, size, folds })
}

/// The options of one of several parallel fits: no checkpoint, its part of the memory, and the passes of a fit to all rows.
pub(super) fn alone(options: &FitOptions, threads: usize, summary: &DataSummary) -> FitOptions {
    let passes_for_rows = Some(summary.rows);
    let mut alone = FitOptions { model: None, checkpoint: None, passes_for_rows, ..options.clone() };
    alone.read.threads = 1;
    alone.memory /= threads.max(1) as u64;
    alone
}

/// The metrics of a model on the selected rows of some data.
pub(super) fn measure_on(model: &Model, data: &dyn TuneData, rows: &[RowFilter]) -> Result<Metrics, TuneError> {
    Ok(measure(model, &mut *data.open(Some(model), rows), UnknownClasses::Wrong)?)
}

/// The given measure, or the default of the models.
pub(super) fn common_measure<'a>(
    asked: Option<Measure>,
    measures: impl Iterator<Item = &'a Metrics> + Clone,
) -> Result<Measure, TuneError> {
    let mut fitting = measures.map(Measure::fitting);
    let first = fitting.next().ok_or(TuneError::AllDiverged)?;
    if fitting.any(|other| other != first) {
        return Err(TuneError::MixedTasks);
    }
    Ok(asked.unwrap_or(first))
}

/// The value of a measure, or why there is none.
pub(super) fn value_of(measure: Measure, measures: &Metrics) -> Result<f64, TuneError> {
    let reason = match (measure, measures.rmse.is_some()) {
        (Measure::Rmse, _) => "classes are predicted; use error",
        (Measure::Loss, _) => "it is for losses such as poisson and quantile",
        (_, true) => "numbers are predicted; use rmse",
        _ => "it needs classes and a loss that gives probabilities, such as logistic",
    };
    measure.of(measures).ok_or(TuneError::NotMeasured { measure: measure.name(), reason })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::data::{ScaleKind, fold_of};
    use crate::io::expand;
    use crate::recipe::Method;
    use crate::rng::splitmix64;
    use crate::tune::{Axis, Files, StoredRows, settings, summarize};

    /// Rows whose label is the sign of feature 1 among ten features of noise, and the options to read them.
    fn data(rows: u64, folder: &tempfile::TempDir) -> FitOptions {
        let mut text = String::new();
        for row in 0..rows {
            let bit = splitmix64(row) & 1;
            write!(text, "{}", if bit == 1 { "+1 1:1" } else { "-1 1:-1" }).unwrap();
            (2..=10)
                .filter(|id| splitmix64(row * 31 + id).is_multiple_of(3))
                .for_each(|id| write!(text, " {id}:0.5").unwrap());
            text.push('\n');
        }
        let path = folder.path().join("d.svm");
        std::fs::write(&path, text).unwrap();
        let sources = expand(&[path.display().to_string()], None).unwrap();
        FitOptions { sources, memory: 1 << 30, ..FitOptions::default() }
    }

    fn curve(options: &FitOptions, axes: &[Axis], threads: usize) -> Result<Curve, TuneError> {
        dealt_by(5, options, axes, threads)
    }

    fn dealt_by(seed: u64, options: &FitOptions, axes: &[Axis], threads: usize) -> Result<Curve, TuneError> {
        let mut options = options.clone();
        options.read.threads = threads;
        let all = settings(&Recipe { passes: Some(2), ..Recipe::new(Method::Fobos) }, axes).unwrap();
        let data = Files::of(&options).unwrap();
        let summary = summarize(&data, None).unwrap();
        let cross = CrossOptions { folds: 3, seed, measure: None };
        cross_validate(&all, &data, &summary, &options, &cross, &|_, _| ())
    }

    #[test]
    fn the_curve_tells_settings_apart_and_threads_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let options = data(90, &folder);
        let axes = [Axis::new("l1", ["0.01", "100"])];
        let one = curve(&options, &axes, 1).unwrap();
        assert_eq!((one.rows, one.features, one.measure), (90, 10, Measure::Error));
        assert_eq!((one.points[0].mean, one.points[1].size), (0.0, 0.0), "a strong penalty selects no feature");
        assert!(one.points[1].mean > 0.3, "and without features half is wrong: {}", one.points[1].mean);
        let rows: Vec<u64> = one.points[0].folds.iter().map(|fold| fold.rows).collect();
        let dealt = [0, 1, 2].map(|fold| (0..90).filter(|&row| fold_of(row, 3, 5) == fold).count() as u64);
        assert_eq!(rows, dealt);
        let two = curve(&options, &axes, 2).unwrap();
        let plain = |curve: &Curve| format!("{:?}", curve.points);
        assert_eq!(plain(&one), plain(&two));
    }

    /// The penalty of FTRL is compared with a sum over all steps: a fold that makes more steps than the fit to all rows has
    /// features that the latter has not.
    #[test]
    fn folds_make_as_many_passes_as_the_fit_to_all_rows() {
        let folder = tempfile::tempdir().unwrap();
        let options = data(200_000, &folder);
        let stored = StoredRows::read(&mut *Files::of(&options).unwrap().open(None, &[])).unwrap();
        let summary = summarize(&stored, None).unwrap();
        let base = Recipe { scale: ScaleKind::None, ..Recipe::new(Method::Ftrl) };
        let all = settings(&base, &[Axis::new("l1", ["60000", "120000"])]).unwrap();
        let cross = CrossOptions { folds: 5, seed: 0, measure: None };
        let curve = cross_validate(&all, &stored, &summary, &options, &cross, &|_, _| ()).unwrap();
        let whole = [0, 1].map(|at| stored.fit(&all[at].recipe, &options, &[]).unwrap().model);
        assert_eq!(
            whole.each_ref().map(|model| model.nonzeros()),
            [1, 0],
            "half of 200,000 steps lies between the two"
        );
        assert_eq!([0, 1].map(|at| curve.points[at].size), [1.0, 0.0]);
        let part = |options: &FitOptions| {
            let rows = RowFilter::Fold { number: 0, of: 5, seed: 0, inside: false };
            stored.fit(&base, options, &[rows]).unwrap().model.seen.passes
        };
        assert_eq!((part(&options), part(&alone(&options, 1, &summary)), whole[0].seen.passes), (2, 1, 1));
    }

    #[test]
    fn mean_and_standard_error_by_hand() {
        let outcome = |n, wrong: f64, size| Some((Metrics { n, error: Some(wrong), ..Metrics::default() }, size));
        let setting = GridPoint { values: Vec::new(), recipe: Recipe::default() };
        let point = point(&setting, &[outcome(10, 0.2, 4), outcome(30, 0.4, 6)], Measure::Error).unwrap();
        assert!((point.mean - 0.35).abs() < 1e-15);
        // (10·0.15² + 30·0.05²)/40/1 = 0.0075
        assert!((point.standard_error - 0.0075f64.sqrt()).abs() < 1e-15);
        assert_eq!(point.size, 5.0);
    }

    #[test]
    fn a_setting_that_diverges_has_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let axes = [Axis::new("learning-rate", ["1", "1e300"]), Axis::new("loss", ["squared"])];
        let curve = curve(&data(60, &folder), &axes, 1).unwrap();
        assert!(curve.points[0].mean.is_finite() && curve.measure == Measure::Rmse);
        assert!(curve.points[1].mean.is_infinite() && curve.points[1].folds.is_empty());
    }

    #[test]
    fn complaints_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let options = data(2, &folder);
        let message = curve(&options, &[], 1).unwrap_err().to_string();
        assert_eq!(message, "the number of folds must lie between 2 and 2, got 3");
        let seed = (0..).find(|&seed| (0..6).all(|row| fold_of(row, 3, seed) != 1)).unwrap();
        let message = dealt_by(seed, &data(6, &folder), &[], 1).unwrap_err().to_string();
        assert_eq!(message, "fold 2 of 3 has no rows (6 rows in all): use fewer folds or another seed");
    }
}
