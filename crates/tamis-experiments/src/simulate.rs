//! Shared by the protocols on generated rows: the competitors, and linear models.

use std::sync::atomic::Ordering;

use tamis::data::{Example, FeatureId, Row};
use tamis::eval::{deviation, mean};
use tamis::learners::{AnyLearner, Learner};
use tamis::loss::LossKind;
use tamis::moments::{Column, Comoments, Moments, MomentsError};
use tamis::recipe::{Method, SolveRecipe};
use tamis::solve::{SolveOptions, solve};
use tamis::tune::{GridPoint, settings};

use crate::error::Failure;
use crate::spec::{Fields, Generated, RowPlan};
use crate::table_cell::Session;

/// Rows generated at a time.
pub const BLOCK: usize = 2048;

/// A method that takes part.
pub enum Competitor {
    /// Running averages without a model, to time them.
    Averages,
    /// A model from running averages with one of these decay rates.
    Solver(SolveRecipe, Vec<f64>),
    /// A learner with each setting of its grid.
    Learner(Vec<GridPoint>),
}

impl Session<'_> {
    /// The competitor of a column, or why there is none. Models have the true number of features.
    pub fn competitor(&self, row: &RowPlan, column: &str, rows: &Generated) -> Result<Competitor, String> {
        let run = &self.experiment.runs[column];
        if run.averages {
            return Ok(Competitor::Averages);
        }
        let size = Fields::from([("k".to_string(), rows.k.into())]);
        if let Some(recipe) = run.solving(&size) {
            let rates = if run.forget_of.is_empty() { vec![run.forget] } else { run.forget_of.clone() };
            return Ok(Competitor::Solver(recipe?, rates));
        }
        let mut recipe = run.recipe(&self.experiment.recipe, &row.set, self.protocol().seed)?;
        if matches!(recipe.method.kind(), Method::Tsgd | Method::Fofs | Method::Sofs) {
            recipe.k = Some(rows.k);
        }
        recipe.loss.get_or_insert(LossKind::default_for(!rows.classes));
        let settings = settings(&recipe, &run.axes().unwrap_or_default()).map_err(|error| error.to_string())?;
        settings.iter().try_for_each(|setting| setting.recipe.check().map_err(|error| error.to_string()))?;
        Ok(Competitor::Learner(settings))
    }

    /// How many times a data set is generated.
    pub fn runs_of(&self, rows: &Generated) -> u64 {
        rows.runs.unwrap_or(self.protocol().runs).max(1)
    }

    /// An error if the user has interrupted the program.
    pub fn check_interrupt(&self, rows: u64) -> Result<(), Failure> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::Moments(MomentsError::Interrupted { rows }));
        }
        Ok(())
    }
}

/// Mean and standard deviation, or the single value.
pub fn summary(values: &[f64]) -> Vec<f64> {
    match values {
        [value] => vec![*value],
        _ => vec![mean(values), deviation(values)],
    }
}

/// A linear function of the columns, numbered from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearModel {
    pub intercept: f64,
    pub weights: Vec<(usize, f64)>,
}

impl LinearModel {
    /// The model solved from moments whose first column is the target.
    pub fn solved(sums: Comoments, recipe: &SolveRecipe) -> Result<LinearModel, Failure> {
        let features = (1..sums.size()).map(|column| Column::Feature(column.to_string()));
        let columns = [Column::Target("y".into())].into_iter().chain(features).collect();
        let moments = Moments::new(columns, vec![sums]);
        let solved = solve(&moments, recipe, SolveOptions { path: false, threads: 1 })?;
        let output = &solved.model.outputs[0];
        let number = |name: &str| name.parse::<usize>().expect("columns are named by number") - 1;
        let weights = output.features.iter().map(|feature| (number(&feature.name), feature.weight)).collect();
        Ok(LinearModel { intercept: output.intercept, weights })
    }

    /// The model of the `most` largest weights of a learner.
    pub fn learned(learner: &AnyLearner, most: usize) -> LinearModel {
        let weight = |id: usize| (id, learner.weight(id as FeatureId));
        let mut weights: Vec<(usize, f64)> = (0..learner.span()).map(weight).filter(|pair| pair.1 != 0.0).collect();
        weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        weights.truncate(most);
        LinearModel { intercept: learner.bias(), weights }
    }

    pub fn predict(&self, columns: &[f64]) -> f64 {
        self.intercept + self.weights.iter().map(|&(column, weight)| weight * columns[column]).sum::<f64>()
    }

    /// The sum of squared errors over rows whose first column is the target.
    pub fn squared_errors(&self, cells: &[f64], width: usize) -> f64 {
        cells.chunks_exact(width).map(|row| (row[0] - self.predict(&row[1..])).powi(2)).sum()
    }
}

/// An online learner and its progressive loss.
pub struct OnlineRun {
    pub learner: AnyLearner,
    /// The sum of the losses of the rows, each before it was learned.
    pub loss: f64,
}

impl OnlineRun {
    pub fn new(setting: &GridPoint) -> Self {
        let recipe = &setting.recipe;
        let loss = recipe.loss.unwrap_or(LossKind::Squared);
        let loss = loss.build(recipe.loss_shape(loss));
        OnlineRun { learner: AnyLearner::new(recipe, loss), loss: 0.0 }
    }

    /// Learns rows whose first column is the target. A run whose loss is no longer finite stops.
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
        let mut sums = Comoments::new(3);
        let rows = [5.0, 1.0, 0.3, 7.0, 2.0, 0.1, 9.0, 3.0, 0.7, 13.0, 5.0, 0.2];
        sums.observe_dense(&rows, &[]);
        let line = LinearModel::solved(sums, &SolveRecipe { k: Some(1), ..SolveRecipe::new(Solver::OlsTh) }).unwrap();
        assert_eq!(line.weights[0].0, 0);
        assert!((line.predict(&[4.0, 9.0]) - 11.0).abs() < 1e-9);
        assert!(line.squared_errors(&rows, 3) < 1e-18);
    }

    #[test]
    fn a_learner_stops_when_its_loss_diverges() {
        let steep = Recipe::new(Method::Sgd).with("learning-rate", 10.0).with("schedule", "constant");
        let recipe = Recipe { loss: Some(LossKind::Squared), ..steep };
        let rows: Vec<f64> = (0..2000).flat_map(|i| [3.0, 2.0 + f64::from(i % 7), 0.0]).collect();
        let mut lost = OnlineRun::new(&GridPoint { values: Vec::new(), recipe: recipe.clone() });
        lost.learn(&rows, 3);
        assert!(!lost.loss.is_finite());
        let mut sound = OnlineRun::new(&GridPoint { values: Vec::new(), recipe: recipe.with("learning-rate", 0.005) });
        sound.learn(&rows, 3);
        assert!(sound.loss < 2000.0 * 4.0);
        let line = LinearModel::learned(&sound.learner, 1);
        assert_eq!(line.weights.iter().map(|pair| pair.0).collect::<Vec<_>>(), [0], "a column of zeros is absent");
    }

    #[test]
    fn one_value_has_no_deviation() {
        assert_eq!((summary(&[3.0]), summary(&[1.0, 3.0])[0]), (vec![3.0], 2.0));
    }
}
