//! `random-splits`: models from running averages of real rows, tested on the other rows.
//!
//! Source: Sun et al. 2018, section 5.4, table 5. In each run one row in `hold_out`, chosen by hash, is a test row.
//! The averages of the other rows are kept by fold, cross-validation over them chooses the size of the model (or λ),
//! and the model is tested once. The paper reports the size with the best mean *test* R² over the splits; ours does not
//! see it. In a row, `set = { interactions = true }` adds the products of all pairs, and `set = { screen = 2000 }`
//! keeps the 2000 features most correlated with the target in the training rows.

use std::path::PathBuf;

use tamis::data::RowFilter;
use tamis::eval::{UnknownClasses, measure};
use tamis::io::{ReadOptions, RowStream, Source, expand, memory_of_this_machine};
use tamis::moments::{CollectOptions, Products, collect};
use tamis::recipe::SolveRecipe;
use tamis::solve::{SolveOptions, solve};
use tamis::tune::side_by_side;

use crate::error::Failure;
use crate::output::FitProgress;
use crate::simulate::summary;
use crate::spec::{Cell, DataSet, Fields, RowPlan};
use crate::table_cell::{Done, Session, find};

/// The result of a solver on a split: measure, value and number of features; or why there is none.
type Score = Result<(&'static str, f64, usize), String>;

impl Session<'_> {
    /// Measures all columns of a row.
    pub fn random_splits(&self, what: &str, row: &RowPlan, columns: &[&str]) -> Result<Done, Failure> {
        let data = &self.experiment.data[&row.data];
        let files = [Some(&data.train), data.test.as_ref()].into_iter().flatten();
        let Some(files) = files.map(|name| find(&self.folder, name)).collect::<Option<Vec<PathBuf>>>() else {
            let text = data.unavailable.clone().unwrap_or_else(|| "data unavailable here".into());
            return Ok(columns.iter().map(|column| (row.key(column), Err(text.clone()))).collect());
        };
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let sources = expand(&names, None)?;
        let recipes: Vec<Result<SolveRecipe, String>> = columns.iter().map(|column| self.chosen(column)).collect();
        let screen = FitProgress::new(self.quiet, &format!("{what}: splits"));
        let runs = self.protocol().runs as usize;
        let found = side_by_side(runs, self.threads, &|done, of| screen.watch(done, of), |run| {
            self.split(&sources, data, row, &recipes, run as u64)
        })?;
        screen.finish();
        let cell = |(at, column): (usize, &&str)| {
            let scores: Vec<&Score> = found.iter().map(|run| &run[at]).collect();
            (row.key(column), tally(&scores))
        };
        Ok(columns.iter().enumerate().map(cell).collect())
    }

    /// The recipe of a column, with its size chosen by cross-validation.
    fn chosen(&self, column: &str) -> Result<SolveRecipe, String> {
        let by_folds = Fields::from([("criterion".to_string(), "cv".into())]);
        let recipe = self.experiment.runs[column].solving(&by_folds);
        recipe.unwrap_or_else(|| Err("an online learner: compared with the others in tables 2 and 3".into()))
    }

    /// One split: averages once, then every solver.
    fn split(
        &self,
        sources: &[Source],
        data: &DataSet,
        row: &RowPlan,
        recipes: &[Result<SolveRecipe, String>],
        run: u64,
    ) -> Result<Vec<Score>, Failure> {
        self.check_interrupt(0)?;
        let held = RowFilter::held_out(data.hold_out.unwrap_or(5), self.protocol().seed.wrapping_add(run));
        let flag = |name: &str| row.set.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false);
        let options = CollectOptions {
            sources: sources.to_vec(),
            read: ReadOptions { threads: 1, rows: vec![held.turned(false)], ..ReadOptions::default() },
            task: data.task()?,
            folds: self.protocol().folds as usize,
            products: if flag("interactions") { Products::All } else { Products::None },
            screen: row.set.get("screen").and_then(serde_json::Value::as_u64).map(|count| count as usize),
            memory: memory_of_this_machine(),
            stop: self.stop.clone(),
            ..CollectOptions::default()
        };
        let moments = collect(&options, &mut ())?;
        let score = |recipe: &Result<SolveRecipe, String>| -> Result<Score, Failure> {
            let Ok(recipe) = recipe else { return Ok(Err(recipe.as_ref().unwrap_err().clone())) };
            let model = match solve(&moments, recipe, SolveOptions { path: false, threads: 1 }) {
                Ok(solved) => solved.model,
                Err(error) => return Ok(Err(error.to_string())),
            };
            let mut read = ReadOptions { threads: 1, rows: vec![held], ..ReadOptions::default() };
            read.columns.known = model.columns.clone();
            let found = measure(&model, &mut RowStream::open(sources.to_vec(), read), UnknownClasses::Wrong)?;
            let value = found.r2.map(|r2| ("r2", r2)).or(found.auc.map(|auc| ("auc", auc)));
            let (name, value) = value.unwrap_or(("error", found.error.unwrap_or(f64::NAN)));
            Ok(Ok((name, value, model.nonzeros())))
        };
        recipes.iter().map(score).collect()
    }
}

/// Mean and standard deviation of a solver over the splits, or the first reason why a value is missing.
fn tally(scores: &[&Score]) -> Result<Cell, String> {
    let found: Vec<(&'static str, f64, usize)> =
        scores.iter().map(|score| (*score).clone()).collect::<Result<_, _>>()?;
    let values: Vec<f64> = found.iter().map(|score| score.1).collect();
    let sizes: Vec<f64> = found.iter().map(|score| score.2 as f64).collect();
    let sizes = summary(&sizes);
    let setting = format!("{:.0} features", sizes[0]);
    let measure = found.first().map_or("r2", |score| score.0);
    Ok(Cell { setting, values: [(measure.to_string(), summary(&values)), ("features".into(), sizes)].into() })
}
