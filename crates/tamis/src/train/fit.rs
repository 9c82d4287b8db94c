//! The whole job: read, learn, choose, refit, hand over a model.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::TrainError;
use super::bank::Bank;
use super::checkpoint::{CheckpointPlan, Saved};
use super::choose::{Chosen, finite_support, outputs};
use super::head::{Decoder, Head, Plan, fingerprints};
use super::online::Online;
use super::progress::{Observer, Progressive};
use super::stabilized;
use super::steps;
use super::task::{Targets, TaskKind};
use super::trainer::Trainer;
use super::two_stage;
use crate::data::{Batch, ColumnScale, Dictionary, Example, FeatureId, Row};
use crate::learn::Learner;
use crate::model::Model;
use crate::param::names;
use crate::read::{Block, HeldOptions, ReadError, ReadOptions, RowSource, RowStream, Source};
use crate::recipe::{Family, FtrlParams, Method, Recipe, RecipeError};

/// Where the rows come from and what to do on the way. What is learned is in the recipe.
#[derive(Clone, Debug, Default)]
pub struct FitOptions {
    /// The data.
    pub sources: Vec<Source>,
    /// How to read it.
    pub read: ReadOptions,
    /// What the labels are.
    pub task: TaskKind,
    /// The seed of the random order of rows, where it is not the recipe's: the same learner sees the rows in another order.
    /// No effect on a learner that visits rows in an order of its own ([`MethodInfo::follows_order`](crate::recipe::MethodInfo::follows_order)).
    pub order: Option<u64>,
    /// Bytes of rows that may stay in memory between passes.
    pub memory: u64,
    /// Where rows go beyond that.
    pub cache_folder: Option<PathBuf>,
    /// Where the model goes, if this is to save it. It is saved before the checkpoint that says the training is over:
    /// killed between the two, a resumed training ends in the same model instead of learning the data again.
    pub model: Option<PathBuf>,
    /// Whether and when to save the state.
    pub checkpoint: Option<CheckpointPlan>,
    /// Whether an online learner is handed over with its model, to go on: see [`Fitted::open`].
    pub keep_open: bool,
    /// Set from outside to stop after the rows in hand.
    pub stop: Arc<AtomicBool>,
}

/// A model and what it took.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Rows learned, all passes counted.
    pub rows_learned: u64,
    /// Bytes of learner, names and scaling.
    pub memory: usize,
    /// The first few complaints about lines left out.
    pub skipped: Vec<String>,
    /// The learner itself, if it was asked for and learns one row at a time.
    pub open: Option<Online>,
}

/// Learns a model. With `resume`, goes on from there: at the same row of the same data if the training was
/// interrupted, or with new data if it was over.
pub fn fit(
    recipe: &Recipe,
    options: &FitOptions,
    resume: Option<Saved>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    recipe.check()?;
    let mut read = options.read.clone();
    if let Some(saved) = &resume {
        read.columns.known = saved.position.columns.clone();
    }
    let mut stream = RowStream::open(options.sources.clone(), read);
    fit_rows(recipe, options, &mut stream, resume, observer)
}

/// Learns a model from rows of any origin: [`FitOptions::sources`] and how they are read do not matter here.
pub fn fit_rows(
    recipe: &Recipe,
    options: &FitOptions,
    stream: &mut dyn RowSource,
    resume: Option<Saved>,
    observer: &mut dyn Observer,
) -> Result<Fitted, TrainError> {
    recipe.check()?;
    if let Some(saved) = resume.as_ref().filter(|saved| saved.recipe() != recipe) {
        let text = |recipe: &Recipe| serde_json::to_string(recipe).expect("plain data becomes JSON");
        let (was, now) = (text(saved.recipe()), text(recipe));
        return Err(TrainError::OtherRecipe { path: saved.path.clone(), was, now });
    }
    let plan = Plan::of(recipe);
    let (mut dictionary, mut scale) = (Dictionary::new(recipe.hash_bits), ColumnScale::new(recipe.scaling()));
    if let Some(saved) = &resume {
        dictionary = saved.dictionary.clone();
        scale.restore(saved.divisors.clone());
    }
    let held = HeldOptions {
        memory: options.memory,
        folder: options.cache_folder.clone(),
        shuffle: plan
            .shuffle
            .then_some(options.order.filter(|_| recipe.method.info().follows_order).unwrap_or(recipe.seed)),
    };
    let tick = |bytes| {
        observer.tick(0, None, bytes);
        match options.stop.load(Ordering::Relaxed) {
            true => Err(TrainError::Interrupted { rows: 0, saved: None }),
            false => Ok(()),
        }
    };
    let rows_before = resume.as_ref().map_or(0, Saved::rows_before);
    let mut head = Head::read(stream, plan, rows_before, held, &mut dictionary, &mut scale, tick)?;
    if head.rows == 0 {
        return Err(ReadError::NoRows { files: stream.name() }.into());
    }
    if plan.shuffle && !recipe.method.info().follows_order {
        head.arrange(&mut dictionary, &mut scale, resume.as_ref().map_or(0, |saved| saved.dictionary.span()))?;
    }
    scale.finish();
    let targets = match &resume {
        Some(saved) => Targets::from_parts(saved.position.loss, recipe, saved.position.kind.clone()),
        None => head.labels.decide(recipe, options.task)?,
    };
    if recipe.method.kind() == Method::StabilizedPublished && (options.checkpoint.is_some() || resume.is_some()) {
        let (method, param) = (recipe.method.name(), names::CHECKPOINT.into());
        return Err(RecipeError::Unsupported { method, param, reason: "its state is not saved" }.into());
    }
    if recipe.method.info().family == Family::Staged {
        let Head { held, texts, rows, fingerprint, .. } = head;
        let (columns, skipped) = (stream.columns(), (stream.skipped(), stream.first_skipped().to_vec()));
        let job = stabilized::Job {
            recipe,
            options,
            dictionary,
            scale,
            targets,
            texts,
            rows,
            fingerprint,
            columns,
            skipped,
            rows_before: 0,
            paths_before: None,
        };
        return stabilized::learn(job, held, resume, observer);
    }
    let passes = head.passes(recipe);
    let mut trainer = Trainer::new(recipe, options, observer, (dictionary, scale, targets));
    trainer.columns = stream.columns();
    trainer.head_rows = head.rows;
    trainer.fingerprint = (head.rows, head.fingerprint);
    trainer.total = head.is_all.then(|| head.rows * u64::from(passes));
    match recipe.method.kind() {
        Method::TwoStage => two_stage::settle(&mut trainer, &mut head, passes)?,
        _ => steps::settle(&mut trainer, &mut head, resume.as_ref().map(|saved| saved.position.longest))?,
    }
    let resumed = resume.as_ref().map(|saved| saved.path.clone());
    if let Some(saved) = resume {
        restore(&mut trainer, saved, &head)?;
    }
    learn_head(&mut trainer, &mut head, passes)?;
    let tail_rows = match head.is_all {
        true => 0,
        false => learn_tail(&mut trainer, stream, &mut head, resumed.as_deref())?,
    };
    finish(trainer, head, passes, tail_rows, stream)
}

/// Puts a saved state in place, after checking that the head is the one it was made from.
fn restore(trainer: &mut Trainer<'_>, mut saved: Saved, head: &Head) -> Result<(), TrainError> {
    let path = saved.path.clone();
    trainer.rows_before = saved.rows_before();
    let position = saved.position;
    let crew = trainer.lane.crew_mut();
    crew.bank.grow(&trainer.targets);
    let misfit = |source| TrainError::CheckpointState { path: path.clone(), source };
    crew.bank.load(&mut saved.state).map_err(misfit)?;
    if position.complete {
        // It goes on with numbers of its own, and remembers rows that are not here to be fitted.
        trainer.settled.clear();
        return Ok(());
    }
    let in_head = position.done < position.head_rows || head.is_all;
    if position.head_rows != head.rows || (in_head && position.fingerprint.1 != head.fingerprint) {
        return Err(TrainError::OtherData { path, row: head.rows.min(position.head_rows) });
    }
    trainer.lane.crew_mut().progressive = position.progressive;
    trainer.next_sweep = position.next_sweep;
    trainer.resume_at(position.done);
    if !in_head {
        trainer.dictionary = saved.dictionary;
        trainer.scale.restore(saved.divisors);
        trainer.fingerprint = position.fingerprint;
    }
    Ok(())
}

/// All passes over the head, from wherever the trainer stands.
fn learn_head(trainer: &mut Trainer<'_>, head: &mut Head, passes: u32) -> Result<(), TrainError> {
    let texts = head.texts.clone();
    let mut decoder = Decoder::new(&texts);
    let first = trainer.done / head.rows;
    let mut skip = trainer.done % head.rows;
    for pass in first..u64::from(passes) {
        trainer.pass = pass as u32 + 1;
        head.held.pass(pass, |group| {
            let now = skip.min(group.len() as u64);
            skip -= now;
            for example in group.examples().skip(now as usize) {
                let target = decoder.target(example.target, &mut trainer.targets)?;
                grow(trainer)?;
                trainer.take(Example { target, ..example })?;
            }
            Ok::<bool, TrainError>(true)
        })?;
        trainer.flush()?;
    }
    Ok(())
}

/// A class that came late gets its learner before its first row is learned, and after all earlier ones.
fn grow(trainer: &mut Trainer<'_>) -> Result<(), TrainError> {
    if trainer.learners < trainer.targets.learners() {
        trainer.learn_taken()?;
        trainer.lane.crew_mut().bank.grow(&trainer.targets);
        trainer.learners = trainer.targets.learners();
    }
    Ok(())
}

/// Rows between two looks for idle features: counted from the head on, so that how the input is cut leaves no trace.
pub(super) const SWEEP_EVERY: u64 = 4096;

/// Rows beyond the head, once, as they come. After a resume, rows already learned are passed over, and must be those
/// the checkpoint saw. Returns how many rows there were.
fn learn_tail(
    trainer: &mut Trainer<'_>,
    stream: &mut dyn RowSource,
    head: &mut Head,
    resumed: Option<&Path>,
) -> Result<u64, TrainError> {
    // Drawn weights may be fitted to the head's rows in the end.
    if trainer.polish() == 0.0 {
        head.held.clear();
    }
    let (mut rows, mut print) = (0, head.fingerprint);
    let (saved_rows, saved_print) = trainer.fingerprint;
    let learned = trainer.done.max(head.rows) - head.rows;
    // What tells rows apart is for those who come back to them.
    let is_watched = resumed.is_some() || trainer.options.checkpoint.is_some() || trainer.options.keep_open;
    let other_data = |row| TrainError::OtherData { path: resumed.map(Path::to_path_buf).unwrap_or_default(), row };
    let mut waiting = head.rest.take().map(|block| pieces(block, rows)).unwrap_or_default();
    loop {
        if waiting.is_empty()
            && let Some(block) = stream.next_block()?
        {
            waiting = if trainer.scale.is_active() { [block].into() } else { pieces(block, rows) };
        }
        let Some(mut block) = waiting.pop_front() else { break };
        trainer.bytes_read = stream.bytes_read();
        let prints = if is_watched { fingerprints(&block.rows, print) } else { vec![print; block.rows.len()] };
        let length = prints.len() as u64;
        let passed = (learned - learned.min(rows)).min(length);
        if passed > 0 && head.rows + rows + passed == saved_rows && prints[passed as usize - 1] != saved_print {
            return Err(other_data(saved_rows));
        }
        print = prints.last().copied().unwrap_or(print);
        rows += length;
        if passed < length {
            block.rows = block.rows.split_off(passed as usize);
            learn_block(trainer, block, &prints[passed as usize..])?;
        }
        if rows.is_multiple_of(SWEEP_EVERY) && rows >= learned {
            trainer.sweep()?;
        }
    }
    if rows < learned {
        return Err(other_data(head.rows + rows + 1));
    }
    trainer.flush()?;
    Ok(rows)
}

/// Pieces of the block that end where idle features are looked for, `rows` rows being behind.
fn pieces(mut block: Block, rows: u64) -> VecDeque<Block> {
    let mut pieces = VecDeque::new();
    let first = (SWEEP_EVERY - rows % SWEEP_EVERY) as usize;
    for at in (first..block.rows.len()).step_by(SWEEP_EVERY as usize).rev() {
        let rows = block.rows.split_off(at);
        pieces.push_front(Block { rows, file: block.file.clone(), first_line: block.first_line });
    }
    pieces.push_front(block);
    pieces
}

fn learn_block(trainer: &mut Trainer<'_>, block: Block, prints: &[u64]) -> Result<(), TrainError> {
    let Block { rows, file, first_line } = block;
    let lines = rows.lines.clone();
    let place = |row: usize| format!("{file}:{}", first_line + u64::from(lines[row]));
    let duplicate = |(row, name)| TrainError::DuplicateName { place: place(row), name };
    let (batch, labels): (Batch, _) = rows.intern(&mut trainer.dictionary).map_err(duplicate)?;
    if trainer.takes_whole(&batch)
        && let Some(targets) = trainer.targets.known(&labels)
    {
        return trainer.take_all(batch.with_targets(targets), prints[prints.len() - 1]);
    }
    for (row, example) in batch.examples().enumerate() {
        let target = trainer.targets.target(&labels[row], || place(row))?;
        grow(trainer)?;
        if trainer.scale.is_active() {
            trainer.scale.observe(example.row);
        }
        trainer.fingerprint = (trainer.fingerprint.0 + 1, prints[row]);
        trainer.take(Example { target, ..example })?;
    }
    Ok(())
}

/// Chooses the features, learns them again if asked, and makes the model.
fn finish(
    mut trainer: Trainer<'_>,
    mut head: Head,
    passes: u32,
    tail_rows: u64,
    stream: &dyn RowSource,
) -> Result<Fitted, TrainError> {
    let recipe = trainer.recipe;
    let (chosen, sampling) = match recipe.method.kind() {
        Method::TwoStage if trainer.lane.crew().bank.not_finite().is_some() => return Err(trainer.diverged()),
        Method::TwoStage => {
            two_stage::draw(&mut trainer, &mut head).map(|(chosen, sampling)| (chosen, Some(sampling)))?
        }
        _ => (finite_support(&trainer.lane.crew().bank, recipe.k).ok_or_else(|| trainer.diverged())?, None),
    };
    if let Some(k) = recipe.k.filter(|&k| chosen.ids.len() < k) {
        let seen = trainer.dictionary.len();
        trainer.observer.note(&format!(
            "{k} features were asked for, but only {} of the {seen} features seen have a non-zero weight",
            chosen.ids.len()
        ));
    }
    let refitted = if recipe.refit { Some(refit(&mut trainer, &mut head, passes, &chosen.ids)?) } else { None };
    let chosen = if recipe.refit { Chosen::with_outputs(chosen.ids, Vec::new()) } else { chosen };
    let bank = refitted.as_ref().unwrap_or(&trainer.lane.crew().bank);
    let outputs = outputs(bank, &trainer.targets, &chosen, &trainer.dictionary, &trainer.scale);
    let model = trainer.model(outputs, passes, head.rows + tail_rows, stream.skipped());
    let model = Model { sampling, ..model };
    if let Some(path) = &trainer.options.model {
        model.save(path)?;
    }
    trainer.save(true)?;
    let (rows_learned, memory) = (trainer.done, trainer.memory());
    let open = (trainer.options.keep_open && recipe.method.info().partial_fit)
        .then(|| Online::after(trainer, head.rows, tail_rows));
    Ok(Fitted { model, rows_learned, memory, skipped: stream.first_skipped().to_vec(), open })
}

/// Learns the chosen features again, without penalty and without the others, over as many passes.
fn refit(trainer: &mut Trainer<'_>, head: &mut Head, passes: u32, chosen: &[FeatureId]) -> Result<Bank, TrainError> {
    let recipe = trainer.recipe;
    let method = FtrlParams { l1: Some(0.0), ..FtrlParams::default() }.into();
    let plain = Recipe { method, intercept: recipe.intercept, loss: recipe.loss, ..Recipe::default() };
    let mut bank = Bank::new(&plain, &trainer.targets, trainer.options.read.threads);
    let mut kept = vec![false; trainer.dictionary.span()];
    chosen.iter().for_each(|&id| kept[id as usize] = true);
    let texts = head.texts.clone();
    let (mut decoder, mut seen) = (Decoder::new(&texts), Progressive::default());
    let (mut batch, mut ids, mut values) = (Batch::new(), Vec::new(), Vec::new());
    for pass in 0..u64::from(passes) {
        head.held.pass(pass, |group| {
            batch.clear();
            for example in group.examples() {
                let target = decoder.target(example.target, &mut trainer.targets)?;
                let factor = trainer.row_factor(example.row);
                ids.clear();
                values.clear();
                for (id, value) in example.row.iter().filter(|(id, _)| kept[*id as usize]) {
                    ids.push(id);
                    values.push(value * factor / trainer.scale.divisor(id));
                }
                batch.push(Example { row: Row { ids: &ids, values: &values }, target, ..example });
            }
            bank.learn(&batch, &trainer.targets, &mut seen);
            Ok::<bool, TrainError>(true)
        })?;
    }
    debug_assert!(bank.learners().iter().all(|learner| learner.bias().is_finite()));
    Ok(bank)
}
