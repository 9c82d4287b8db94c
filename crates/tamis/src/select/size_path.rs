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

/// Where, between the loss of the last size and the least below it, the limit for the sizes below is.
const HALFWAY: f64 = 0.5;

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
    /// For sizes below the last of a path: the loss must be nearer to the least of those with an allowed error than to
    /// that of the last size, or within a quarter of a standard error of the least. So no larger loss is allowed, and a
    /// poor last size does not admit small ones that are poor, too.
    pub fn near_least(self, last: SizeScore, below: &[SizeScore]) -> Slack {
        let limits = Limits { loss: last.loss.mean, ..self.limits_below(last) };
        let allowed: Vec<Estimate> =
            below.iter().filter(|score| score.is_within(limits)).map(|score| score.loss).collect();
        let least = if allowed.is_empty() { last.loss } else { allowed[least(&allowed)] };
        let gain = last.loss.mean - least.mean;
        let rise = f64::max(HALFWAY * gain, SLACK * least.standard_error);
        Slack { loss: -(gain - rise).max(0.0), ..self }
    }

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
    fn below_the_last_size_the_loss_is_near_the_least() {
        // A quarter of the standard error is 0.0125.
        let last = score(&(0.3, 10));
        let below = |sizes: &[(f64, usize)]| {
            let scores: Vec<SizeScore> = sizes.iter().map(score).collect();
            hardly_worse(last, slack(&[last], 0).near_least(last, &scores), &scores)
        };
        assert_eq!(below(&[(0.3, 11), (0.31, 10)]), Some(0), "the loss may not rise");
        assert_eq!(
            below(&[(0.26, 10), (0.28, 10), (0.29, 10)]),
            Some(1),
            "0.29 is nearer to the last than to the least"
        );
        assert_eq!(below(&[(0.289, 10), (0.29, 10), (0.299, 10)]), Some(2), "the rows cannot tell them apart");
        assert_eq!(below(&[(0.28, 10), (0.26, 20)]), Some(0), "the error stops");
        assert_eq!(below(&[(0.31, 10)]), None);
    }

    #[test]
    fn without_a_standard_error_the_best_is_chosen() {
        let certain = |mean| SizeScore { loss: Estimate { mean, standard_error: 0.0 }, error: None };
        assert_eq!(smallest_on_path(&[certain(0.3), certain(0.3001)]), 0);
    }
}
