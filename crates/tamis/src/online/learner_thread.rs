//! Learning in parallel with reading: one thread learns a chunk of rows while the next chunk is prepared.
//!
//! The learners are moved to that thread while chunks arrive, and are moved back when they are needed, so that no lock
//! is needed. They see the rows in order: threads do not change a bit. With one thread, rows are learned at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use super::one_vs_rest::OneVsRest;
use crate::data::{Batch, TargetEncoder};
use crate::learners::Learner;
use crate::trainer::ProgressiveValidation;

/// Chunks that may wait for the learners: enough that neither side waits for the other.
const QUEUE: usize = 8;

/// The learners of a training and their progressive validation, here or on their own thread.
pub(crate) struct LearnerThread<L> {
    here: Option<LearnerState<L>>,
    /// The learner thread, if there is one. It ends when this is dropped.
    worker: Option<Worker<L>>,
}

struct Worker<L> {
    commands: SyncSender<Command<L>>,
    /// Receivers are behind locks only to be `Sync`: the locks are never contended.
    returned: Mutex<Receiver<LearnerState<L>>>,
    recycled: Mutex<Receiver<Batch>>,
    /// Set when a loss was not finite: the training has diverged.
    has_diverged: Arc<AtomicBool>,
}

enum Command<L> {
    Start(LearnerState<L>),
    Learn(Batch, TargetEncoder),
    Return,
}

/// The learners and their progress.
pub(crate) struct LearnerState<L> {
    pub(crate) learners: OneVsRest<L>,
    pub(crate) progressive: ProgressiveValidation,
    /// Rows learned, all passes counted. It does not change after a loss that is not finite.
    pub(crate) rows: u64,
    /// The last prediction.
    pub(crate) last: f64,
}

impl<L: Learner + Clone + Send + Sync + 'static> LearnerThread<L> {
    /// The learners, with a thread of their own if `has_thread`.
    pub(crate) fn new(learners: OneVsRest<L>, has_thread: bool) -> Self {
        let state = LearnerState { learners, progressive: ProgressiveValidation::default(), rows: 0, last: 0.0 };
        LearnerThread { here: Some(state), worker: has_thread.then(start) }
    }

    /// The learners.
    ///
    /// # Panics
    /// If they are on their thread: [`LearnerThread::wait`] first.
    pub(crate) fn state(&self) -> &LearnerState<L> {
        self.here.as_ref().expect("the learners have returned")
    }

    /// The learners, to change them.
    ///
    /// # Panics
    /// If they are on their thread: [`LearnerThread::wait`] first.
    pub(crate) fn state_mut(&mut self) -> &mut LearnerState<L> {
        self.here.as_mut().expect("the learners have returned")
    }

    /// Learns a chunk, now or later; returns an empty one to fill.
    pub(crate) fn learn(&mut self, mut batch: Batch, targets: &TargetEncoder) -> Batch {
        let Some(worker) = &mut self.worker else {
            self.state_mut().learn(&batch, targets);
            batch.clear();
            return batch;
        };
        if let Some(state) = self.here.take() {
            worker.send(Command::Start(state));
        }
        worker.send(Command::Learn(batch, targets.clone()));
        worker.recycled.get_mut().expect("no thread panicked").try_recv().unwrap_or_default()
    }

    /// Whether a loss was not finite, as far as is known on this thread.
    pub(crate) fn has_diverged(&self) -> bool {
        match (&self.here, &self.worker) {
            (None, Some(worker)) => worker.has_diverged.load(Ordering::Relaxed),
            _ => !self.state().progressive.loss.is_finite(),
        }
    }

    /// Waits until all chunks are learned and the learners have returned.
    pub(crate) fn wait(&mut self) {
        if let (None, Some(worker)) = (&self.here, &mut self.worker) {
            worker.send(Command::Return);
            let returned = worker.returned.get_mut().expect("no thread panicked");
            self.here = Some(returned.recv().expect("the learner thread answers"));
        }
    }
}

impl<L> Worker<L> {
    fn send(&self, command: Command<L>) {
        self.commands.send(command).expect("the learner thread listens");
    }
}

impl<L: Learner + Clone + Send + Sync> LearnerState<L> {
    fn learn(&mut self, batch: &Batch, targets: &TargetEncoder) {
        if self.progressive.loss.is_finite() {
            self.last = self.learners.learn(batch, targets, &mut self.progressive);
            self.rows += batch.len() as u64;
        }
    }
}

/// A thread that executes commands until all senders are dropped.
fn start<L: Learner + Clone + Send + Sync + 'static>() -> Worker<L> {
    let (commands, inbox) = sync_channel(QUEUE);
    let (done, returned) = sync_channel(1);
    let (recycle, recycled) = sync_channel(QUEUE + 1);
    let has_diverged = Arc::new(AtomicBool::new(false));
    let flag = has_diverged.clone();
    std::thread::spawn(move || {
        let mut state: Option<LearnerState<L>> = None;
        for command in inbox {
            match command {
                Command::Start(learners) => state = Some(learners),
                Command::Learn(mut batch, targets) => {
                    let state = state.as_mut().expect("learners come before rows");
                    state.learn(&batch, &targets);
                    flag.store(!state.progressive.loss.is_finite(), Ordering::Relaxed);
                    batch.clear();
                    // If enough batches wait to be reused, this one is dropped.
                    let _ = recycle.try_send(batch);
                }
                Command::Return => {
                    let learners = state.take().expect("learners come before they return");
                    if done.send(learners).is_err() {
                        return;
                    }
                }
            }
        }
    });
    Worker { commands, returned: Mutex::new(returned), recycled: Mutex::new(recycled), has_diverged }
}
