//! Learning beside reading: chunks of rows are learned on another thread while the next are made ready.
//!
//! The learners live on that thread while chunks come, and come home when they are asked for, so there is nothing to
//! lock. They see the rows in their order: threads change no bit. With one thread all happens at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::bank::Bank;
use super::progress::Progressive;
use super::task::Targets;
use crate::data::Batch;

/// Chunks made ready ahead of the learners: enough that neither side waits for the other to wake up.
const AHEAD: usize = 32;

/// The learners of a training and what they have seen, at home or on their own thread.
pub(super) struct Lane {
    home: Option<Crew>,
    /// The other thread, if there is one. It ends when this is dropped.
    away: Option<Away>,
}

struct Away {
    errands: SyncSender<Errand>,
    home: Receiver<Crew>,
    spare: Receiver<Batch>,
    /// Set when a loss was not finite: there is no use in going on.
    failed: Arc<AtomicBool>,
}

enum Errand {
    Go(Crew),
    Learn(Batch, Targets),
    Return,
}

/// What learns, and what it has to show for it.
pub(super) struct Crew {
    pub(super) bank: Bank,
    pub(super) progressive: Progressive,
    /// Rows learned, all passes counted. Stands still once a loss was not finite.
    pub(super) rows: u64,
    /// The last prediction.
    pub(super) last: f64,
}

impl Lane {
    /// The learners at home, with a thread to learn on if `threads` allow another.
    pub(super) fn new(bank: Bank, threads: usize) -> Self {
        let crew = Crew { bank, progressive: Progressive::default(), rows: 0, last: 0.0 };
        Lane { home: Some(crew), away: (threads > 1).then(start) }
    }

    /// The learners.
    ///
    /// # Panics
    /// If they are not at home: [`Lane::call_home`] first.
    pub(super) fn crew(&self) -> &Crew {
        self.home.as_ref().expect("the learners are at home")
    }

    /// The learners, to change them.
    ///
    /// # Panics
    /// If they are not at home: [`Lane::call_home`] first.
    pub(super) fn crew_mut(&mut self) -> &mut Crew {
        self.home.as_mut().expect("the learners are at home")
    }

    /// The learners, for good.
    ///
    /// # Panics
    /// If they are not at home: [`Lane::call_home`] first.
    pub(super) fn into_crew(self) -> Crew {
        self.home.expect("the learners are at home")
    }

    /// Has a chunk learned, now or soon; gives an empty one to fill.
    pub(super) fn learn(&mut self, mut batch: Batch, targets: &Targets) -> Batch {
        let Some(away) = &self.away else {
            self.crew_mut().learn(&batch, targets);
            batch.clear();
            return batch;
        };
        if let Some(crew) = self.home.take() {
            away.send(Errand::Go(crew));
        }
        away.send(Errand::Learn(batch, targets.clone()));
        away.spare.try_recv().unwrap_or_default()
    }

    /// Whether a loss was not finite, as far as is known here.
    pub(super) fn has_failed(&self) -> bool {
        match (&self.home, &self.away) {
            (None, Some(away)) => away.failed.load(Ordering::Relaxed),
            _ => !self.crew().progressive.loss.is_finite(),
        }
    }

    /// Waits until all chunks are learned and the learners are at home.
    pub(super) fn call_home(&mut self) {
        if let (None, Some(away)) = (&self.home, &self.away) {
            away.send(Errand::Return);
            self.home = Some(away.home.recv().expect("the learners' thread answers"));
        }
    }
}

impl Away {
    fn send(&self, errand: Errand) {
        self.errands.send(errand).expect("the learners' thread listens");
    }
}

impl Crew {
    fn learn(&mut self, batch: &Batch, targets: &Targets) {
        if self.progressive.loss.is_finite() {
            self.last = self.bank.learn(batch, targets, &mut self.progressive);
            self.rows += batch.len() as u64;
        }
    }
}

/// A thread that runs errands until nobody can send any.
fn start() -> Away {
    let (errands, inbox) = sync_channel(AHEAD);
    let (door, home) = sync_channel(1);
    let (shelf, spare) = sync_channel(AHEAD + 1);
    let failed = Arc::new(AtomicBool::new(false));
    let flag = failed.clone();
    std::thread::spawn(move || {
        let mut crew: Option<Crew> = None;
        for errand in inbox {
            match errand {
                Errand::Go(learners) => crew = Some(learners),
                Errand::Learn(mut batch, targets) => {
                    let crew = crew.as_mut().expect("learners come before rows");
                    crew.learn(&batch, &targets);
                    flag.store(!crew.progressive.loss.is_finite(), Ordering::Relaxed);
                    batch.clear();
                    // A full shelf needs no more.
                    let _ = shelf.try_send(batch);
                }
                Errand::Return => {
                    let learners = crew.take().expect("learners come before they return");
                    if door.send(learners).is_err() {
                        return;
                    }
                }
            }
        }
    });
    Away { errands, home, spare, failed }
}
