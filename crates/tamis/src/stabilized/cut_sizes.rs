//! Sizes between two evaluated ones: the larger without its last features, on held-out rows.
//!
//! Of 40 and 33 features the weights were learned, but 37 may be asked for when the rows are gone. Such a model has the
//! weights and the calibration of the 40, without the three features that come last in the order. The fold ensembles do the
//! same with their own features, in their own orders, and predict their folds. From one size s to the next,
//! ```text
//! mᵢ(s) = mᵢ(s+1) − w_f·xᵢ_f        f: the feature in place s+1 of the order
//! ```
//! for the margin m of row i, so that all sizes together cost one pass over the entries of these features. Only rows with
//! the feature get another loss.
//!
//! | symbol | where | default | from |
//! |---|---|---|---|
//! | rows × outputs | [`MAX_MARGINS`] | 2¹⁵ at most, a sample by hash | every held-out row for two classes or numbers |
//!
//! Cost: a loss for each entry of the features that are cut, and a sum over the rows for each size.

use std::ops::Range;

use super::cross_fit::CrossFit;
use super::ensemble::SizeStep;
use super::feature_order::LARGEST;
use super::folded_ensemble::FoldedEnsemble;
use super::holdout::{CutScore, HoldoutScore, RowScore};
use super::setup::hash_limit;
use super::stage::{ClassCoding, PathMeans, in_order};
use super::subsamples::HashedRows;
use crate::loss::AnyLoss;
use crate::platt::Calibration;
use crate::refine::margin;
use crate::rng::splitmix64;

/// The largest number of margins that a size is evaluated with.
const MAX_MARGINS: u64 = 1 << 15;

/// The features that a finished size loses on the way to the `next` smaller one, the last of the order first, with the score
/// after each; none if all these sizes are large. `folds` are the weights of the fold ensembles at the size.
pub(super) fn cut_scores<'a>(
    ensembles: &CrossFit,
    step: &SizeStep,
    folds: &'a [Vec<PathMeans>],
    next: usize,
) -> Vec<CutScore> {
    let size = step.active.len();
    if next + 1 >= size || next >= LARGEST || step.outputs.iter().all(PathMeans::has_no_weights) {
        return Vec::new();
    }
    let order = in_order(&step.active, &ensembles.main.order, &step.outputs);
    let held_out: u64 = ensembles.folds.iter().map(|fold| fold.holdout_rows().len() as u64).sum();
    let limit = hash_limit(MAX_MARGINS, held_out * ensembles.codings.len() as u64);
    let fold = |(fold, means): (&FoldedEnsemble, &'a Vec<PathMeans>)| {
        let order = in_order(fold.ensemble.active(), &fold.order, means);
        CutFold::new(&order, fold.holdout_rows(), means, limit, next + 1..size)
    };
    let mut folds: Vec<CutFold<'a>> = ensembles.folds.iter().zip(folds).map(fold).collect();
    if folds.iter().all(|fold| fold.targets.is_empty()) {
        return Vec::new();
    }
    let scorer = Scorer { calibrations: &step.holdout.calibrations, codings: &ensembles.codings, loss: ensembles.loss };
    folds.iter_mut().for_each(|fold| fold.score_all(scorer));
    let cut = |(number, &position): (usize, &usize)| {
        folds.iter_mut().for_each(|fold| fold.cut(number, scorer));
        let rows = folds.iter().flat_map(|fold| fold.scores.iter().copied()).collect();
        let found = HoldoutScore::of(Vec::new(), rows, ensembles.codings[0].output.class.is_some());
        let (loss, error, standard_error) = (found.loss, found.error, found.standard_error());
        CutScore { feature: step.active[position], loss, error, standard_error }
    };
    let is_finite = |cut: &CutScore| cut.loss.is_finite() && cut.standard_error.is_finite();
    order[next + 1..].iter().rev().enumerate().map(cut).take_while(is_finite).collect()
}

/// How margins become losses.
#[derive(Clone, Copy)]
struct Scorer<'a> {
    calibrations: &'a [Calibration],
    codings: &'a [ClassCoding],
    loss: AnyLoss,
}

/// A feature that is cut.
#[derive(Default)]
struct CutFeature {
    /// Its position in the active set.
    position: Option<usize>,
    /// Its entries: row and value.
    entries: Vec<(usize, f64)>,
}

/// A fold ensemble that loses features one by one, and the margins of its held-out rows.
struct CutFold<'a> {
    means: &'a [PathMeans],
    /// The features in the order of their cuts.
    cuts: Vec<CutFeature>,
    targets: Vec<(f64, f64)>,
    /// The margins before calibration, for each output.
    margins: Vec<Vec<f64>>,
    scores: Vec<RowScore>,
}

impl<'a> CutFold<'a> {
    /// Cuts the features at some places of the order, from the last one on. Rows whose hash is above the limit are left out.
    fn new(order: &[usize], rows: &HashedRows, means: &'a [PathMeans], limit: u64, places: Range<usize>) -> Self {
        let (margins, scores) = (vec![Vec::new(); means.len()], Vec::new());
        let mut fold = CutFold { means, cuts: Vec::new(), targets: Vec::new(), margins, scores };
        let mut cut_of = vec![None; order.len()];
        for place in places.rev() {
            // An ensemble with fewer features has nothing to cut yet.
            let position = order.get(place).copied();
            if let Some(position) = position {
                cut_of[position] = Some(fold.cuts.len());
            }
            fold.cuts.push(CutFeature { position, entries: Vec::new() });
        }
        for (example, _) in rows.iter().filter(|&(_, row_hash)| splitmix64(row_hash ^ 5) <= limit) {
            for (position, value) in example.row.iter() {
                if let Some(cut) = cut_of[position as usize] {
                    fold.cuts[cut].entries.push((fold.targets.len(), value));
                }
            }
            fold.targets.push((example.target, example.weight));
            for (margins, means) in fold.margins.iter_mut().zip(means) {
                margins.push(margin(example.row, &means.weights, means.bias));
            }
        }
        fold
    }

    fn score_all(&mut self, scorer: Scorer<'_>) {
        self.scores = (0..self.targets.len()).map(|row| self.score(row, scorer)).collect();
    }

    fn score(&self, row: usize, scorer: Scorer<'_>) -> RowScore {
        let mut margins: Vec<f64> = self.margins.iter().map(|list| list[row]).collect();
        RowScore::of(&mut margins, scorer.calibrations, scorer.codings, self.targets[row], scorer.loss)
    }

    /// Makes a cut. Only rows that have the feature get another score.
    fn cut(&mut self, number: usize, scorer: Scorer<'_>) {
        let CutFeature { position: Some(position), entries } = std::mem::take(&mut self.cuts[number]) else { return };
        let weights: Vec<f64> = self.means.iter().map(|means| means.weights[position]).collect();
        if weights.iter().all(|&weight| weight == 0.0) {
            return;
        }
        for (row, value) in entries {
            self.margins.iter_mut().zip(&weights).for_each(|(margins, weight)| margins[row] -= weight * value);
            self.scores[row] = self.score(row, scorer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Example, OutputCoding, Row};
    use crate::loss::LossKind;
    use crate::refine::margins;

    #[test]
    fn margins_after_each_cut_are_those_of_the_features_that_are_left() {
        let mut rows = HashedRows::default();
        for row in 0..40u64 {
            let ids: Vec<u32> = (0..7).filter(|&id| !splitmix64(row * 31 + u64::from(id)).is_multiple_of(3)).collect();
            let values: Vec<f64> = ids.iter().map(|&id| (f64::from(id) + row as f64 / 7.0).sin()).collect();
            rows.push(Example { row: Row { ids: &ids, values: &values }, target: 1.0, weight: 1.0 }, row);
        }
        let output = |sign: f64| PathMeans {
            bias: sign / 3.0,
            weights: [1.0, 0.0, -2.0, 0.5, 3.0, -1.0, 0.25].map(|weight| sign * weight).to_vec(),
            evidence: vec![0.0; 7],
            spread: vec![0.0; 7],
            frequency: vec![0.0; 7],
        };
        let (means, order) = ([output(1.0), output(-0.5)], [4, 2, 0, 5, 3, 6, 1]);
        // Places 3 to 8 of an order of seven: the first two cuts have nothing to cut.
        let mut fold = CutFold::new(&order, &rows, &means, u64::MAX, 3..9);
        let coding =
            ClassCoding { output: OutputCoding { class: Some(1.0), codes: [-1.0, 1.0] }, class_weights: [1.0; 2] };
        let (calibrations, codings) = ([Calibration { slope: 2.0, shift: 0.5 }; 2], [coding; 2]);
        let scorer = Scorer { calibrations: &calibrations, codings: &codings, loss: LossKind::Logistic.build(1.0) };
        fold.score_all(scorer);
        for (number, left) in [7, 7, 6, 5, 4, 3].into_iter().enumerate() {
            fold.cut(number, scorer);
            let all: Vec<RowScore> = (0..40).map(|row| fold.score(row, scorer)).collect();
            assert_eq!(fold.scores, all, "rows without the feature keep their scores");
            for (found, means) in fold.margins.iter().zip(&means) {
                let weights: Vec<f64> = (0..7)
                    .map(|position| if order[..left].contains(&position) { means.weights[position] } else { 0.0 })
                    .collect();
                for (found, expected) in found.iter().zip(margins(&rows.batch, &weights, means.bias)) {
                    assert!((found - expected).abs() < 1e-12, "{left} features: {found} {expected}");
                }
            }
        }
        assert_eq!(fold.targets.len(), 40);
        let half = CutFold::new(&order, &rows, &means, u64::MAX / 2, 3..9);
        assert!((10..30).contains(&half.targets.len()), "a sample by hash");
    }
}
