//! Checkpoints of a walk: all engines, the rungs behind, the columns' means.

use super::walk::{Runner, Walk};
use crate::learn::stabilized::{Calibration, Means, RowVerdict, Rung, Verdict};
use crate::learn::{Packed, State, StateError};

/// Writes where a walk stands.
pub(super) fn save(walk: &Walk, complete: bool) -> State {
    let mut state = State::default();
    state.put("centres", walk.main.sieve.centres());
    state.put_count("rungs", walk.rungs.len() as u64);
    state.put_count("paths", walk.main.engine.paths() as u64);
    state.put_count("outputs", walk.codings.len() as u64);
    for (name, runner) in runners(walk) {
        state.set_prefix(name);
        runner.engine.save(&mut state);
    }
    // Once it is over, the rungs are in the model.
    let rungs = if complete { &[][..] } else { &walk.rungs[..] };
    for (number, rung) in rungs.iter().enumerate() {
        state.set_prefix(format!("rung{number}."));
        save_rung(rung, &mut state);
    }
    state.set_prefix(String::new());
    state
}

fn runners(walk: &Walk) -> impl Iterator<Item = (String, &Runner)> {
    let shadows = walk.shadows.iter().enumerate().map(|(fold, shadow)| (format!("shadow{fold}."), shadow));
    std::iter::once(("main.".to_string(), &walk.main)).chain(shadows)
}

/// Puts a walk back where it stood.
pub(super) fn restore(walk: &mut Walk, state: &mut State) -> Result<(), StateError> {
    let rungs = state.take_count("rungs")?;
    state.set_prefix("main.".into());
    walk.main.load(state)?;
    for (fold, shadow) in walk.shadows.iter_mut().enumerate() {
        state.set_prefix(format!("shadow{fold}."));
        shadow.load(state)?;
    }
    walk.rungs = load_rungs(state, rungs, walk.codings.len())?;
    Ok(())
}

/// The first rungs, each with so many outputs.
pub(super) fn load_rungs(state: &mut State, rungs: u64, outputs: usize) -> Result<Vec<Rung>, StateError> {
    let mut list = Vec::new();
    for number in 0..rungs {
        state.set_prefix(format!("rung{number}."));
        list.push(load_rung(state, outputs)?);
    }
    state.set_prefix(String::new());
    Ok(list)
}

/// Takes over what a walk that is over knew, all but the share to forget.
pub(super) fn remember(walk: &mut Walk, state: &mut State, forget: f64) -> Result<(), StateError> {
    let outputs = state.take_count("outputs")? as usize;
    state.set_prefix("main.".into());
    walk.main.remember(state, outputs, 1.0 - forget)?;
    for (fold, shadow) in walk.shadows.iter_mut().enumerate() {
        state.set_prefix(format!("shadow{fold}."));
        shadow.remember(state, outputs, 1.0 - forget)?;
    }
    state.set_prefix(String::new());
    Ok(())
}

impl Packed for RowVerdict {
    const WIDTH: usize = 3;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.loss, f64::from(u8::from(self.wrong)), self.weight]);
    }
    fn unpack(fields: &[f64]) -> Self {
        RowVerdict { loss: fields[0], wrong: fields[1] != 0.0, weight: fields[2] }
    }
}

impl Packed for Calibration {
    const WIDTH: usize = 2;
    fn pack(&self, out: &mut Vec<f64>) {
        out.extend([self.slope, self.shift]);
    }
    fn unpack(fields: &[f64]) -> Self {
        Calibration { slope: fields[0], shift: fields[1] }
    }
}

fn save_rung(rung: &Rung, state: &mut State) {
    state.put("active", rung.active.iter().map(|&id| f64::from(id)).collect());
    state.put("numbers", vec![rung.gravity, f64::from(u8::from(rung.unmoved.is_some()))]);
    save_verdict(&rung.verdict, "verdict", state);
    if let Some(unmoved) = &rung.unmoved {
        save_verdict(unmoved, "unmoved", state);
    }
    for (number, means) in rung.outputs.iter().enumerate() {
        state.put(&format!("bias{number}"), vec![means.bias]);
        for (name, list) in [
            ("weights", &means.weights),
            ("evidence", &means.evidence),
            ("spread", &means.spread),
            ("votes", &means.votes),
        ] {
            state.put(&format!("{name}{number}"), list.clone());
        }
    }
}

fn save_verdict(verdict: &Verdict, name: &str, state: &mut State) {
    state.put(name, vec![verdict.loss, verdict.error.unwrap_or(f64::NAN)]);
    state.put_all(&format!("{name}.calibrations"), &verdict.calibrations);
    state.put_all(&format!("{name}.rows"), &verdict.rows);
}

fn load_verdict(state: &mut State, name: &str) -> Result<Verdict, StateError> {
    let [loss, error] = state.take_fixed(name)?;
    let (calibrations, rows) =
        (state.take_all(&format!("{name}.calibrations"))?, state.take_all(&format!("{name}.rows"))?);
    Ok(Verdict { calibrations, loss, error: (!error.is_nan()).then_some(error), rows })
}

fn load_rung(state: &mut State, outputs: usize) -> Result<Rung, StateError> {
    let active = state.take("active")?.into_iter().map(|id| id as u32).collect();
    let [gravity, was_moved] = state.take_fixed("numbers")?;
    let verdict = load_verdict(state, "verdict")?;
    let unmoved = if was_moved != 0.0 { Some(load_verdict(state, "unmoved")?) } else { None };
    let mut means = Vec::new();
    for number in 0..outputs {
        let [bias] = state.take_fixed(&format!("bias{number}"))?;
        let mut list = |name: &str| state.take(&format!("{name}{number}"));
        let (weights, evidence, spread, votes) = (list("weights")?, list("evidence")?, list("spread")?, list("votes")?);
        means.push(Means { bias, weights, evidence, spread, votes });
    }
    Ok(Rung { active, gravity, outputs: means, verdict, unmoved })
}
