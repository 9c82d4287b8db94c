//! `detection`: which methods find the true features of generated rows.
//!
//! Source: Sun et al. 2018, section 5.1, tables 2, 3 and 6. Each run generates the rows block by block
//! and gives each block to the running averages and to every setting of every learner. The resulting models are then
//! tested on further rows:
//! ```text
//! detected = |chosen ∩ true| / |true| · 100        rmse, or auc where rows have classes        seconds to make the model
//! ```
//! Among the settings of a learner with at most k features, those with the most features remain, and of these the one
//! with the smallest progressive loss is used: the paper's rule, with learning rates chosen on training rows only. If
//! all settings have more than k features, the one with the fewest is truncated to its k largest weights. Times are
//! wall times while other runs occupy the other cores.

use std::collections::BTreeSet;
use std::time::Instant;

use tamis::eval::auc;
use tamis::learners::Learner;
use tamis::moments::Comoments;
use tamis::synth::{Plan, Rows, generate};
use tamis::tune::{GridPoint, side_by_side};

use crate::error::Failure;
use crate::output::FitProgress;
use crate::simulate::{BLOCK, Competitor, LinearModel, OnlineRun, summary};
use crate::spec::{Cell, Generated, RowPlan};
use crate::table_cell::{Done, Session};

/// The result of a competitor in one run.
#[derive(Clone, Debug, Default)]
struct Score {
    detected: Option<f64>,
    /// RMSE or AUC.
    quality: Option<f64>,
    seconds: f64,
    setting: String,
}

/// A competitor and the number of runs it takes part in.
struct Column {
    competitor: Result<Competitor, String>,
    runs: u64,
}

/// A learner with every setting of its grid.
struct GridRun<'a> {
    settings: &'a [GridPoint],
    runs: Vec<OnlineRun>,
    seconds: Vec<f64>,
}

impl Session<'_> {
    /// Measures all columns of a row.
    pub fn detection(&self, what: &str, row: &RowPlan, columns: &[&str], rows: &Generated) -> Result<Done, Failure> {
        let runs = self.runs_of(rows);
        let place = |&column: &&str| {
            let run = &self.experiment.runs[column];
            let competitor = match run.most_rows {
                Some(most) if rows.n > most => Err(format!("not measured with more than {most} rows")),
                _ => self.competitor(row, column, rows),
            };
            Column { competitor, runs: run.runs.unwrap_or(runs).min(runs) }
        };
        let places: Vec<Column> = columns.iter().map(place).collect();
        let screen = FitProgress::new(self.quiet, &format!("{what}: runs"));
        let found = side_by_side(runs as usize, self.threads, &|done, of| screen.watch(done, of), |run| {
            self.detection_run(rows, &places, run as u64)
        })?;
        screen.finish();
        let cell = |(at, (column, place)): (usize, (&&str, &Column))| {
            let scores: Vec<&Score> = found.iter().filter_map(|run| run[at].as_ref()).collect();
            let cell = place.competitor.as_ref().map(|_| tally(&scores, rows.classes)).map_err(Clone::clone);
            (row.key(column), cell)
        };
        Ok(columns.iter().zip(&places).enumerate().map(cell).collect())
    }

    /// One run: rows, averages, learners, models, tests. `None` stands for competitors that do not take part in it.
    fn detection_run(&self, rows: &Generated, places: &[Column], run: u64) -> Result<Vec<Option<Score>>, Failure> {
        let plan = rows.plan(self.protocol().seed.wrapping_add(run));
        let (truth, stream) = generate(&plan).map_err(|error| error.to_string())?;
        let taking_part = |place: &&Column| run < place.runs;
        let mut classes: Vec<Option<GridRun<'_>>> =
            places.iter().map(|place| Some(place).filter(taking_part).and_then(GridRun::of)).collect();
        let (sums, averaging) = self.pass(&plan, &stream, &mut classes)?;
        let true_columns: BTreeSet<usize> = truth.features.iter().map(|feature| feature.id as usize - 1).collect();
        let mut test = vec![0.0; rows.test_rows * (plan.p + 1)];
        stream.fill(plan.n as u64, &mut test);
        let model_score = |line: &LinearModel, seconds: f64, setting: String| {
            let hits = line.weights.iter().filter(|pair| true_columns.contains(&pair.0)).count();
            let detected = Some(100.0 * hits as f64 / true_columns.len() as f64);
            Score { detected, quality: quality(line, &test, &plan), seconds, setting }
        };
        let score = |(place, class): (&Column, Option<GridRun<'_>>)| -> Result<Option<Score>, Failure> {
            Ok(match &place.competitor {
                Ok(Competitor::Averages) if run < place.runs => Some(Score { seconds: averaging, ..Score::default() }),
                Ok(Competitor::Solver(recipe, _)) if run < place.runs => {
                    let started = Instant::now();
                    let line = LinearModel::solved(sums.clone(), recipe)?;
                    Some(model_score(&line, started.elapsed().as_secs_f64(), String::new()))
                }
                _ => class.map(|class| {
                    let (line, seconds, setting) = class.best(plan.k);
                    model_score(&line, seconds, setting)
                }),
            })
        };
        places.iter().zip(classes).map(score).collect()
    }

    /// Generates all rows once, gives them to everyone, and returns the averages and the seconds they took.
    fn pass(
        &self,
        plan: &Plan,
        stream: &Rows,
        classes: &mut [Option<GridRun<'_>>],
    ) -> Result<(Comoments, f64), Failure> {
        let width = plan.p + 1;
        let (mut sums, mut seconds) = (Comoments::new(width), 0.0);
        let mut buffer = vec![0.0; BLOCK.min(plan.n) * width];
        for first in (0..plan.n).step_by(BLOCK) {
            self.check_interrupt(first as u64)?;
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

impl<'a> GridRun<'a> {
    fn of(place: &'a Column) -> Option<Self> {
        let Ok(Competitor::Learner(settings)) = &place.competitor else { return None };
        let runs = settings.iter().map(OnlineRun::new).collect();
        Some(GridRun { settings, runs, seconds: vec![0.0; settings.len()] })
    }

    fn learn(&mut self, cells: &[f64], width: usize) {
        for (run, seconds) in self.runs.iter_mut().zip(&mut self.seconds) {
            let started = Instant::now();
            run.learn(cells, width);
            *seconds += started.elapsed().as_secs_f64();
        }
    }

    /// The model of the chosen setting, truncated to k features, with its seconds and its name.
    fn best(&self, k: usize) -> (LinearModel, f64, String) {
        let size = |at: usize| self.runs[at].learner.nonzeros();
        // At most k features, the more the better; then more than k, the fewer the better; diverged runs come last.
        let rank = |&at: &usize| {
            let (size, lost) = (size(at), !self.runs[at].loss.is_finite());
            (lost, size > k, if size > k { size } else { k - size })
        };
        let better = |a: &usize, b: &usize| {
            rank(a).cmp(&rank(b)).then(self.runs[*a].loss.total_cmp(&self.runs[*b].loss)).then(a.cmp(b))
        };
        let at = (0..self.runs.len()).min_by(better).expect("a grid has at least one setting");
        (LinearModel::learned(&self.runs[at].learner, k), self.seconds[at], self.settings[at].name())
    }
}

/// The RMSE, or the AUC for classes.
fn quality(line: &LinearModel, test: &[f64], plan: &Plan) -> Option<f64> {
    let rows = test.chunks_exact(plan.p + 1);
    let count = rows.len() as f64;
    if plan.classes {
        auc(&rows.map(|row| (row[0] > 0.0, line.predict(&row[1..]), 1.0)).collect::<Vec<_>>())
    } else {
        Some((line.squared_errors(test, plan.p + 1) / count).sqrt()).filter(|_| count > 0.0)
    }
}

/// Means and standard deviations over the runs of a competitor.
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

/// The most frequent settings of the runs.
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
