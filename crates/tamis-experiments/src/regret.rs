//! `regret`: the progressive loss minus the loss of the best model with k features in hindsight.
//!
//! Source: Sun et al. 2018, equation (14), section 5.2, figures 3 and 4:
//! ```text
//! R_n = (1/n) Σ_{i ≤ n} (y_i − ŷ_i)² − min_{‖β‖₀ ≤ k} (1/n) Σ_{i ≤ n} (y_i − x_iᵀβ)²
//! ```
//! ŷ_i is predicted before row i is learned. Learners are updated with every row. Models from running averages are
//! solved again whenever the number of rows has grown by a quarter, starting at [`FIRST`] rows; before that, ŷ = 0. The
//! minimum over all sets of k features cannot be computed; the least squares fit on the *true* features replaces it.
//! With few rows, where other sets fit better by chance, this understates the regret. The values are `regret-N` for
//! each N of [`SHOWN`], and `slope`, the slope of ln R against ln n at the end.

use std::collections::BTreeMap;

use tamis::moments::Comoments;
use tamis::recipe::{SolveRecipe, Solver};
use tamis::synth::generate;
use tamis::tune::side_by_side;

use crate::error::Failure;
use crate::output::FitProgress;
use crate::simulate::{BLOCK, Competitor, LinearModel, OnlineRun, summary};
use crate::spec::{Cell, Generated, RowPlan};
use crate::table_cell::{Done, Session};

/// Rows of the first model.
const FIRST: usize = 100;
/// The numbers of rows at which regret is recorded.
const SHOWN: [usize; 9] = [300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000];

/// A method that predicts, and its loss so far.
enum Forecaster {
    Solver(SolveRecipe, LinearModel, f64),
    /// One for each setting; the smallest loss counts.
    Learner(Vec<OnlineRun>),
    Absent,
}

impl Session<'_> {
    /// Measures all columns of a row.
    pub fn regret(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, Failure> {
        let competitors: Vec<Result<Competitor, String>> =
            columns.iter().map(|column| self.competitor(row, column, rows)).collect();
        let screen = FitProgress::new(self.quiet, &format!("{what}: runs"));
        let runs = self.runs_of(rows) as usize;
        let found = side_by_side(runs, self.threads, &|done, of| screen.watch(done, of), |run| {
            self.regret_run(rows, &competitors, run as u64)
        })?;
        screen.finish();
        let cell = |(at, (column, competitor)): (usize, (&&str, &Result<Competitor, String>))| {
            let curve = |shown: usize| found.iter().map(|run| run[shown].1[at]).collect::<Vec<f64>>();
            let value = |(shown, &(n, _)): (usize, &(usize, Vec<f64>))| (format!("regret-{n}"), summary(&curve(shown)));
            let mut values: BTreeMap<String, Vec<f64>> =
                found[0].iter().enumerate().map(value).filter(|(_, values)| values[0].is_finite()).collect();
            let point = |(shown, &(n, _)): (usize, &(usize, Vec<f64>))| (n as f64, summary(&curve(shown))[0]);
            let points: Vec<(f64, f64)> = found[0].iter().enumerate().map(point).collect();
            values.extend(slope(&points).map(|slope| ("slope".to_string(), vec![slope])));
            (row.key(column), competitor.as_ref().map(|_| Cell { values, ..Cell::default() }).map_err(Clone::clone))
        };
        Ok(columns.iter().zip(&competitors).enumerate().map(cell).collect())
    }

    /// The regret of every competitor at each recorded number of rows.
    fn regret_run(
        &self,
        rows: &Generated,
        competitors: &[Result<Competitor, String>],
        run: u64,
    ) -> Result<Vec<(usize, Vec<f64>)>, Failure> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (truth, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let true_columns: Vec<usize> = truth.features.iter().map(|feature| feature.id as usize).collect();
        let width = plan.p + 1;
        let mut forecasters: Vec<Forecaster> = competitors.iter().map(Forecaster::of).collect();
        let (mut sums, mut known) = (Comoments::new(width), Comoments::new(true_columns.len() + 1));
        let mut curve = Vec::new();
        let mut buffer = vec![0.0; BLOCK * width];
        let (mut seen, mut next) = (0, FIRST);
        while seen < plan.n {
            self.check_interrupt(seen as u64)?;
            let shown = SHOWN.into_iter().find(|&n| n > seen).unwrap_or(plan.n);
            let end = (seen + BLOCK).min(next).min(shown).min(plan.n);
            let cells = &mut buffer[..(end - seen) * width];
            stream.fill(seen as u64, cells);
            forecasters.iter_mut().for_each(|forecaster| forecaster.play(cells, width));
            sums.observe_dense(cells, &[]);
            let of_true = |row: &[f64]| [row[0]].into_iter().chain(true_columns.iter().map(|&at| row[at])).collect();
            let picked: Vec<f64> = cells.chunks_exact(width).flat_map(|row| -> Vec<f64> { of_true(row) }).collect();
            known.observe_dense(&picked, &[]);
            seen = end;
            if seen == next {
                next += next / 4;
                forecasters.iter_mut().try_for_each(|forecaster| forecaster.look(&sums))?;
            }
            if SHOWN.contains(&seen) {
                let least = least_error(&known, &LinearModel::solved(known.clone(), &SolveRecipe::new(Solver::Ols))?);
                curve.push((
                    seen,
                    forecasters.iter().map(|forecaster| forecaster.loss() / seen as f64 - least).collect(),
                ));
            }
        }
        Ok(curve)
    }
}

/// The mean squared error of a linear model on the rows of some moments, whose first column is the target.
fn least_error(sums: &Comoments, line: &LinearModel) -> f64 {
    let mut error = sums.covariance(0, 0);
    for &(i, weight) in &line.weights {
        let fitted: f64 = line.weights.iter().map(|&(j, other)| other * sums.covariance(i + 1, j + 1)).sum();
        error += weight * (fitted - 2.0 * sums.covariance(i + 1, 0));
    }
    error
}

impl Forecaster {
    fn of(competitor: &Result<Competitor, String>) -> Self {
        match competitor {
            Ok(Competitor::Solver(recipe, _)) => Forecaster::Solver(recipe.clone(), LinearModel::default(), 0.0),
            Ok(Competitor::Learner(settings)) => Forecaster::Learner(settings.iter().map(OnlineRun::new).collect()),
            _ => Forecaster::Absent,
        }
    }

    /// Predicts the rows of a block; online learners also learn them.
    fn play(&mut self, cells: &[f64], width: usize) {
        match self {
            Forecaster::Solver(_, line, loss) => *loss += line.squared_errors(cells, width),
            Forecaster::Learner(runs) => runs.iter_mut().for_each(|run| run.learn(cells, width)),
            Forecaster::Absent => {}
        }
    }

    /// Solves a new model from the averages.
    fn look(&mut self, sums: &Comoments) -> Result<(), Failure> {
        if let Forecaster::Solver(recipe, line, _) = self {
            *line = LinearModel::solved(sums.clone(), recipe)?;
        }
        Ok(())
    }

    fn loss(&self) -> f64 {
        match self {
            Forecaster::Solver(_, _, loss) => *loss,
            Forecaster::Learner(runs) => {
                let sound = runs.iter().map(|run| run.loss).filter(|loss| loss.is_finite());
                sound.fold(f64::INFINITY, f64::min)
            }
            Forecaster::Absent => f64::NAN,
        }
    }
}

/// The slope of ln R against ln n between the last point and the last one with at most a tenth of its rows; 1/n has −1.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let &(n, last) = points.last()?;
    let &(before, first) = points.iter().rev().find(|point| point.0 <= n / 10.0)?;
    Some((last / first).ln() / (n / before).ln()).filter(|slope| slope.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_from_moments() {
        let rows = [5.0, 1.0, 2.0, 7.5, 2.0, 1.0, 9.0, 3.0, 5.0, 13.0, 5.0, 0.0];
        let mut sums = Comoments::new(3);
        sums.observe_dense(&rows, &[]);
        let line = LinearModel::solved(sums.clone(), &SolveRecipe::new(Solver::Ols)).unwrap();
        assert!((least_error(&sums, &line) - line.squared_errors(&rows, 3) / 4.0).abs() < 1e-10);
    }

    #[test]
    fn slopes_by_hand() {
        let points = [(100.0, 5.0), (300.0, 4.0), (1000.0, 0.5)];
        assert!((slope(&points).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(slope(&points[..2]), None);
    }
}
