//! Which metric: candidates compete in cross-validation on the training rows, plain k-NN among them.
//!
//! The least of all curves ([`Course`]) wins, and of equals the simpler candidate, which stands earlier; but plain k-NN is
//! only given up for a candidate better by more than one standard error, and so are the other metrics for one of all
//! squares. One deal of few rows says little: small data is dealt several times, and where that is dear, metrics within
//! half a standard error of the best meet in a final of more deals. If the winner's curve has not turned at its end, it is
//! followed on: images need two or three hundred steps where other data needs fifty. Of very many rows a part is enough to
//! choose by.

use rayon::prelude::*;

use super::boost::Limits;
use super::candidate::Candidate;
use super::course::{Course, Judged, Part, parts, wrong_by_step};
use super::settings::Settings;
use super::stop::Stop;
use super::table::Table;

/// How to choose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) folds: usize,
    pub(super) repeats: usize,
    /// Deals of the final, at least as many.
    pub(super) final_repeats: usize,
    pub(super) stop: Stop,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    /// The best metric may take so many times its steps.
    pub(super) longer: usize,
}

/// Judges all candidates and says which is best. `go_on` is asked before each step, and is told of steps done. Nothing if it
/// said no.
pub(super) fn judge(
    table: &Table,
    candidates: &[Candidate],
    plan: &Plan,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<(Vec<Judged>, usize)> {
    let contest = Contest { table, plan, go_on };
    let mut courses = contest.courses(candidates, 0..plan.repeats)?;
    let mut judged: Vec<Judged> = contest.judged(candidates, &courses);
    let finalists = finalists(candidates, &judged);
    if plan.final_repeats > plan.repeats {
        let chosen: Vec<Candidate> = finalists.iter().map(|&at| candidates[at].clone()).collect();
        let more = contest.courses(&chosen, plan.repeats..plan.final_repeats)?;
        for (&at, more) in finalists.iter().zip(more) {
            courses[at].curves.extend(more.curves);
            courses[at].held += more.held;
        }
        judged = contest.judged(candidates, &courses);
    }
    let winner = best_metric(candidates, &judged, &finalists);
    if let Some(winner) = winner {
        judged[winner] = contest.longer(&candidates[winner], judged[winner].clone(), &courses[winner])?;
    }
    let chosen = best(candidates, &judged, winner);
    Some((judged, chosen))
}

struct Contest<'a> {
    table: &'a Table,
    plan: &'a Plan,
    go_on: &'a (dyn Fn() -> bool + Sync),
}

impl Contest<'_> {
    /// The curves of candidates over the folds of some deals.
    fn courses(&self, candidates: &[Candidate], deals: std::ops::Range<usize>) -> Option<Vec<Course>> {
        let parts: Vec<Part> = deals.flat_map(|deal| parts(self.table, self.plan, deal as u64)).collect();
        let held: usize = parts.iter().map(|part| part.held.len()).sum();
        let jobs: Vec<(usize, usize)> =
            (0..candidates.len()).flat_map(|one| (0..parts.len()).map(move |part| (one, part))).collect();
        let run = |&(one, part): &(usize, usize)| {
            wrong_by_step(self.table, &candidates[one], &parts[part], self.plan, self.go_on)
        };
        let curves: Vec<Vec<(usize, f64)>> = jobs.par_iter().with_max_len(1).map(run).collect::<Option<_>>()?;
        Some(curves.chunks(parts.len()).map(|curves| Course { curves: curves.to_vec(), held }).collect())
    }

    fn judged(&self, candidates: &[Candidate], courses: &[Course]) -> Vec<Judged> {
        let of = |(one, course): (&Candidate, &Course)| course.judged(&one.name, self.table.rows());
        candidates.iter().zip(courses).map(of).collect()
    }

    /// A metric with twice the steps as long as its curve may still fall and that helps.
    fn longer(&self, metric: &Candidate, mut judged: Judged, course: &Course) -> Option<Judged> {
        let Some(settings) = &metric.settings else { return Some(judged) };
        let (mut times, mut may_fall) = (2, course.may_fall(&judged));
        while self.plan.stop == Stop::HeldOut && times <= self.plan.longer && may_fall {
            let settings = Settings { steps: times * settings.steps, ..settings.clone() };
            let longer = Candidate { settings: Some(settings), ..metric.clone() };
            let course = self.courses(&[longer], 0..self.plan.final_repeats)?.remove(0);
            let again = course.judged(&metric.name, self.table.rows());
            if again.error >= judged.error {
                break;
            }
            may_fall = course.may_fall(&again);
            judged = again;
            times *= 2;
        }
        Some(judged)
    }
}

/// The steps of one run, from one to the last: what a progress bar counts.
pub(super) fn steps_in_all(candidates: &[Candidate], plan: &Plan) -> u64 {
    let steps: usize = candidates.iter().filter_map(|one| one.settings.as_ref()).map(|one| one.steps).sum();
    (steps * plan.folds * plan.repeats) as u64
}

/// Plain k-NN, and the metrics that are within half a standard error of the best.
fn finalists(candidates: &[Candidate], judged: &[Judged]) -> Vec<usize> {
    let all: Vec<usize> = (0..judged.len()).collect();
    let Some(best) = best_metric(candidates, judged, &all).map(|at| &judged[at]) else { return all };
    let near = |at: &usize| judged[*at].error <= best.error + best.deviation / 2.0;
    all.into_iter().filter(|at| candidates[*at].settings.is_none() || near(at)).collect()
}

/// The best of all; plain k-NN if the best metric is not better by more than a standard error. The least of many curves
/// looks better than it is, and a metric that buys nothing should not be learned.
fn best(candidates: &[Candidate], judged: &[Judged], metric: Option<usize>) -> usize {
    let plain = candidates.iter().position(|one| one.settings.is_none());
    match (plain, metric) {
        (Some(plain), Some(metric)) if judged[plain].error > judged[metric].error + judged[metric].deviation => metric,
        (plain, metric) => plain.or(metric).unwrap_or(0),
    }
}

/// The best metric among some, of equals the first; one of squares only if it is better than all others by more than a
/// standard error: it is there for rings among many variables, and elsewhere its twice as many terms fit the folds by chance.
fn best_metric(candidates: &[Candidate], judged: &[Judged], among: &[usize]) -> Option<usize> {
    let least = |squares: bool| {
        let is_one = |at: &usize| candidates[*at].settings.as_ref().is_some_and(|one| one.squares == squares);
        (among.iter().copied())
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

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::*;
    use tamis::random::{Purpose, generator, uniform};

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
            [0, 1, 2].map(|from| {
                let (all, judged) = (&all[from..], &judged[from..]);
                best(all, judged, best_metric(all, judged, &finalists(all, judged)))
            })
        };
        assert_eq!(chosen([0.4, 0.36, 0.36]), [0, 0, 0]);
        assert_eq!(chosen([0.4, 0.30, 0.26]), [1, 0, 0]);
        assert_eq!(chosen([0.4, 0.30, 0.24]), [2, 1, 0]);
        assert_eq!(chosen([0.2, 0.30, 0.24]), [0, 1, 0]);
    }

    #[test]
    fn the_best_metric_goes_on_while_that_helps_and_no_further_than_it_may() {
        let settings = Settings { steps: 4, update_every: 1, entries: 1, order: 1, ..Settings::default() };
        let candidates = [Candidate::plain(), Candidate::new("order-1", settings)];
        let limits = Limits { dense_rows: 1000, term_bytes: 1 << 30, voters: 3, seed: 1 };
        let table = many_weak();
        let judged = |longer: usize, stop: Stop| {
            let plan = Plan { folds: 4, repeats: 1, final_repeats: 1, stop, limits, seed: 1, longer };
            judge(&table, &candidates, &plan, &|| true).unwrap().0
        };
        let [short, long] = [1, 4].map(|longer| judged(longer, Stop::HeldOut));
        assert!(short[1].steps == 4 && long[1].steps > 4 && long[1].steps <= 16, "{short:?} {long:?}");
        assert!(long[1].error < short[1].error);
        assert_eq!(short[0], long[0], "plain neighbours take no steps");
        assert_eq!(judged(1, Stop::Last), judged(4, Stop::Last), "another rule counts the steps");
    }

    #[test]
    fn the_best_meet_in_a_final_of_more_deals_and_the_others_do_not() {
        let metric = |steps: usize, entries: usize| {
            let settings = Settings { steps, entries, order: 1, update_every: 1, ..Settings::default() };
            Candidate { name: format!("{steps} steps"), settings: Some(settings) }
        };
        let candidates = [Candidate::plain(), metric(1, 1), metric(12, 3), metric(12, 10)];
        let limits = Limits { dense_rows: 1000, term_bytes: 1 << 30, voters: 3, seed: 1 };
        let table = many_weak();
        let judged = |repeats: usize, final_repeats: usize| {
            let plan = Plan { folds: 4, repeats, final_repeats, stop: Stop::HeldOut, limits, seed: 1, longer: 1 };
            judge(&table, &candidates, &plan, &|| true).unwrap()
        };
        let ((once, _), (thrice, _), (with_final, chosen)) = (judged(1, 1), judged(3, 3), judged(1, 3));
        let finalists = finalists(&candidates, &once);
        assert!(finalists.contains(&0) && !finalists.contains(&1) && finalists.contains(&chosen), "{once:?}");
        for at in 0..candidates.len() {
            let expected = if finalists.contains(&at) { &thrice[at] } else { &once[at] };
            assert_eq!(&with_final[at], expected, "candidate {at}");
        }
    }
}
