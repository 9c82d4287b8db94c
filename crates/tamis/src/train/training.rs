//! The driver of all methods: learns rows in passes, returns a model, saves the state.
//!
//! Rows are buffered as the method requires ([`BufferPlan`]): a few thousand of a stream that is learned in one pass,
//! or all rows. The buffered rows decide the task, the scaling and the order. The [`Trainer`] of the method then learns
//! them, in one or several passes; rows that follow are learned as they arrive and not stored.

use std::fmt;

use crate::data::{ColumnScaler, FeatureKey, LockFile, RawRows, RowStoreOptions, TargetEncoder, Vocabulary};
use crate::io::{Block, ReadError};
#[cfg(feature = "moments")]
use crate::kernel::KernelTrainer;
use crate::model::{Model, Predictor, ProductError, Products};
use crate::online::OnlineTrainer;
use crate::param::{Message, names};
use crate::parse::schema::ModelSchema;
use crate::recipe::{Method, Recipe, RecipeError, Signs};
use crate::stabilized::StabilizedTrainer;
use crate::stabilized::published::PublishedTrainer;
use crate::threads::Threads;
use crate::trainer::{
    BufferPlan, BufferedRows, Checkpoint, CheckpointPlan, FitOptions, Observer, Session, TrainError, Trainer,
    TrainingData, class_factors, without_offset,
};
use crate::two_stage::TwoStageTrainer;

/// A training, from its first row to its model and beyond.
pub struct Training {
    pub(super) data: TrainingData,
    pub(super) options: FitOptions,
    pub(super) threads: Threads,
    pub(super) rows: BufferedRows,
    /// Why the task is what it is, once it is decided.
    pub(super) reason: Option<Message>,
    /// The classes, if they were declared before the first row.
    pub(super) declared: Option<TargetEncoder>,
    /// The checkpoint to continue from, until learning begins.
    pub(super) resume: Option<Checkpoint>,
    /// The trainer of the method, once learning has begun.
    pub(super) trainer: Option<Box<dyn Trainer>>,
    /// The products of columns, once the columns are known.
    products: Option<Products>,
    /// The number of other threads that read the rows.
    pub(super) reading_threads: usize,
    /// The number of features for which memory is reserved.
    width: usize,
    pub(super) is_incremental: bool,
    /// Keeps other processes from writing the same checkpoint.
    lock: Option<LockFile>,
}

impl fmt::Debug for Training {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.data.recipe.method.name();
        f.debug_struct("Training").field("method", &method).field("rows", &self.rows()).finish_non_exhaustive()
    }
}

impl Training {
    /// A training from the start.
    pub fn new(recipe: &Recipe, options: &FitOptions) -> Result<Self, TrainError> {
        recipe.check()?;
        if recipe.method.kind() == Method::StabilizedPublished && options.checkpoint.is_some() {
            let (method, param) = (recipe.method.name(), names::CHECKPOINT.into());
            return Err(RecipeError::Unsupported { method, param, reason: "its state is not saved" }.into());
        }
        Self::with_plan(recipe, options, BufferPlan::for_fit(recipe), None).locked()
    }

    /// A training that continues from a checkpoint: with the same rows if it was interrupted, with new rows if it was
    /// complete (warm start).
    pub fn resume(recipe: &Recipe, options: &FitOptions, checkpoint: Checkpoint) -> Result<Self, TrainError> {
        if checkpoint.recipe() != recipe {
            let text = |recipe: &Recipe| serde_json::to_string(recipe).expect("plain data becomes JSON");
            let (was, now) = (text(checkpoint.recipe()), text(recipe));
            return Err(TrainError::OtherRecipe { path: checkpoint.path, was, now });
        }
        let plan = BufferPlan::for_fit(recipe);
        Self::with_plan(recipe, options, plan, Some(checkpoint)).locked()
    }

    /// Two trainings that write the same checkpoint would take turns in destroying each other's state.
    fn locked(mut self) -> Result<Self, TrainError> {
        if let Some(CheckpointPlan { path, .. }) = &self.options.checkpoint {
            let failed = |source| TrainError::CheckpointWrite { path: path.clone(), source };
            self.lock = LockFile::of(path).map_err(failed)?;
            if self.lock.is_none() {
                return Err(TrainError::CheckpointInUse { path: path.clone() });
            }
        }
        Ok(self)
    }

    pub(super) fn with_plan(
        recipe: &Recipe,
        options: &FitOptions,
        plan: BufferPlan,
        resume: Option<Checkpoint>,
    ) -> Self {
        let (vocabulary, scale, rows_before) = match &resume {
            Some(checkpoint) => (checkpoint.vocabulary.clone(), checkpoint.scale(), checkpoint.rows_before()),
            None => (initial_vocabulary(recipe), ColumnScaler::new(recipe.scaling()).centring(recipe.may_centre()), 0),
        };
        let mut data = TrainingData {
            recipe: recipe.clone(),
            vocabulary,
            scale: scale.counting(plan.is_one_pass()),
            targets: TargetEncoder::undecided(&recipe.target_options()),
            columns: None,
            rows_before,
            buffered_rows: 0,
            passes: 1,
            class_factors: Vec::new(),
            weight_unit: resume.as_ref().map_or(1.0, |checkpoint| checkpoint.header.weight_unit),
            fingerprint: (0, 0),
            first_rows: resume.as_ref().map(|saved| saved.complete_trainings().to_vec()).unwrap_or_default(),
            skipped: 0,
            finished: None,
            narrowed: None,
        };
        let order = options.order.filter(|_| recipe.method.info().follows_order).unwrap_or(recipe.seed);
        let store = RowStoreOptions {
            memory: options.memory,
            folder: options.cache_folder.clone(),
            shuffle: plan.shuffle.then_some(order),
            once: plan.is_one_pass(),
        };
        let mut rows = BufferedRows::new(plan, store, &mut data);
        if !options.again {
            rows.refused = data.first_rows.clone();
        }
        let threads = Threads::new(options.read.threads);
        let options = options.clone();
        Training {
            data,
            options,
            threads,
            rows,
            reason: None,
            declared: None,
            resume,
            trainer: None,
            products: None,
            reading_threads: 0,
            width: 0,
            is_incremental: false,
            lock: None,
        }
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.data.recipe
    }

    /// Rows of this training so far.
    pub fn rows(&self) -> u64 {
        if self.trainer.is_some() { self.data.rows_before + self.data.fingerprint.0 } else { self.rows.rows }
    }

    /// Rows learned, all passes counted.
    pub fn rows_learned(&self) -> u64 {
        self.trainer.as_ref().map_or(0, |trainer| trainer.rows_learned())
    }

    /// Bytes of the learner, the names and the scaling.
    pub fn bytes(&self) -> usize {
        let learner = self.trainer.as_ref().map_or(0, |trainer| trainer.bytes());
        learner + self.data.vocabulary.bytes() + self.data.scale.bytes()
    }

    /// Reserves memory for the features of a matrix with so many columns, so that nothing is moved when it grows. What is reserved
    /// and not used takes no memory; the limit is for systems that count it nevertheless.
    pub(super) fn reserve(&mut self, width: usize) {
        const MOST: usize = 1 << 23;
        if width <= MOST {
            self.width = width;
            self.data.vocabulary.reserve(width);
            self.data.scale.reserve(width);
        }
    }

    /// Sets the columns of the input table, if they are not known yet.
    pub fn set_columns(&mut self, columns: impl FnOnce() -> Option<ModelSchema>) {
        if self.data.columns.is_none() {
            self.data.columns = columns();
        }
    }

    /// Takes rows in order: buffers them, or learns them. Rows of weight 0 are left out.
    pub fn push(&mut self, block: Block, bytes_read: u64, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let block = self.transformed(block.without_weightless_rows())?;
        let mut rest = Some(block);
        if self.trainer.is_none() {
            if !self.rows.is_full() {
                let block = rest.take().expect("just given");
                rest = self.rows.take(block, &mut self.data, self.declared.as_mut())?;
            }
            observer.tick(0, None, bytes_read);
            if self.options.is_stopped() {
                return Err(TrainError::Interrupted { rows: 0, saved: None });
            }
            self.session(bytes_read, observer).1.check_memory(0, || None)?;
            if self.rows.is_full() {
                self.begin(bytes_read, observer)?;
            }
        }
        let Some(block) = rest else { return Ok(()) };
        let (trainer, mut session) = self.session(bytes_read, observer);
        trainer.expect("learning has begun").learn_block(&mut session, block)
    }

    /// Rows with products of columns, and without offsets.
    pub(super) fn transformed(&mut self, mut block: Block) -> Result<Block, TrainError> {
        let recipe = &self.data.recipe;
        if let (Some(column), Some(loss)) = (&recipe.offset, recipe.loss) {
            let line = |row: usize| block.first_line + u64::from(block.rows.lines[row]);
            block.rows = without_offset(&block.rows, column, loss, |row| format!("{}:{}", block.file, line(row)))?;
        }
        if let Some(interactions) = &recipe.interactions {
            let place = |source: &ProductError| match source {
                ProductError::TooMany { line, .. } => format!("{}:{}", block.file, block.first_line + u64::from(*line)),
                _ => block.file.to_string(),
            };
            let failed = |source| TrainError::Products { place: place(&source), source };
            if self.products.is_none() {
                let products = Products::new(interactions, self.data.columns.clone());
                products.check().map_err(failed)?;
                self.products = Some(products);
            }
            let products = self.products.as_ref().expect("made above");
            block.rows = products.expand(&block.rows).map_err(failed)?;
        }
        Ok(block)
    }

    /// Ends a training that is to stop while it waits for rows: saves its state if that is wanted.
    pub fn interrupt(&mut self, observer: &mut dyn Observer) -> TrainError {
        let (Some(trainer), mut session) = self.session(0, observer) else {
            return TrainError::Interrupted { rows: 0, saved: None };
        };
        let saved = trainer.flush(&mut session).and_then(|()| session.save(trainer.save(false), false));
        saved.map_or_else(|error| error, |saved| TrainError::Interrupted { rows: trainer.rows_learned(), saved })
    }

    /// Ends the rows and returns the model, which is saved if that is wanted. `source` names the rows in error
    /// messages.
    pub fn finish(&mut self, source: &str, skipped: u64, observer: &mut dyn Observer) -> Result<Model, TrainError> {
        if self.trainer.is_none() {
            self.rows.is_all = true;
            if self.rows.rows == 0 {
                return Err(ReadError::NoRows { files: source.into() }.into());
            }
            self.begin(0, observer)?;
        }
        self.data.skipped = skipped;
        let mut rows = std::mem::replace(&mut self.rows, BufferedRows::empty());
        let (trainer, mut session) = self.session(0, observer);
        let trainer = trainer.expect("learning has begun");
        let model = trainer.finish(&mut session, &mut rows)?;
        if let Some(problem) = model.problem() {
            return Err(TrainError::NoModel { problem });
        }
        if let Some(path) = &session.options.model {
            model.save(path)?;
        }
        // These methods choose and refine their weights at the end, with the rows at hand.
        session.data.finished = (!session.data.recipe.method.info().partial_fit).then(|| model.to_text());
        if session.has_checkpoint() {
            session.save(trainer.save(true), true)?;
        }
        self.rows = rows;
        Ok(model)
    }

    /// Chooses the task, the scaling and the order from the buffered rows, and learns them.
    pub(super) fn begin(&mut self, bytes_read: u64, observer: &mut dyn Observer) -> Result<(), TrainError> {
        self.prepare()?;
        let mut rows = std::mem::replace(&mut self.rows, BufferedRows::empty());
        let resume = self.resume.take();
        let (_, mut session) = self.session(bytes_read, observer);
        let trainer = learn_buffered(&mut session, &mut rows, resume);
        self.rows = rows;
        self.trainer = Some(trainer?);
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), TrainError> {
        let Training { data, rows, resume, declared, reason, .. } = self;
        rows.store.finish()?;
        if rows.is_shuffled() && !data.recipe.method.info().follows_order && rows.identities.is_none() {
            let known = resume.as_ref().map_or(0, |checkpoint| checkpoint.vocabulary.span());
            rows.put_in_canonical_order(data, known)?;
        }
        rows.observe_dense(&mut data.scale)?;
        data.scale.finish();
        data.targets = match (&*resume, declared) {
            (Some(checkpoint), _) => checkpoint.targets(),
            (None, Some(declared)) => declared.clone(),
            (None, None) => {
                let options = data.recipe.target_options();
                *reason = Some(rows.labels.reason(&options, self.options.task));
                rows.labels.decide(&options, self.options.task)?
            }
        };
        rows.store.set_targets(data.targets.map(&rows.labels)?);
        data.class_factors = class_factors(&data.recipe, &data.targets, |label| rows.labels.count(label))?;
        rows.store.set_class_factors(data.class_factors.clone());
        if resume.is_none() {
            data.weight_unit = rows.mean_weight_of(&data.class_factors)?;
        }
        rows.store.set_weight_unit(data.weight_unit);
        data.passes = if self.is_incremental { 1 } else { rows.passes(&data.recipe, self.options.passes_for_rows) };
        data.buffered_rows = rows.rows;
        data.fingerprint = (rows.rows, rows.fingerprint);
        data.first_rows.push(rows.first_rows);
        Ok(())
    }

    pub(super) fn session<'a>(
        &'a mut self,
        bytes_read: u64,
        observer: &'a mut dyn Observer,
    ) -> (Option<&'a mut Box<dyn Trainer>>, Session<'a>) {
        let Training { data, options, threads, trainer, .. } = self;
        let session = Session {
            data,
            options,
            threads,
            observer,
            bytes_read,
            reading_threads: self.reading_threads,
            width: self.width,
            is_incremental: self.is_incremental,
        };
        (trainer.as_mut(), session)
    }

    /// The model of the rows so far. Buffered rows are learned for it, and stay in the buffer.
    pub fn model(&self) -> Result<Model, TrainError> {
        if self.rows() == 0 {
            return Err(ReadError::NoRows { files: "the batches so far".into() }.into());
        }
        if let Some(trainer) = &self.trainer {
            return trainer.model(&self.data);
        }
        let mut copy = Training {
            data: self.data.clone(),
            options: self.options.clone(),
            threads: self.threads.clone(),
            rows: self.rows.copy_in_memory(),
            reason: None,
            declared: self.declared.clone(),
            resume: None,
            trainer: None,
            products: None,
            reading_threads: 0,
            width: 0,
            is_incremental: self.is_incremental,
            lock: None,
        };
        copy.begin(0, &mut ())?;
        copy.trainer.expect("learning has begun").model(&copy.data)
    }

    /// Margins of rows, in units of the label: row by row, one margin for each output. If the model has exactly k
    /// features, or the first rows are still buffered, a model is built first; otherwise the cost is that of the rows.
    pub fn margins(&self, rows: &RawRows) -> Result<Vec<f64>, TrainError> {
        let is_direct = self.data.recipe.interactions.is_none() && self.data.recipe.offset.is_none();
        let direct = self.trainer.as_ref().filter(|_| is_direct).and_then(|trainer| trainer.margins(&self.data, rows));
        if let Some(margins) = direct {
            return margins;
        }
        let predictions = Predictor::new(&self.model()?).predict(rows);
        Ok(predictions.into_iter().flat_map(|row| row.margins).collect())
    }

    /// The margin above which the second of two classes is predicted.
    pub fn boundary(&self) -> f64 {
        use crate::loss::Loss;
        self.data.recipe.loss.map_or(0.0, |loss| loss.build(1.0).boundary())
    }
}

/// The trainer of the recipe, after it has learned the buffered rows.
fn learn_buffered(
    session: &mut Session<'_>,
    rows: &mut BufferedRows,
    resume: Option<Checkpoint>,
) -> Result<Box<dyn Trainer>, TrainError> {
    let mut trainer: Box<dyn Trainer> = match session.data.recipe.method.kind() {
        Method::StabilizedPublished => Box::new(PublishedTrainer::default()),
        Method::Stabilized => Box::new(StabilizedTrainer::start(session, rows, resume)?),
        Method::TwoStage => Box::new(TwoStageTrainer::start(session, rows, resume)?),
        #[cfg(feature = "moments")]
        Method::Kernel => Box::new(KernelTrainer::start(session, rows, resume)?),
        #[cfg(not(feature = "moments"))]
        Method::Kernel => {
            let reason = "this build is without the Cargo feature `moments`".into();
            return Err(TrainError::Method { method: session.data.recipe.method.name(), reason });
        }
        _ => Box::new(OnlineTrainer::start(session, rows, resume)?),
    };
    trainer.learn_buffered(session, rows)?;
    if !rows.is_all && !trainer.needs_buffered_rows() {
        rows.store.clear();
    }
    Ok(trainer)
}

/// The vocabulary before the first row. Features whose sign is given by name have the first ids, where learners expect
/// them.
fn initial_vocabulary(recipe: &Recipe) -> Vocabulary {
    let mut vocabulary = Vocabulary::new(recipe.hash_bits);
    for name in recipe.method.signs().into_iter().flat_map(Signs::names) {
        vocabulary.intern(FeatureKey::from_name(name));
    }
    vocabulary
}
