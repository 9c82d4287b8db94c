//! What a server is given: the model, where to listen, the log, tokens, certificates and limits.

use std::path::PathBuf;
use std::time::Duration;

pub use crate::pending::PendingLimits;

/// What a server is given.
#[derive(Clone, Debug)]
pub struct Options {
    /// The model file, or the checkpoint of a complete training.
    pub source: PathBuf,
    /// Address and port, for example `127.0.0.1:8080`; port 0 takes a free one.
    pub listen: String,
    /// The folder of the log. Without it the server does not learn.
    pub log: Option<PathBuf>,
    /// The file of tokens. Without it the server listens on this machine only.
    pub tokens: Option<PathBuf>,
    /// Files of the certificate chain and of its key, both in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether the server only scores, and its model cannot be replaced.
    pub read_only: bool,
    /// Threads of the server; 0 takes one for each core.
    pub threads: usize,
    /// Limits.
    pub limits: Limits,
}

impl Options {
    /// The usual options for a model or checkpoint.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Options {
            source: source.into(),
            listen: "127.0.0.1:8080".into(),
            log: None,
            tokens: None,
            tls: None,
            read_only: false,
            threads: 0,
            limits: Limits::default(),
        }
    }
}

/// What a request, a connection and the server as a whole may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request body.
    pub body: usize,
    /// Bytes of all request bodies that are being read or answered.
    pub bodies: usize,
    /// Rows of a request.
    pub rows: usize,
    /// Features of a row.
    pub features: usize,
    /// Open connections.
    pub connections: usize,
    /// Requests that wait to be learned.
    pub queue: usize,
    /// How long a client may take to send the head of a request, and its body.
    pub receive: Duration,
    /// How long a request may take once it is received.
    pub answer: Duration,
    /// How long requests may take to end when the server stops.
    pub stop: Duration,
    /// Bytes of the log; beyond them nothing is learned until a new model is put in place.
    pub log: u64,
    /// Bytes of a file of the log, after which the next one is begun and a checkpoint is written.
    pub segment: u64,
    /// Bytes of the learner, the names and the scaling.
    pub memory: Option<u64>,
    /// Scored rows that wait for their labels, and how long they wait.
    pub pending: PendingLimits,
    /// Rows that are learned together, by methods that need many rows at once.
    pub batch: u64,
    /// Keys of learned requests that are remembered.
    pub keys: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 64 << 20,
            bodies: 512 << 20,
            rows: 1_000_000,
            features: 1_000_000,
            connections: 1024,
            queue: 64,
            receive: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            stop: Duration::from_secs(10),
            log: u64::MAX,
            segment: 64 << 20,
            memory: None,
            pending: PendingLimits { rows: 100_000, bytes: 256 << 20, time: Duration::from_secs(24 * 3600) },
            batch: 10_000,
            keys: 100_000,
        }
    }
}
