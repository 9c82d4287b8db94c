//! Set-up before the first stage: candidate features, classes, lengths of stages, held-out rows.

use super::cross_fit::CrossFit;
use super::ensemble::{Ensemble, Settings};
use super::feature_tests::Nuisance;
use super::folded_ensemble::{FOLD_PATHS, FOLDS, FoldedEnsemble};
use super::params::{check_memory, params_of};
use super::path_block::LANES;
use super::row_transform::{NONE, RowTransform};
use super::sizes::{SMALLEST, size_path};
use super::stage::ClassCoding;
use super::subsamples::{HashedRows, Subsamples};
use crate::data::{Chunk, Example, FeatureId, OutputCoding, TargetEncoder, TargetKind, scaled};
use crate::loss::{AnyLoss, LossKind};
use crate::rng::splitmix64;
use crate::trainer::{BufferedRows, RowHasher, Session, TrainError};

/// Held-out rows, at most: the standard error of the error rate is then about a third of a percent.
const MAX_HOLDOUT_ROWS: u64 = 1 << 14;
/// Entries of the rows that weights are refined with, at most: they are kept in memory.
const SAMPLE_ENTRIES: u64 = 1 << 21;
/// L₀: rows visited in a stage, at least.
const MIN_STAGE_ROWS: u64 = 800;
/// A stage need not visit more rows than this...
const MAX_STAGE_ROWS: u64 = 40_000;
/// ...unless all stages together would make fewer passes than this.
const MIN_PASSES: u64 = 5;
/// Classes are weighted by their size to the power of −[`BALANCE`]: see [`crate::stabilized`].
const BALANCE: f64 = 0.25;
/// Features of fewer rows are left out.
const MIN_ROWS: u32 = 2;
/// Features of at least this many rows are never left out.
const ENOUGH_ROWS: u32 = 255;
/// Above this number of features, those of the fewest rows are left out: they would not survive the first stage.
const MAX_FEATURES: usize = 1 << 18;

/// Statistics of a first pass over the rows.
struct Survey {
    /// The weight of each class.
    classes: Vec<f64>,
    /// The mean absolute value of each feature, scaled.
    sizes: Vec<f64>,
    /// The number of rows of each feature.
    rows: Vec<u32>,
    /// The hash of the content of each row.
    contents: Vec<u64>,
    /// Rows that are held out if their hash is that of their content, scaled.
    picked: HashedRows,
}

/// Ensembles that are ready to begin. `paths` is the number of paths of the training that is continued.
pub(super) fn set_up(
    session: &mut Session<'_>,
    rows: &mut BufferedRows,
    paths: Option<usize>,
) -> Result<CrossFit, TrainError> {
    let data = &*session.data;
    let mut transform = RowTransform::new(&data.vocabulary, &data.scale, &data.recipe);
    let mut hasher = RowHasher::new(&data.vocabulary, data.recipe.row_id());
    let everything: Vec<FeatureId> = data.vocabulary.ids().filter(|&id| !hasher.is_row_id(id)).collect();
    transform.set_active(&everything);
    let survey = survey(session, rows, &transform, &mut hasher, &everything)?;
    let active = match &data.narrowed {
        Some(narrowed) => narrowed.ensembles.clone(),
        None => vec![(candidates(&everything, &survey, data.recipe.k), 0.0); 1 + FOLDS as usize],
    };
    let codings = codings(&data.targets, &survey.classes);
    transform.set_survey(survey.sizes, survey.rows);
    let loss = path_loss(&data.targets);
    let paths = paths.unwrap_or_else(|| number_of_paths(params_of(&data.recipe).n_paths, codings.len()));
    let settings = Settings { paths, intercept: data.recipe.intercept, ..Settings::default() };
    let features = active[0].0.len();
    check_memory(session, features, codings.len() * (paths.div_ceil(LANES) + FOLDS as usize))?;
    transform.set_active(&active[0].0);
    let member = |paths, subsamples, excluded: Option<u32>| {
        let (own, gravity) = active[excluded.map_or(0, |fold| 1 + fold as usize)].clone();
        let mut transform = transform.clone();
        if own != active[0].0 {
            transform.set_active(&own);
        }
        let ensemble = Ensemble::new(Settings { paths, ..settings }, loss, codings.clone(), own, subsamples);
        FoldedEnsemble::new(ensemble.with_gravity(gravity), transform, excluded)
    };
    let sizes = size_path(features, data.recipe.k.unwrap_or(SMALLEST));
    let fold = |fold| member(FOLD_PATHS, Subsamples::excluding_fold(settings.share, fold, FOLDS), Some(fold));
    let mut ensembles = CrossFit {
        main: member(paths, Subsamples::new(settings.share), None),
        folds: (0..FOLDS).map(fold).collect(),
        loss,
        lengths: stage_lengths(rows.rows, sizes.len(), data.recipe.passes),
        sizes,
        codings: codings.clone(),
        steps: Vec::new(),
        between: Vec::new(),
        nuisance: Nuisance::default(),
        entered: data.narrowed.as_ref().map_or(features, |narrowed| narrowed.entered),
        done: 0,
        threads: session.threads.clone(),
        max_bytes: 0,
        sample: None,
        sample_limit: hash_limit(SAMPLE_ENTRIES, rows.store.entries()),
        row_hashes: survey.contents,
        in_use: None,
        member_rows: None,
    };
    let is_keyed = data.narrowed.as_ref().is_some_and(|narrowed| narrowed.keyed);
    hash_and_hold_out(rows, &mut hasher, &mut ensembles, survey.picked, is_keyed)?;
    Ok(ensembles)
}

fn survey(
    session: &Session<'_>,
    rows: &mut BufferedRows,
    transform: &RowTransform,
    hasher: &mut RowHasher,
    everything: &[FeatureId],
) -> Result<Survey, TrainError> {
    let data = &*session.data;
    let contents = vec![0; rows.rows as usize];
    let mut columns = ColumnSurveys::new(transform, everything, rows.rows);
    let mut survey =
        Survey { classes: Vec::new(), sizes: Vec::new(), rows: Vec::new(), contents, picked: HashedRows::default() };
    let identities = rows.store.tags().map(<[u64]>::to_vec);
    let limit = hash_limit(MAX_HOLDOUT_ROWS, rows.rows);
    for chunk in rows.store.chunks(0) {
        let chunk = chunk?;
        let hash = || -> Vec<u64> {
            let content = |(number, example): (usize, Example<'_>)| match &identities {
                Some(identities) => hasher.identified(identities[number]),
                None => hasher.content(example.row),
            };
            chunk.numbers().zip(chunk.examples()).map(content).collect()
        };
        let (hashes, ()) = session.threads.install(|| rayon::join(hash, || columns.add(&chunk, transform)));
        for ((number, example), content) in chunk.numbers().zip(chunk.examples()).zip(hashes) {
            survey.contents[number] = content;
            if is_held_out(content, limit) {
                transform.scale(example, content, &mut survey.picked);
            }
            if !data.targets.is_numbers() {
                let class = example.target as usize;
                survey.classes.resize(survey.classes.len().max(class + 1), 0.0);
                survey.classes[class] += example.weight;
            }
        }
    }
    (survey.sizes, survey.rows) = columns.finish(everything);
    Ok(survey)
}

/// The mean absolute value of each feature and the number of its rows, while rows are added.
struct ColumnSurveys {
    columns: Vec<ColumnSurvey>,
    /// Centred columns, and their values in a row that does not contain them.
    centred: Vec<(FeatureId, f64)>,
    /// Their values in a row.
    values: Vec<f64>,
    share: f64,
}

/// What is known of a column.
#[derive(Clone)]
struct ColumnSurvey {
    divisor: f64,
    /// Σ|x|/n.
    size: f64,
    rows: u32,
    /// Its number among the centred columns, or [`NONE`].
    centred: u32,
}

impl ColumnSurveys {
    /// The columns of the active features are centred as the transform says.
    fn new(transform: &RowTransform, active: &[FeatureId], rows: u64) -> Self {
        let column = |id| ColumnSurvey { divisor: transform.column(id).0, size: 0.0, rows: 0, centred: NONE };
        let mut columns: Vec<ColumnSurvey> = (0..transform.span() as FeatureId).map(column).collect();
        let centred: Vec<(FeatureId, f64)> =
            transform.centred().iter().map(|&(position, value)| (active[position as usize], value)).collect();
        (0..).zip(&centred).for_each(|(number, &(id, _))| columns[id as usize].centred = number);
        ColumnSurveys { columns, centred, values: Vec::new(), share: 1.0 / rows as f64 }
    }

    fn add(&mut self, chunk: &Chunk, transform: &RowTransform) {
        let ColumnSurveys { columns, centred, values, share } = self;
        for example in chunk.examples() {
            let factor = transform.factor(example.row);
            values.clear();
            values.extend(centred.iter().map(|&(_, value)| value));
            for (id, value) in example.row.iter() {
                let column = &mut columns[id as usize];
                let value = scaled(value, factor, column.divisor);
                column.rows = column.rows.saturating_add(1);
                match column.centred {
                    NONE => column.size += value.abs() * *share,
                    number => values[number as usize] += value,
                }
            }
            for (&(id, _), value) in centred.iter().zip(&*values) {
                columns[id as usize].size += value.abs() * *share;
            }
        }
    }

    /// The sizes of the active features, and the numbers of rows of all.
    fn finish(self, active: &[FeatureId]) -> (Vec<f64>, Vec<u32>) {
        let mut sizes = vec![0.0; self.columns.len()];
        active.iter().for_each(|&id| sizes[id as usize] = self.columns[id as usize].size);
        (sizes, self.columns.into_iter().map(|column| column.rows).collect())
    }
}

/// The candidate features: those of at least [`MIN_ROWS`] rows, or of more rows if there are very many features; all
/// features if k is larger than their number.
fn candidates(everything: &[FeatureId], survey: &Survey, k: Option<usize>) -> Vec<FeatureId> {
    let counts: Vec<u32> = everything.iter().map(|&id| survey.rows[id as usize]).collect();
    let least = fewest_rows(&counts, k);
    everything.iter().zip(counts).filter(|(_, rows)| *rows >= least).map(|(&id, _)| id).collect()
}

/// The number of rows that a feature must be in to be a candidate, given the numbers of rows of all features.
pub(crate) fn fewest_rows(counts: &[u32], k: Option<usize>) -> u32 {
    let of_rows = |least: u32| counts.iter().filter(|&&rows| rows >= least).count();
    let most = MAX_FEATURES.max(2 * k.unwrap_or(1));
    let least = (MIN_ROWS..ENOUGH_ROWS).find(|&least| of_rows(least) <= most).unwrap_or(ENOUGH_ROWS);
    if of_rows(least) < k.unwrap_or(1) { 0 } else { least }
}

/// How targets are coded for each output, with class weights.
pub(super) fn codings(targets: &TargetEncoder, classes: &[f64]) -> Vec<ClassCoding> {
    let codes = [-1.0, 1.0];
    let TargetKind::Classes { classes: names, single, .. } = &targets.kind else {
        return vec![ClassCoding { output: OutputCoding { class: None, codes }, class_weights: [1.0; 2] }];
    };
    let total: f64 = classes.iter().sum();
    let coding = |class: usize| {
        let share = classes.get(class).copied().unwrap_or(0.0) / total.max(f64::MIN_POSITIVE);
        // The weight of a class without rows does not matter.
        let weight = |share: f64| if share > 0.0 { (0.5 / share).powf(BALANCE) } else { 1.0 };
        let output = OutputCoding { class: Some(class as f64), codes };
        ClassCoding { output, class_weights: [weight(1.0 - share), weight(share)] }
    };
    if *single { vec![coding(1)] } else { (0..names.len()).map(coding).collect() }
}

/// The loss of the paths: for probabilities of classes the hinge loss, whose slope is zero on rows that are classified with a margin;
/// Platt scaling makes log-odds of its margins.
pub(super) fn path_loss(targets: &TargetEncoder) -> AnyLoss {
    let is_probabilistic = targets.loss.facts().is_probabilistic;
    if is_probabilistic && !targets.is_numbers() { LossKind::Hinge.build(1.0) } else { targets.loss_fn }
}

/// The number of paths of each output: fewer if there are many classes.
fn number_of_paths(given: Option<u32>, outputs: usize) -> usize {
    match (given, outputs) {
        (Some(paths), _) => paths as usize,
        (None, 1 | 2) => 32,
        (None, 3..=5) => 16,
        (None, _) => 8,
    }
}

/// Rows visited in each stage. The first stage is twice as long: it starts from zero.
fn stage_lengths(rows: u64, stages: usize, passes: Option<u32>) -> Vec<u64> {
    let stages = stages as u64;
    let usual = rows.min(MAX_STAGE_ROWS).max(MIN_PASSES * rows / (stages + 1)).max(MIN_STAGE_ROWS);
    let each = passes.map_or(usual, |passes| (rows * u64::from(passes)).div_ceil(stages + 1)).max(1);
    (0..stages).map(|stage| if stage == 0 { 2 * each } else { each }).collect()
}

/// Takes the held-out rows: all rows, or a sample by hash. Where no row has a copy, the hash of a row is that of its content, and the
/// survey has picked these rows; else all rows are hashed and visited again.
fn hash_and_hold_out(
    rows: &mut BufferedRows,
    hasher: &mut RowHasher,
    ensembles: &mut CrossFit,
    picked: HashedRows,
    is_keyed: bool,
) -> Result<(), TrainError> {
    if is_keyed || !hasher.has_copies() {
        picked.iter().for_each(|(example, row_hash)| ensembles.add_holdout_row(example, row_hash));
        return Ok(());
    }
    drop(picked);
    let limit = hash_limit(MAX_HOLDOUT_ROWS, rows.rows);
    let mut scaled = HashedRows::default();
    for chunk in rows.store.chunks(0) {
        let chunk = chunk?;
        for (number, example) in chunk.numbers().zip(chunk.examples()) {
            let row_hash = hasher.row_hash(ensembles.row_hashes[number], example);
            ensembles.row_hashes[number] = row_hash;
            if is_held_out(row_hash, limit) {
                scaled.clear();
                ensembles.main.transform.scale(example, row_hash, &mut scaled);
                ensembles.add_holdout_row(scaled.batch.example(0), row_hash);
            }
        }
    }
    Ok(())
}

fn is_held_out(row_hash: u64, limit: u64) -> bool {
    splitmix64(row_hash ^ 1) <= limit
}

/// The hash limit that selects about `most` of `all` rows; the largest hash if all are selected.
pub(super) fn hash_limit(most: u64, all: u64) -> u64 {
    (most as f64 / all.max(1) as f64 * u64::MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_data_get_many_passes_and_large_data_few() {
        assert_eq!(stage_lengths(300, 3, None), [1600, 800, 800], "not shorter than L₀");
        assert_eq!(stage_lengths(10_000, 3, None), [25_000, 12_500, 12_500]);
        assert_eq!(stage_lengths(12_000, 9, None)[1], 12_000, "one pass a stage");
        let large = stage_lengths(1_000_000, 19, None);
        assert_eq!((large.len(), large.iter().sum::<u64>()), (19, 5_000_000));
        assert_eq!(stage_lengths(1_000, 3, Some(1)), [500, 250, 250], "all stages in one pass");
    }
}
