//! The size when nobody asks for one: the smallest rung that cannot be told from the best.
//!
//! Going down from the rung of least loss, the last one before loss or error is more than [`SLACK`] standard errors above
//! the least of all rungs. Both are told by rows that the features were chosen without (`train/stabilized/walk.rs`).
//!
//! Why both: the error is what people ask for, but it counts whole rows, and one lucky rung moves it; the loss is the calm
//! one of the two (it also tells sure from unsure), but with few rows it would let go of almost everything. Each stops
//! where the other is blind. Compared on 24 data sets with many other rules: `docs/why-this-size.md`.

use super::judge::Verdict;

/// Standard errors that a rung may be above the least: the standard error of a difference of two.
pub const SLACK: f64 = std::f64::consts::SQRT_2;

/// The number of the rung, of verdicts from all features down.
///
/// # Panics
/// If there is no rung.
pub fn smallest_as_good(verdicts: &[&Verdict]) -> usize {
    let losses: Vec<f64> = verdicts.iter().map(|verdict| verdict.loss).collect();
    let best = least(&losses);
    let loss_limit = losses[best] + SLACK * verdicts[best].loss_deviation();
    let errors: Vec<f64> = verdicts.iter().filter_map(|verdict| verdict.error).collect();
    let error_limit = match errors.len() == verdicts.len() {
        true => errors[least(&errors)] + SLACK * verdicts[least(&errors)].deviation(),
        // Numbers have no error, only a loss.
        false => f64::INFINITY,
    };
    let as_good = |rung: usize| losses[rung] <= loss_limit && verdicts[rung].error.unwrap_or(0.0) <= error_limit;
    (best + 1..verdicts.len()).take_while(|&rung| as_good(rung)).last().unwrap_or(best)
}

/// The place of the least number, of equals the first.
fn least(numbers: &[f64]) -> usize {
    (0..numbers.len()).min_by(|&a, &b| numbers[a].total_cmp(&numbers[b])).expect("there is a rung")
}

#[cfg(test)]
mod tests {
    use super::super::judge::RowVerdict;
    use super::*;

    /// A hundred rows, so many of them wrong; half of the rows have a loss above the mean by `spread`, half below.
    fn verdict(loss: f64, spread: f64, wrong: Option<usize>) -> Verdict {
        let row = |number: usize| RowVerdict {
            loss: if number.is_multiple_of(2) { loss + spread } else { loss - spread },
            wrong: wrong.is_some_and(|wrong| number < wrong),
            weight: 1.0,
        };
        let error = wrong.map(|wrong| wrong as f64 / 100.0);
        Verdict { calibrations: Vec::new(), loss, error, rows: (0..100).map(row).collect() }
    }

    fn chosen(rungs: &[(f64, usize)]) -> usize {
        let verdicts: Vec<Verdict> = rungs.iter().map(|&(loss, wrong)| verdict(loss, 0.5, Some(wrong))).collect();
        smallest_as_good(&verdicts.iter().collect::<Vec<_>>())
    }

    #[test]
    fn standard_errors_by_hand() {
        // The loss has a standard error of 0.5/√100 = 0.05, ten wrong of a hundred one of 3: limits of 0.371 and 14.2.
        assert_eq!(chosen(&[(0.3, 10), (0.37, 14), (0.38, 10)]), 1, "the loss stops");
        assert_eq!(chosen(&[(0.3, 10), (0.37, 14), (0.37, 15)]), 1, "the error stops");
        assert_eq!(chosen(&[(0.3, 10), (0.35, 12), (0.37, 14)]), 2, "as good as can be told");
    }

    #[test]
    fn what_lies_beyond_a_worse_rung_is_not_looked_at() {
        assert_eq!(chosen(&[(0.3, 10), (0.6, 20), (0.3, 10)]), 0);
    }

    #[test]
    fn larger_rungs_than_the_best_are_left_behind() {
        assert_eq!(chosen(&[(0.9, 40), (0.3, 10), (0.6, 30)]), 1);
        assert_eq!(chosen(&[(0.9, 40)]), 0);
        assert_eq!(chosen(&[(0.3, 20), (0.36, 10)]), 1, "the least loss and the least error may be on different rungs");
        assert_eq!(chosen(&[(0.31, 10), (0.3, 30), (0.3, 10)]), 2, "the rung of least loss is not asked for its error");
    }

    #[test]
    fn numbers_are_judged_by_their_loss_alone() {
        let rungs = [(0.3, 0.5), (0.36, 0.5), (0.38, 0.5)].map(|(loss, spread)| verdict(loss, spread, None));
        assert_eq!(smallest_as_good(&rungs.iter().collect::<Vec<_>>()), 1);
    }

    #[test]
    fn without_a_doubt_the_best_is_taken() {
        let rungs = [(0.3, 0.0), (0.3001, 0.0)].map(|(loss, spread)| verdict(loss, spread, None));
        assert_eq!(smallest_as_good(&rungs.iter().collect::<Vec<_>>()), 0);
    }
}
