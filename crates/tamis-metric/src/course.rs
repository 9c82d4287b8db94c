//! How a candidate does on rows held out, step by step.
//!
//! Folds hold the same share of every class and follow the seed. The errors of all folds are pooled as one curve over
//! steps, smoothed over three points; its least point says how good the candidate is and how many steps it takes.

use serde::{Deserialize, Serialize};

use super::boost::Boost;
use super::candidate::Candidate;
use super::choose::Plan;
use super::nearest::{Nearest, Points, Search, stream};
use super::sample::Sample;
use super::stop::{Stop, smoothed, standard_error, steps_of};
use super::table::Table;
use super::vote::vote;
use tamis::random::{Purpose, generator, shuffle};

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

/// Rows to learn from and rows held out.
pub(super) struct Part {
    learn: Vec<usize>,
    pub(super) held: Vec<usize>,
}

/// Wrong rows by steps, fold by fold.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub(super) curves: Vec<Vec<(usize, f64)>>,
    /// Rows held out in all folds.
    pub(super) held: usize,
}

impl Course {
    /// The curves of all folds as one: its least point. Rows held out several times are still no more rows.
    pub(super) fn judged(&self, name: &str, rows: usize) -> Judged {
        let errors = self.errors();
        let least = (1..errors.len()).fold(0, |best, at| if errors[at] < errors[best] { at } else { best });
        let error = errors.get(least).copied().unwrap_or(1.0);
        let steps = self.curves.first().and_then(|curve| curve.get(least)).map_or(0, |point| point.0);
        Judged { name: name.into(), steps, error, deviation: standard_error(error, rows) }
    }

    /// Whether more steps may help: a curve that ends no more than half a standard error above its least point has not
    /// turned. Where that point lies says less: on few rows a flat curve is least anywhere.
    pub(super) fn may_fall(&self, least: &Judged) -> bool {
        self.errors().last().is_some_and(|&end| end <= least.error + least.deviation / 2.0)
    }

    fn errors(&self) -> Vec<f64> {
        let length = self.curves.iter().map(Vec::len).min().unwrap_or(0);
        let error = |at: usize| self.curves.iter().map(|curve| curve[at].1).sum::<f64>() / self.held.max(1) as f64;
        smoothed(&(0..length).map(error).collect::<Vec<f64>>())
    }
}

/// The folds of one deal: row by row of each class, around the folds.
pub(super) fn parts(table: &Table, plan: &Plan, repeat: u64) -> Vec<Part> {
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
pub(super) fn wrong_by_step(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_end_may_fall_and_one_that_rose_by_half_a_standard_error_will_not() {
        let followed = |wrong: &[f64]| {
            let curve = wrong.iter().zip(1..).map(|(&wrong, at)| (5 * at, wrong)).collect();
            let course = Course { curves: vec![curve], held: 1000 };
            let judged = course.judged("order-1", 1000);
            (judged.steps, course.may_fall(&judged))
        };
        // A tenth of 1000 rows is wrong at best: half a standard error are 4.7 rows.
        assert_eq!(followed(&[300.0, 100.0, 100.0, 100.0, 102.0, 104.0, 104.0]), (15, true));
        assert_eq!(followed(&[300.0, 100.0, 100.0, 100.0, 102.0, 106.0, 106.0]), (15, false));
        assert_eq!(followed(&[300.0, 200.0, 150.0]), (15, true));
    }

    #[test]
    fn folds_are_pooled_by_their_rows() {
        let course = Course { curves: vec![vec![(5, 4.0), (10, 1.0)], vec![(5, 2.0), (10, 3.0)]], held: 40 };
        let judged = course.judged("free", 20);
        assert_eq!((judged.name.as_str(), judged.steps, judged.error), ("free", 5, 0.125));
        assert_eq!(judged.deviation, (0.125f64 * 0.875 / 20.0).sqrt());
        assert_eq!(Course::default().judged("none", 3).error, 1.0);
    }
}
