//! Successive halving (Jamieson & Talwalkar 2016): with many rows, most candidates are ruled out on growing parts of them.
//!
//! The cost of a boosting run grows faster than the number of rows, since distances are between pairs of them. In each
//! round, the metrics within a standard error of the best go on, at most half of them; the part doubles, until it is half of
//! the rows. Plain k-NN has no steps and always goes on. A metric that needs many rows to be good may be lost this way.
//!
//! Within a round, metrics that are far behind the best stop early: at the last update in a quarter of their steps those
//! that are worse by more than three standard errors, at the last update in half of them those worse by more than two. Half
//! a curve seldom makes up for that; metrics of few terms a direction start slowly, so that a quarter of it says less. Rules
//! of early stopping that do not look at held-out rows need all steps.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | first part | [`FIRST_PART`] | 500 rows | the standard error of an error of 0.1 is 0.013 |
//! | folds | [`RACE_FOLDS`] | 3 | time |
//! | finalists | [`MOST_FINALISTS`] | 2 | time |
//! | far behind | [`FAR_BEHIND`] | 3 standard errors at a quarter, 2 at half of the steps | time; of 21 splits of five data sets, two select another metric than by whole curves, with smaller test errors |

use super::candidate::Candidate;
use super::dataset::Dataset;
use super::early_stopping::EarlyStopping;
use super::fold_runs::{CandidateRuns, CrossValidation, CvPlan, Steps};
use super::learning_curve::CvResult;
use super::params::Params;

/// Rows of the first round.
const FIRST_PART: usize = 500;
/// Cross-validation folds of a round.
const RACE_FOLDS: usize = 3;
/// There are no further rounds when no more metrics are left than this.
const MOST_FINALISTS: usize = 2;
/// The part of the steps after which metrics are compared, and the standard errors by which those that stop are worse.
const FAR_BEHIND: [(usize, f64); 2] = [(4, 3.0), (2, 2.0)];

/// The sizes of the parts, ascending; none if the rows are few.
pub(super) fn parts(rows: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FIRST_PART), |part| part.checked_mul(2)).take_while(move |part| 2 * part <= rows)
}

/// The results of the candidates that a race on parts of the rows rules out, each from its last round; `None` if the steps
/// were ended.
pub(super) fn race(
    dataset: &Dataset,
    candidates: &[Candidate],
    plan: &CvPlan,
    steps: &dyn Steps,
) -> Option<Vec<Option<CvResult>>> {
    let mut raced = vec![None; candidates.len()];
    for rows in parts(dataset.rows()) {
        let is_left = |&at: &usize| raced[at].is_none() && candidates[at].params.is_some();
        let metrics: Vec<usize> = (0..candidates.len()).filter(is_left).collect();
        if metrics.len() <= MOST_FINALISTS {
            break;
        }
        let part = dataset.stratified_part(rows, plan.seed);
        let plan = CvPlan { folds: RACE_FOLDS, held_out_folds: RACE_FOLDS, ..*plan };
        let running: Vec<&Candidate> = metrics.iter().map(|&at| &candidates[at]).collect();
        let results = round(&CrossValidation { dataset: &part, plan: &plan, steps }, &running)?;
        let survivors = survivors(&errors(&results));
        let lost = results.into_iter().enumerate().filter(|(place, _)| !survivors.contains(place));
        lost.for_each(|(place, result)| raced[metrics[place]] = Some(result));
    }
    Some(raced)
}

/// The results of one round.
fn round(cv: &CrossValidation<'_>, candidates: &[&Candidate]) -> Option<Vec<CvResult>> {
    let folds = cv.folds(0..1);
    let mut all = cv.start(candidates, &folds);
    let results =
        |all: &[CandidateRuns<'_>]| -> Vec<CvResult> { all.iter().map(|one| cv.result(one, &folds)).collect() };
    let mut is_left = vec![true; candidates.len()];
    let stops = if cv.plan.early_stopping == EarlyStopping::HeldOut { &FAR_BEHIND[..] } else { &[] };
    for &(part, standard_errors) in stops {
        cv.go_on(left(&mut all, &is_left), &folds, |params| part_of_the_steps(params, part))?;
        let near = near(&errors(&results(&all)), standard_errors);
        is_left.iter_mut().zip(near).for_each(|(is_left, is_near)| *is_left &= is_near);
    }
    cv.go_on(left(&mut all, &is_left), &folds, |params| params.max_iter)?;
    Some(results(&all))
}

fn left<'a, 'b>(all: &'a mut [CandidateRuns<'b>], is_left: &[bool]) -> impl Iterator<Item = &'a mut CandidateRuns<'b>> {
    all.iter_mut().zip(is_left).filter_map(|(one, is_left)| is_left.then_some(one))
}

fn errors(results: &[CvResult]) -> Vec<(f64, f64)> {
    results.iter().map(|one| (one.error, one.standard_error)).collect()
}

/// The last update of the neighbours in a half of the steps, or in a quarter, or else the first: so no bit depends on the pause.
fn part_of_the_steps(params: &Params, part: usize) -> usize {
    let updates = (params.max_iter / part / params.update_every).max(1);
    (updates * params.update_every).min(params.max_iter)
}

/// Whether each of the numbers is within some standard errors of the least.
fn near(results: &[(f64, f64)], standard_errors: f64) -> Vec<bool> {
    let least = results.iter().copied().reduce(|best, one| if one.0 < best.0 { one } else { best });
    let limit = least.map_or(f64::INFINITY, |(error, standard_error)| error + standard_errors * standard_error);
    results.iter().map(|one| one.0 <= limit).collect()
}

/// The places of the numbers that go on: within a standard error of the least, and at most half of them.
pub(super) fn survivors(results: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..results.len()).collect();
    order.sort_by(|&a, &b| results[a].0.total_cmp(&results[b].0).then(a.cmp(&b)));
    let Some(&best) = order.first() else { return order };
    let limit = results[best].0 + results[best].1;
    order.truncate(results.len().div_ceil(2));
    order.retain(|&at| results[at].0 <= limit);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_double_up_to_half_of_the_rows() {
        let sizes = |rows: usize| parts(rows).collect::<Vec<usize>>();
        assert_eq!((sizes(999), sizes(1000), sizes(2000)), (vec![], vec![500], vec![500, 1000]));
        assert_eq!(sizes(5000), [500, 1000, 2000]);
    }

    #[test]
    fn the_best_half_within_a_standard_error_goes_on() {
        let errors = |list: &[f64]| list.iter().map(|&error| (error, 0.02)).collect::<Vec<_>>();
        assert_eq!(survivors(&errors(&[0.30, 0.10, 0.11, 0.115, 0.119])), [1, 2, 3], "half, rounded up");
        assert_eq!(survivors(&errors(&[0.10, 0.13, 0.14, 0.15])), [0], "others are worse by more than the error");
        assert_eq!(survivors(&errors(&[0.10, 0.10, 0.10])), [0, 1], "of equals, the first");
        assert_eq!(survivors(&[]), [] as [usize; 0]);
    }

    #[test]
    fn those_far_behind_stop_at_an_update() {
        assert_eq!(near(&[(0.30, 0.03), (0.10, 0.02), (0.139, 0.02), (0.141, 0.02)], 2.0), [false, true, true, false]);
        assert_eq!(near(&[], 2.0), [] as [bool; 0]);
        let part = |max_iter, update_every, part| {
            part_of_the_steps(&Params { max_iter, update_every, ..Params::default() }, part)
        };
        assert_eq!([part(100, 5, 2), part(100, 7, 2), part(3, 5, 2), part(30, 10, 2)], [50, 49, 3, 10]);
        assert_eq!([part(100, 5, 4), part(100, 10, 4), part(30, 10, 4)], [25, 20, 10]);
    }
}
