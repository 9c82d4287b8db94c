//! Measuring one cell of a table. Test rows are used once, for the value itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use tamis::data::RowFilter;
use tamis::eval::{UnknownClasses, measure};
use tamis::io::{ReadOptions, RowStream, Source, expand, memory_of_this_machine};
use tamis::model::Model;
use tamis::recipe::Recipe;
use tamis::train::{FitOptions, fit};
use tamis::tune::{
    CrossOptions, Curve, DataSummary, Files, GridPoint, Measure, RepeatOptions, TuneError, Variation, choose,
    cross_validate, default_axes, repeat, settings, summarize,
};

use crate::error::Failure;
use crate::load;
use crate::output::FitProgress;
use crate::sampling_tables::{ChosenSettings, FullModels};
use crate::spec::{Cell, DataSet, Experiment, Fields, Protocol, ProtocolName, RowPlan, RunPlan, TablePlan};

/// What all cells of an experiment share: folders, options and results so far.
pub struct Session<'a> {
    pub experiment: &'a Experiment,
    /// The folder of the experiment.
    pub paper: &'a Path,
    /// The folder of the data.
    pub folder: PathBuf,
    pub threads: usize,
    pub quiet: bool,
    pub stop: Arc<AtomicBool>,
    /// The cells measured so far, for tables and figures.
    pub done: Mutex<Done>,
    /// The baseline of each row.
    pub baselines: Mutex<BTreeMap<String, Baseline>>,
    /// Settings and full models that the cells of `sampling_tables.rs` share.
    pub chosen: Mutex<ChosenSettings>,
    pub full_models: Mutex<FullModels>,
}

/// The performance of a baseline.
#[derive(Clone, Copy)]
pub struct Baseline {
    /// The measure.
    measure: Measure,
    /// Its smallest value by cross-validation.
    least: f64,
    /// Its error (%) on the test rows.
    test: f64,
}

/// A measured cell, or why it is missing.
pub enum Outcome {
    Measured(Cell),
    Missing(String),
}

/// Training and test rows of a data set.
pub struct Rows {
    pub fit: FitOptions,
    pub test: (Vec<Source>, Vec<RowFilter>),
    pub about: DataSummary,
}

impl Rows {
    /// The test rows.
    fn test_files(&self) -> Result<Files, TuneError> {
        let (sources, rows) = self.test.clone();
        let read = ReadOptions { rows, ..self.fit.read.clone() };
        Files::of(&FitOptions { sources, read, ..FitOptions::default() })
    }
}

impl Session<'_> {
    /// The protocol of a table.
    pub fn protocol_of(&self, table: &TablePlan) -> ProtocolName {
        table.protocol.unwrap_or(self.protocol().name)
    }

    /// The key of a cell among the recorded ones.
    pub fn key(&self, table: &TablePlan, row: &RowPlan, column: &str) -> String {
        row.key(if self.protocol_of(table) == ProtocolName::Describe { "files" } else { column })
    }

    /// A cell, or why it is missing. It is measured once and shared by tables and figures.
    pub fn measured(&self, table: &TablePlan, row: &RowPlan, column: &str) -> Result<Result<Cell, String>, Failure> {
        let (protocol, key) = (self.protocol_of(table), self.key(table, row, column));
        if let Some(reason) = row.not_run.get(column) {
            return Ok(Err(format!("not run: {reason}")));
        }
        let known = || shared(&self.done).get(&key).cloned();
        if known().is_none() && protocol.is_by_row() {
            let found = self.row(protocol, row)?;
            shared(&self.done).extend(found);
        }
        if let Some(cell) = known() {
            return Ok(cell);
        }
        let run = self.experiment.runs.get(column).filter(|_| protocol != ProtocolName::Describe);
        let cell = match run.and_then(|run| run.measured.as_ref()).map(|file| self.paper.join(file)) {
            Some(file) => {
                load::recorded(&file)?.remove(&key).ok_or_else(|| format!("not yet measured: see {}", file.display()))
            }
            None => match self.cell(protocol, row, column)? {
                Outcome::Measured(cell) => Ok(cell),
                Outcome::Missing(reason) => Err(reason),
            },
        };
        shared(&self.done).insert(key, cell.clone());
        Ok(cell)
    }

    /// Measures all cells of a row, for all tables that use it, since they share the generated rows.
    fn row(&self, name: ProtocolName, row: &RowPlan) -> Result<Done, Failure> {
        let data = &self.experiment.data[&row.data];
        let what = row.title.as_deref().unwrap_or(&data.title);
        let of_table = |table: &&TablePlan| {
            self.protocol_of(table) == name && table.rows.iter().any(|other| other.key("") == row.key(""))
        };
        let tables = self.experiment.tables.values().filter(of_table);
        let columns: BTreeSet<&str> = tables.flat_map(|table| table.columns.iter().map(String::as_str)).collect();
        let columns: Vec<&str> = columns.into_iter().collect();
        let rows =
            data.generated.as_ref().ok_or_else(|| Failure::Text(format!("{what}: these rows are not generated")));
        match name {
            ProtocolName::Detection => self.detection(what, row, &columns, rows?),
            ProtocolName::Drift => self.drift(what, row, &columns, rows?),
            ProtocolName::Regret => self.regret(what, row, &columns, rows?),
            _ => self.random_splits(what, row, &columns),
        }
    }

    /// Measures a cell. An error makes the cell missing; only an interruption ends the table.
    fn cell(&self, name: ProtocolName, row: &RowPlan, column: &str) -> Result<Outcome, Failure> {
        match self.try_cell(name, row, column) {
            Err(failure) if failure.exit_code() == 2 => Ok(Outcome::Missing(failure.to_string())),
            outcome => outcome,
        }
    }

    fn try_cell(&self, name: ProtocolName, row: &RowPlan, column: &str) -> Result<Outcome, Failure> {
        if name == ProtocolName::Metric {
            return self.metric(row, column);
        }
        let data = &self.experiment.data[&row.data];
        let Some(rows) = self.rows(data)? else {
            let text = data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into());
            return Ok(Outcome::Missing(text));
        };
        if name == ProtocolName::Describe {
            return Ok(Outcome::Measured(self.describe(data, &rows)?));
        }
        let run = &self.experiment.runs[column];
        let recipe = match self.recipe(run, &row.set) {
            Ok(recipe) => recipe,
            Err(reason) => {
                let reason = reason.split([';', ',']).next().unwrap_or_default();
                return Ok(Outcome::Missing(format!("not in this build: {reason}")));
            }
        };
        let what = format!("{}, {}", row.title.as_deref().unwrap_or(&data.title), run.title);
        match name {
            ProtocolName::TuneThenOrderings => self.tune_then_orderings(&what, data, &rows, run, &recipe),
            ProtocolName::ByEpoch => self.by_epoch(&what, &rows, run, (&recipe, row)),
            ProtocolName::ByDraws => self.by_draws(&what, &rows, run, (&recipe, row)),
            ProtocolName::AtEqualSize => {
                let other = self.protocol().baseline.as_ref().ok_or("at-equal-size needs a baseline".to_string())?;
                self.at_equal_size(&what, &rows, (run, &self.experiment.runs[other]), (&recipe, row))
            }
            _ => self.sparsest_within(&what, &rows, run, &recipe, row),
        }
    }

    pub fn recipe(&self, run: &RunPlan, set: &Fields) -> Result<Recipe, String> {
        let recipe = run.recipe(&self.experiment.recipe, set, self.protocol().seed)?;
        recipe.check().map_err(|error| error.to_string())?;
        Ok(recipe)
    }

    pub fn protocol(&self) -> &Protocol {
        &self.experiment.protocol
    }

    /// Chooses hyper-parameters by cross-validation on the training rows, then fits with several seeds and tests each
    /// once.
    fn tune_then_orderings(
        &self,
        what: &str,
        data: &DataSet,
        rows: &Rows,
        run: &RunPlan,
        recipe: &Recipe,
    ) -> Result<Outcome, Failure> {
        let setting = self.tuned(what, rows, run, recipe)?;
        let columns = data.columns.unwrap_or(rows.about.features);
        let (train, test) = (Files::of(&rows.fit)?, rows.test_files()?);
        let plan = RepeatOptions {
            runs: self.protocol().runs,
            by: Variation::Seed,
            seed: self.protocol().seed,
            columns: Some(columns),
            measure: None,
            validation: Some(&test),
        };
        let screen = FitProgress::new(self.quiet, &format!("{what}: orderings"));
        let found = repeat(&setting.recipe, &train, &rows.about, &rows.fit, &plan, &|done, of| screen.watch(done, of))?;
        screen.finish();
        let per_cent = |(mean, deviation): (f64, f64), of: f64| vec![100.0 * mean / of, 100.0 * deviation / of];
        let error = match found.measure {
            Measure::Error => per_cent(found.error, 1.0),
            _ => vec![found.error.0, found.error.1],
        };
        let values = [
            (found.measure.name().to_string(), error),
            ("nonzero".into(), per_cent(found.nonzeros, columns as f64)),
            ("kappa".into(), vec![found.kappa]),
        ];
        Ok(Outcome::Measured(Cell { setting: setting.name(), values: values.into() }))
    }

    /// The sparsest setting whose cross-validated performance is at most `within` below the baseline's.
    fn sparsest_within(
        &self,
        what: &str,
        rows: &Rows,
        run: &RunPlan,
        recipe: &Recipe,
        row: &RowPlan,
    ) -> Result<Outcome, Failure> {
        let (base, within) = (self.baseline(rows, row)?, self.protocol().within);
        let limit = match base.measure {
            Measure::Error => 1.0 - (1.0 - within) * (1.0 - base.least),
            _ => base.least * (1.0 + within),
        };
        let curve = self.curve(what, rows, run, recipe)?;
        let Some(chosen) = curve.sparsest_within(limit) else {
            let least = curve.best().map_or(f64::NAN, |point| point.mean);
            return Ok(Outcome::Missing(format!(
                "no setting comes near the baseline: {least:.4} against {:.4}",
                base.least
            )));
        };
        let point = &curve.points[chosen];
        let (model, test) = self.learn_and_test(rows, &point.setting.recipe)?;
        let kept = 100.0 * model.nonzeros() as f64 / rows.about.features.max(1) as f64;
        let values =
            [("kept".to_string(), vec![kept]), ("test".into(), vec![test]), ("baseline".into(), vec![base.test])];
        Ok(Outcome::Measured(Cell { setting: point.setting.name(), values: values.into() }))
    }

    /// The baseline's best setting on a row's data.
    fn baseline(&self, rows: &Rows, row: &RowPlan) -> Result<Baseline, Failure> {
        let name = self.protocol().baseline.as_ref().ok_or_else(|| "sparsest-within needs a baseline".to_string())?;
        let key = row.key(name);
        if let Some(&known) = shared(&self.baselines).get(&key) {
            return Ok(known);
        }
        let run = &self.experiment.runs[name];
        let title = row.title.as_deref().unwrap_or(&self.experiment.data[&row.data].title);
        let curve = self.curve(&format!("{title}, {}", run.title), rows, run, &self.recipe(run, &row.set)?)?;
        let best = curve.best().expect("a curve without any value is an error");
        let (_, test) = self.learn_and_test(rows, &best.setting.recipe)?;
        let found = Baseline { measure: curve.measure, least: best.mean, test };
        shared(&self.baselines).insert(key, found);
        Ok(found)
    }

    /// Counts of the files.
    fn describe(&self, data: &DataSet, rows: &Rows) -> Result<Cell, Failure> {
        let test = summarize(&rows.test_files()?, None)?;
        let columns = data.columns.unwrap_or(rows.about.features);
        let density = 100.0 * rows.about.nonzeros as f64 / (rows.about.rows as f64 * columns as f64);
        let values = [
            ("columns".to_string(), vec![columns as f64]),
            ("features".into(), vec![rows.about.features as f64]),
            ("density".into(), vec![density]),
            ("train".into(), vec![rows.about.rows as f64]),
            ("test".into(), vec![test.rows as f64]),
        ];
        Ok(Cell { setting: String::new(), values: values.into() })
    }

    /// The setting that cross-validation chooses, or the only one.
    pub fn tuned(&self, what: &str, rows: &Rows, run: &RunPlan, recipe: &Recipe) -> Result<GridPoint, Failure> {
        let mut all = self.settings(rows, run, recipe)?;
        if all.len() == 1 {
            return Ok(all.remove(0));
        }
        let curve = self.curve(what, rows, run, recipe)?;
        let chosen = choose(&curve, self.protocol().rule()?).expect("a curve without any value is an error");
        Ok(all.remove(chosen))
    }

    fn settings(&self, rows: &Rows, run: &RunPlan, recipe: &Recipe) -> Result<Vec<GridPoint>, Failure> {
        let axes = run.axes().unwrap_or_else(|| default_axes(recipe, &[], rows.about.features));
        Ok(settings(recipe, &axes)?)
    }

    fn curve(&self, what: &str, rows: &Rows, run: &RunPlan, recipe: &Recipe) -> Result<Curve, Failure> {
        let protocol = self.protocol();
        let cross = CrossOptions { folds: protocol.folds, seed: protocol.seed, measure: None };
        let screen = FitProgress::new(self.quiet, &format!("{what}: tuning"));
        let all = self.settings(rows, run, recipe)?;
        let train = Files::of(&rows.fit)?;
        let curve = cross_validate(&all, &train, &rows.about, &rows.fit, &cross, &|done, of| screen.watch(done, of))?;
        screen.finish();
        Ok(curve)
    }

    /// The model of a recipe, learned from all training rows, and its error (%) or RMSE on the test rows.
    pub fn learn_and_test(&self, rows: &Rows, recipe: &Recipe) -> Result<(Model, f64), Failure> {
        let model = fit(recipe, &rows.fit, None, &mut ())?.model;
        let value = self.test(rows, &model)?;
        Ok((model, value))
    }

    /// The error (%) or RMSE of a model on the test rows.
    pub fn test(&self, rows: &Rows, model: &Model) -> Result<f64, Failure> {
        let (sources, choices) = &rows.test;
        let mut read = ReadOptions { rows: choices.clone(), ..rows.fit.read.clone() };
        read.columns.known = model.columns.clone();
        let measures = measure(model, &mut RowStream::open(sources.clone(), read), UnknownClasses::Wrong)?;
        Ok(measures.rmse.or(measures.error.map(|error| 100.0 * error)).unwrap_or(f64::NAN))
    }

    /// The rows of a data set that a figure needs.
    pub fn data(&self, name: &str) -> Result<Rows, Failure> {
        let data = &self.experiment.data[name];
        let missing = || data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into());
        Ok(self.rows(data)?.ok_or_else(missing)?)
    }

    /// The recipe of a run with the setting that cross-validation on the training rows chooses.
    pub fn chosen_recipe(&self, data: &str, rows: &Rows, run: &RunPlan, set: &Fields) -> Result<Recipe, Failure> {
        let recipe = self.recipe(run, set)?;
        let what = format!("{}, {}", self.experiment.data[data].title, run.title);
        Ok(self.tuned(&what, rows, run, &recipe)?.recipe)
    }

    /// The rows of a data set; `None` if a file is missing.
    fn rows(&self, data: &DataSet) -> Result<Option<Rows>, Failure> {
        let generated = match (&data.generate, find(&self.folder, &data.train)) {
            (Some(plan), None) => Some(plan.folder(&data.train)?),
            _ => None,
        };
        let folder = generated.as_ref().unwrap_or(&self.folder);
        let found = |name: &String| find(folder, name);
        let (Some(train), Some(test)) = (found(&data.train), data.test.as_ref().map_or(found(&data.train), found))
        else {
            return Ok(None);
        };
        let sources = |path: PathBuf| expand(&[path.display().to_string()], None);
        let mut read = ReadOptions { threads: self.threads, ..ReadOptions::default() };
        let mut test = (sources(test)?, Vec::new());
        if data.test.is_none() {
            let held = RowFilter::held_out(data.hold_out.unwrap_or(4), self.protocol().seed);
            read.rows.push(held.turned(false));
            test.1.push(held);
        }
        let sources = sources(train)?;
        let (task, memory) = (data.task()?, memory_of_this_machine());
        let fit = FitOptions { sources, read, task, memory, stop: self.stop.clone(), ..FitOptions::default() };
        let about = summarize(&Files::of(&fit)?, None)?;
        Ok(Some(Rows { fit, test, about }))
    }
}

/// Locks what the cells share.
pub fn shared<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().expect("no thread panicked")
}

/// A file, or a compressed version of it.
pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let endings = ["", ".zst", ".gz", ".xz", ".bz2"];
    endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.is_file())
}

/// Measured cells by key, or why they are missing.
pub type Done = BTreeMap<String, Result<Cell, String>>;
