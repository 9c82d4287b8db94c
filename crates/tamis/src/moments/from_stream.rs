//! Computes moments from a stream of rows: decides the task, assigns columns and assigns each row to a fold.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::columns::ColumnSpace;
use super::screening::Screen;
use super::{Accumulator, Column, Comoments, Moments, MomentsError, Products, RowIdentity};
use crate::data::{
    Batch, FeatureId, FeatureKey, Label, LabelStats, TargetEncoder, TargetError, TargetKind, TargetOptions, TaskKind,
    Vocabulary, fold_of, fold_of_hash,
};
use crate::io::{Block, ReadError, ReadOptions, RowStream, Source};
use crate::loss::LossKind;
use crate::param::{Message, ParamName, names};
use crate::threads::Threads;
use crate::trainer::Observer;

/// The task is decided from the labels of this many rows, as in a training of one pass.
const LABEL_ROWS: u64 = 4096;
/// Numeric targets are not standardised: the moments are those of the labels.
pub(super) const AS_THEY_ARE: TargetOptions = TargetOptions { loss: None, shape: 1.0, standardize: false };
/// The largest number of folds.
const MOST_FOLDS: usize = 1000;

/// Options of [`collect`].
#[derive(Clone, Debug, Default)]
pub struct CollectOptions {
    /// The data.
    pub sources: Vec<Source>,
    /// How to read it.
    pub read: ReadOptions,
    /// What the labels are.
    pub task: TaskKind,
    /// Further target columns, which are not used as features.
    pub targets: Vec<String>,
    /// Folds for cross-validation: a row belongs to the fold of its number by [`fold_of`]. 0 and 1 mean none.
    pub folds: usize,
    /// Whether the fold of a row follows from its features and not from its number, so that it does not depend on the order of
    /// the rows and on the parts they come in. Only [`IncrementalMoments`](super::IncrementalMoments) looks at it.
    pub folds_by_content: bool,
    /// A: the smallest weight of a new row in the averages; with 0 all rows have the same weight.
    pub decay: f64,
    /// Products of features to add as columns.
    pub products: Products,
    /// Keeps only this many features, those most correlated with the target; takes one more pass.
    pub screen: Option<usize>,
    /// Keeps only these features; the moments are then marked as screened.
    pub only: Option<Vec<String>>,
    /// Bytes the moments may take.
    pub memory: u64,
    /// Set from outside to stop the work.
    pub stop: Arc<AtomicBool>,
}

impl CollectOptions {
    pub(super) fn check(&self) -> Result<(), MomentsError> {
        let clash = |text, params: &[ParamName]| Err(MomentsError::Choice(Message::new(text, params.iter().copied())));
        if !(0.0..1.0).contains(&self.decay) {
            return clash(
                "{} must be at least 0 and below 1: the share of the newest row in the averages",
                &[names::DECAY],
            );
        }
        if self.folds > MOST_FOLDS {
            return clash("{} must be at most 1000", &[names::MOMENTS_FOLDS]);
        }
        if self.decay > 0.0 && self.folds > 1 {
            return clash(
                "{} and {} are exclusive: folds of a stream that forgets are not alike",
                &[names::DECAY, names::MOMENTS_FOLDS],
            );
        }
        if self.screen.is_some() && self.sources.iter().any(|source| source.path.is_none()) {
            return clash("{} reads the data twice, and standard input can be read once: use a file", &[names::SCREEN]);
        }
        if self.screen == Some(0) {
            return clash("{} must be at least 1", &[names::SCREEN]);
        }
        Ok(())
    }

    fn fold_count(&self) -> usize {
        self.folds.max(1)
    }

    /// The largest number of columns that fits in memory: the moments of all folds, and the buffered rows twice.
    fn most_columns(&self) -> u64 {
        let needed = |size: u64| self.needed(size);
        let (mut fits, mut not) = (0_u64, u64::from(u32::MAX) - 1);
        while not - fits > 1 {
            let middle = fits + (not - fits) / 2;
            if needed(middle) <= self.memory { fits = middle } else { not = middle }
        }
        fits
    }

    fn needed(&self, size: u64) -> u64 {
        let buffers = size.saturating_mul(2 * 8 * super::comoments::CHUNK as u64);
        Accumulator::bytes_for(size).saturating_add(buffers).saturating_mul(self.fold_count() as u64)
    }
}

/// Computes the moments of a stream in one pass (two with screening).
pub fn collect(options: &CollectOptions, observer: &mut dyn Observer) -> Result<Moments, MomentsError> {
    options.check()?;
    let mut vocabulary = Vocabulary::new(None);
    let mut kept = options.only.as_ref().map(|names| marks(names, &mut vocabulary));
    if let Some(count) = options.screen {
        kept = Some(screen(options, count, &mut vocabulary, observer)?);
    }
    let mut pass = Pass::open(options, observer)?;
    let mut collector = Collector::new(pass.numeric(), options, &mut vocabulary);
    let screened = kept.is_some();
    if let Some(kept) = kept {
        collector.space.keep_only(kept);
    }
    let threads = Threads::new(options.read.threads.max(1));
    pass.run(&mut vocabulary, |batch, targets, numeric| {
        threads.install(|| collector.take(batch, targets, numeric, None))
    })?;
    if collector.is_full() {
        return Err(too_wide(options, &vocabulary));
    }
    if let Some(id) = collector.never_met() {
        return Err(no_column(&vocabulary, id));
    }
    let table = pass.stream.columns();
    pass.observer.columns(pass.stream.notes());
    let label = table.as_ref().and_then(|table| table.target.clone()).unwrap_or_else(|| "label".into());
    let classes = pass.targets.classes();
    let (columns, folds) = threads.install(|| collector.finish(&vocabulary, &label, classes));
    let decay = (options.decay > 0.0).then_some(options.decay);
    let (skipped, identity) = (pass.stream.skipped(), pass.identity.finish());
    let moments = Moments { columns, table, decay, screened, skipped, folds, identity };
    moments.check_finite()?;
    Ok(moments)
}

/// For each feature id, whether its name is in the list.
fn marks(names: &[String], vocabulary: &mut Vocabulary) -> Vec<bool> {
    for name in names {
        vocabulary.intern(FeatureKey::from_name(name));
    }
    vec![true; vocabulary.span()]
}

/// The first pass of screening: finds the features most correlated with the target.
fn screen(
    options: &CollectOptions,
    count: usize,
    vocabulary: &mut Vocabulary,
    observer: &mut dyn Observer,
) -> Result<Vec<bool>, MomentsError> {
    let mut screen = Screen::default();
    let mut pass = Pass::open(options, observer)?;
    pass.run(vocabulary, |batch, targets, numeric| {
        for (example, &target) in batch.examples().zip(targets) {
            screen.observe(example.row, target, numeric, example.weight);
        }
    })?;
    let targets: Vec<FeatureId> =
        options.targets.iter().filter_map(|name| vocabulary.get(FeatureKey::from_name(name))).collect();
    let met = screen.features();
    observer.note(&format!("{} of {met} features kept by their correlation with the target", count.min(met)));
    Ok(screen.best(count, &targets))
}

/// The error about the memory limit. The rest of the data was read to count all columns.
pub(super) fn too_wide(options: &CollectOptions, vocabulary: &Vocabulary) -> MomentsError {
    let features = vocabulary.len() as u64;
    let pairs = if options.products == Products::All { features * (features + 1) / 2 } else { 0 };
    let columns = features + pairs + 1;
    let fits = options.most_columns();
    // With all pairs, f features make f + f(f + 1)/2 columns.
    let fits =
        if pairs > 0 { (((2.25 + 2.0 * fits as f64).sqrt() - 1.5) as u64).max(1) } else { fits.saturating_sub(1) };
    let (folds, limit) = (options.fold_count(), options.memory);
    MomentsError::TooWide { columns, folds, needed: options.needed(columns), limit, fits }
}

pub(super) fn no_column(vocabulary: &Vocabulary, id: FeatureId) -> MomentsError {
    let others = vocabulary.ids().filter(|&other| other != id).take(8).map(|id| format!("{:?}", vocabulary.name(id)));
    MomentsError::NoColumn { name: vocabulary.name(id), near: others.collect::<Vec<_>>().join(", ") }
}

/// Adds rows to the moments of their folds.
#[derive(Clone)]
pub(super) struct Collector {
    space: ColumnSpace,
    gatherers: Vec<Accumulator>,
    /// The largest number of columns that fits in memory.
    most: usize,
    entries: Vec<(u32, f64)>,
    rows: u64,
}

impl Collector {
    pub(super) fn new(numeric: bool, options: &CollectOptions, vocabulary: &mut Vocabulary) -> Self {
        Collector {
            space: ColumnSpace::new(numeric, &options.targets, &options.products, vocabulary),
            gatherers: vec![Accumulator::new(options.decay); options.fold_count()],
            most: options.most_columns() as usize,
            entries: Vec::new(),
            rows: 0,
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// A named feature that does not occur in the data.
    pub(super) fn never_met(&self) -> Option<FeatureId> {
        self.space.never_met()
    }

    /// The named columns, and the moments of each fold.
    pub(super) fn finish(
        self,
        vocabulary: &Vocabulary,
        label: &str,
        classes: &[Label],
    ) -> (Vec<Column>, Vec<Comoments>) {
        let columns = self.space.named(vocabulary, label, classes);
        let folds = self.gatherers.into_iter().map(|gatherer| gatherer.finish(columns.len())).collect();
        (columns, folds)
    }

    /// Once there are too many columns, rows are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.space.len() > self.most
    }

    /// Adds rows. `hashes` decide their folds; without them, their numbers do.
    pub(super) fn take(&mut self, batch: &Batch, targets: &[f64], numeric: bool, hashes: Option<&[u64]>) {
        let folds = self.gatherers.len() as u32;
        for (at, (example, &target)) in batch.examples().zip(targets).enumerate() {
            if self.is_full() {
                self.gatherers = Vec::new();
                return;
            }
            self.space.entries(example.row, target, numeric, &mut self.entries);
            if !self.is_full() {
                let fold =
                    hashes.map_or_else(|| fold_of(self.rows, folds, 0), |hashes| fold_of_hash(hashes[at], folds));
                self.gatherers[fold as usize].push(self.entries.iter().copied(), example.weight, self.space.len());
                self.rows += 1;
            }
        }
    }
}

/// One pass over the data.
struct Pass<'a> {
    options: &'a CollectOptions,
    observer: &'a mut dyn Observer,
    stream: RowStream,
    targets: TargetEncoder,
    /// Blocks that were read to decide the task.
    head: VecDeque<Block>,
    identity: RowIdentity,
}

impl<'a> Pass<'a> {
    /// Opens the data and decides the task from the first rows.
    fn open(options: &'a CollectOptions, observer: &'a mut dyn Observer) -> Result<Self, MomentsError> {
        let read = ReadOptions { stop: options.stop.clone(), ..options.read.clone() };
        let mut stream = RowStream::open(options.sources.clone(), read);
        let (mut label_stats, mut head, mut rows, mut first) = (LabelStats::default(), VecDeque::new(), 0, None);
        'judging: while let Some(block) = stream.next_block()? {
            for (row, label) in block.rows.labels.iter().enumerate() {
                if rows >= LABEL_ROWS && label_stats.has_variety() {
                    head.push_back(block);
                    break 'judging;
                }
                let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
                label_stats.observe(label, place)?;
                first.get_or_insert_with(|| label.clone());
                rows += 1;
            }
            head.push_back(block);
        }
        let Some(first) = first else {
            let files: Vec<&str> = options.sources.iter().map(|source| source.name.as_str()).collect();
            return Err(ReadError::NoRows { files: files.join(", ") }.into());
        };
        let targets = decide(&label_stats, options.task, first)?;
        Ok(Pass { options, observer, stream, targets, head, identity: RowIdentity::empty() })
    }

    fn numeric(&self) -> bool {
        self.targets.is_numbers()
    }

    /// Passes all rows on, each with its target.
    fn run(
        &mut self,
        vocabulary: &mut Vocabulary,
        mut see: impl FnMut(&Batch, &[f64], bool),
    ) -> Result<(), MomentsError> {
        let (mut seen, numeric) = (0, self.numeric());
        loop {
            let block = match self.head.pop_front() {
                Some(block) => Some(block),
                None => self.stream.next_block()?,
            };
            let Some(block) = block else { return Ok(()) };
            self.identity.observe(&block.rows);
            let (batch, labels, place) = block.intern(vocabulary)?;
            let targets = labels.iter().enumerate().map(|(row, label)| self.targets.encode(label, || place.of(row)));
            let targets: Vec<f64> = targets.collect::<Result<_, _>>()?;
            see(&batch, &targets, numeric);
            seen += batch.len() as u64;
            self.observer.tick(seen, None, self.stream.bytes_read());
            if self.options.stop.load(Ordering::Relaxed) {
                return Err(MomentsError::Interrupted { rows: seen });
            }
        }
    }
}

/// Decides the task. New classes may occur at any time. A single class is allowed if the user asked for classes, since
/// the moments may be merged with those of other rows.
fn decide(labels: &LabelStats, task: TaskKind, first: Label) -> Result<TargetEncoder, MomentsError> {
    let classes_asked = matches!(task, TaskKind::Binary | TaskKind::Multiclass);
    let mut targets = match labels.decide(&AS_THEY_ARE, task) {
        Err(TargetError::OneClass { .. }) if classes_asked => {
            let kind = TargetKind::Classes { classes: vec![first], single: false, may_grow: true };
            TargetEncoder::new(LossKind::Squared, AS_THEY_ARE.shape, kind)
        }
        decided => decided?,
    };
    if let TargetKind::Classes { single, .. } = &mut targets.kind {
        *single &= task == TaskKind::Binary;
    }
    Ok(targets)
}
