//! The kernel method as a [`Trainer`].

use std::collections::BTreeSet;

use faer::Mat;
use rayon::prelude::*;

use super::final_fit::{FinalFit, FittedSize, number_of_features};
use super::outer_folds::{Choice, FOLDS, HeldOut, SearchPlan, calibrations, choose, class_odds, cross_validate, score};
use super::rows::BLOCKS;
use super::sample::{LEAST_ROWS, MOST_PAIRED, Prepared, Sample};
use super::search::{Elimination, FINALISTS, RACED_SIZE, Screened, Step, screen};
use super::triples;
use crate::data::{FeatureId, State, fold_of_hash};
use crate::io::Block;
use crate::model::kernel::{
    InputMap, KernelEffect, KernelInteraction, KernelModel, KernelScan, KernelSearch, KernelSize, KernelVariable,
};
use crate::model::{Model, Output, TrainingSummary};
use crate::platt::Calibration;
use crate::recipe::{FrequencyFamily, InputKind, KernelParams, MethodParams};
use crate::threads::Threads;
use crate::trainer::{BufferedRows, Position, RowHasher, Session, TrainError, Trainer, TrainingData};

/// The largest size that is kept where nothing is found.
const KEPT_OF_NOTHING: usize = 7;
/// Rows of a block that are added together.
const CHUNK: usize = 512;

/// A training of the kernel method.
#[derive(Default)]
pub(crate) struct KernelTrainer {
    kernel: Option<KernelModel>,
    rows: u64,
    bytes: usize,
}

/// The best of the searches on all rows of the sample.
struct Search {
    plan: SearchPlan,
    prepared: Prepared,
    screened: Screened,
    steps: Vec<Step>,
}

fn params_of(data: &TrainingData) -> &KernelParams {
    let MethodParams::Kernel(params) = &data.recipe.method else {
        unreachable!("{} is not kernel", data.recipe.method.name())
    };
    params
}

fn refused(data: &TrainingData, reason: String) -> TrainError {
    TrainError::Method { method: data.recipe.method.name(), reason }
}

impl Trainer for KernelTrainer {
    fn learn_buffered(&mut self, session: &mut Session<'_>, rows: &mut BufferedRows) -> Result<(), TrainError> {
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
        self.note_what_is_left_out(session, &sample);
        let data = &*session.data;
        let (searches, search) = threads.install(|| search_all(data, &sample));
        stop(session)?;
        let sizes: Vec<usize> = search.steps.iter().map(|step| step.variables.len()).collect();
        let held_out = threads.install(|| cross_validate(&sample, search.plan, &sizes));
        stop(session)?;
        let data = &*session.data;
        let asked = data.recipe.k.map(|k| sizes.iter().position(|&size| size <= k).unwrap_or(sizes.len() - 1));
        let choice = choose(&sample, &held_out, &search.steps, asked);
        let used = asked.or(choice.chosen);
        let mut finals = final_fits(data, &sample, &search, &choice, used);
        self.bytes = finals.iter().flatten().map(FinalFit::bytes).sum();
        session.check_memory(self.bytes, || None)?;
        let data = &*session.data;
        add_all_rows(data, rows, &sample, &search.prepared, &hashes, &mut finals, &threads)?;
        let kernel = threads.install(|| build(data, &sample, &search, searches, &held_out, &choice, used, &finals));
        self.rows = rows.rows;
        session.note_fewer_features(kernel.size().map_or(0, |size| size.size));
        self.kernel = Some(kernel);
        Ok(())
    }

    fn learn_block(&mut self, _session: &mut Session<'_>, _block: Block) -> Result<(), TrainError> {
        unreachable!("all rows are buffered")
    }

    fn flush(&mut self, _session: &mut Session<'_>) -> Result<(), TrainError> {
        Ok(())
    }

    fn model(&self, data: &TrainingData) -> Result<Model, TrainError> {
        let kernel = self.kernel.clone().expect("rows are learned before a model is made");
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
        Ok(Model { kernel: Some(kernel), ..data.model(outputs, summary) })
    }

    fn finish(&mut self, session: &mut Session<'_>, _rows: &mut BufferedRows) -> Result<Model, TrainError> {
        self.model(session.data)
    }

    fn save(&self, _is_complete: bool) -> (Position, State) {
        (Position { done: self.rows, ..Position::default() }, State::default())
    }

    fn rows_learned(&self) -> u64 {
        self.rows
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl KernelTrainer {
    fn note_what_is_left_out(&self, session: &mut Session<'_>, sample: &Sample) {
        if sample.variables > sample.ids.len() {
            let all = sample.variables;
            session.observer.note(&format!(
                "kernel scored all {all} features by themselves, and the pairs of the {MOST_PAIRED} with the largest \
                 scores; pairs with the other {} were not looked at",
                all - sample.ids.len()
            ));
        }
    }
}

/// Ends the training if the user asked for it.
fn stop(session: &Session<'_>) -> Result<(), TrainError> {
    if session.options.is_stopped() { Err(TrainError::Interrupted { rows: 0, saved: None }) } else { Ok(()) }
}

/// Searches with every input map and family that is not given; returns their errors at a middle size, and the best one.
fn search_all(data: &TrainingData, sample: &Sample) -> (Vec<KernelSearch>, Search) {
    let params = params_of(data);
    let kinds: Vec<InputKind> =
        InputKind::ALL.into_iter().filter(|kind| params.inputs.is_none_or(|one| one == *kind)).collect();
    let families: Vec<FrequencyFamily> =
        FrequencyFamily::ALL.into_iter().filter(|family| params.family.is_none_or(|one| one == *family)).collect();
    let all: Vec<usize> = (0..sample.weights.len()).collect();
    let plan = |inputs, family| SearchPlan {
        inputs,
        family,
        max_variables: params.max_variables,
        k: data.recipe.k,
        seed: data.recipe.seed,
    };
    let scanned: Vec<(InputKind, Prepared, Screened)> = kinds
        .into_par_iter()
        .map(|kind| {
            let prepared = sample.prepare(&all, kind);
            let screened = screen(&prepared.rows, params.max_variables);
            (kind, prepared, screened)
        })
        .collect();
    let pairs: Vec<(usize, FrequencyFamily)> =
        (0..scanned.len()).flat_map(|kind| families.iter().map(move |&family| (kind, family))).collect();
    let mut raced: Vec<(usize, FrequencyFamily, Elimination)> = pairs
        .into_par_iter()
        .map(|(kind, family)| {
            let (_, prepared, screened) = &scanned[kind];
            let search = Elimination::new(screened, family, data.recipe.k, (data.recipe.seed, 0));
            (kind, family, search.down_to(&prepared.rows, RACED_SIZE))
        })
        .collect();
    let searches = raced.iter().map(|(kind, family, search)| KernelSearch {
        inputs: scanned[*kind].0,
        family: *family,
        inner: search.inner(),
    });
    let searches: Vec<KernelSearch> = searches.collect();
    raced.sort_by(|one, other| one.2.inner().total_cmp(&other.2.inner()));
    raced.truncate(FINALISTS);
    let finished = |(kind, family, search): (usize, FrequencyFamily, Elimination)| {
        (kind, family, search.down_to(&scanned[kind].1.rows, 1))
    };
    let finished: Vec<_> = raced.into_par_iter().map(finished).collect();
    let best = finished.into_iter().min_by(|one, other| one.2.inner().total_cmp(&other.2.inner()));
    let (kind, family, Elimination { steps, .. }) = best.expect("there is at least one search");
    let (inputs, prepared, screened) = scanned.into_iter().nth(kind).expect("it was scanned");
    (searches, Search { plan: plan(inputs, family), prepared, screened, steps })
}

/// The sizes that the model file keeps, without rows: the chosen one, the best one, and those below; small ones if a
/// constant is chosen.
fn final_fits(
    data: &TrainingData,
    sample: &Sample,
    search: &Search,
    choice: &Choice,
    used: Option<usize>,
) -> Vec<Option<FinalFit>> {
    let count = number_of_features(params_of(data).n_fourier, sample.weights.len());
    let small = || search.steps.iter().position(|step| step.variables.len() <= KEPT_OF_NOTHING).unwrap_or(0);
    let first = used.map_or_else(small, |used| used.min(choice.best));
    let fit = |(place, step): (usize, &Step)| {
        let is_drawn = Some(place) == used || place == choice.best;
        let features = is_drawn.then_some(count);
        (place >= first).then(|| FinalFit::new(step, sample.codes.ncols(), search.plan, features))
    };
    search.steps.iter().enumerate().map(fit).collect()
}

/// One pass over all rows.
fn add_all_rows(
    data: &TrainingData,
    rows: &mut BufferedRows,
    sample: &Sample,
    prepared: &Prepared,
    hashes: &[u64],
    finals: &mut [Option<FinalFit>],
    threads: &Threads,
) -> Result<(), TrainError> {
    let mut place = vec![u32::MAX; hashes.len()];
    sample.numbers.iter().zip(0..).for_each(|(&number, at)| place[number] = at);
    // The columns that some size uses, and their places by feature.
    let used: BTreeSet<usize> = finals.iter().flatten().flat_map(|one| one.variables.clone()).collect();
    let used: Vec<usize> = used.into_iter().collect();
    let mut columns = vec![u32::MAX; data.vocabulary.span()];
    used.iter().zip(0..).for_each(|(&column, at)| columns[sample.ids[column] as usize] = at);
    let maps: Vec<&InputMap> = used.iter().map(|&column| &prepared.maps[column]).collect();
    let zeros: Vec<f64> = maps.iter().map(|map| map.apply(0.0)).collect();
    // Rows wait until enough of a block are there; blocks of the sample and of the other rows are apart.
    let mut waiting: Vec<Vec<(Vec<f64>, f64, f64)>> = vec![Vec::new(); 2 * BLOCKS];
    for chunk in rows.store.chunks(0) {
        let chunk = chunk?;
        for (number, example) in chunk.numbers().zip(chunk.examples()) {
            let mut inputs = zeros.clone();
            for (id, value) in example.row.iter() {
                let column = columns[id as usize] as usize;
                if let Some(map) = maps.get(column) {
                    inputs[column] = map.apply(value);
                }
            }
            let slot = match place[number] {
                u32::MAX => BLOCKS + fold_of_hash(hashes[number], BLOCKS as u32) as usize,
                at => prepared.rows.blocks[at as usize],
            };
            waiting[slot].push((inputs, example.target, example.weight));
            if waiting[slot].len() == CHUNK {
                let full = std::mem::take(&mut waiting[slot]);
                add_rows(data, prepared, finals, (slot, &used), &full, threads);
            }
        }
    }
    for (slot, rest) in waiting.iter().enumerate().filter(|(_, rest)| !rest.is_empty()) {
        add_rows(data, prepared, finals, (slot, &used), rest, threads);
    }
    Ok(())
}

fn add_rows(
    data: &TrainingData,
    prepared: &Prepared,
    finals: &mut [Option<FinalFit>],
    (slot, used): (usize, &[usize]),
    rows: &[(Vec<f64>, f64, f64)],
    threads: &Threads,
) {
    let inputs = Mat::from_fn(rows.len(), used.len(), |row, column| rows[row].0[column]);
    let targets = Mat::from_fn(rows.len(), prepared.units.len(), |row, output| {
        (data.targets.coding(output).code(rows[row].1) - prepared.units[output].0) / prepared.units[output].1
    });
    let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
    threads.install(|| {
        finals.par_iter_mut().flatten().for_each(|one| {
            one.add(slot % BLOCKS, (used, inputs.as_ref()), targets.as_ref(), &weights, slot < BLOCKS);
        });
    });
}

#[allow(clippy::too_many_arguments, reason = "it puts together what the training found")]
fn build(
    data: &TrainingData,
    sample: &Sample,
    search: &Search,
    searches: Vec<KernelSearch>,
    held_out: &HeldOut,
    choice: &Choice,
    used: Option<usize>,
    finals: &[Option<FinalFit>],
) -> KernelModel {
    let loss_unit = data.targets.is_numbers().then(|| data.targets.loss_unit());
    let (middle, unit) = data.targets.centre_and_spread();
    let calibrate = |scores: &Mat<f64>| match loss_unit {
        Some(_) => vec![Calibration { slope: unit, shift: middle }],
        None => calibrations(sample, scores),
    };
    let fitted: Vec<Option<FittedSize>> = finals
        .par_iter()
        .enumerate()
        .map(|(place, one)| {
            let share = |column: usize| {
                let count = held_out.selected.iter().filter(|fold| fold[place].contains(&column)).count();
                count as f64 / FOLDS as f64
            };
            Some(one.as_ref()?.finish(sample, &search.prepared, &calibrate(&held_out.sizes[place]), share))
        })
        .collect();
    let mut columns: Vec<usize> = finals.iter().flatten().flat_map(|one| one.variables.clone()).collect();
    columns.sort_unstable();
    columns.dedup();
    let name = |column: usize| data.vocabulary.name(sample.ids[column] as FeatureId);
    let variable = |&column: &usize| KernelVariable { name: name(column), map: search.prepared.maps[column].clone() };
    let all: Vec<usize> = (0..sample.weights.len()).collect();
    let constant = match loss_unit {
        Some(_) => vec![middle + unit * sample.units(&all)[0].0],
        None => class_odds(sample),
    };
    let size = |(place, one): (usize, Option<FittedSize>)| {
        let score = score(sample, &held_out.sizes[place], loss_unit);
        let size = search.steps[place].variables.len();
        let Some(FittedSize { columns: own, effects, interactions, function }) = one else {
            return KernelSize { size, score, variables: Vec::new(), interactions: Vec::new(), function: None };
        };
        let at = |place: usize| columns.binary_search(&own[place]).expect("it is kept");
        KernelSize {
            size,
            score,
            variables: effects.into_iter().map(|one| KernelEffect { variable: at(one.variable), ..one }).collect(),
            interactions: interactions
                .into_iter()
                .map(|one| KernelInteraction { variables: one.variables.map(at), ..one })
                .collect(),
            function: Some(function),
        }
    };
    KernelModel {
        inputs: search.plan.inputs,
        family: search.plan.family,
        chosen: used,
        best: choice.best,
        is_better_than_constant: choice.chosen.is_some(),
        is_linear_as_good: choice.is_linear_as_good,
        constant,
        constant_score: score(sample, &held_out.constant, loss_unit),
        linear_score: score(sample, &held_out.linear, loss_unit),
        linear_size: held_out.linear_size,
        variables: columns.iter().map(variable).collect(),
        sizes: fitted.into_iter().enumerate().map(size).collect(),
        searches,
        scan: KernelScan {
            variables: sample.variables,
            in_pairs: sample.ids.len(),
            triples: (3..=triples::MOST_VARIABLES).contains(&sample.ids.len()),
            triple: search.screened.triple.map(|triple| triple.map(name)),
            rows: sample.weights.len(),
        },
    }
}
