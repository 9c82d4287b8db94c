//! Tests of variables and pairs on the held-out rows of the outer folds: does the target depend on them, given the others?
//!
//! Sources: the projected covariance measure (Lundborg, Kim, Shah & Samworth, Annals of Statistics 52, 2024), cross-fitted
//! as by Chernozhukov et al. (Econometrics Journal 21, 2018); false discovery rate after Benjamini & Hochberg (JRSS B 57,
//! 1995). The combination is ours.
//!
//! **Hypotheses.** Variable j: the mean of the target given all variables of the fold's search does not depend on j. Pair
//! jk: that mean (for classes its log-odds) is a sum of a function without j and one without k.
//!
//! The rows T of a fold's search choose the variables S, draw features of them, and give a ridge fit
//! f = Σ β·cos(w·z + b) + γ·z. Its part that depends on j, or on j and k together, is centred by the means over T:
//! ```text
//! h_j  = Σ_l β_l·Re e^{i·a_l}(e_lj − ē_lj) + γ_j(z_j − z̄_j)          e_lj = e^{i·w_lj·z_j},  ē its mean over T
//! h_jk = Σ_l β_l·Re e^{i·a_l}(e_lj − ē_lj)(e_lk − ē_lk)               a_l: phase and the other variables
//! ```
//! Two ridge fits to T by features that cannot express the effect (w_j = 0; for a pair w_j = 0 or w_k = 0) give g for the
//! target and m for h. Over the rows of the fold, which took no part in any of this:
//! ```text
//! r = y − g,  h̃ = (h − m)/rms,   score = Σ v·r·h̃,   variance = Σ (v·r·h̃)²,   z = Σ score/√Σ variance over folds
//! ```
//! Given T, r·h̃ has mean 0 under the hypothesis if either g or m is right; errors of both multiply. The direction is
//! learned, so p = 1 − Φ(z). With several outputs, p is the least of them times their number. q-values count every variable
//! (every pair) of the scan as a hypothesis: those that no fold's search keeps have p = 1.
//!
//! For pairs of classes g is a logistic fit, r = y − σ(g) and m is weighted by σ′(g): two strong variables that add on the
//! scale of log-odds interact on that of probabilities, and are no pair here.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | S | [`MOST_TESTED`] | the largest size of at most 11 variables | true variables were among them in planted data |
//! | features | `effect_parts.rs` | 120 | time |
//! | pairs of a fold | [`MOST_PAIRS`] | the 4 with the largest sensitivity | time |
//!
//! Limits: rows must be independent. A variable that stands for another one that no fold's search keeps is confirmed
//! in its place. Cost: for each variable or pair a pass over T and a solution of order 120 + k; four of them for
//! pairs of classes.

use std::collections::BTreeMap;

use super::effect_parts::{Fold, Sums};
use super::sample::{Prepared, Sample};
use super::search::{SearchPlan, Step};
use crate::select::q_values;

/// With fewer rows, scores are not normal enough to test anything.
const FEWEST_ROWS: usize = 100;
const MOST_TESTED: usize = 11;
const MOST_PAIRS: usize = 4;

/// The sums of a fold: by variable and by pair, as columns of the sample.
#[derive(Default)]
pub(super) struct FoldTests {
    pub(super) variables: BTreeMap<usize, Sums>,
    pub(super) pairs: BTreeMap<[usize; 2], Sums>,
}

/// q-values by variable and by pair; those that are not in the maps were not tested.
pub(super) struct EffectTests {
    pub(super) variables: BTreeMap<usize, f64>,
    pub(super) pairs: BTreeMap<[usize; 2], f64>,
}

/// Combines the folds; `variables` is the number of those of the scan.
pub(super) fn combine(folds: &[FoldTests], variables: usize) -> EffectTests {
    EffectTests {
        variables: combined(folds.iter().map(|fold| &fold.variables), variables),
        pairs: combined(folds.iter().map(|fold| &fold.pairs), variables * variables.saturating_sub(1) / 2),
    }
}

fn combined<'a, K: Ord + Copy + 'a>(
    folds: impl Iterator<Item = &'a BTreeMap<K, Sums>>,
    hypotheses: usize,
) -> BTreeMap<K, f64> {
    let mut sums: BTreeMap<K, Sums> = BTreeMap::new();
    for (&key, own) in folds.flatten() {
        let all = sums.entry(key).or_insert_with(|| vec![[0.0; 2]; own.len()]);
        all.iter_mut().zip(own).for_each(|(all, own)| *all = [all[0] + own[0], all[1] + own[1]]);
    }
    let p_value = |sums: &Sums| {
        let least = sums.iter().map(|[score, variance]| upper_tail(score / variance.sqrt())).fold(1.0, f64::min);
        (least * sums.len() as f64).min(1.0)
    };
    let p_values: Vec<f64> = sums.values().map(p_value).collect();
    sums.into_keys().zip(q_values(&p_values, hypotheses)).collect()
}

/// 1 − Φ(z); 1 if there is no score.
fn upper_tail(z: f64) -> f64 {
    let half = 0.5 * crate::select::two_sided_p_value(z);
    match z {
        z if z >= 0.0 => half,
        z if z < 0.0 => 1.0 - half,
        _ => 1.0,
    }
}

/// Tests the variables and the strongest pairs of a fold's search on its held-out rows.
pub(super) fn test_fold(
    sample: &Sample,
    prepared: &Prepared,
    steps: &[Step],
    held: &[usize],
    plan: SearchPlan,
    are_numbers: bool,
) -> FoldTests {
    let Some(step) = steps.iter().find(|step| step.variables.len() <= MOST_TESTED) else { return Default::default() };
    if sample.weights.len() < FEWEST_ROWS {
        return FoldTests::default();
    }
    let fold = Fold::new(sample, prepared, step, held, plan);
    let columns = &step.variables;
    let variables = (0..columns.len()).map(|j| (columns[j], fold.test(&[j], false))).collect();
    let mut order: Vec<([usize; 2], f64)> = (0..columns.len())
        .flat_map(|k| (0..k).map(move |j| [j, k]))
        .map(|[j, k]| ([j, k], step.pairs[(j, k)]))
        .filter(|(_, sensitivity)| *sensitivity > 0.0)
        .collect();
    order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    order.truncate(MOST_PAIRS);
    let pairs = order.iter().map(|(pair, _)| (pair.map(|place| columns[place]), fold.test(pair, !are_numbers)));
    FoldTests { variables, pairs: pairs.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_add_up_and_untested_hypotheses_count() {
        let fold = |score: f64| FoldTests {
            variables: BTreeMap::from([(4, vec![[score, 4.0]]), (5, vec![[-score, 4.0]])]),
            pairs: BTreeMap::new(),
        };
        let tests = combine(&[fold(6.0), fold(6.0)], 100);
        // z = 12/√8.
        let p = 0.5 * crate::select::two_sided_p_value(12.0 / 8.0_f64.sqrt());
        assert!((tests.variables[&4] - 100.0 * p).abs() < 1e-9);
        assert_eq!(tests.variables[&5], 1.0);
        assert_eq!(upper_tail(f64::NAN), 1.0);
    }
}
