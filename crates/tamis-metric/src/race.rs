//! Successive halving (Jamieson & Talwalkar 2016): with many rows, most candidates are ruled out on growing parts of them.
//!
//! The cost of a boosting run grows faster than the number of rows, since distances are between pairs of them. In each
//! round, the metrics within a standard error of the best go on, at most half of them; the part doubles, until it is half of
//! the rows. Plain k-NN has no steps and always goes on. A metric that needs many rows to be good may be lost this way.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | first part | [`FIRST_PART`] | 500 rows | the standard error of an error of 0.1 is 0.013 |
//! | folds | [`RACE_FOLDS`] | 3 | time |
//! | finalists | [`MOST_FINALISTS`] | 2 | time |

/// Rows of the first round.
pub(super) const FIRST_PART: usize = 500;
/// Cross-validation folds of a round.
pub(super) const RACE_FOLDS: usize = 3;
/// There are no further rounds when no more metrics are left than this.
pub(super) const MOST_FINALISTS: usize = 2;

/// The sizes of the parts, ascending; none if the rows are few.
pub(super) fn parts(rows: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FIRST_PART), |part| part.checked_mul(2)).take_while(move |part| 2 * part <= rows)
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
}
