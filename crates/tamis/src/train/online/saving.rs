//! An open training as bytes: a checkpoint that may hold rows which wait.

use std::path::Path;

use super::{Goal, Online, Running, check_online, class_targets};
use crate::data::{Batch, ColumnScale, FeatureId, Parts};
use crate::learn::{State, StateError};
use crate::loss::LossKind;
use crate::train::TrainError;
use crate::train::bank::Bank;
use crate::train::checkpoint::{self, Position, Saved};
use crate::train::progress::Progressive;
use crate::train::steps;
use crate::train::task::{Kind, LabelSurvey, Targets};

impl Online {
    /// Everything needed to go on, as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut state = State::default();
        let (mut progressive, mut counts, mut divisors) = (Progressive::default(), (0, 0, 0), &[][..]);
        let longest = self.running.as_ref().map_or(0.0, |running| running.longest);
        let loss = self.recipe.loss.unwrap_or(LossKind::Logistic);
        let mut targets = match &self.goal {
            Goal::Numbers => Targets::from_parts(loss, &self.recipe, Kind::Numbers { centre: 0.0, spread: 1.0 }),
            Goal::Classes(classes) => class_targets(&self.recipe, classes),
        };
        match &self.running {
            None => put_rows(&mut state, &self.head),
            Some(running) => {
                running.bank.save(&mut state);
                progressive = running.progressive.clone();
                counts = (running.sweeps_from, running.rows, running.next_sweep);
                targets = running.targets.clone();
                divisors = self.scale.divisors();
            }
        }
        let (head_rows, done, next_sweep) = counts;
        let position = Position {
            version: 1,
            recipe: self.recipe.clone(),
            loss: targets.loss,
            kind: targets.kind,
            columns: None,
            complete: false,
            done,
            head_rows,
            fingerprint: (0, 0),
            rows_before: 0,
            progressive,
            next_sweep,
            longest,
            free: Vec::new(),
        };
        checkpoint::to_bytes(&position, &self.dictionary, divisors, &state)
    }

    /// The training that [`Online::to_bytes`] saved; results do not depend on `threads`.
    pub fn from_bytes(bytes: &[u8], threads: usize) -> Result<Online, TrainError> {
        let path = Path::new("an open training");
        let Saved { position, dictionary, divisors, mut state, .. } = Saved::from_bytes(bytes, path)?;
        let misfit = |source| TrainError::CheckpointState { path: path.to_path_buf(), source };
        position.recipe.check()?;
        if !position.recipe.method.info().partial_fit {
            return check_online(&position.recipe).map(|()| unreachable!("it cannot stay open"));
        }
        let goal = match &position.kind {
            Kind::Numbers { .. } => Goal::Numbers,
            Kind::Classes { classes, .. } => Goal::Classes(classes.clone()),
        };
        let mut scale = ColumnScale::new(position.recipe.scaling());
        let mut running = None;
        let mut kept = Batch::new();
        if state.arrays().contains_key("head.offsets") {
            kept = take_rows(&mut state, dictionary.span()).map_err(misfit)?;
        } else {
            let targets = Targets::from_parts(position.loss, &position.recipe, position.kind.clone());
            let settled = steps::settled(&position.recipe, position.loss, position.longest);
            let mut bank = Bank::new(&settled, &targets, if targets.learners() > 1 { threads } else { 1 });
            bank.load(&mut state).map_err(misfit)?;
            scale.restore(divisors);
            let Position { progressive, next_sweep, longest, done: rows, head_rows: sweeps_from, .. } =
                position.clone();
            running = Some(Running { targets, bank, progressive, rows, sweeps_from, next_sweep, longest });
        }
        let (recipe, survey, head) = (position.recipe, LabelSurvey::default(), Batch::new());
        let mut online = Online { recipe, goal, threads, dictionary, scale, survey, head, running };
        for example in kept.examples() {
            let label = online.goal.label(example.target).ok_or_else(|| misfit(state.misfit("head.targets")))?;
            online.keep(example, &label);
        }
        Ok(online)
    }
}

fn put_rows(state: &mut State, rows: &Batch) {
    let Parts { offsets, ids, values, targets, weights } = rows.parts();
    state.put("head.offsets", offsets.iter().map(|&offset| offset as f64).collect());
    state.put("head.ids", ids.iter().map(|&id| f64::from(id)).collect());
    state.put("head.values", values.to_vec());
    state.put("head.targets", targets.to_vec());
    state.put("head.weights", weights.to_vec());
}

/// Rows of features below `span`. What is wrong with the arrays is told, whatever they hold.
fn take_rows(state: &mut State, span: usize) -> Result<Batch, StateError> {
    let offsets: Vec<usize> = state.take("head.offsets")?.into_iter().map(|offset| offset as usize).collect();
    let ids: Vec<FeatureId> = state.take("head.ids")?.into_iter().map(|id| id as FeatureId).collect();
    let [values, targets, weights] = ["values", "targets", "weights"].map(|name| state.take(&format!("head.{name}")));
    let (values, targets, weights) = (values?, targets?, weights?);
    let whole = offsets.first() == Some(&0) && offsets.is_sorted() && offsets.last() == Some(&ids.len());
    let alike = offsets.len() == targets.len() + 1 && targets.len() == weights.len() && ids.len() == values.len();
    let finite = values.iter().all(|value| value.is_finite()) && weights.iter().all(|weight| *weight >= 0.0);
    if !(whole && alike && finite && ids.iter().all(|&id| (id as usize) < span)) {
        return Err(state.misfit("head"));
    }
    Ok(Batch::from_parts(offsets, ids, values, targets, weights))
}
