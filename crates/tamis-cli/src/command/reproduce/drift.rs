//! `drift`: the truth moves while rows come, and averages that forget follow it.
//!
//! Source: Sun et al. 2018, section 5.3, equation (17), table 4. Each period's rows are predicted by the model of all
//! rows before it, then seen; the root mean squared error is over the last periods. The rate at which averages forget is
//! α of equation (13), row by row. Where there are several to choose from, the error of as many periods before the last ones
//! chooses, as a user could who watches the stream.

use tamis::moments::Gatherer;
use tamis::recipe::SolveRecipe;
use tamis::synth::generate;
use tamis::tune::side_by_side;

use super::cell::{Done, Lab};
use super::plan::{Cell, Generated, RowPlan};
use super::simulate::{Entrant, Linear, summary};
use crate::error::CliError;
use crate::output::progress::ProgressDisplay;

/// A solver, and averages that forget at each of its rates.
struct Follower<'a> {
    recipe: &'a SolveRecipe,
    ways: Vec<Way>,
}

/// Averages, and the errors of their models: in the periods that choose, and in those that count.
struct Way {
    rate: f64,
    averages: Gatherer,
    before: f64,
    errors: f64,
}

impl Lab<'_> {
    /// All columns of a row.
    pub fn drift(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, CliError> {
        let entrants: Vec<Result<Entrant, String>> =
            columns.iter().map(|column| self.entrant(row, column, rows)).collect();
        let screen = ProgressDisplay::of_fits(self.quiet, &format!("{what}: runs"));
        let runs = self.runs_of(rows) as usize;
        let found = side_by_side(runs, self.threads, &|done, of| screen.advance(done, of), |run| {
            self.drift_run(rows, &entrants, run as u64)
        })?;
        screen.finish();
        let mut followers = 0..;
        let mut cell = |(column, entrant): (&&str, &Result<Entrant, String>)| {
            let outcome = match entrant {
                Ok(Entrant::Solver(..)) => {
                    let at = followers.next().expect("numbers do not end");
                    let errors: Vec<f64> = found.iter().map(|run| run[at].0).collect();
                    Ok(Cell { values: [("rmse".to_string(), summary(&errors))].into(), setting: rates(&found, at) })
                }
                Ok(_) => Err("drift is for models from running averages".into()),
                Err(reason) => Err(reason.clone()),
            };
            (row.key(column), outcome)
        };
        Ok(columns.iter().zip(&entrants).map(&mut cell).collect())
    }

    /// The error of each solver in one run, and the rate it chose if it had a choice.
    fn drift_run(
        &self,
        rows: &Generated,
        entrants: &[Result<Entrant, String>],
        run: u64,
    ) -> Result<Vec<(f64, Option<f64>)>, CliError> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (_, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let (width, length) = (plan.p + 1, plan.period_rows.max(1));
        let (periods, judged) = (plan.n / length, rows.judged_periods);
        let mut followers: Vec<Follower<'_>> = entrants.iter().filter_map(Follower::of).collect();
        let mut cells = vec![0.0; length * width];
        for period in 0..periods {
            self.go_on((period * length) as u64)?;
            stream.fill((period * length) as u64, &mut cells);
            let left = periods - period;
            for follower in &mut followers {
                follower.predict(&cells, width, left <= judged && period > 0, left > judged && left <= 2 * judged)?;
                follower.see(&cells, width);
            }
        }
        let count = (judged.min(periods.saturating_sub(1)) * length) as f64;
        let told = |follower: &Follower<'_>| {
            let way = follower.best();
            ((way.errors / count).sqrt(), (follower.ways.len() > 1).then_some(way.rate))
        };
        Ok(followers.iter().map(told).collect())
    }
}

impl<'a> Follower<'a> {
    fn of(entrant: &'a Result<Entrant, String>) -> Option<Self> {
        let Ok(Entrant::Solver(recipe, rates)) = entrant else { return None };
        let way = |&rate: &f64| Way { rate, averages: Gatherer::new(rate), before: 0.0, errors: 0.0 };
        Some(Follower { recipe, ways: rates.iter().map(way).collect() })
    }

    /// Predicts the rows of a period that counts, or of one that chooses where there is a choice.
    fn predict(&mut self, cells: &[f64], width: usize, counts: bool, chooses: bool) -> Result<(), CliError> {
        if !(counts || chooses && self.ways.len() > 1) {
            return Ok(());
        }
        for way in &mut self.ways {
            let line = Linear::solved(way.averages.clone().finish(width), self.recipe)?;
            let errors = line.squared_errors(cells, width);
            *(if counts { &mut way.errors } else { &mut way.before }) += errors;
        }
        Ok(())
    }

    fn see(&mut self, cells: &[f64], width: usize) {
        for way in &mut self.ways {
            for row in cells.chunks_exact(width) {
                way.averages.push((0..).zip(row.iter().copied()), 1.0, width);
            }
        }
    }

    /// The way with least error before the periods that count; the first of equals.
    fn best(&self) -> &Way {
        self.ways.iter().min_by(|a, b| a.before.total_cmp(&b.before)).expect("there is a rate")
    }
}

/// The rates that were chosen by the solver at a place, in words.
fn rates(found: &[Vec<(f64, Option<f64>)>], at: usize) -> String {
    let mut chosen: Vec<String> = found.iter().filter_map(|run| run[at].1).map(|rate| format!("α {rate}")).collect();
    chosen.sort();
    chosen.dedup();
    chosen.join("; ")
}
