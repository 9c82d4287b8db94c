//! `drift`: the truth moves while rows come, and averages that forget follow it.
//!
//! Source: Sun, Guo & Barbu, section 5.3, equation (17), table 4. Each period's rows are predicted by the model of all
//! rows before it, then seen; the root mean squared error is over the last periods. The rate at which averages forget is
//! α of equation (13), row by row.

use tamis::moments::Gatherer;
use tamis::recipe::SolveRecipe;
use tamis::synth::generate;
use tamis::tune::side_by_side;

use super::cell::{Done, Lab};
use super::plan::{Cell, Generated, RowPlan};
use super::simulate::{Entrant, Linear, summary};
use crate::command::Failure;
use crate::output::fits::Fits;

/// A solver, the averages it looks at, and its errors so far.
struct Follower<'a> {
    recipe: &'a SolveRecipe,
    averages: Gatherer,
    errors: f64,
}

impl Lab<'_> {
    /// All columns of a row.
    pub fn drift(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, Failure> {
        let entrants: Vec<Result<Entrant, String>> =
            columns.iter().map(|column| self.entrant(row, column, rows)).collect();
        let screen = Fits::new(self.quiet, &format!("{what}: runs"));
        let runs = self.runs_of(rows) as usize;
        let found = side_by_side(runs, self.threads, &|done, of| screen.watch(done, of), |run| {
            self.drift_run(rows, &entrants, run as u64)
        })?;
        screen.finish();
        let mut followers = 0..;
        let mut cell = |(column, entrant): (&&str, &Result<Entrant, String>)| {
            let outcome = match entrant {
                Ok(Entrant::Solver(..)) => {
                    let at = followers.next().expect("numbers do not end");
                    let errors: Vec<f64> = found.iter().map(|run| run[at]).collect();
                    Ok(Cell { values: [("rmse".to_string(), summary(&errors))].into(), ..Cell::default() })
                }
                Ok(_) => Err("drift is for models from running averages".into()),
                Err(reason) => Err(reason.clone()),
            };
            (row.key(column), outcome)
        };
        Ok(columns.iter().zip(&entrants).map(&mut cell).collect())
    }

    /// The error of each solver in one run.
    fn drift_run(&self, rows: &Generated, entrants: &[Result<Entrant, String>], run: u64) -> Result<Vec<f64>, Failure> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (_, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let (width, length) = (plan.p + 1, plan.period_rows.max(1));
        let (periods, judged) = (plan.n / length, rows.judged_periods);
        let mut followers: Vec<Follower<'_>> = entrants.iter().filter_map(Follower::of).collect();
        let mut cells = vec![0.0; length * width];
        for period in 0..periods {
            self.go_on((period * length) as u64)?;
            stream.fill((period * length) as u64, &mut cells);
            for follower in &mut followers {
                if period + judged >= periods && period > 0 {
                    let line = Linear::solved(follower.averages.clone().finish(width), follower.recipe)?;
                    follower.errors += line.squared_errors(&cells, width);
                }
                for row in cells.chunks_exact(width) {
                    follower.averages.push((0..).zip(row.iter().copied()), 1.0, width);
                }
            }
        }
        let count = (judged.min(periods.saturating_sub(1)) * length) as f64;
        Ok(followers.iter().map(|follower| (follower.errors / count).sqrt()).collect())
    }
}

impl<'a> Follower<'a> {
    fn of(entrant: &'a Result<Entrant, String>) -> Option<Self> {
        let Ok(Entrant::Solver(recipe, forget)) = entrant else { return None };
        Some(Follower { recipe, averages: Gatherer::new(*forget), errors: 0.0 })
    }
}
