//! `detection`: rows are made of a known truth, and it is seen who finds it.
//!
//! Source: Sun et al. 2018, section 5.1, tables 2, 3 and 6. For each run the rows are made block by block, never held,
//! and each block is seen by the running averages and by all settings of all learners; then models are made and tested
//! on rows that follow:
//! ```text
//! detected = |chosen ∩ true| / |true| · 100        rmse, or auc where rows have classes        seconds of the model alone
//! ```
//! Of the settings of a learner, those with at most k features count; of them those with most features, and of these the
//! one that predicted the rows best on the way (the paper's rule, and rates by training rows only). If all have more than
//! k, the setting with fewest is cut to its k largest weights. Times are wall times while other runs have the other cores.

use std::collections::BTreeSet;
use std::time::Instant;

use tamis::eval::auc;
use tamis::learn::Learner;
use tamis::moments::Sums;
use tamis::synth::{Plan, Rows, generate};
use tamis::tune::{Setting, side_by_side};

use super::cell::{Done, Lab};
use super::plan::{Cell, Generated, RowPlan};
use super::simulate::{BLOCK, Entrant, Linear, Pupil, summary};
use crate::error::CliError;
use crate::output::progress::ProgressDisplay;

/// What a run says of an entrant.
#[derive(Clone, Debug, Default)]
struct Score {
    detected: Option<f64>,
    /// RMSE or AUC.
    quality: Option<f64>,
    seconds: f64,
    setting: String,
}

/// An entrant and the number of runs it is in.
struct Place {
    entrant: Result<Entrant, String>,
    runs: u64,
}

/// All settings of a learner on their way.
struct Class<'a> {
    settings: &'a [Setting],
    pupils: Vec<Pupil>,
    seconds: Vec<f64>,
}

impl Lab<'_> {
    /// All columns of a row.
    pub fn detection(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, CliError> {
        let runs = self.runs_of(rows);
        let place = |&column: &&str| {
            let run = &self.experiment.runs[column];
            let entrant = match run.most_rows {
                Some(most) if rows.n > most => Err(format!("not measured with more than {most} rows")),
                _ => self.entrant(row, column, rows),
            };
            Place { entrant, runs: run.runs.unwrap_or(runs).min(runs) }
        };
        let places: Vec<Place> = columns.iter().map(place).collect();
        let screen = ProgressDisplay::of_fits(self.quiet, &format!("{what}: runs"));
        let found = side_by_side(runs as usize, self.threads, &|done, of| screen.advance(done, of), |run| {
            self.detection_run(rows, &places, run as u64)
        })?;
        screen.finish();
        let cell = |(at, (column, place)): (usize, (&&str, &Place))| {
            let scores: Vec<&Score> = found.iter().filter_map(|run| run[at].as_ref()).collect();
            let cell = place.entrant.as_ref().map(|_| tally(&scores, rows.classes)).map_err(Clone::clone);
            (row.key(column), cell)
        };
        Ok(columns.iter().zip(&places).enumerate().map(cell).collect())
    }

    /// One run: rows, averages, pupils, models, tests. Nothing for those who sit this run out.
    fn detection_run(&self, rows: &Generated, places: &[Place], run: u64) -> Result<Vec<Option<Score>>, CliError> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (truth, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let taking_part = |place: &&Place| run < place.runs;
        let mut classes: Vec<Option<Class<'_>>> =
            places.iter().map(|place| Some(place).filter(taking_part).and_then(Class::of)).collect();
        let (sums, gathering) = self.pass(&plan, &stream, &mut classes)?;
        let true_columns: BTreeSet<usize> = truth.features.iter().map(|feature| feature.id as usize - 1).collect();
        let mut test = vec![0.0; rows.test_rows * (plan.p + 1)];
        stream.fill(plan.n as u64, &mut test);
        let judge = |line: &Linear, seconds: f64, setting: String| {
            let hits = line.weights.iter().filter(|pair| true_columns.contains(&pair.0)).count();
            let detected = Some(100.0 * hits as f64 / true_columns.len() as f64);
            Score { detected, quality: quality(line, &test, &plan), seconds, setting }
        };
        let score = |(place, class): (&Place, Option<Class<'_>>)| -> Result<Option<Score>, CliError> {
            Ok(match &place.entrant {
                Ok(Entrant::Averages) if run < place.runs => Some(Score { seconds: gathering, ..Score::default() }),
                Ok(Entrant::Solver(recipe, _)) if run < place.runs => {
                    let started = Instant::now();
                    let line = Linear::solved(sums.clone(), recipe)?;
                    Some(judge(&line, started.elapsed().as_secs_f64(), String::new()))
                }
                _ => class.map(|class| {
                    let (line, seconds, setting) = class.best(plan.k);
                    judge(&line, seconds, setting)
                }),
            })
        };
        places.iter().zip(classes).map(score).collect()
    }

    /// Makes all rows once, shows them to everyone, and returns the averages with the seconds they took.
    fn pass(&self, plan: &Plan, stream: &Rows, classes: &mut [Option<Class<'_>>]) -> Result<(Sums, f64), CliError> {
        let width = plan.p + 1;
        let (mut sums, mut seconds) = (Sums::new(width), 0.0);
        let mut buffer = vec![0.0; BLOCK.min(plan.n) * width];
        for first in (0..plan.n).step_by(BLOCK) {
            self.go_on(first as u64)?;
            let cells = &mut buffer[..BLOCK.min(plan.n - first) * width];
            stream.fill(first as u64, cells);
            let started = Instant::now();
            sums.observe_dense(cells, &[]);
            seconds += started.elapsed().as_secs_f64();
            classes.iter_mut().flatten().for_each(|class| class.learn(cells, width));
        }
        Ok((sums, seconds))
    }
}

impl<'a> Class<'a> {
    fn of(place: &'a Place) -> Option<Self> {
        let Ok(Entrant::Learner(settings)) = &place.entrant else { return None };
        let pupils = settings.iter().map(Pupil::new).collect();
        Some(Class { settings, pupils, seconds: vec![0.0; settings.len()] })
    }

    fn learn(&mut self, cells: &[f64], width: usize) {
        for (pupil, seconds) in self.pupils.iter_mut().zip(&mut self.seconds) {
            let started = Instant::now();
            pupil.learn(cells, width);
            *seconds += started.elapsed().as_secs_f64();
        }
    }

    /// The setting that counts: its k features, its seconds, its name.
    fn best(&self, k: usize) -> (Linear, f64, String) {
        let size = |at: usize| self.pupils[at].learner.nonzeros();
        // Most features up to k come first; above k fewer are better; the lost come last.
        let rank = |&at: &usize| {
            let (size, lost) = (size(at), !self.pupils[at].loss.is_finite());
            (lost, size > k, if size > k { size } else { k - size })
        };
        let better = |a: &usize, b: &usize| {
            rank(a).cmp(&rank(b)).then(self.pupils[*a].loss.total_cmp(&self.pupils[*b].loss)).then(a.cmp(b))
        };
        let at = (0..self.pupils.len()).min_by(better).expect("a grid has at least one setting");
        (Linear::learned(&self.pupils[at].learner, k), self.seconds[at], self.settings[at].name())
    }
}

/// RMSE, or AUC where rows have classes.
fn quality(line: &Linear, test: &[f64], plan: &Plan) -> Option<f64> {
    let rows = test.chunks_exact(plan.p + 1);
    let count = rows.len() as f64;
    match plan.classes {
        true => auc(&rows.map(|row| (row[0] > 0.0, line.predict(&row[1..]), 1.0)).collect::<Vec<_>>()),
        false => Some((line.squared_errors(test, plan.p + 1) / count).sqrt()).filter(|_| count > 0.0),
    }
}

/// All runs of an entrant.
fn tally(scores: &[&Score], classes: bool) -> Cell {
    let mut cell = Cell { setting: common_setting(scores), ..Cell::default() };
    let mut put = |name: &str, values: Vec<f64>| {
        if !values.is_empty() {
            cell.values.insert(name.into(), summary(&values));
        }
    };
    put("detected", scores.iter().filter_map(|score| score.detected).collect());
    put(if classes { "auc" } else { "rmse" }, scores.iter().filter_map(|score| score.quality).collect());
    put("seconds", scores.iter().map(|score| score.seconds).collect());
    cell
}

/// The settings of the runs, each once, the commonest first.
fn common_setting(scores: &[&Score]) -> String {
    let mut names: Vec<(usize, &str)> = Vec::new();
    for score in scores.iter().filter(|score| !score.setting.is_empty()) {
        match names.iter_mut().find(|(_, name)| *name == score.setting) {
            Some((count, _)) => *count += 1,
            None => names.push((1, &score.setting)),
        }
    }
    names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    names.iter().take(2).map(|(_, name)| *name).collect::<Vec<_>>().join("; ")
}
