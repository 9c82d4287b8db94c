//! The cells of Li et al. 2017: one learned model, its features drawn many times; and a learner after each of its
//! epochs.
//!
//! What is drawn from is learned for the size it will have: its radius and rate are those that a training with this size
//! finds from the training rows, and with these it is learned once more and kept whole. Where weights do not stay as drawn
//! (`polish` is not 0), each drawing takes a training of its own: a few, with the numbers that the first of them found.
//! The mean squares of its columns are those of the training rows. Test rows are used for the numbers shown, and nothing
//! is chosen by them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tamis::data::{Batch, Dictionary, FeatureId, Label};
use tamis::eval::{deviation, mean};
use tamis::model::Model;
use tamis::random::{Purpose, generator};
use tamis::read::{ReadOptions, RowChoice, RowStream, Source};
use tamis::recipe::{Law, Recipe};
use tamis::sparsify::{Drawn, Size, Urn};
use tamis::train::fit;
use tamis::tune::Setting;

use super::cell::{Lab, Outcome, Rows, shared};
use super::plan::{Cell, RowPlan, RunPlan};
use crate::error::CliError;

/// Shares of rows are drawn row by row, so that they are a little more or less: epochs are this much shorter than their share.
const ROOM: f64 = 0.9;
/// Trainings where one does not serve for many drawings.
const TRAININGS: u64 = 5;

/// A whole model and the test rows, ready for many drawings.
pub struct Whole {
    weights: Vec<f64>,
    /// Effects by law: w·√(E x²) and w of scaled columns.
    by_distribution: Vec<f64>,
    by_magnitude: Vec<f64>,
    intercept: f64,
    /// Test rows over the features of the model, and their labels.
    rows: Batch,
    setting: String,
    /// The numbers it was learned with.
    found: BTreeMap<String, f64>,
}

impl Whole {
    /// The RMSE of the model with its weights multiplied by what was drawn.
    fn rmse(&self, drawn: impl IntoIterator<Item = Drawn>) -> f64 {
        let mut weights = vec![0.0; self.weights.len()];
        drawn.into_iter().for_each(|Drawn { place, factor }| weights[place] = self.weights[place] * factor);
        let squares = self.rows.examples().map(|example| {
            let parts = example.row.iter().map(|(id, value)| weights[id as usize] * value);
            (parts.sum::<f64>() + self.intercept - example.target).powi(2)
        });
        (squares.sum::<f64>() / self.rows.len() as f64).sqrt()
    }

    /// The RMSE with all features.
    fn full(&self) -> f64 {
        self.rmse((0..self.weights.len()).map(|place| Drawn { place, factor: 1.0 }))
    }

    /// Mean and standard deviation of the RMSE over so many drawings.
    fn drawn(&self, law: Law, size: Size, (seed, times): (u64, u64)) -> Vec<f64> {
        let scores = match law {
            Law::Distribution => &self.by_distribution,
            Law::Magnitude => &self.by_magnitude,
        };
        let urn = Urn::new(scores, size);
        let one = |time: u64| self.rmse(urn.draw(&mut generator(seed, Purpose::Draw, time)));
        mean_and_deviation(&(0..times).map(one).collect::<Vec<f64>>())
    }
}

fn mean_and_deviation(found: &[f64]) -> Vec<f64> {
    vec![mean(found), deviation(found)]
}

impl Lab<'_> {
    /// The model after `at` epochs of all there are: learned from so many rows in one pass.
    pub fn by_epoch(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Outcome, CliError> {
        let (epoch, epochs) = (row.at()?, self.protocol().epochs);
        let setting = self.setting_once(what, rows, run, (recipe, row))?;
        let share = (epoch.exp2() - 1.0) / (f64::from(epochs).exp2() - 1.0);
        let mut options = rows.fit.clone();
        if share < 1.0 {
            options.read.rows.push(RowChoice::Share { share, seed: self.protocol().seed, run: 0, inside: true });
        }
        let first = (ROOM * rows.about.rows as f64 / (f64::from(epochs).exp2() - 1.0)).floor();
        let recipe = setting.recipe.clone().set("first-epoch", first.max(1.0));
        let model = fit(&recipe, &options, None, &mut ())?.model;
        let values = [("rmse".to_string(), vec![self.test(rows, &model)?])];
        Ok(Outcome::Measured(Cell { setting: setting.name(), values: values.into() }))
    }

    /// `at` draws from the whole model, many times.
    pub fn by_draws(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Outcome, CliError> {
        let size = Size::Draws(row.at()? as u64);
        let whole = self.whole(what, rows, run, (recipe, row), size)?;
        let found = self.drawn(&whole, rows, recipe, size)?;
        let worse = 100.0 * (found[0] / whole.full() - 1.0);
        let values = [("rmse".to_string(), found), ("full".into(), vec![whole.full()]), ("worse".into(), vec![worse])];
        Ok(Outcome::Measured(Cell { setting: whole.setting.clone(), values: values.into() }))
    }

    /// A single stage with the radius `at`, or the two stages with as many features.
    pub fn at_equal_size(
        &self,
        what: &str,
        rows: &Rows,
        (run, single): (&RunPlan, &RunPlan),
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Outcome, CliError> {
        let other = self.recipe(single, &row.set)?.set("radius", row.at()?);
        let setting = self.setting_once(what, rows, single, (&other, row))?;
        let (model, rmse) = self.learn_and_test(rows, &setting.recipe)?;
        let size = model.nonzeros();
        let kept = 100.0 * size as f64 / rows.about.features.max(1) as f64;
        let (rmse, setting) = if recipe.method == other.method {
            (vec![rmse], setting.name())
        } else {
            let exactly = Size::Exactly(size);
            let whole = self.whole(what, rows, run, (recipe, row), exactly)?;
            (self.drawn(&whole, rows, recipe, exactly)?, whole.setting.clone())
        };
        let values = [("rmse".to_string(), rmse), ("kept".into(), vec![kept]), ("size".into(), vec![size as f64])];
        Ok(Outcome::Measured(Cell { setting, values: values.into() }))
    }

    /// Mean and standard deviation of the RMSE over drawings from the whole model, or over trainings where their weights do
    /// not stay as drawn.
    fn drawn(&self, whole: &Whole, rows: &Rows, recipe: &Recipe, size: Size) -> Result<Vec<f64>, CliError> {
        let seed = self.protocol().seed;
        if recipe.numbers.get("polish") == Some(&0.0) {
            return Ok(whole.drawn(recipe.law.unwrap_or_default(), size, (seed, self.protocol().runs)));
        }
        let one = |training: u64| {
            let given = given(sized(recipe, size), &whole.found);
            Ok(self.learn_and_test(rows, &Recipe { seed: seed + training, ..given })?.1)
        };
        Ok(mean_and_deviation(&(0..TRAININGS).map(one).collect::<Result<Vec<f64>, CliError>>()?))
    }

    /// The setting that cross-validation chooses, found once for a data set and a recipe.
    fn setting_once(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
    ) -> Result<Setting, CliError> {
        let key = format!("{} {}", row.data, serde_json::to_string(recipe).expect("plain data becomes JSON"));
        if let Some(known) = shared(&self.chosen).get(&key) {
            return Ok(known.clone());
        }
        let found = self.tuned(what, rows, run, recipe)?;
        shared(&self.chosen).insert(key, found.clone());
        Ok(found)
    }

    /// The whole model of a data set from which so many are drawn best, learned once, whatever the law.
    fn whole(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        (recipe, row): (&Recipe, &RowPlan),
        size: Size,
    ) -> Result<Arc<Whole>, CliError> {
        let recipe = sized(&Recipe { law: None, ..recipe.clone() }, size);
        let setting = self.setting_once(what, rows, run, (&recipe, row))?;
        let key = format!("{} {}", row.data, serde_json::to_string(&setting.recipe).expect("plain data becomes JSON"));
        if let Some(known) = shared(&self.wholes).get(&key) {
            return Ok(known.clone());
        }
        let drawn = fit(&setting.recipe, &rows.fit, None, &mut ())?.model;
        let found = drawn.sampling.map(|sampling| sampling.settings).unwrap_or_default();
        let all = Recipe { k: None, ..setting.recipe.clone() }.set("draws", 1e9);
        let all = given(all, &found).set("polish", 0.0);
        let model = fit(&all, &rows.fit, None, &mut ())?.model;
        let whole = Arc::new(Whole { found, ..whole(&model, rows, setting.name())? });
        shared(&self.wholes).insert(key, whole.clone());
        Ok(whole)
    }
}

/// The recipe with a size.
fn sized(recipe: &Recipe, size: Size) -> Recipe {
    let plain = Recipe { k: None, ..recipe.clone() };
    match size {
        Size::Exactly(k) => Recipe { k: Some(k), ..plain },
        Size::Draws(draws) => plain.set("draws", draws as f64),
    }
}

/// The recipe with numbers that were found.
fn given(recipe: Recipe, found: &BTreeMap<String, f64>) -> Recipe {
    found.iter().fold(recipe, |recipe, (name, &number)| recipe.set(name, number))
}

/// Scores and test rows of a model.
fn whole(model: &Model, rows: &Rows, setting: String) -> Result<Whole, CliError> {
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
    Ok(Whole {
        by_distribution: weights.iter().zip(squares).map(part).collect(),
        by_magnitude: output.features.iter().map(|one| one.weight * one.scale).collect(),
        weights,
        intercept: output.intercept,
        rows: test,
        setting,
        found: BTreeMap::new(),
    })
}

/// Hands on each row's features that the model has, and its label.
fn each_row(
    sources: &[Source],
    read: ReadOptions,
    places: &HashMap<&str, FeatureId>,
    mut take: impl FnMut(&[(FeatureId, f64)], f64),
) -> Result<(), CliError> {
    let (mut dictionary, mut known) = (Dictionary::new(None), Vec::new());
    let mut stream = RowStream::open(sources.to_vec(), read);
    while let Some(block) = stream.next_block()? {
        let twice = |(row, name)| format!("row {row}: the feature {name} comes twice");
        let (batch, labels) = block.rows.intern(&mut dictionary).map_err(twice)?;
        for id in known.len()..dictionary.span() {
            known.push(places.get(dictionary.name(id as FeatureId).as_str()).copied());
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

/// Settings by data set and recipe, and whole models by data set and setting: cells share them.
pub type Chosen = BTreeMap<String, Setting>;
pub type Wholes = BTreeMap<String, Arc<Whole>>;
