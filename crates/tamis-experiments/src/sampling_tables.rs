//! The tables of Li et al. 2017: samples of the features of one model, and a learner after each of its epochs.
//!
//! A fit with the size of the sample chooses radius and learning rate on the training rows; with these, the full model is
//! fitted once and sampled many times. If sampled weights are refined (`refine` is not 0), each sample takes a fit of its
//! own, with the hyper-parameters of the first. The mean squares of the columns come from the training rows. Test rows
//! give the reported values, and nothing is chosen by them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tamis::data::RowFilter;
use tamis::data::{Batch, FeatureId, Label, Vocabulary};
use tamis::eval::{deviation, mean};
use tamis::io::{ReadOptions, RowStream, Source};
use tamis::model::Model;
use tamis::recipe::{MethodParams, Recipe, SamplingLaw, TwoStageParams};
use tamis::rng::{RngStream, generator};
use tamis::train::fit;
use tamis::tune::GridPoint;
use tamis::two_stage::{FeatureSampler, SampledFeature, Size};

use crate::error::Failure;
use crate::spec::{Cell, RowPlan, RunPlan};
use crate::table_cell::{Outcome, Rows, Session, shared};

/// A random share of the rows varies in size, so epochs are shorter than their share by this factor.
const ROOM: f64 = 0.9;
/// Number of fits if every sample needs its own.
const TRAININGS: u64 = 5;

/// A model before sampling, with the test rows.
pub struct FullModel {
    weights: Vec<f64>,
    /// Sampling scores: w·√(E x²), and w of scaled columns.
    by_distribution: Vec<f64>,
    by_magnitude: Vec<f64>,
    intercept: f64,
    /// Test rows restricted to the features of the model, with their labels.
    rows: Batch,
    setting: String,
    /// The hyper-parameters that were chosen for it.
    found: BTreeMap<String, f64>,
}

impl FullModel {
    /// The RMSE of the model with its weights multiplied by the sampled factors.
    fn rmse(&self, drawn: impl IntoIterator<Item = SampledFeature>) -> f64 {
        let mut weights = vec![0.0; self.weights.len()];
        drawn.into_iter().for_each(|SampledFeature { place, factor }| weights[place] = self.weights[place] * factor);
        let squares = self.rows.examples().map(|example| {
            let parts = example.row.iter().map(|(id, value)| weights[id as usize] * value);
            (parts.sum::<f64>() + self.intercept - example.target).powi(2)
        });
        (squares.sum::<f64>() / self.rows.len() as f64).sqrt()
    }

    /// The RMSE with all features.
    fn full(&self) -> f64 {
        self.rmse((0..self.weights.len()).map(|place| SampledFeature { place, factor: 1.0 }))
    }

    /// Mean and standard deviation of the RMSE over several samples.
    fn drawn(&self, law: SamplingLaw, size: Size, (seed, times): (u64, u64)) -> Vec<f64> {
        let scores = match law {
            SamplingLaw::Contribution => &self.by_distribution,
            SamplingLaw::Weight => &self.by_magnitude,
        };
        let sampler = FeatureSampler::new(scores, size);
        let one = |time: u64| self.rmse(sampler.draw(&mut generator(seed, RngStream::SampleFeatures, time)));
        mean_and_deviation(&(0..times).map(one).collect::<Vec<f64>>())
    }
}

fn mean_and_deviation(found: &[f64]) -> Vec<f64> {
    vec![mean(found), deviation(found)]
}

impl Session<'_> {
    /// The model after `at` epochs: one pass over the rows of these epochs.
    pub fn by_epoch(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Outcome, Failure> {
        let (epoch, epochs) = (row.at()?, self.protocol().epochs);
        let setting = self.setting_once(what, rows, run, (recipe, row))?;
        let share = (epoch.exp2() - 1.0) / (f64::from(epochs).exp2() - 1.0);
        let mut options = rows.fit.clone();
        if share < 1.0 {
            options.read.rows.push(RowFilter::Share { share, seed: self.protocol().seed, run: 0, inside: true });
        }
        let first = (ROOM * rows.about.rows as f64 / (f64::from(epochs).exp2() - 1.0)).floor();
        let recipe = setting.recipe.clone().with("first-epoch-steps", first.max(1.0));
        let model = fit(&recipe, &options, None, &mut ())?.model;
        let values = [("rmse".to_string(), vec![self.test(rows, &model)?])];
        Ok(Outcome::Measured(Cell { setting: setting.name(), values: values.into() }))
    }

    /// Several samples of `at` draws from the full model.
    pub fn by_draws(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Outcome, Failure> {
        let size = Size::Draws(row.at()? as u64);
        let whole = self.whole(what, rows, run, (recipe, row), size)?;
        let found = self.drawn(&whole, rows, recipe, size)?;
        let worse = 100.0 * (found[0] / whole.full() - 1.0);
        let values = [("rmse".to_string(), found), ("full".into(), vec![whole.full()]), ("worse".into(), vec![worse])];
        Ok(Outcome::Measured(Cell { setting: whole.setting.clone(), values: values.into() }))
    }

    /// The single-stage model with radius `at`, or the two-stage model with as many features.
    pub fn at_equal_size(
        &self,
        what: &str,
        rows: &Rows,
        (run, single): (&RunPlan, &RunPlan),
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Outcome, Failure> {
        let other = self.recipe(single, &row.set)?.with("radius", row.at()?);
        let setting = self.setting_once(what, rows, single, (&other, row))?;
        let (model, rmse) = self.learn_and_test(rows, &setting.recipe)?;
        let size = model.nonzeros();
        let kept = 100.0 * size as f64 / rows.about.features.max(1) as f64;
        let (rmse, setting) = if recipe.method.kind() == other.method.kind() {
            (vec![rmse], setting.name())
        } else {
            let exactly = Size::Exactly(size);
            let whole = self.whole(what, rows, run, (recipe, row), exactly)?;
            (self.drawn(&whole, rows, recipe, exactly)?, whole.setting.clone())
        };
        let values = [("rmse".to_string(), rmse), ("kept".into(), vec![kept]), ("size".into(), vec![size as f64])];
        Ok(Outcome::Measured(Cell { setting, values: values.into() }))
    }

    /// Mean and standard deviation of the RMSE over samples from the full model, or over fits if the sampled weights are
    /// refined.
    fn drawn(&self, whole: &FullModel, rows: &Rows, recipe: &Recipe, size: Size) -> Result<Vec<f64>, Failure> {
        let seed = self.protocol().seed;
        if let MethodParams::TwoStage(TwoStageParams { refine: Some(0.0), sampling, .. }) = &recipe.method {
            return Ok(whole.drawn(*sampling, size, (seed, self.protocol().runs)));
        }
        let one = |training: u64| {
            let given = given(sized(recipe, size), &whole.found);
            Ok(self.learn_and_test(rows, &Recipe { seed: seed + training, ..given })?.1)
        };
        Ok(mean_and_deviation(&(0..TRAININGS).map(one).collect::<Result<Vec<f64>, Failure>>()?))
    }

    /// The setting that cross-validation chooses, computed once per data set and recipe.
    fn setting_once(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<GridPoint, Failure> {
        let key = format!("{} {}", row.data, serde_json::to_string(recipe).expect("plain data becomes JSON"));
        if let Some(known) = shared(&self.chosen).get(&key) {
            return Ok(known.clone());
        }
        let found = self.tuned(what, rows, run, recipe)?;
        shared(&self.chosen).insert(key, found.clone());
        Ok(found)
    }

    /// The full model of a data set for samples of this size, fitted once for all sampling laws.
    fn whole(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
        size: Size,
    ) -> Result<Arc<FullModel>, Failure> {
        let recipe = sized(&recipe.clone().with("sampling", SamplingLaw::default().name()), size);
        let setting = self.setting_once(what, rows, run, (&recipe, row))?;
        let key = format!("{} {}", row.data, serde_json::to_string(&setting.recipe).expect("plain data becomes JSON"));
        if let Some(known) = shared(&self.full_models).get(&key) {
            return Ok(known.clone());
        }
        let drawn = fit(&setting.recipe, &rows.fit, None, &mut ())?.model;
        let found = drawn.sampling.map(|sampling| sampling.settings).unwrap_or_default();
        let all = Recipe { k: None, ..setting.recipe.clone() }.with("n-draws", 1_000_000_000);
        let all = given(all, &found).with("refine", 0.0);
        let model = fit(&all, &rows.fit, None, &mut ())?.model;
        let whole = Arc::new(FullModel { found, ..whole(&model, rows, setting.name())? });
        shared(&self.full_models).insert(key, whole.clone());
        Ok(whole)
    }
}

/// The recipe with a size.
fn sized(recipe: &Recipe, size: Size) -> Recipe {
    let plain = Recipe { k: None, ..recipe.clone() };
    match size {
        Size::Exactly(k) => Recipe { k: Some(k), ..plain },
        Size::Draws(draws) => plain.with("n-draws", draws),
    }
}

/// The recipe with chosen hyper-parameters.
fn given(recipe: Recipe, found: &BTreeMap<String, f64>) -> Recipe {
    found.iter().fold(recipe, |recipe, (name, &number)| recipe.with(name, number))
}

/// The scores and test rows of a model.
fn whole(model: &Model, rows: &Rows, setting: String) -> Result<FullModel, Failure> {
    let [output] = &model.outputs[..] else { return Err("a number must be predicted".to_string().into()) };
    let places: HashMap<&str, FeatureId> = output.features.iter().map(|one| one.name.as_str()).zip(0..).collect();
    let (mut squares, mut total) = (vec![0.0; output.features.len()], 0.0);
    each_row(&rows.fit.sources, rows.fit.read.clone(), &places, |entries, _| {
        total += 1.0;
        entries.iter().for_each(|(id, value)| squares[*id as usize] += value * value);
    })?;
    let mut test = Batch::new();
    let (sources, choices) = &rows.test;
    let mut read = ReadOptions { rows: choices.clone(), ..rows.fit.read.clone() };
    read.columns.known = model.columns.clone();
    each_row(sources, read, &places, |entries, target| {
        let (ids, values): (Vec<FeatureId>, Vec<f64>) = entries.iter().copied().unzip();
        test.push(tamis::data::Example { row: tamis::data::Row { ids: &ids, values: &values }, target, weight: 1.0 });
    })?;
    let weights: Vec<f64> = output.features.iter().map(|one| one.weight).collect();
    let part = |(weight, square): (&f64, f64)| weight * (square / total).sqrt();
    Ok(FullModel {
        by_distribution: weights.iter().zip(squares).map(part).collect(),
        by_magnitude: output.features.iter().map(|one| one.weight * one.scale).collect(),
        weights,
        intercept: output.intercept,
        rows: test,
        setting,
        found: BTreeMap::new(),
    })
}

/// Calls `take` with each row's label and the features the model has.
fn each_row(
    sources: &[Source],
    read: ReadOptions,
    places: &HashMap<&str, FeatureId>,
    mut take: impl FnMut(&[(FeatureId, f64)], f64),
) -> Result<(), Failure> {
    let (mut vocabulary, mut known) = (Vocabulary::new(None), Vec::new());
    let mut stream = RowStream::open(sources.to_vec(), read);
    while let Some(block) = stream.next_block()? {
        let twice = |(row, name)| format!("row {row}: the feature {name} occurs twice");
        let (batch, labels) = block.rows.intern(&mut vocabulary).map_err(twice)?;
        for id in known.len()..vocabulary.span() {
            known.push(places.get(vocabulary.name(id as FeatureId).as_str()).copied());
        }
        for (example, label) in batch.examples().zip(&labels) {
            let Label::Number(target) = label else { return Err(format!("label {label} is not a number").into()) };
            let entries: Vec<(FeatureId, f64)> =
                example.row.iter().filter_map(|(id, value)| Some((known[id as usize]?, value))).collect();
            take(&entries, *target);
        }
    }
    Ok(())
}

/// Settings by data set and recipe, and full models by data set and setting, shared by the cells.
pub type ChosenSettings = BTreeMap<String, GridPoint>;
pub type FullModels = BTreeMap<String, Arc<FullModel>>;
