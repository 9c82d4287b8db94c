//! Choice of a candidate by cross-validation on the training rows; plain k-NN is one of the candidates.
//!
//! The candidate whose [learning curve](super::learning_curve) has the least minimum is selected, and of equals the simpler one,
//! which stands earlier. Plain k-NN is only given up for a metric better by more than one standard error, and so are the
//! other metrics for one of all squares. One repetition on few rows says little: small data are split several times, and
//! where that costs much, only the metrics within half a standard error of the best are. If the curve of the best metric
//! has not turned at its end, its runs go on to twice their steps: images need two or three hundred steps where other data need
//! fifty. Of very many rows a part is enough for cross-validation; many rows rule most candidates out before
//! ([`race`](super::race)), and of 2,000 rows or more, three of the folds are held out.

use super::candidate::Candidate;
use super::dataset::Dataset;
use super::early_stopping::EarlyStopping;
use super::fold_runs::{CandidateRuns, CrossValidation, CvPlan, Steps};
use super::folds::Fold;
use super::learning_curve::CvResult;
use super::race::race;

/// The results of all candidates and the one selected; `None` if the steps were ended.
pub(super) fn cross_validate(
    dataset: &Dataset,
    candidates: &[Candidate],
    plan: &CvPlan,
    steps: &dyn Steps,
) -> Option<(Vec<CvResult>, usize)> {
    let raced = race(dataset, candidates, plan, steps)?;
    let left: Vec<usize> = (0..candidates.len()).filter(|&at| raced[at].is_none()).collect();
    let remaining: Vec<Candidate> = left.iter().map(|&at| candidates[at].clone()).collect();
    let (results, chosen) = cross_validate_all(&CrossValidation { dataset, plan, steps }, &remaining)?;
    let mut all: Vec<Option<CvResult>> = raced;
    left.iter().zip(results).for_each(|(&at, result)| all[at] = Some(result));
    Some((all.into_iter().map(|one| one.expect("it raced or was evaluated")).collect(), left[chosen]))
}

fn cross_validate_all(cv: &CrossValidation<'_>, candidates: &[Candidate]) -> Option<(Vec<CvResult>, usize)> {
    let plan = cv.plan;
    let mut folds = cv.folds(0..plan.repeats);
    let mut all = cv.start(&candidates.iter().collect::<Vec<_>>(), &folds);
    cv.go_on(&mut all, &folds, |params| params.max_iter)?;
    let results_of = |all: &[CandidateRuns<'_>], folds: &[Fold]| -> Vec<CvResult> {
        all.iter().map(|one| cv.result(one, folds)).collect()
    };
    let mut results = results_of(&all, &folds);
    let contenders = contenders(candidates, &results);
    if plan.final_repeats > plan.repeats {
        let more_folds = cv.folds(plan.repeats..plan.final_repeats);
        let chosen: Vec<&Candidate> = contenders.iter().map(|&at| &candidates[at]).collect();
        let mut more = cv.start(&chosen, &more_folds);
        cv.go_on(&mut more, &more_folds, |params| params.max_iter)?;
        contenders.iter().zip(more).for_each(|(&at, more)| all[at].runs.extend(more.runs));
        folds.extend(more_folds);
        results = results_of(&all, &folds);
    }
    let winner = best_metric(candidates, &results, &contenders);
    if let Some(winner) = winner {
        results[winner] = extend(cv, &mut all[winner], &folds, results[winner].clone())?;
    }
    let chosen = best(candidates, &results, winner);
    Some((results, chosen))
}

/// Continues the runs of a metric to twice their steps as long as its curve may improve and does.
fn extend(
    cv: &CrossValidation<'_>,
    metric: &mut CandidateRuns<'_>,
    folds: &[Fold],
    mut best: CvResult,
) -> Option<CvResult> {
    let params = metric.candidate.params.as_ref().filter(|_| cv.plan.early_stopping == EarlyStopping::HeldOut);
    let Some(params) = params else { return Some(best) };
    let mut times = 2;
    while times <= cv.plan.max_extension && cv.curve(metric, folds).may_improve(&best) {
        cv.go_on([&mut *metric], folds, |_| times * params.max_iter)?;
        let longer = cv.result(metric, folds);
        if longer.error >= best.error {
            break;
        }
        best = longer;
        times *= 2;
    }
    Some(best)
}

/// Plain k-NN, and the metrics that are within half a standard error of the best.
fn contenders(candidates: &[Candidate], results: &[CvResult]) -> Vec<usize> {
    let all: Vec<usize> = (0..results.len()).collect();
    let Some(best) = best_metric(candidates, results, &all).map(|at| &results[at]) else { return all };
    let near = |at: &usize| results[*at].error <= best.error + best.standard_error / 2.0;
    all.into_iter().filter(|at| candidates[*at].params.is_none() || near(at)).collect()
}

/// The best of all; plain k-NN if the best metric is not better by more than a standard error. The least of many curves
/// looks better than it is, and a metric that gains nothing should not be learned.
fn best(candidates: &[Candidate], results: &[CvResult], metric: Option<usize>) -> usize {
    let plain = candidates.iter().position(|one| one.params.is_none());
    match (plain, metric) {
        (Some(plain), Some(metric))
            if results[plain].error > results[metric].error + results[metric].standard_error =>
        {
            metric
        }
        (plain, metric) => plain.or(metric).unwrap_or(0),
    }
}

/// The best metric among some, of equals the first; one of squares only if it is better than all others by more than a
/// standard error: it is there for rings among many variables, and elsewhere its twice as many terms fit the folds by chance.
fn best_metric(candidates: &[Candidate], results: &[CvResult], among: &[usize]) -> Option<usize> {
    let least = |squares: bool| {
        let is_one = |at: &usize| candidates[*at].params.as_ref().is_some_and(|one| one.squares == squares);
        (among.iter().copied())
            .filter(is_one)
            .reduce(|best, at| if results[at].error < results[best].error { at } else { best })
    };
    match (least(false), least(true)) {
        (Some(other), Some(squares))
            if results[squares].error + results[squares].standard_error < results[other].error =>
        {
            Some(squares)
        }
        (other, squares) => other.or(squares),
    }
}

#[cfg(test)]
mod tests {
    use super::super::boost::Limits;
    use super::super::dataset::tests::dataset;
    use super::super::params::Params;
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tamis::rng::{RngStream, generator, uniform};

    /// Steps that nobody counts.
    struct Unwatched;

    impl Steps for Unwatched {
        fn begin(&self, _: u64) {}

        fn go_on(&self) -> bool {
            true
        }
    }

    /// Four folds, once.
    fn plan() -> CvPlan {
        CvPlan {
            folds: 4,
            held_out_folds: 4,
            repeats: 1,
            final_repeats: 1,
            early_stopping: EarlyStopping::HeldOut,
            limits: Limits { dense_rows: 1000, term_bytes: 1 << 30, n_neighbors: 3, seed: 1 },
            seed: 1,
            max_extension: 1,
        }
    }

    /// Two classes that differ a little in each of twelve variables: one variable a step, few steps are too few.
    fn many_weak() -> Dataset {
        let mut random = generator(3, RngStream::ShardRows, 0);
        let names: Vec<String> = (0..12).map(|at| format!("x{at}")).collect();
        let mut text = format!("{},y\n", names.join(","));
        for row in 0..120 {
            let shift = f64::from(row % 2) * 0.4;
            let cells: Vec<String> = (0..12).map(|_| (shift + uniform(&mut random)).to_string()).collect();
            text += &format!("{},{}\n", cells.join(","), if row % 2 == 0 { "p" } else { "q" });
        }
        dataset("weak.csv", &text).unwrap()
    }

    #[test]
    fn plain_neighbours_and_metrics_without_squares_are_given_up_for_a_standard_error_only() {
        let all = ["plain", "order-1", "squares"].map(|name| Candidate::family(name).unwrap().remove(0));
        let chosen = |errors: [f64; 3]| {
            let results =
                errors.map(|error| CvResult { name: String::new(), steps: 5, error, standard_error: 0.05, rows: 100 });
            [0, 1, 2].map(|from| {
                let (all, results) = (&all[from..], &results[from..]);
                best(all, results, best_metric(all, results, &contenders(all, results)))
            })
        };
        assert_eq!(chosen([0.4, 0.36, 0.36]), [0, 0, 0]);
        assert_eq!(chosen([0.4, 0.30, 0.26]), [1, 0, 0]);
        assert_eq!(chosen([0.4, 0.30, 0.24]), [2, 1, 0]);
        assert_eq!(chosen([0.2, 0.30, 0.24]), [0, 1, 0]);
    }

    #[test]
    fn the_best_metric_goes_on_while_that_helps_and_no_further_than_it_may() {
        let params = Params { max_iter: 4, update_every: 1, max_terms: 1, max_order: 1, ..Params::default() };
        let candidates = [Candidate::plain(), Candidate::new("order-1", params)];
        let dataset = many_weak();
        let results = |max_extension: usize, early_stopping: EarlyStopping| {
            let plan = CvPlan { early_stopping, max_extension, ..plan() };
            cross_validate(&dataset, &candidates, &plan, &Unwatched).unwrap().0
        };
        let [short, long] = [1, 4].map(|times| results(times, EarlyStopping::HeldOut));
        assert!(short[1].steps == 4 && long[1].steps > 4 && long[1].steps <= 16, "{short:?} {long:?}");
        assert!(long[1].error < short[1].error);
        assert_eq!(short[0], long[0], "plain neighbours take no steps");
        assert_eq!(results(1, EarlyStopping::Off), results(4, EarlyStopping::Off), "another rule counts the steps");
    }

    /// Counts steps, and checks that they were announced.
    #[derive(Default)]
    struct Announced {
        rounds: AtomicU64,
        done: AtomicU64,
        total: AtomicU64,
    }

    impl Steps for Announced {
        fn begin(&self, steps: u64) {
            self.rounds.fetch_add(1, Ordering::SeqCst);
            self.total.store(self.done.load(Ordering::SeqCst) + steps, Ordering::SeqCst);
        }

        fn go_on(&self) -> bool {
            let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(done <= self.total.load(Ordering::SeqCst), "step {done} was not announced");
            true
        }
    }

    #[test]
    fn every_round_announces_its_steps() {
        let params = Params { max_iter: 4, update_every: 1, max_terms: 1, max_order: 1, ..Params::default() };
        let candidates = [Candidate::plain(), Candidate::new("order-1", params)];
        let plan = CvPlan { final_repeats: 2, max_extension: 4, ..plan() };
        let steps = Announced::default();
        cross_validate(&many_weak(), &candidates, &plan, &steps).unwrap();
        assert!(steps.rounds.load(Ordering::SeqCst) >= 3, "repetitions and longer runs are rounds of their own");
    }

    #[test]
    fn fewer_folds_are_fewer_rows() {
        let dataset = many_weak();
        let held_out_folds = 3;
        let all = cross_validate(&dataset, &[Candidate::plain()], &plan(), &Unwatched).unwrap().0;
        let plan = CvPlan { held_out_folds, ..plan() };
        let three = cross_validate(&dataset, &[Candidate::plain()], &plan, &Unwatched).unwrap().0;
        assert_eq!((all[0].rows, three[0].rows), (120, 90));
        assert_eq!(three[0].standard_error, (three[0].error * (1.0 - three[0].error) / 90.0).sqrt());
    }

    #[test]
    fn only_the_best_candidates_get_more_repetitions() {
        let metric = |steps: usize, entries: usize| {
            let params =
                Params { max_iter: steps, max_terms: entries, max_order: 1, update_every: 1, ..Params::default() };
            Candidate { name: format!("{steps} steps"), params: Some(params) }
        };
        let candidates = [Candidate::plain(), metric(1, 1), metric(12, 3), metric(12, 10)];
        let dataset = many_weak();
        let results = |repeats: usize, final_repeats: usize| {
            let plan = CvPlan { repeats, final_repeats, ..plan() };
            cross_validate(&dataset, &candidates, &plan, &Unwatched).unwrap()
        };
        let ((once, _), (thrice, _), (with_final, chosen)) = (results(1, 1), results(3, 3), results(1, 3));
        let contenders = contenders(&candidates, &once);
        assert!(contenders.contains(&0) && !contenders.contains(&1) && contenders.contains(&chosen), "{once:?}");
        for at in 0..candidates.len() {
            let expected = if contenders.contains(&at) { &thrice[at] } else { &once[at] };
            assert_eq!(&with_final[at], expected, "candidate {at}");
        }
    }
}
