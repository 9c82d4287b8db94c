//! `regret`: what is lost on the way, against the best model of k features in hindsight.
//!
//! Source: Sun et al. 2018, equation (14), section 5.2, figures 3 and 4:
//! ```text
//! R_n = (1/n) Σ_{i ≤ n} (y_i − ŷ_i)² − min_{‖β‖₀ ≤ k} (1/n) Σ_{i ≤ n} (y_i − x_iᵀβ)²
//! ```
//! ŷ_i is made before row i is learned. Learners change with every row; models from running averages are made anew each
//! time the rows have grown by a fourth, from [`FIRST`] rows on, and predict the rows until then; before that, ŷ = 0.
//! Nobody can find the minimum over all sets of k features: the least squares fit on the *true* features stands for it,
//! so with few rows, where other sets fit better by chance, regret is understated. The values are `regret-N` for each N
//! of [`SHOWN`], and `slope` is that of ln R against ln n at the end.

use std::collections::BTreeMap;

use tamis::moments::Sums;
use tamis::recipe::{SolveRecipe, Solver};
use tamis::synth::generate;
use tamis::tune::side_by_side;

use super::cell::{Done, Lab};
use super::plan::{Cell, Generated, RowPlan};
use super::simulate::{BLOCK, Entrant, Linear, Pupil, summary};
use crate::error::CliError;
use crate::output::progress::ProgressDisplay;

/// The first model is made of so many rows.
const FIRST: usize = 100;
/// Where regret is told.
const SHOWN: [usize; 9] = [300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000];

/// Who predicts, and the loss so far.
enum Player {
    Solver(SolveRecipe, Linear, f64),
    /// One for each setting; the best so far counts.
    Learner(Vec<Pupil>),
    Absent,
}

impl Lab<'_> {
    /// All columns of a row.
    pub fn regret(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, CliError> {
        let entrants: Vec<Result<Entrant, String>> =
            columns.iter().map(|column| self.entrant(row, column, rows)).collect();
        let screen = ProgressDisplay::of_fits(self.quiet, &format!("{what}: runs"));
        let runs = self.runs_of(rows) as usize;
        let found = side_by_side(runs, self.threads, &|done, of| screen.advance(done, of), |run| {
            self.regret_run(rows, &entrants, run as u64)
        })?;
        screen.finish();
        let cell = |(at, (column, entrant)): (usize, (&&str, &Result<Entrant, String>))| {
            let curve = |shown: usize| found.iter().map(|run| run[shown].1[at]).collect::<Vec<f64>>();
            let value = |(shown, &(n, _)): (usize, &(usize, Vec<f64>))| (format!("regret-{n}"), summary(&curve(shown)));
            let mut values: BTreeMap<String, Vec<f64>> =
                found[0].iter().enumerate().map(value).filter(|(_, values)| values[0].is_finite()).collect();
            let point = |(shown, &(n, _)): (usize, &(usize, Vec<f64>))| (n as f64, summary(&curve(shown))[0]);
            let points: Vec<(f64, f64)> = found[0].iter().enumerate().map(point).collect();
            values.extend(slope(&points).map(|slope| ("slope".to_string(), vec![slope])));
            (row.key(column), entrant.as_ref().map(|_| Cell { values, ..Cell::default() }).map_err(Clone::clone))
        };
        Ok(columns.iter().zip(&entrants).enumerate().map(cell).collect())
    }

    /// Regret of every entrant at each number of rows shown.
    fn regret_run(
        &self,
        rows: &Generated,
        entrants: &[Result<Entrant, String>],
        run: u64,
    ) -> Result<Vec<(usize, Vec<f64>)>, CliError> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (truth, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let true_columns: Vec<usize> = truth.features.iter().map(|feature| feature.id as usize).collect();
        let width = plan.p + 1;
        let mut players: Vec<Player> = entrants.iter().map(Player::of).collect();
        let (mut sums, mut known) = (Sums::new(width), Sums::new(true_columns.len() + 1));
        let mut curve = Vec::new();
        let mut buffer = vec![0.0; BLOCK * width];
        let (mut seen, mut next) = (0, FIRST);
        while seen < plan.n {
            self.go_on(seen as u64)?;
            let shown = SHOWN.into_iter().find(|&n| n > seen).unwrap_or(plan.n);
            let end = (seen + BLOCK).min(next).min(shown).min(plan.n);
            let cells = &mut buffer[..(end - seen) * width];
            stream.fill(seen as u64, cells);
            players.iter_mut().for_each(|player| player.play(cells, width));
            sums.observe_dense(cells, &[]);
            let of_true = |row: &[f64]| [row[0]].into_iter().chain(true_columns.iter().map(|&at| row[at])).collect();
            let picked: Vec<f64> = cells.chunks_exact(width).flat_map(|row| -> Vec<f64> { of_true(row) }).collect();
            known.observe_dense(&picked, &[]);
            seen = end;
            if seen == next {
                next += next / 4;
                players.iter_mut().try_for_each(|player| player.look(&sums))?;
            }
            if SHOWN.contains(&seen) {
                let least = least_error(&known, &Linear::solved(known.clone(), &SolveRecipe::new(Solver::Ols))?);
                curve.push((seen, players.iter().map(|player| player.loss() / seen as f64 - least).collect()));
            }
        }
        Ok(curve)
    }
}

/// The mean squared error of a line on the rows of moments whose target comes first.
fn least_error(sums: &Sums, line: &Linear) -> f64 {
    let mut error = sums.covariance(0, 0);
    for &(i, weight) in &line.weights {
        let fitted: f64 = line.weights.iter().map(|&(j, other)| other * sums.covariance(i + 1, j + 1)).sum();
        error += weight * (fitted - 2.0 * sums.covariance(i + 1, 0));
    }
    error
}

impl Player {
    fn of(entrant: &Result<Entrant, String>) -> Self {
        match entrant {
            Ok(Entrant::Solver(recipe, _)) => Player::Solver(recipe.clone(), Linear::default(), 0.0),
            Ok(Entrant::Learner(settings)) => Player::Learner(settings.iter().map(Pupil::new).collect()),
            _ => Player::Absent,
        }
    }

    /// Predicts the rows of a block; learners learn them too.
    fn play(&mut self, cells: &[f64], width: usize) {
        match self {
            Player::Solver(_, line, loss) => *loss += line.squared_errors(cells, width),
            Player::Learner(pupils) => pupils.iter_mut().for_each(|pupil| pupil.learn(cells, width)),
            Player::Absent => {}
        }
    }

    /// Makes a new model of the averages.
    fn look(&mut self, sums: &Sums) -> Result<(), CliError> {
        if let Player::Solver(recipe, line, _) = self {
            *line = Linear::solved(sums.clone(), recipe)?;
        }
        Ok(())
    }

    fn loss(&self) -> f64 {
        match self {
            Player::Solver(_, _, loss) => *loss,
            Player::Learner(pupils) => {
                let sound = pupils.iter().map(|pupil| pupil.loss).filter(|loss| loss.is_finite());
                sound.fold(f64::INFINITY, f64::min)
            }
            Player::Absent => f64::NAN,
        }
    }
}

/// The slope of ln R against ln n between the last point and the one at a tenth of its rows or less; −1 is 1/n.
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
        let mut sums = Sums::new(3);
        sums.observe_dense(&rows, &[]);
        let line = Linear::solved(sums.clone(), &SolveRecipe::new(Solver::Ols)).unwrap();
        assert!((least_error(&sums, &line) - line.squared_errors(&rows, 3) / 4.0).abs() < 1e-10);
    }

    #[test]
    fn slopes_by_hand() {
        let points = [(100.0, 5.0), (300.0, 4.0), (1000.0, 0.5)];
        assert!((slope(&points).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(slope(&points[..2]), None);
    }
}
