//! Everything before the first row is learned: which features, which classes, how long the stages are, who judges.

use super::sieve::{Occurrences, Sieve};
use super::walk::{FOLDS, Runner, SHADOW_PATHS, Walk};
use super::{Job, TrainError};
use crate::data::FeatureId;
use crate::learn::stabilized::{Coding, Engine, LANES, Owners, Rows, SMALLEST, Settings, ladder};
use crate::loss::{AnyLoss, LossKind};
use crate::random::mix;
use crate::read::Held;
use crate::train::head::Decoder;
use crate::train::task::Kind;

/// Rows that judge a rung, at most: the error of a model is then known to about a third of a percent.
const JUDGES: u64 = 1 << 14;
/// Entries of the rows that weights are fitted by, at most: what is held in memory of them.
const SAMPLE_ENTRIES: u64 = 1 << 21;
/// L₀: rows visited in a stage, at least.
const SHORTEST: u64 = 800;
/// Rows visited in a stage need not be more than this...
const LONG: u64 = 40_000;
/// ...unless all stages together would see the data less often than this.
const PASSES: u64 = 5;
/// Classes are weighed by their size to this power: see [`crate::learn::stabilized`].
const BALANCE: f64 = 0.25;
/// A feature of fewer rows says nothing of others.
const FEWEST_ROWS: u32 = 2;
/// Nor are features left out that are in so many.
const ENOUGH_ROWS: u32 = 255;
/// Of more features than this, those of the fewest rows are left out: they could not pass the first cut.
const MOST_FEATURES: usize = 1 << 18;

/// What a first pass over the rows tells.
struct Survey {
    /// The weight of each class.
    classes: Vec<f64>,
    /// The mean absolute value of each feature, scaled.
    sizes: Vec<f64>,
    /// In how many rows each feature is.
    rows: Vec<u32>,
}

/// A walk ready to begin.
pub(super) fn prepare(job: &mut Job<'_>, held: &mut Held) -> Result<Walk, TrainError> {
    let mut sieve = Sieve::new(&job.dictionary, &job.scale, job.recipe);
    let everything: Vec<FeatureId> = job.dictionary.ids().filter(|&id| !sieve.is_key(id)).collect();
    sieve.set_active(&everything);
    let survey = survey(job, held, &mut sieve, &everything)?;
    let active = candidates(&everything, &survey, job.recipe.k);
    let codings = codings(job, &survey.classes);
    let entries = survey.rows.iter().map(|&rows| u64::from(rows)).sum();
    sieve.set_survey(survey.sizes, survey.rows);
    let loss = path_loss(job);
    let settings =
        Settings { paths: paths(job, codings.len()), intercept: job.recipe.intercept, ..Settings::default() };
    job.check_memory(active.len(), codings.len() * (settings.paths.div_ceil(LANES) + FOLDS as usize))?;
    let runner = |paths, owners, spared| {
        let engine = Engine::new(Settings { paths, ..settings }, loss, codings.clone(), active.clone(), owners);
        Runner::new(engine, sieve.clone(), spared)
    };
    let sizes = ladder(active.len(), job.recipe.k.unwrap_or(SMALLEST));
    let threads = rayon::ThreadPoolBuilder::new().num_threads(job.options.read.threads.max(1));
    let mut walk = Walk {
        main: runner(settings.paths, Owners::new(settings.share), None),
        shadows: (0..FOLDS)
            .map(|fold| runner(SHADOW_PATHS, Owners::sparing(settings.share, fold, FOLDS), Some(fold)))
            .collect(),
        loss,
        lengths: lengths(job.rows, sizes.len(), job.recipe.passes),
        sizes,
        codings: codings.clone(),
        rungs: Vec::new(),
        done: 0,
        threads: threads.build().expect("threads can be made"),
        most_bytes: 0,
        sample: Rows::default(),
        identities: Vec::new(),
        scaled: Vec::new(),
    };
    look(job, held, &mut walk, entries)?;
    Ok(walk)
}

fn survey(
    job: &mut Job<'_>,
    held: &mut Held,
    sieve: &mut Sieve,
    everything: &[FeatureId],
) -> Result<Survey, TrainError> {
    let (texts, span) = (job.texts.clone(), job.dictionary.span());
    let mut decoder = Decoder::new(&texts);
    let mut survey = Survey { classes: Vec::new(), sizes: vec![0.0; span], rows: vec![0; span] };
    let share = 1.0 / job.rows as f64;
    let mut rows = Rows::default();
    held.pass(0, |group| {
        for example in group.examples() {
            rows.clear();
            sieve.strain(example, 0, &mut rows);
            for (position, value) in rows.batch.row(0).iter() {
                survey.sizes[everything[position as usize] as usize] += value.abs() * share;
            }
            for &id in example.row.ids {
                survey.rows[id as usize] = survey.rows[id as usize].saturating_add(1);
            }
            let target = decoder.target(example.target, &mut job.targets)?;
            if !job.targets.is_numbers() {
                survey.classes.resize(survey.classes.len().max(target as usize + 1), 0.0);
                survey.classes[target as usize] += example.weight;
            }
        }
        Ok::<bool, TrainError>(true)
    })?;
    Ok(survey)
}

/// The features that enter: those of more than one row, or of more still where they are very many; all of them if so
/// many are asked for.
fn candidates(everything: &[FeatureId], survey: &Survey, k: Option<usize>) -> Vec<FeatureId> {
    let of_rows = |least: u32| everything.iter().copied().filter(move |&id| survey.rows[id as usize] >= least);
    let most = MOST_FEATURES.max(2 * k.unwrap_or(1));
    let least = (FEWEST_ROWS..ENOUGH_ROWS).find(|&least| of_rows(least).count() <= most).unwrap_or(ENOUGH_ROWS);
    let candidates: Vec<FeatureId> = of_rows(least).collect();
    if candidates.len() < k.unwrap_or(1) { everything.to_vec() } else { candidates }
}

/// How targets are coded for each output, classes weighed against each other.
fn codings(job: &Job<'_>, classes: &[f64]) -> Vec<Coding> {
    let Kind::Classes { classes: names, single, .. } = &job.targets.kind else {
        return vec![Coding { class: None, class_weights: [1.0; 2] }];
    };
    let total: f64 = classes.iter().sum();
    let coding = |class: usize| {
        let share = classes.get(class).copied().unwrap_or(0.0) / total.max(f64::MIN_POSITIVE);
        // A class without rows weighs nothing, whatever its weight.
        let weight = |share: f64| if share > 0.0 { (0.5 / share).powf(BALANCE) } else { 1.0 };
        Coding { class: Some(class as f64), class_weights: [weight(1.0 - share), weight(share)] }
    };
    if *single { vec![coding(1)] } else { (0..names.len()).map(coding).collect() }
}

/// What drives the paths: for classes the hinge, since rows that are right must stop speaking; the calibration makes
/// log-odds of it.
fn path_loss(job: &Job<'_>) -> AnyLoss {
    match (job.targets.is_numbers(), job.targets.loss) {
        (false, LossKind::Logistic) => LossKind::Hinge.build(1.0),
        _ => job.targets.built,
    }
}

/// Paths of each output: many classes share the work. A training that goes on keeps its number.
fn paths(job: &Job<'_>, outputs: usize) -> usize {
    if let Some(paths) = job.paths_before {
        return paths;
    }
    match (super::params_of(job.recipe).n_paths, outputs) {
        (Some(paths), _) => paths as usize,
        (None, 1 | 2) => 32,
        (None, 3..=5) => 16,
        (None, _) => 8,
    }
}

/// Rows visited in each stage. The first is twice as long: it starts from nothing.
fn lengths(rows: u64, stages: usize, passes: Option<u32>) -> Vec<u64> {
    let stages = stages as u64;
    let usual = rows.min(LONG).max(PASSES * rows / (stages + 1)).max(SHORTEST);
    let each = passes.map_or(usual, |passes| (rows * u64::from(passes)).div_ceil(stages + 1)).max(1);
    (0..stages).map(|stage| if stage == 0 { 2 * each } else { each }).collect()
}

/// Tells what each row is known by; finds rows to judge by, and rows to fit by: all of them, or samples by identity.
fn look(job: &mut Job<'_>, held: &mut Held, walk: &mut Walk, entries: u64) -> Result<(), TrainError> {
    let (judges, sample) = (share_of(JUDGES, job.rows), share_of(SAMPLE_ENTRIES, entries));
    let texts = job.texts.clone();
    let (mut decoder, mut occurrences) = (Decoder::new(&texts), Occurrences::default());
    walk.identities = vec![0; job.rows as usize];
    held.pass(0, |group| {
        for (number, mut example) in group.numbers().zip(group.examples()) {
            example.target = decoder.target(example.target, &mut job.targets)?;
            let identity = occurrences.identity(&walk.main.sieve, example);
            walk.identities[number] = identity;
            if mix(identity ^ 1) <= judges {
                walk.add_judge(example, identity);
            }
            if mix(identity ^ 2) <= sample {
                walk.main.sieve.scale(example, identity, &mut walk.sample);
            }
        }
        Ok::<bool, TrainError>(true)
    })
}

/// The hash up to which so many of all are taken: every hash if that is all of them.
pub(super) fn share_of(most: u64, all: u64) -> u64 {
    (most as f64 / all.max(1) as f64 * u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_data_are_seen_often_and_large_data_a_few_times() {
        assert_eq!(lengths(300, 3, None), [1600, 800, 800], "not shorter than L₀");
        assert_eq!(lengths(10_000, 3, None), [25_000, 12_500, 12_500]);
        assert_eq!(lengths(12_000, 9, None)[1], 12_000, "one pass a stage");
        let large = lengths(1_000_000, 19, None);
        assert_eq!((large.len(), large.iter().sum::<u64>()), (19, 5_000_000));
        assert_eq!(lengths(1_000, 3, Some(1)), [500, 250, 250], "all stages in one pass");
    }
}
