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
    let best = least(&losses);
    let loss_limit = losses[best].mean + N_SE * losses[best].standard_error;
    let errors: Vec<Estimate> = scores.iter().filter_map(|score| score.error).collect();
    let error_limit = if errors.len() == scores.len() {
        let best = errors[least(&errors)];
        best.mean + N_SE * best.standard_error
    } else {
        // Regression has no error rate, only a loss.
        f64::INFINITY
    };
    let as_good = |size: usize| {
        losses[size].mean <= loss_limit && scores[size].error.map_or(0.0, |error| error.mean) <= error_limit
    };
    (best + 1..scores.len()).take_while(|&size| as_good(size)).last().unwrap_or(best)
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
    fn without_a_standard_error_the_best_is_chosen() {
        let certain = |mean| SizeScore { loss: Estimate { mean, standard_error: 0.0 }, error: None };
        assert_eq!(smallest_on_path(&[certain(0.3), certain(0.3001)]), 0);
    }
}
