//! What the protocols on generated rows share: who takes part, and models as plain linear functions.

use std::sync::atomic::Ordering;

use tamis::data::{Example, FeatureId, Row};
use tamis::eval::{deviation, mean};
use tamis::learn::{AnyLearner, Learner};
use tamis::loss::LossKind;
use tamis::moments::{Column, Moments, MomentsError, Sums};
use tamis::recipe::{Method, SolveRecipe};
use tamis::solve::{SolveOptions, solve};
use tamis::tune::{Setting, settings};

use super::cell::Lab;
use super::plan::{Fields, Generated, RowPlan};
use crate::error::CliError;

/// Rows made, seen and forgotten in one go.
pub const BLOCK: usize = 2048;

/// Who takes part.
pub enum Entrant {
    /// Running averages without a model.
    Averages,
    /// A model from running averages that forget at one of these rates.
    Solver(SolveRecipe, Vec<f64>),
    /// A learner with each setting of its grid.
    Learner(Vec<Setting>),
}

impl Lab<'_> {
    /// The entrant of a column, or why there is none. Sizes are those of the truth.
    pub fn entrant(&self, row: &RowPlan, column: &str, rows: &Generated) -> Result<Entrant, String> {
        let run = &self.experiment.runs[column];
        if run.averages {
            return Ok(Entrant::Averages);
        }
        let size = Fields::from([("k".to_string(), rows.k.into())]);
        if let Some(recipe) = run.solving(&size) {
            let rates = if run.forget_of.is_empty() { vec![run.forget] } else { run.forget_of.clone() };
            return Ok(Entrant::Solver(recipe?, rates));
        }
        let mut recipe = run.recipe(&self.experiment.recipe, &row.set, self.protocol().seed)?;
        if matches!(recipe.method, Method::Tsgd | Method::Fofs | Method::Sofs) {
            recipe.k = Some(rows.k);
        }
        recipe.loss.get_or_insert(if rows.classes { LossKind::Logistic } else { LossKind::Squared });
        let settings = settings(&recipe, &run.axes().unwrap_or_default()).map_err(|error| error.to_string())?;
        settings.iter().try_for_each(|setting| setting.recipe.check().map_err(|error| error.to_string()))?;
        Ok(Entrant::Learner(settings))
    }

    /// How often a data set is generated.
    pub fn runs_of(&self, rows: &Generated) -> u64 {
        rows.runs.unwrap_or(self.protocol().runs).max(1)
    }

    /// An error once the user has asked for an end.
    pub fn go_on(&self, rows: u64) -> Result<(), CliError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(CliError::Moments(MomentsError::Interrupted { rows })),
            false => Ok(()),
        }
    }
}

/// Mean and standard deviation; one value has no deviation.
pub fn summary(values: &[f64]) -> Vec<f64> {
    match values {
        [value] => vec![*value],
        _ => vec![mean(values), deviation(values)],
    }
}

/// A linear function of the columns, which go by number from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linear {
    pub intercept: f64,
    pub weights: Vec<(usize, f64)>,
}

impl Linear {
    /// The model of moments whose target is in the first place.
    pub fn solved(sums: Sums, recipe: &SolveRecipe) -> Result<Linear, CliError> {
        let features = (1..sums.size()).map(|column| Column::Feature(column.to_string()));
        let columns = [Column::Target("y".into())].into_iter().chain(features).collect();
        let moments = Moments { columns, table: None, forget: None, screened: false, skipped: 0, folds: vec![sums] };
        let solved = solve(&moments, recipe, SolveOptions { path: false, threads: 1 })?;
        let output = &solved.model.outputs[0];
        let number = |name: &str| name.parse::<usize>().expect("columns are named by number") - 1;
        let weights = output.features.iter().map(|feature| (number(&feature.name), feature.weight)).collect();
        Ok(Linear { intercept: output.intercept, weights })
    }

    /// The `most` largest weights of a learner.
    pub fn learned(learner: &AnyLearner, most: usize) -> Linear {
        let weight = |id: usize| (id, learner.weight(id as FeatureId));
        let mut weights: Vec<(usize, f64)> = (0..learner.span()).map(weight).filter(|pair| pair.1 != 0.0).collect();
        weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        weights.truncate(most);
        Linear { intercept: learner.bias(), weights }
    }

    pub fn predict(&self, columns: &[f64]) -> f64 {
        self.intercept + self.weights.iter().map(|&(column, weight)| weight * columns[column]).sum::<f64>()
    }

    /// Squared errors over rows of a block, the target first in each.
    pub fn squared_errors(&self, cells: &[f64], width: usize) -> f64 {
        cells.chunks_exact(width).map(|row| (row[0] - self.predict(&row[1..])).powi(2)).sum()
    }
}

/// A learner on its way through generated rows.
pub struct Pupil {
    pub learner: AnyLearner,
    /// The sum of losses before each row was learned.
    pub loss: f64,
}

impl Pupil {
    pub fn new(setting: &Setting) -> Self {
        let recipe = &setting.recipe;
        let loss = recipe.loss.unwrap_or(LossKind::Squared).build(recipe.number("huber"));
        Pupil { learner: AnyLearner::new(recipe, loss), loss: 0.0 }
    }

    /// Learns the rows of a block, the target first in each. One that has gone beyond all bounds learns no more.
    pub fn learn(&mut self, cells: &[f64], width: usize) {
        let all: Vec<FeatureId> = (0..width as FeatureId - 1).collect();
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        for cells in cells.chunks_exact(width) {
            if !self.loss.is_finite() {
                return;
            }
            let mut row = Row { ids: &all, values: &cells[1..] };
            if row.values.contains(&0.0) {
                (ids, values) = row.iter().filter(|pair| pair.1 != 0.0).unzip();
                row = Row { ids: &ids, values: &values };
            }
            self.loss += self.learner.learn(Example { row, target: cells[0], weight: 1.0 }).loss;
        }
        drop((ids, values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::recipe::{Recipe, Solver};

    #[test]
    fn a_line_is_solved_and_predicts() {
        let mut sums = Sums::new(3);
        let rows = [5.0, 1.0, 0.3, 7.0, 2.0, 0.1, 9.0, 3.0, 0.7, 13.0, 5.0, 0.2];
        sums.observe_dense(&rows, &[]);
        let line = Linear::solved(sums, &SolveRecipe { k: Some(1), ..SolveRecipe::new(Solver::OlsTh) }).unwrap();
        assert_eq!(line.weights[0].0, 0);
        assert!((line.predict(&[4.0, 9.0]) - 11.0).abs() < 1e-9);
        assert!(line.squared_errors(&rows, 3) < 1e-18);
    }

    #[test]
    fn a_pupil_learns_until_it_is_lost() {
        let steep = Recipe::new(Method::Sgd).set("learning-rate", 10.0);
        let recipe = Recipe { loss: Some(LossKind::Squared), rate: Some(tamis::recipe::RateKind::Constant), ..steep };
        let rows: Vec<f64> = (0..2000).flat_map(|i| [3.0, 2.0 + f64::from(i % 7), 0.0]).collect();
        let mut lost = Pupil::new(&Setting { values: Vec::new(), recipe: recipe.clone() });
        lost.learn(&rows, 3);
        assert!(!lost.loss.is_finite());
        let mut sound = Pupil::new(&Setting { values: Vec::new(), recipe: recipe.set("learning-rate", 0.005) });
        sound.learn(&rows, 3);
        assert!(sound.loss < 2000.0 * 4.0);
        let line = Linear::learned(&sound.learner, 1);
        assert_eq!(line.weights.iter().map(|pair| pair.0).collect::<Vec<_>>(), [0], "a column of zeros is absent");
    }

    #[test]
    fn one_value_has_no_deviation() {
        assert_eq!((summary(&[3.0]), summary(&[1.0, 3.0])[0]), (vec![3.0], 2.0));
    }
}
