//! The kernel method as a [`Trainer`].

use std::collections::BTreeSet;

use super::curves::CurveRows;
use super::draw_sample::{LEAST_ROWS, MOST_PAIRED};
use super::effect_tests::EffectTests;
use super::final_fit::{FinalFit, FittedSize, number_of_features};
use super::kept_sizes::KeptSizes;
use super::outer_folds::{Choice, HeldOut, calibrations, choose, class_odds, cross_validate, score};
use super::race::{Search, Wanted, search_all};
use super::sample::Sample;
use super::search::Step;
use super::triples;
use crate::data::State;
use crate::io::Block;
use crate::model::kernel::{KernelModel, KernelScan, KernelSearch, KernelSize, KernelTest, KernelVariable};
use crate::model::{Model, Output, TrainingSummary};
use crate::platt::Calibration;
use crate::recipe::{KernelParams, MethodParams};
use crate::trainer::{BufferedRows, Checkpoint, Position, RowHasher, Session, TrainError, Trainer, TrainingData};

/// The largest size that is kept where nothing is found.
const KEPT_OF_NOTHING: usize = 7;

/// A training of the kernel method.
#[derive(Default)]
pub(crate) struct KernelTrainer {
    /// The model and the moments of its sizes: at first of the training that this one continues.
    learned: Option<(KernelModel, KeptSizes)>,
    rows: u64,
}

fn params_of(data: &TrainingData) -> &KernelParams {
    let MethodParams::Kernel(params) = &data.recipe.method else {
        unreachable!("{} is not kernel", data.recipe.method.name())
    };
    params
}

fn wanted(data: &TrainingData) -> Wanted {
    let KernelParams { inputs, family, max_variables, .. } = *params_of(data);
    Wanted { inputs, family, max_variables, k: data.recipe.k, seed: data.recipe.seed }
}

fn refused(data: &TrainingData, reason: String) -> TrainError {
    TrainError::Method { method: data.recipe.method.name(), reason }
}

impl KernelTrainer {
    /// A training from the start, or one that updates a complete one. An interrupted one starts again.
    pub(crate) fn start(
        session: &mut Session<'_>,
        rows: &BufferedRows,
        resume: Option<Checkpoint>,
    ) -> Result<Self, TrainError> {
        let Some(mut saved) = resume else { return Ok(KernelTrainer::default()) };
        if !saved.header.is_complete {
            if saved.header.fingerprint != (rows.rows, rows.fingerprint) {
                return Err(TrainError::OtherData { path: saved.path, row: rows.rows.min(saved.header.buffered_rows) });
            }
            session.observer.note("kernel was interrupted before its search was over: it starts again");
            return Ok(KernelTrainer::default());
        }
        let invalid = saved.invalid_state();
        let outputs = saved.targets().outputs();
        let text = saved.finished.as_deref().unwrap_or_default();
        let kernel = Model::from_bytes(text, &saved.path)?.kernel;
        let kernel = kernel.ok_or_else(|| invalid(saved.state.wrong_shape("model")))?;
        let kept = KeptSizes::restore(&mut saved.state, &kernel, outputs).map_err(invalid)?;
        Ok(KernelTrainer { learned: Some((kernel, kept)), rows: 0 })
    }

    /// Adds new rows to the moments of a complete training.
    fn update(
        &mut self,
        session: &mut Session<'_>,
        rows: &mut BufferedRows,
        (kernel, mut kept): (KernelModel, KeptSizes),
    ) -> Result<(), TrainError> {
        let data = &*session.data;
        let hashes = rows.row_hashes(RowHasher::new(&data.vocabulary, None))?;
        kept.add(data, rows, &hashes, |_| None, session.threads)?;
        stop(session)?;
        let kernel = session.threads.install(|| kept.update(&kernel, rows.rows));
        session.observer.note(&format!(
            "the weights are those of all rows; the variables and the held-out errors are those of the search on the \
             first {} rows",
            kernel.rows_of_search
        ));
        (self.rows, self.learned) = (rows.rows, Some((kernel, kept)));
        Ok(())
    }

    /// Searches and fits.
    fn search(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        let data = &*session.data;
        if rows.rows < LEAST_ROWS as u64 {
            let found = rows.rows;
            return Err(refused(data, format!("{found} rows are too few; at least {LEAST_ROWS} are needed")));
        }
        let hashes = rows.row_hashes(RowHasher::new(&data.vocabulary, None))?;
        let threads = session.threads.clone();
        let sample = threads.install(|| Sample::draw(data, rows, &hashes))?;
        if sample.ids.is_empty() {
            return Err(refused(data, "every column is constant: there is nothing to learn from".into()));
        }
        note_what_is_left_out(session, &sample);
        let data = &*session.data;
        let (searches, search) = threads.install(|| search_all(&sample, wanted(data)));
        stop(session)?;
        let sizes: Vec<usize> = search.steps.iter().map(|step| step.variables.len()).collect();
        let held_out = threads.install(|| cross_validate(&sample, search.plan, &sizes, data.targets.is_numbers()));
        stop(session)?;
        let data = &*session.data;
        let asked = data.recipe.k.map(|k| sizes.iter().position(|&size| size <= k).unwrap_or(sizes.len() - 1));
        let choice = choose(&sample, &held_out, &search.steps, asked);
        let used = asked.or(choice.chosen);
        let mut kept = kept_sizes(data, &sample, &search, &held_out, &choice, used);
        session.check_memory(kept.bytes(), || None)?;
        let mut block = vec![None; hashes.len()];
        sample.numbers.iter().zip(&search.prepared.rows.blocks).for_each(|(&row, &one)| block[row] = Some(one));
        kept.add(data, rows, &hashes, |row| block[row], &threads)?;
        stop(session)?;
        let data = &*session.data;
        let fitted = threads.install(|| kept.finish());
        let mut kernel = build(data, &sample, &search, searches, &held_out, &choice, fitted);
        (kernel.chosen, kernel.variables, kernel.rows_of_search) = (used, kept.variables.clone(), rows.rows);
        session.note_fewer_features(kernel.size().map_or(0, |size| size.size));
        (self.rows, self.learned) = (rows.rows, Some((kernel, kept)));
        Ok(())
    }
}

impl Trainer for KernelTrainer {
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
        match self.learned.take() {
            Some(before) => self.update(session, rows, before),
            None => {
                if session.has_checkpoint() {
                    session.save_and_go_on(self.save(false))?;
                }
                self.search(session, rows)
            }
        }
    }

    fn learn_block(&mut self, _session: &mut Session<'_>, _block: Block) -> Result<(), TrainError> {
        unreachable!("all rows are buffered")
    }

    fn flush(&mut self, _session: &mut Session<'_>) -> Result<(), TrainError> {
        Ok(())
    }

    fn model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        let (kernel, _) = self.learned.as_ref().expect("rows are learned before a model is made");
        let class = |number: usize| match data.targets.outputs() {
            1 => None,
            _ => Some(data.targets.classes()[number].clone()),
        };
        let output = |number: usize| Output { class: class(number), intercept: 0.0, features: Vec::new() };
        let summary = TrainingSummary {
            passes: 1,
            progressive_loss: kernel.score().loss,
            progressive_error: kernel.score().error,
            ..TrainingSummary::default()
        };
        let outputs = (0..data.targets.outputs()).map(output).collect();
        Ok(Model { kernel: Some(kernel.clone()), ..data.model(outputs, summary) })
    }

    fn finish(&mut self, session: &mut Session<'_>, _rows: &mut BufferedRows) -> Result<Model, TrainError> {
        self.model(session.data)
    }

    fn save(&self, is_complete: bool) -> (Position, State) {
        let kept = self.learned.as_ref().filter(|_| is_complete);
        let state = kept.map_or_else(State::default, |(_, kept)| kept.save());
        (Position { done: self.rows, ..Position::default() }, state)
    }

    fn rows_learned(&self) -> u64 {
        self.rows
    }

    fn bytes(&self) -> usize {
        self.learned.as_ref().map_or(0, |(_, kept)| kept.bytes())
    }
}

fn note_what_is_left_out(session: &mut Session<'_>, sample: &Sample) {
    if sample.variables > sample.ids.len() {
        let all = sample.variables;
        session.observer.note(&format!(
            "kernel scored all {all} features by themselves, and the pairs of the {MOST_PAIRED} with the largest \
             scores; pairs with the other {} were not looked at",
            all - sample.ids.len()
        ));
    }
}

/// Ends the training if the user asked for it. A checkpoint then says that nothing is learned yet.
fn stop(session: &Session<'_>) -> Result<(), TrainError> {
    if !session.options.is_stopped() {
        return Ok(());
    }
    let saved = session.save((Position::default(), State::default()), false)?;
    Err(TrainError::Interrupted { rows: 0, saved })
}

/// The sizes that the model file keeps, without rows: the chosen one, the best one, and those below; small ones if a
/// constant is chosen.
fn kept_sizes(
    data: &TrainingData,
    sample: &Sample,
    search: &Search,
    held_out: &HeldOut,
    choice: &Choice,
    used: Option<usize>,
) -> KeptSizes {
    let count = number_of_features(params_of(data).n_fourier, sample.weights.len());
    let small = || search.steps.iter().position(|step| step.variables.len() <= KEPT_OF_NOTHING).unwrap_or(0);
    let first = used.map_or_else(small, |used| used.min(choice.best));
    let columns: BTreeSet<usize> = search.steps[first..].iter().flat_map(|step| step.variables.clone()).collect();
    let columns: Vec<usize> = columns.into_iter().collect();
    let unit = data.targets.centre_and_spread();
    let fit = |(place, step): (usize, &Step)| {
        let is_drawn = Some(place) == used || place == choice.best;
        let places = step.variables.iter().map(|one| columns.binary_search(one).expect("it is kept")).collect();
        let mut fit = FinalFit::new(step, places, sample.codes.ncols(), search.plan, is_drawn.then_some(count));
        fit.shares = step.variables.iter().map(|&column| held_out.share(place, column)).collect();
        fit.calibrations = match data.targets.is_numbers() {
            true => vec![Calibration { slope: unit.1, shift: unit.0 }],
            false => calibrations(sample, &held_out.sizes[place]),
        };
        fit
    };
    let fits = search.steps.iter().enumerate().map(|(place, step)| (place >= first).then(|| fit((place, step))));
    let variable = |&column: &usize| KernelVariable {
        name: data.vocabulary.name(sample.ids[column]),
        map: search.prepared.maps[column].clone(),
    };
    KeptSizes {
        fits: fits.collect(),
        variables: columns.iter().map(variable).collect(),
        units: search.prepared.units.clone(),
        curves: CurveRows::new(sample, &search.prepared, &columns),
    }
}

/// The model, but for its variables and the choice of a size.
fn build(
    data: &TrainingData,
    sample: &Sample,
    search: &Search,
    searches: Vec<KernelSearch>,
    held_out: &HeldOut,
    choice: &Choice,
    fitted: Vec<Option<FittedSize>>,
) -> KernelModel {
    let loss_unit = data.targets.is_numbers().then(|| data.targets.loss_unit());
    let (middle, unit) = data.targets.centre_and_spread();
    let name = |column: usize| data.vocabulary.name(sample.ids[column]);
    let all: Vec<usize> = (0..sample.weights.len()).collect();
    let constant = match loss_unit {
        Some(_) => vec![middle + unit * sample.units(&all)[0].0],
        None => class_odds(sample),
    };
    let size = |(place, one): (usize, Option<FittedSize>)| {
        let score = score(sample, &held_out.sizes[place], loss_unit);
        let size = search.steps[place].variables.len();
        one.map_or_else(|| KernelSize::not_kept(size, score), |one| one.with_score(size, score))
    };
    KernelModel {
        inputs: search.plan.inputs,
        family: search.plan.family,
        chosen: None,
        best: choice.best,
        is_better_than_constant: choice.chosen.is_some(),
        is_linear_as_good: choice.is_linear_as_good,
        constant,
        constant_score: score(sample, &held_out.constant, loss_unit),
        linear_score: score(sample, &held_out.linear, loss_unit),
        linear_size: held_out.linear_size,
        variables: Vec::new(),
        sizes: fitted.into_iter().enumerate().map(size).collect(),
        searches,
        scan: KernelScan {
            variables: sample.variables,
            in_pairs: sample.ids.len(),
            triples: (3..=triples::MOST_VARIABLES).contains(&sample.ids.len()),
            triple: search.screened.triple.map(|triple| triple.map(name)),
            rows: sample.weights.len(),
        },
        tests: tests(&held_out.tests, name),
        rows_of_search: 0,
        rows_since: 0,
    }
}

/// The tests with the names of their variables, by increasing q-value.
fn tests(found: &EffectTests, name: impl Fn(usize) -> String) -> Vec<KernelTest> {
    let single = |(&column, &q): (&usize, &f64)| KernelTest { names: vec![name(column)], q };
    let pair = |(&columns, &q): (&[usize; 2], &f64)| KernelTest { names: columns.map(&name).to_vec(), q };
    let mut tests: Vec<KernelTest> = found.variables.iter().map(single).collect();
    tests.extend(found.pairs.iter().map(pair));
    tests.sort_by(|one, other| one.q.total_cmp(&other.q).then_with(|| one.names.cmp(&other.names)));
    tests
}
