//! Checkpoints of the cross-fitted ensembles: their state, the finished sizes and the means of the columns.

use super::cross_fit::CrossFit;
use super::ensemble::SizeStep;
use super::feature_tests::Nuisance;
use super::folded_ensemble::FoldedEnsemble;
use super::holdout::{CutScore, HoldoutScore, RowScore};
use super::stage::PathMeans;
use crate::data::{FeatureId, State, StateError, ToF64s};
use crate::platt::Calibration;

/// The state of the ensembles.
pub(super) fn save(fits: &CrossFit, is_complete: bool) -> State {
    let mut state = State::default();
    state.put("centres", fits.main.transform.centres());
    state.put_count("steps", fits.steps.len() as u64);
    state.put_count("paths", fits.main.ensemble.paths() as u64);
    state.put_count("outputs", fits.codings.len() as u64);
    state.put_count("between", fits.between.len() as u64);
    for (name, member) in all(fits) {
        state.set_prefix(name);
        member.ensemble.save(&mut state);
        if !is_complete {
            state.put("order", member.order.iter().map(|&id| f64::from(id)).collect());
        }
    }
    // The model of a complete training contains its sizes.
    for (kind, steps) in [("step", &fits.steps), ("between", &fits.between)] {
        for (number, step) in steps.iter().enumerate().filter(|_| !is_complete) {
            state.set_prefix(format!("{kind}{number}."));
            save_step(step, &mut state);
        }
    }
    state.set_prefix(String::new());
    if !is_complete {
        fits.nuisance.save(&mut state);
    }
    state
}

fn all(fits: &CrossFit) -> impl Iterator<Item = (String, &FoldedEnsemble)> {
    let folds = fits.folds.iter().enumerate().map(|(number, fold)| (format!("fold{number}."), fold));
    std::iter::once(("main.".to_string(), &fits.main)).chain(folds)
}

/// Restores the ensembles from a checkpoint.
pub(super) fn restore(fits: &mut CrossFit, state: &mut State) -> Result<(), StateError> {
    let (steps, between) = (state.take_count("steps")?, state.take_count("between")?);
    state.set_prefix("main.".into());
    fits.main.load(state)?;
    for (number, fold) in fits.folds.iter_mut().enumerate() {
        state.set_prefix(format!("fold{number}."));
        fold.load(state)?;
        if fold.ensemble.progress() != fits.main.ensemble.progress() {
            return Err(state.wrong_shape("visited"));
        }
    }
    let shape = (fits.codings.len(), fits.main.transform.span());
    fits.steps = load_steps(state, "step", steps, shape)?;
    fits.between = load_steps(state, "between", between, shape)?;
    fits.nuisance = Nuisance::load(state, fits.codings.len(), fits.main.transform.span(), fits.folds.len())?;
    Ok(())
}

/// The first `steps` sizes of a kind, for the numbers of outputs and of features. The file may be damaged.
pub(super) fn load_steps(
    state: &mut State,
    kind: &str,
    steps: u64,
    (outputs, span): (usize, usize),
) -> Result<Vec<SizeStep>, StateError> {
    let mut list = Vec::new();
    for number in 0..steps {
        state.set_prefix(format!("{kind}{number}."));
        let step = load_step(state, outputs)?;
        if !is_consistent(&step, outputs, span) {
            return Err(state.wrong_shape("active"));
        }
        list.push(step);
    }
    state.set_prefix(String::new());
    Ok(list)
}

/// Whether all lists of a size have the right length, and its features are known.
fn is_consistent(step: &SizeStep, outputs: usize, span: usize) -> bool {
    let size = step.active.len();
    let has_size = |means: &PathMeans| {
        [&means.weights, &means.evidence, &means.spread, &means.frequency].iter().all(|list| list.len() == size)
    };
    let features = step.active.iter().copied().chain(step.cuts.iter().map(|cut| cut.feature));
    features.map(|id| id as usize).all(|id| id < span)
        && step.outputs.iter().all(has_size)
        && step.holdout.calibrations.len() == outputs
}

/// Starts from the ensembles of a complete training, decayed by `forget`.
pub(super) fn warm_start(fits: &mut CrossFit, state: &mut State, forget: f64) -> Result<(), StateError> {
    let outputs = state.take_count("outputs")? as usize;
    state.set_prefix("main.".into());
    fits.main.warm_start_from(state, outputs, 1.0 - forget)?;
    for (number, fold) in fits.folds.iter_mut().enumerate() {
        state.set_prefix(format!("fold{number}."));
        fold.warm_start_from(state, outputs, 1.0 - forget)?;
    }
    state.set_prefix(String::new());
    Ok(())
}

impl ToF64s for RowScore {
    const WIDTH: usize = 3;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.loss, f64::from(u8::from(self.wrong)), self.weight]);
    }
    fn unpack(fields: &[f64]) -> Self {
        RowScore { loss: fields[0], wrong: fields[1] != 0.0, weight: fields[2] }
    }
}

impl ToF64s for Calibration {
    const WIDTH: usize = 2;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.slope, self.shift]);
    }
    fn unpack(fields: &[f64]) -> Self {
        Calibration { slope: fields[0], shift: fields[1] }
    }
}

impl ToF64s for CutScore {
    const WIDTH: usize = 4;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([f64::from(self.feature), self.loss, self.error.unwrap_or(f64::NAN), self.standard_error]);
    }
    fn unpack(fields: &[f64]) -> Self {
        let [feature, loss, error, standard_error] = [0, 1, 2, 3].map(|place| fields[place]);
        CutScore { feature: feature as FeatureId, loss, error: (!error.is_nan()).then_some(error), standard_error }
    }
}

fn save_step(step: &SizeStep, state: &mut State) {
    state.put("active", step.active.iter().map(|&id| f64::from(id)).collect());
    state.put("numbers", vec![step.gravity, f64::from(u8::from(step.before_refinement.is_some()))]);
    state.put_all("cuts", &step.cuts);
    save_score(&step.holdout, "holdout", state);
    if let Some(before_refinement) = &step.before_refinement {
        save_score(before_refinement, "before_refinement", state);
    }
    for (number, means) in step.outputs.iter().enumerate() {
        state.put(&format!("bias{number}"), vec![means.bias]);
        for (name, list) in [
            ("weights", &means.weights),
            ("evidence", &means.evidence),
            ("spread", &means.spread),
            ("frequency", &means.frequency),
        ] {
            state.put(&format!("{name}{number}"), list.clone());
        }
    }
}

fn save_score(holdout: &HoldoutScore, name: &str, state: &mut State) {
    state.put(name, vec![holdout.loss, holdout.error.unwrap_or(f64::NAN)]);
    state.put_all(&format!("{name}.calibrations"), &holdout.calibrations);
    state.put_all(&format!("{name}.rows"), &holdout.rows);
}

fn load_score(state: &mut State, name: &str) -> Result<HoldoutScore, StateError> {
    let [loss, error] = state.take_fixed(name)?;
    let (calibrations, rows) =
        (state.take_all(&format!("{name}.calibrations"))?, state.take_all(&format!("{name}.rows"))?);
    Ok(HoldoutScore { calibrations, loss, error: (!error.is_nan()).then_some(error), rows })
}

fn load_step(state: &mut State, outputs: usize) -> Result<SizeStep, StateError> {
    let active = state.take("active")?.into_iter().map(|id| id as u32).collect();
    let [gravity, was_moved] = state.take_fixed("numbers")?;
    let cuts = state.take_all("cuts")?;
    let holdout = load_score(state, "holdout")?;
    let before_refinement = if was_moved != 0.0 { Some(load_score(state, "before_refinement")?) } else { None };
    let mut means = Vec::new();
    for number in 0..outputs {
        let [bias] = state.take_fixed(&format!("bias{number}"))?;
        let mut list = |name: &str| state.take(&format!("{name}{number}"));
        let (weights, evidence, spread, frequency) =
            (list("weights")?, list("evidence")?, list("spread")?, list("frequency")?);
        means.push(PathMeans { bias, weights, evidence, spread, frequency });
    }
    Ok(SizeStep { active, gravity, outputs: means, holdout, before_refinement, cuts })
}
