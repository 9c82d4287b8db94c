//! Which metric: candidates compete in cross-validation on the training rows, plain k-NN among them.
//!
//! Folds hold the same share of every class and follow the seed; small data is dealt several times, since one deal of few
//! rows says little. The error of a candidate is that of the vote on rows held out, pooled over folds, as a curve over
//! steps, smoothed over three points; the least of all curves wins, and of equals the simpler candidate, which stands
//! earlier; but plain k-NN is only given up for a candidate better by more than one standard error, and so are the other
//! metrics for one of all squares. If the best metric's
//! curve is least at its end, it is followed on: images need two or three hundred steps where other data needs fifty. Of
//! very many rows a part is enough to choose by.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::MetricError;
use super::boost::{Boost, Limits};
use super::nearest::{Nearest, Points, Search, stream};
use super::sample::Sample;
use super::settings::Settings;
use super::stop::{Stop, smoothed, standard_error, steps_of};
use super::table::Table;
use super::vote::vote;
use crate::random::{Purpose, generator, shuffle};

/// A way to measure distances that may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// What it is called.
    pub name: String,
    /// How it is learned; nothing for plain k-NN.
    pub settings: Option<Settings>,
}

impl Candidate {
    /// A candidate, called by its family and the numbers that tell it from others.
    pub fn new(family: &str, settings: Settings) -> Self {
        let entries = match settings.entries_share {
            Some(share) => format!("{share} of the terms a direction"),
            None => format!("{} terms a direction", settings.entries),
        };
        let name = format!("{family}, {entries}, {} neighbours", settings.neighbours);
        Candidate { name, settings: Some(settings) }
    }

    /// Plain k-NN on scaled variables.
    pub fn plain() -> Self {
        Candidate { name: "plain".into(), settings: None }
    }

    /// The candidates of a family; the first is the one to take if there is nothing to choose by.
    pub fn family(name: &str) -> Option<Vec<Candidate>> {
        let all = |list: &[Settings]| list.iter().map(|one| Candidate::new(name, one.clone())).collect();
        let order = |order: usize| [3, 10].map(|entries| Settings { order, entries, ..Settings::default() });
        let free = |(entries, neighbours)| Settings { entries, neighbours, ..Settings::free() };
        Some(match name {
            "plain" => vec![Candidate::plain()],
            "order-1" => all(&order(1)),
            "squares" => all(&[3, 10].map(|entries| Settings { entries, ..Settings::squares() })),
            "order-2" => all(&order(2)),
            "free" => all(&[(10, 3), (10, 5), (20, 3), (20, 5)].map(free)),
            "thesis" => {
                all(&[0.05, 0.1, 0.2].map(|share| Settings { entries_share: Some(share), ..Settings::thesis() }))
            }
            "wide" => all(&[5, 20].map(|entries| Settings { entries, ..Settings::wide() })),
            _ => return None,
        })
    }

    /// The candidates of families with their settings changed; those that became alike once.
    pub fn changed(
        families: &[String],
        change: impl Fn(Settings) -> Result<Settings, MetricError>,
    ) -> Result<Vec<Candidate>, MetricError> {
        let mut candidates = Vec::new();
        for family in families {
            let unknown = || format!("unknown candidate {family:?}; there are {:?}", Candidate::FAMILIES);
            for candidate in Candidate::family(family).ok_or_else(|| MetricError::Choice(unknown()))? {
                let candidate = match candidate.settings {
                    Some(settings) => Candidate::new(family, change(settings)?),
                    None => candidate,
                };
                if !candidates.contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
        Ok(candidates)
    }

    /// All families; those that compete if nothing is said come first.
    pub const FAMILIES: [&'static str; 7] = ["plain", "order-1", "squares", "order-2", "free", "thesis", "wide"];

    /// The candidates that compete if nothing is said.
    pub fn usual() -> Vec<Candidate> {
        Self::FAMILIES[..5].iter().filter_map(|name| Candidate::family(name)).flatten().collect()
    }
}

/// How a candidate did on rows held out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// The steps that did best; 0 for plain k-NN.
    pub steps: usize,
    /// Its error on rows held out, smoothed.
    pub error: f64,
    /// The binomial standard error of that.
    pub deviation: f64,
}

/// How to choose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) folds: usize,
    pub(super) repeats: usize,
    pub(super) stop: Stop,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    /// The best metric may take so many times its steps.
    pub(super) longer: usize,
}

/// Rows to learn from and rows held out.
struct Part {
    learn: Vec<usize>,
    held: Vec<usize>,
}

/// Judges all candidates, and the best metric with twice the steps as long as its curve is least in its last fifth and
/// that helps. `go_on` is asked before each step, and is told of steps done. Nothing if it said no.
pub(super) fn judge(
    table: &Table,
    candidates: &[Candidate],
    plan: &Plan,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Judged>> {
    let mut judged = judge_as_they_are(table, candidates, plan, go_on)?;
    let least = best_metric(candidates, &judged);
    let Some((least, settings)) = least.and_then(|at| Some((at, candidates[at].settings.clone()?))) else {
        return Some(judged);
    };
    let mut times = 2;
    while plan.stop == Stop::HeldOut && times <= plan.longer {
        let tried = times / 2 * settings.steps;
        if 5 * judged[least].steps <= 4 * tried {
            break;
        }
        let longer = Settings { steps: times * settings.steps, ..settings.clone() };
        let longer = Candidate { settings: Some(longer), ..candidates[least].clone() };
        let again = judge_as_they_are(table, &[longer], plan, go_on)?.remove(0);
        if again.error >= judged[least].error {
            break;
        }
        judged[least] = again;
        times *= 2;
    }
    Some(judged)
}

fn judge_as_they_are(
    table: &Table,
    candidates: &[Candidate],
    plan: &Plan,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Judged>> {
    let parts: Vec<Part> = (0..plan.repeats).flat_map(|repeat| parts(table, plan, repeat as u64)).collect();
    let jobs: Vec<(usize, usize)> =
        (0..candidates.len()).flat_map(|one| (0..parts.len()).map(move |part| (one, part))).collect();
    let run = |&(one, part): &(usize, usize)| wrong_by_step(table, &candidates[one], &parts[part], plan, go_on);
    let curves: Vec<Vec<(usize, f64)>> = jobs.par_iter().with_max_len(1).map(run).collect::<Option<_>>()?;
    let held: usize = parts.iter().map(|part| part.held.len()).sum();
    let of_candidate =
        |(one, curves): (usize, &[Vec<(usize, f64)>])| pooled(&candidates[one].name, curves, (held, table.rows()));
    Some(curves.chunks(parts.len()).enumerate().map(of_candidate).collect())
}

/// The steps of one run, from one to the last: what a progress bar counts.
pub(super) fn steps_in_all(candidates: &[Candidate], plan: &Plan) -> u64 {
    let steps: usize = candidates.iter().filter_map(|one| one.settings.as_ref()).map(|one| one.steps).sum();
    (steps * plan.folds * plan.repeats) as u64
}

/// The best of all, of equals the first; plain k-NN if no other is better by more than a standard error. The least of
/// many curves looks better than it is, and a metric that buys nothing should not be learned.
pub(super) fn best(candidates: &[Candidate], judged: &[Judged]) -> usize {
    let plain = candidates.iter().position(|one| one.settings.is_none());
    match (plain, best_metric(candidates, judged)) {
        (Some(plain), Some(metric)) if judged[plain].error > judged[metric].error + judged[metric].deviation => metric,
        (plain, metric) => plain.or(metric).unwrap_or(0),
    }
}

/// The best metric, of equals the first; one of squares only if it is better than all others by more than a standard
/// error: it is there for rings among many variables, and elsewhere its twice as many terms fit the folds by chance.
fn best_metric(candidates: &[Candidate], judged: &[Judged]) -> Option<usize> {
    let least = |squares: bool| {
        let is_one = |at: &usize| candidates[*at].settings.as_ref().is_some_and(|one| one.squares == squares);
        (0..judged.len())
            .filter(is_one)
            .reduce(|best, at| if judged[at].error < judged[best].error { at } else { best })
    };
    match (least(false), least(true)) {
        (Some(other), Some(squares)) if judged[squares].error + judged[squares].deviation < judged[other].error => {
            Some(squares)
        }
        (other, squares) => other.or(squares),
    }
}

/// The folds of one deal: row by row of each class, around the folds.
fn parts(table: &Table, plan: &Plan, repeat: u64) -> Vec<Part> {
    let mut fold_of = vec![0; table.rows()];
    let mut next = 0;
    let mut random = generator(plan.seed, Purpose::Fold, repeat);
    for class in 0..table.classes.len() as u32 {
        let mut rows: Vec<usize> = (0..table.rows()).filter(|&row| table.class_of[row] == class).collect();
        shuffle(&mut random, &mut rows);
        for row in rows {
            fold_of[row] = next % plan.folds;
            next += 1;
        }
    }
    let part = |fold: usize| {
        let (held, learn) = (0..table.rows()).partition(|&row| fold_of[row] == fold);
        Part { learn, held }
    };
    (0..plan.folds).map(part).filter(|part| !part.held.is_empty()).collect()
}

/// Wrong rows among those held out, at each update.
fn wrong_by_step(
    table: &Table,
    candidate: &Candidate,
    part: &Part,
    plan: &Plan,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<(usize, f64)>> {
    let sample = Sample::<f32>::new(table, &part.learn);
    let values = sample.scaled(table, &part.held);
    let truth: Vec<u32> = part.held.iter().map(|&row| table.class_of[row]).collect();
    let Some(settings) = &candidate.settings else {
        return Some(vec![(0, wrong_plainly(&sample, &values, &truth, plan.limits.voters))]);
    };
    let mut boost = Boost::new(&sample, settings, plan.limits);
    boost.watch(values, truth);
    if !boost.run(&go_on) {
        return None;
    }
    let wrong = |watched: Option<[usize; 2]>| watched.map_or(0.0, |[vote, _]| vote as f64);
    let curve: Vec<(usize, f64)> = boost.curve.iter().map(|point| (point.step, wrong(point.watched))).collect();
    if plan.stop == Stop::HeldOut {
        return Some(curve);
    }
    let kept = steps_of(&boost.curve, plan.stop, sample.rows());
    Some(curve.into_iter().filter(|(step, _)| *step == kept).map(|(_, wrong)| (0, wrong)).collect())
}

fn wrong_plainly(sample: &Sample<f32>, values: &[f32], truth: &[u32], voters: usize) -> f64 {
    let search = Search { classes: &sample.classes, keep: voters, itself: false };
    let rows = Points { count: sample.rows(), values: &sample.values };
    let queries = Points { count: truth.len(), values };
    let wrong = |row: usize, lists: &[Nearest<f32>]| vote(lists, voters).class != truth[row] as usize;
    stream(rows, queries, &search, wrong).into_iter().filter(|&wrong| wrong).count() as f64
}

/// The curves of all folds as one, and its least point. Rows held out several times are still no more rows.
fn pooled(name: &str, curves: &[Vec<(usize, f64)>], (held, rows): (usize, usize)) -> Judged {
    let length = curves.iter().map(Vec::len).min().unwrap_or(0);
    let error = |at: usize| curves.iter().map(|curve| curve[at].1).sum::<f64>() / held.max(1) as f64;
    let errors = smoothed(&(0..length).map(error).collect::<Vec<f64>>());
    let least = (1..length).fold(0, |best, at| if errors[at] < errors[best] { at } else { best });
    let error = errors.get(least).copied().unwrap_or(1.0);
    let steps = curves.first().and_then(|curve| curve.get(least)).map_or(0, |point| point.0);
    Judged { name: name.into(), steps, error, deviation: standard_error(error, rows) }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::*;
    use crate::random::uniform;

    /// Two classes that differ a little in each of twelve variables: one variable a step, few steps are too few.
    fn many_weak() -> Table {
        let mut random = generator(3, Purpose::Deal, 0);
        let names: Vec<String> = (0..12).map(|at| format!("x{at}")).collect();
        let mut text = format!("{},y\n", names.join(","));
        for row in 0..120 {
            let shift = f64::from(row % 2) * 0.4;
            let cells: Vec<String> = (0..12).map(|_| (shift + uniform(&mut random)).to_string()).collect();
            text += &format!("{},{}\n", cells.join(","), if row % 2 == 0 { "p" } else { "q" });
        }
        table("weak.csv", &text).unwrap()
    }

    #[test]
    fn plain_neighbours_and_metrics_without_squares_are_given_up_for_a_standard_error_only() {
        let all = ["plain", "order-1", "squares"].map(|name| Candidate::family(name).unwrap().remove(0));
        let chosen = |errors: [f64; 3]| {
            let judged = errors.map(|error| Judged { name: String::new(), steps: 5, error, deviation: 0.05 });
            (best(&all, &judged), best(&all[1..], &judged[1..]), best(&all[2..], &judged[2..]))
        };
        assert_eq!(chosen([0.4, 0.36, 0.36]), (0, 0, 0));
        assert_eq!(chosen([0.4, 0.30, 0.26]), (1, 0, 0));
        assert_eq!(chosen([0.4, 0.30, 0.24]), (2, 1, 0));
        assert_eq!(chosen([0.2, 0.30, 0.24]), (0, 1, 0));
    }

    #[test]
    fn the_best_metric_goes_on_while_that_helps_and_no_further_than_it_may() {
        let settings = Settings { steps: 4, update_every: 1, entries: 1, order: 1, ..Settings::default() };
        let candidates = [Candidate::plain(), Candidate::new("order-1", settings)];
        let limits = Limits { dense_rows: 1000, term_bytes: 1 << 30, voters: 3, seed: 1 };
        let table = many_weak();
        let judged = |longer: usize, stop: Stop| {
            let plan = Plan { folds: 4, repeats: 1, stop, limits, seed: 1, longer };
            judge(&table, &candidates, &plan, &|| true).unwrap()
        };
        let [short, long] = [1, 4].map(|longer| judged(longer, Stop::HeldOut));
        assert!(short[1].steps == 4 && long[1].steps > 4 && long[1].steps <= 16, "{short:?} {long:?}");
        assert!(long[1].error < short[1].error);
        assert_eq!(short[0], long[0], "plain neighbours take no steps");
        assert_eq!(judged(1, Stop::Last), judged(4, Stop::Last), "another rule counts the steps");
    }
}
