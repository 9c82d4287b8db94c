//! The size if none is given: the smallest on a decreasing size path that is not significantly worse than the best.
//!
//! From the size of least loss downwards, it is the last one before loss or error is more than [`N_SE`] standard errors
//! above the least of all sizes. Both are estimated on held-out rows, which the features were selected without.
//!
//! Why both: users care about the error, but it counts whole rows, and chance may favour one size; the loss is less
//! noisy (it also depends on the confidence of predictions), but with few rows it would remove almost all features.
//! Each stops where the other sees no difference. `docs/why-this-size.md` compares this rule with many others on 24
//! data sets.

use super::Estimate;

/// How many standard errors a size may be above the least: the standard error of a difference of two estimates.
pub const N_SE: f64 = std::f64::consts::SQRT_2;

/// The share of the tolerance that is left which a size between two others may use: with all of it, the tolerance would be
/// used twice.
const SLACK: f64 = 0.25;

/// How many standard errors of the difference, row by row, a size may be above the least at the end of a path: a model is so
/// small there that each feature counts, and with few rows the standard error of the loss would allow any size.
const N_SE_OF_DIFFERENCE: f64 = 0.25;

/// The held-out estimates of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeScore {
    /// The loss.
    pub loss: Estimate,
    /// The share of misclassified rows; `None` for regression.
    pub error: Option<Estimate>,
}

/// The number of the chosen size, given the scores from the largest size down.
///
/// # Panics
/// If there is no size.
pub fn smallest_on_path(scores: &[SizeScore]) -> usize {
    let losses: Vec<Estimate> = scores.iter().map(|score| score.loss).collect();
    let (best, limits) = (least(&losses), limits(scores));
    (best + 1..scores.len()).take_while(|&size| scores[size].is_within(limits)).last().unwrap_or(best)
}

/// The largest loss and error that a size may have.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limits {
    loss: f64,
    error: f64,
}

impl SizeScore {
    fn is_within(&self, limits: Limits) -> bool {
        self.loss.mean <= limits.loss && self.error.map_or(0.0, |error| error.mean) <= limits.error
    }
}

/// [`N_SE`] standard errors above the least loss and error of all sizes.
fn limits(scores: &[SizeScore]) -> Limits {
    let limit = |estimates: &[Estimate]| {
        let best = estimates[least(estimates)];
        best.mean + N_SE * best.standard_error
    };
    let losses: Vec<Estimate> = scores.iter().map(|score| score.loss).collect();
    let errors: Vec<Estimate> = scores.iter().filter_map(|score| score.error).collect();
    // Regression has no error rate, only a loss.
    let error = if errors.len() == scores.len() { limit(&errors) } else { f64::INFINITY };
    Limits { loss: limit(&losses), error }
}

/// How far loss and error may rise below the chosen size: a quarter of what is left to the limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slack {
    loss: f64,
    error: f64,
}

/// The slack below size number `chosen`.
pub fn slack(scores: &[SizeScore], chosen: usize) -> Slack {
    let (limits, score) = (limits(scores), scores[chosen]);
    let left = |limit: f64, mean: f64| SLACK * (limit - mean).max(0.0);
    Slack {
        loss: left(limits.loss, score.loss.mean),
        error: score.error.map_or(0.0, |own| left(limits.error, own.mean)),
    }
}

impl Slack {
    /// What a size below `chosen` may have.
    fn limits_below(self, chosen: SizeScore) -> Limits {
        let error = chosen.error.map_or(0.0, |error| error.mean) + self.error;
        Limits { loss: chosen.loss.mean + self.loss, error }
    }
}

/// The last of the sizes `below` a chosen one, from the largest down, that is worse by no more than the slack.
pub fn hardly_worse(chosen: SizeScore, slack: Slack, below: &[SizeScore]) -> Option<usize> {
    let limits = slack.limits_below(chosen);
    below.iter().rposition(|score| score.is_within(limits))
}

/// The size at the end of a path, given the last size and those below it, from the largest down: the smallest whose loss is
/// not above the least by more than a quarter of the standard error of the difference. `above` is the mean difference of the
/// losses of two sizes.
///
/// # Panics
/// If there is no size.
pub fn smallest_near_least(losses: &[Estimate], above: impl Fn(usize, usize) -> Estimate) -> usize {
    let best = least(losses);
    let is_near = |&size: &usize| {
        let rise = above(size, best);
        rise.mean <= N_SE_OF_DIFFERENCE * rise.standard_error
    };
    (best + 1..losses.len()).rfind(is_near).unwrap_or(best)
}

/// The position of the least mean; the first one if there are ties.
fn least(estimates: &[Estimate]) -> usize {
    (0..estimates.len()).min_by(|&a, &b| estimates[a].mean.total_cmp(&estimates[b].mean)).expect("there is a size")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loss with a standard error of 0.05, and `wrong` of a hundred rows misclassified.
    fn score(&(loss, wrong): &(f64, usize)) -> SizeScore {
        let share = wrong as f64 / 100.0;
        let error = Estimate { mean: share, standard_error: (share * (1.0 - share) / 100.0).sqrt() };
        SizeScore { loss: Estimate { mean: loss, standard_error: 0.05 }, error: Some(error) }
    }

    fn chosen(sizes: &[(f64, usize)]) -> usize {
        smallest_on_path(&sizes.iter().map(score).collect::<Vec<_>>())
    }

    #[test]
    fn standard_errors_by_hand() {
        // The standard error of the loss is 0.05, that of ten wrong of a hundred is 3: limits of 0.371 and 14.2.
        assert_eq!(chosen(&[(0.3, 10), (0.37, 14), (0.38, 10)]), 1, "the loss stops");
        assert_eq!(chosen(&[(0.3, 10), (0.37, 14), (0.37, 15)]), 1, "the error stops");
        assert_eq!(chosen(&[(0.3, 10), (0.35, 12), (0.37, 14)]), 2, "no significant difference");
    }

    #[test]
    fn sizes_below_a_worse_one_are_not_considered() {
        assert_eq!(chosen(&[(0.3, 10), (0.6, 20), (0.3, 10)]), 0);
    }

    #[test]
    fn larger_sizes_than_the_best_are_not_chosen() {
        assert_eq!(chosen(&[(0.9, 40), (0.3, 10), (0.6, 30)]), 1);
        assert_eq!(chosen(&[(0.9, 40)]), 0);
        assert_eq!(chosen(&[(0.3, 20), (0.36, 10)]), 1, "the least loss and the least error may be at different sizes");
        assert_eq!(chosen(&[(0.31, 10), (0.3, 30), (0.3, 10)]), 2, "the size of least loss need not have a low error");
    }

    #[test]
    fn regression_uses_the_loss_alone() {
        let sizes = [0.3, 0.36, 0.38].map(|loss| SizeScore { error: None, ..score(&(loss, 0)) });
        assert_eq!(smallest_on_path(&sizes), 1);
    }

    #[test]
    fn a_quarter_of_the_tolerance_is_left_for_sizes_between() {
        // The limits are 0.371 and 14.2 %: a quarter of what is left is 0.018 and 1.06 %.
        let sizes: Vec<SizeScore> = [(0.3, 10), (0.5, 30)].iter().map(score).collect();
        let below = |sizes_below: &[(f64, usize)]| {
            hardly_worse(sizes[0], slack(&sizes, 0), &sizes_below.iter().map(score).collect::<Vec<_>>())
        };
        assert_eq!(below(&[(0.31, 11), (0.317, 10), (0.319, 10)]), Some(1), "the loss of the last is too high");
        assert_eq!(below(&[(0.31, 11), (0.31, 12)]), Some(0), "the error of the last is too high");
        assert_eq!(below(&[(0.32, 11), (0.3, 10)]), Some(1), "chance may be against a size between two good ones");
        assert_eq!(below(&[(0.32, 11)]), None);
    }

    #[test]
    fn at_the_end_of_a_path_rows_are_compared_one_by_one() {
        let chosen = |rows: &[[f64; 4]]| {
            let above = |a: usize, b: usize| Estimate::of(rows[a].iter().zip(&rows[b]).map(|(a, b)| (1.0, a - b)));
            let losses: Vec<Estimate> =
                rows.iter().map(|rows| Estimate::of(rows.iter().map(|&loss| (1.0, loss)))).collect();
            smallest_near_least(&losses, above)
        };
        let best = [1.0, 5.0, 2.0, 8.0];
        // Differences 2, −1, 0, 0: mean 1/4, standard error √4.75/4 = 0.54.
        assert_eq!(chosen(&[best, [3.0, 4.0, 2.0, 8.0]]), 0, "0.25 is above a quarter of 0.54");
        // Differences 2, −2, 1, −0.9: mean 1/40, standard error 0.79.
        assert_eq!(chosen(&[best, [3.0, 3.0, 3.0, 7.1]]), 1, "the rows cannot tell them apart");
        assert_eq!(chosen(&[best, best.map(|loss| loss + 0.01)]), 0, "every row is worse, however little");
        assert_eq!(chosen(&[best.map(|loss| loss + 1.0), best, [9.0; 4], best]), 3, "chance may be against a size");
        assert_eq!(chosen(&[best]), 0);
    }

    #[test]
    fn without_a_standard_error_the_best_is_chosen() {
        let certain = |mean| SizeScore { loss: Estimate { mean, standard_error: 0.0 }, error: None };
        assert_eq!(smallest_on_path(&[certain(0.3), certain(0.3001)]), 0);
    }
}
