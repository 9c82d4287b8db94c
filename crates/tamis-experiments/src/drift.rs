//! `drift`: the true weights change over time, and decaying averages follow them.
//!
//! Source: Sun et al. 2018, section 5.3, equation (17), table 4. The model of all earlier rows predicts the rows of a
//! period, which are then added to the averages; the RMSE is taken over the last periods. The decay rate is α of
//! equation (13), applied row by row. If there are several rates, the one with the smallest error over as many periods
//! before the last ones is used, which a user of the stream could do as well.

use tamis::moments::Accumulator;
use tamis::recipe::SolveRecipe;
use tamis::synth::generate;
use tamis::tune::side_by_side;

use crate::error::Failure;
use crate::output::FitProgress;
use crate::simulate::{Competitor, LinearModel, summary};
use crate::spec::{Cell, Generated, RowPlan};
use crate::table_cell::{Done, Session};

/// A solver with averages for each of its decay rates.
struct DecayingSolver<'a> {
    recipe: &'a SolveRecipe,
    ways: Vec<DecayRate>,
}

/// Averages with one decay rate, and the squared errors of their models: in the periods before the last ones, and in
/// the last ones.
struct DecayRate {
    rate: f64,
    averages: Accumulator,
    before: f64,
    errors: f64,
}

impl Session<'_> {
    /// Measures all columns of a row.
    pub fn drift(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, Failure> {
        let competitors: Vec<Result<Competitor, String>> =
            columns.iter().map(|column| self.competitor(row, column, rows)).collect();
        let screen = FitProgress::new(self.quiet, &format!("{what}: runs"));
        let runs = self.runs_of(rows) as usize;
        let found = side_by_side(runs, self.threads, &|done, of| screen.watch(done, of), |run| {
            self.drift_run(rows, &competitors, run as u64)
        })?;
        screen.finish();
        let mut solvers = 0..;
        let mut cell = |(column, competitor): (&&str, &Result<Competitor, String>)| {
            let outcome = match competitor {
                Ok(Competitor::Solver(..)) => {
                    let at = solvers.next().expect("numbers do not end");
                    let errors: Vec<f64> = found.iter().map(|run| run[at].0).collect();
                    Ok(Cell { values: [("rmse".to_string(), summary(&errors))].into(), setting: rates(&found, at) })
                }
                Ok(_) => Err("drift is for models from running averages".into()),
                Err(reason) => Err(reason.clone()),
            };
            (row.key(column), outcome)
        };
        Ok(columns.iter().zip(&competitors).map(&mut cell).collect())
    }

    /// The error of each solver in one run, and its rate if it had several.
    fn drift_run(
        &self,
        rows: &Generated,
        competitors: &[Result<Competitor, String>],
        run: u64,
    ) -> Result<Vec<(f64, Option<f64>)>, Failure> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (_, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let (width, length) = (plan.p + 1, plan.period_rows.max(1));
        let (periods, scored) = (plan.n / length, rows.scored_periods);
        let mut solvers: Vec<DecayingSolver<'_>> = competitors.iter().filter_map(DecayingSolver::of).collect();
        let mut cells = vec![0.0; length * width];
        for period in 0..periods {
            self.check_interrupt((period * length) as u64)?;
            stream.fill((period * length) as u64, &mut cells);
            let left = periods - period;
            for solver in &mut solvers {
                solver.predict(&cells, width, left <= scored && period > 0, left > scored && left <= 2 * scored)?;
                solver.see(&cells, width);
            }
        }
        let count = (scored.min(periods.saturating_sub(1)) * length) as f64;
        let message = |solver: &DecayingSolver<'_>| {
            let way = solver.best();
            ((way.errors / count).sqrt(), (solver.ways.len() > 1).then_some(way.rate))
        };
        Ok(solvers.iter().map(message).collect())
    }
}

impl<'a> DecayingSolver<'a> {
    fn of(competitor: &'a Result<Competitor, String>) -> Option<Self> {
        let Ok(Competitor::Solver(recipe, rates)) = competitor else { return None };
        let way = |&rate: &f64| DecayRate { rate, averages: Accumulator::new(rate), before: 0.0, errors: 0.0 };
        Some(DecayingSolver { recipe, ways: rates.iter().map(way).collect() })
    }

    /// Predicts the rows of a period that is scored, or that selects the decay rate if there are several.
    fn predict(&mut self, cells: &[f64], width: usize, counts: bool, chooses: bool) -> Result<(), Failure> {
        if !(counts || chooses && self.ways.len() > 1) {
            return Ok(());
        }
        for way in &mut self.ways {
            let line = LinearModel::solved(way.averages.clone().finish(width), self.recipe)?;
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

    /// The decay rate with the smallest error before the scored periods; the first if several are equal.
    fn best(&self) -> &DecayRate {
        self.ways.iter().min_by(|a, b| a.before.total_cmp(&b.before)).expect("there is a rate")
    }
}

/// The rates chosen for a solver over the runs, as text.
fn rates(found: &[Vec<(f64, Option<f64>)>], at: usize) -> String {
    let mut chosen: Vec<String> = found.iter().filter_map(|run| run[at].1).map(|rate| format!("α {rate}")).collect();
    chosen.sort();
    chosen.dedup();
    chosen.join("; ")
}
