//! What all requests share: the model that is served, the way to the learner, counters and events.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Instant;

use serde_json::json;
use tamis::recipe::Provenance;
use tokio::sync::{broadcast, oneshot, watch};

use crate::auth::Tokens;
use crate::error::ApiError;
use crate::learner::Command;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::served::Served;

/// Events that a page gets when it opens.
const HISTORY: usize = 300;
/// Names of features that an event mentions.
const MOST_NAMES: usize = 50;

/// What all requests share.
pub struct App {
    /// What the server was given.
    pub options: Options,
    /// The tokens.
    pub tokens: Tokens,
    /// The counters.
    pub metrics: Metrics,
    /// Bytes of the bodies that are being read or answered.
    pub bodies: AtomicUsize,
    /// Open connections.
    pub connections: AtomicUsize,
    /// The name of the model in paths.
    pub name: String,
    /// Whether the server listens on this machine only, without tokens.
    pub is_local: bool,
    served: RwLock<Option<Arc<Served>>>,
    learner: OnceLock<SyncSender<Command>>,
    events: broadcast::Sender<Arc<str>>,
    history: Mutex<History>,
    stop: watch::Sender<bool>,
    notes: Box<dyn Fn(&str) + Send + Sync>,
}

/// The last events, and what the next one is compared with.
struct History {
    events: VecDeque<Arc<str>>,
    before: Option<Before>,
}

struct Before {
    names: HashSet<String>,
    rows: u64,
    loss: f64,
    at: Instant,
}

impl App {
    /// The state of a server before it has a model. `notes` gets messages for its operator.
    pub fn new(options: Options, tokens: Tokens, is_local: bool, notes: Box<dyn Fn(&str) + Send + Sync>) -> App {
        let stem = options.source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        App {
            options,
            tokens,
            metrics: Metrics::default(),
            bodies: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            name: stem,
            is_local,
            served: RwLock::new(None),
            learner: OnceLock::new(),
            events: broadcast::channel(64).0,
            history: Mutex::new(History { events: VecDeque::new(), before: None }),
            stop: watch::channel(false).0,
            notes,
        }
    }

    /// Tells the operator something.
    pub fn note(&self, text: &str) {
        (self.notes)(text);
    }

    /// The model that is served, once there is one.
    pub fn served(&self) -> Option<Arc<Served>> {
        self.served.read().expect("no thread panicked").clone()
    }

    /// The model that is served, or the answer that there is none yet.
    pub fn model(&self) -> Result<Arc<Served>, ApiError> {
        self.served().ok_or_else(|| ApiError::unavailable("the log is being replayed; the model is not ready yet"))
    }

    /// Connects the learner.
    pub fn set_learner(&self, commands: SyncSender<Command>) {
        let _ = self.learner.set(commands);
    }

    /// Whether rows can be learned.
    pub fn learns(&self) -> bool {
        self.learner.get().is_some()
    }

    /// Why rows cannot be learned, if they cannot.
    pub fn check_learns(&self) -> Result<(), ApiError> {
        let reason = match () {
            () if self.options.read_only => "the server was started with --read-only: it only scores",
            () if self.options.log.is_none() => "the server has no log, so it only scores; start it with --log FOLDER",
            () if !self.learns() => return self.model().map(drop),
            () => return Ok(()),
        };
        Err(ApiError::conflict("does_not_learn", reason))
    }

    /// Asks the learner, and waits for its answer.
    pub async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, ApiError>>) -> Command,
    ) -> Result<T, ApiError> {
        self.check_learns()?;
        let (reply, answer) = oneshot::channel();
        let learner = self.learner.get().expect("checked above");
        let stopped = || ApiError::unavailable("the server is stopping");
        learner.try_send(command(reply)).map_err(|error| match error {
            TrySendError::Full(_) => ApiError::busy("too many requests wait to be learned; send this one again later"),
            TrySendError::Disconnected(_) => stopped(),
        })?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Tells the learner to end.
    pub fn end_learner(&self) {
        if let Some(learner) = self.learner.get() {
            let _ = learner.send(Command::Stop);
        }
    }

    /// Serves a model, and tells those who listen.
    pub fn publish(&self, served: Arc<Served>) {
        let event: Arc<str> = self.event_of(&served).into();
        *self.served.write().expect("no thread panicked") = Some(served);
        let mut history = self.history.lock().expect("no thread panicked");
        history.events.push_back(event.clone());
        if history.events.len() > HISTORY {
            history.events.pop_front();
        }
        let _ = self.events.send(event);
    }

    /// The model in numbers, and what changed since the last one.
    fn event_of(&self, served: &Served) -> String {
        let (model, mut history) = (&served.model, self.history.lock().expect("no thread panicked"));
        let features = || model.outputs.iter().flat_map(|output| output.features.iter().map(|one| &one.name));
        let names: HashSet<String> = features().cloned().collect();
        let (rows, loss) = (model.seen.rows, model.seen.progressive_loss);
        let now = Before { names, rows, loss, at: Instant::now() };
        let mut event = json!({
            "sequence": served.sequence,
            "rows": rows,
            "loss": loss,
            "recent_loss": loss,
            "nonzeros": model.nonzeros(),
            "rows_per_second": 0.0,
            "entered": [],
            "left": [],
        });
        if let Some(before) = &history.before {
            let difference = |one: &HashSet<String>, other: &HashSet<String>| -> Vec<String> {
                let mut names: Vec<String> = one.difference(other).cloned().collect();
                names.sort_unstable();
                names.truncate(MOST_NAMES);
                names
            };
            event["entered"] = json!(difference(&now.names, &before.names));
            event["left"] = json!(difference(&before.names, &now.names));
            if rows > before.rows {
                let (new, old) = (rows as f64, before.rows as f64);
                // The loss of a batch is that of its own rows, not a mean over all.
                if matches!(&model.recipe, Provenance::Fit(recipe) if recipe.method.info().partial_fit) {
                    event["recent_loss"] = json!((loss * new - before.loss * old) / (new - old));
                }
                let seconds = now.at.duration_since(before.at).as_secs_f64();
                event["rows_per_second"] = json!((new - old) / seconds.max(1e-3));
            }
        }
        if let Some(error) = model.seen.progressive_error {
            event["error"] = json!(error);
        }
        history.before = Some(now);
        event.to_string()
    }

    /// The last events, and those to come.
    pub fn listen(&self) -> (Vec<Arc<str>>, broadcast::Receiver<Arc<str>>) {
        let history = self.history.lock().expect("no thread panicked");
        (history.events.iter().cloned().collect(), self.events.subscribe())
    }

    /// Stops the server.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Becomes true when the server stops.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Counts the bytes of a body while it is served; `None` if there are too many at once.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let before = self.bodies.fetch_add(bytes, Ordering::Relaxed);
        let held = Held { app: self.clone(), bytes };
        (before + bytes <= self.options.limits.bodies).then_some(held)
    }
}

/// Bytes of a body that is being served.
pub struct Held {
    app: Arc<App>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.app.bodies.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
