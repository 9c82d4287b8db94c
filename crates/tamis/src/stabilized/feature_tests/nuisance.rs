//! The nuisance estimates of the tests: what each cross-fitted ensemble says without having seen its fold, its strongest
//! features and its best margins.
//!
//! It is recorded at the end of each stage, because the ensembles shrink.

use crate::data::{FeatureId, State, StateError};
use crate::stabilized::ensemble::SizeStep;
use crate::stabilized::stage::PathMeans;

/// The number of features that a fold conditions on: one for 64 rows, within these limits.
const ROWS_PER_GIVEN: usize = 64;
const FEWEST_GIVEN: usize = 8;
const MOST_GIVEN: usize = 256;

/// The nuisance estimates of one fold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::stabilized) struct FoldNuisance {
    /// For each output, the features of most evidence at the smallest size that has enough of them.
    pub(super) given: Vec<Vec<FeatureId>>,
    /// The features of the size with the least held-out loss, ascending, and for each output their weights and the
    /// intercept: calibrated, and refined if that helps.
    pub(super) features: Vec<FeatureId>,
    pub(super) weights: Vec<Vec<f64>>,
    pub(super) intercepts: Vec<f64>,
}

/// The nuisance estimates of all folds.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::stabilized) struct Nuisance {
    pub(super) folds: Vec<FoldNuisance>,
    /// The least held-out loss so far.
    least_loss: f64,
}

impl Default for Nuisance {
    fn default() -> Self {
        Nuisance { folds: Vec::new(), least_loss: f64::INFINITY }
    }
}

impl Nuisance {
    /// Records the end of a stage: the active features and the means (refined or not) of each fold's ensemble.
    pub(in crate::stabilized) fn record(
        &mut self,
        step: &SizeStep,
        folds: &[(&[FeatureId], &Vec<PathMeans>)],
        rows: usize,
    ) {
        let is_first = self.folds.is_empty();
        self.folds.resize(folds.len(), FoldNuisance::default());
        let enough = (rows / ROWS_PER_GIVEN).clamp(FEWEST_GIVEN, MOST_GIVEN);
        let is_best = is_first || step.holdout.loss < self.least_loss;
        self.least_loss = self.least_loss.min(step.holdout.loss);
        for (known, (active, means)) in self.folds.iter_mut().zip(folds) {
            if known.given.is_empty() || active.len() >= enough {
                known.given = means.iter().map(|means| strongest(active, &means.evidence, enough)).collect();
            }
            if is_best {
                let calibrations = &step.holdout.calibrations;
                let scaled = |(means, fit): (&PathMeans, &crate::platt::Calibration)| {
                    means.weights.iter().map(|weight| fit.slope * weight).collect()
                };
                known.features = active.to_vec();
                known.weights = means.iter().zip(calibrations).map(scaled).collect();
                known.intercepts = means.iter().zip(calibrations).map(|(means, fit)| fit.apply(means.bias)).collect();
            }
        }
    }

    pub(in crate::stabilized) fn save(&self, state: &mut State) {
        state.put("nuisance.least_loss", vec![self.least_loss]);
        state.put_count("nuisance.folds", self.folds.len() as u64);
        let ids = |list: &[FeatureId]| list.iter().map(|&id| f64::from(id)).collect::<Vec<f64>>();
        for (fold, known) in self.folds.iter().enumerate() {
            state.put(&format!("nuisance{fold}.features"), ids(&known.features));
            state.put(&format!("nuisance{fold}.intercepts"), known.intercepts.clone());
            for (output, (given, weights)) in known.given.iter().zip(&known.weights).enumerate() {
                state.put(&format!("nuisance{fold}.given{output}"), ids(given));
                state.put(&format!("nuisance{fold}.weights{output}"), weights.clone());
            }
        }
    }

    /// Reads what [`Nuisance::save`] wrote, for this many outputs, features and folds.
    pub(in crate::stabilized) fn load(
        state: &mut State,
        outputs: usize,
        span: usize,
        folds: usize,
    ) -> Result<Self, StateError> {
        let [least_loss] = state.take_fixed("nuisance.least_loss")?;
        let mut list = Vec::new();
        let count = state.take_count("nuisance.folds")?;
        if count != 0 && count != folds as u64 {
            return Err(state.wrong_shape("nuisance.folds"));
        }
        for fold in 0..count {
            let ids = |name: String, state: &mut State| -> Result<Vec<FeatureId>, StateError> {
                let list = state.take(&name)?;
                if list.iter().any(|&id| !(0.0..span as f64).contains(&id)) {
                    return Err(state.wrong_shape(&name));
                }
                Ok(list.into_iter().map(|id| id as FeatureId).collect())
            };
            let mut known = FoldNuisance {
                features: ids(format!("nuisance{fold}.features"), state)?,
                intercepts: state.take(&format!("nuisance{fold}.intercepts"))?,
                ..FoldNuisance::default()
            };
            for output in 0..outputs {
                known.given.push(ids(format!("nuisance{fold}.given{output}"), state)?);
                let name = format!("nuisance{fold}.weights{output}");
                known.weights.push(state.take(&name)?);
                if known.weights[output].len() != known.features.len() || known.intercepts.len() != outputs {
                    return Err(state.wrong_shape(&name));
                }
            }
            list.push(known);
        }
        Ok(Nuisance { folds: list, least_loss })
    }
}

/// The `count` features of most evidence, the strongest first; ties by id.
pub(super) fn strongest(active: &[FeatureId], evidence: &[f64], count: usize) -> Vec<FeatureId> {
    let mut ranked: Vec<(f64, FeatureId)> = evidence.iter().map(|u| u.abs()).zip(active.iter().copied()).collect();
    let stronger = |a: &(f64, FeatureId), b: &(f64, FeatureId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if count < ranked.len() {
        ranked.select_nth_unstable_by(count, stronger);
        ranked.truncate(count);
    }
    ranked.sort_by(stronger);
    ranked.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platt::Calibration;
    use crate::stabilized::holdout::HoldoutScore;

    fn step(loss: f64) -> SizeStep {
        let calibrations = vec![Calibration { slope: 2.0, shift: 1.0 }];
        let holdout = HoldoutScore { calibrations, loss, error: None, rows: Vec::new() };
        SizeStep {
            active: Vec::new(),
            gravity: 0.0,
            outputs: Vec::new(),
            holdout,
            before_refinement: None,
            cuts: Vec::new(),
        }
    }

    fn means(weights: &[f64]) -> Vec<PathMeans> {
        let zeros = vec![0.0; weights.len()];
        let (weights, evidence) = (weights.to_vec(), weights.to_vec());
        vec![PathMeans { bias: 0.5, weights, evidence, spread: zeros.clone(), frequency: zeros }]
    }

    #[test]
    fn the_strongest_of_the_smallest_large_enough_size_and_the_margins_of_least_loss_are_kept() {
        let mut nuisance = Nuisance::default();
        let many: Vec<FeatureId> = (0..20).collect();
        let weights: Vec<f64> = (0..20).map(f64::from).collect();
        nuisance.record(&step(0.5), &[(&many, &means(&weights))], 100);
        assert_eq!(nuisance.folds[0].given, [[19, 18, 17, 16, 15, 14, 13, 12]]);
        nuisance.record(&step(0.3), &[(&many[..10], &means(&weights[..10]))], 100);
        assert_eq!(nuisance.folds[0].given, [[9, 8, 7, 6, 5, 4, 3, 2]], "ten features are enough for eight");
        let best = nuisance.folds[0].clone();
        assert_eq!((best.features.len(), best.weights[0][3], best.intercepts[0]), (10, 6.0, 2.0));
        nuisance.record(&step(0.4), &[(&many[..5], &means(&weights[..5]))], 100);
        assert_eq!(nuisance.folds[0], best, "five are not enough, and their loss is larger");
        let mut state = State::default();
        nuisance.save(&mut state);
        assert!(Nuisance::load(&mut state, 1, 20, 4).is_err(), "a training has four folds");
        nuisance.folds = vec![best; 4];
        nuisance.save(&mut state);
        assert_eq!(Nuisance::load(&mut state.clone(), 1, 20, 4).unwrap(), nuisance);
        assert!(Nuisance::load(&mut state, 1, 9, 4).is_err(), "a feature that is not in the vocabulary");
    }
}
