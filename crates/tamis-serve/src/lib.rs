#![doc = "A server that scores rows with a model of tamis, and learns while it is served."]
//!
//! ```text
//! connection ─ server ─► routes (tokens, limits) ─► body ─► rows ─┬─ score ─► JSON lines
//!                                                                 └─ learn ─► learner: log ─► training ─► served model
//! ```
//! | file | what |
//! |---|---|
//! | `server.rs`, `tls.rs`, `routes.rs`, `auth.rs` | connections, routes, tokens |
//! | `body.rs`, `leftover.rs` | bodies within the limits, and the rows in them; bodies that nobody read |
//! | `score.rs`, `mlflow.rs`, `inference.rs` | scoring: our own protocol, MLflow's, and the Open Inference Protocol |
//! | `learn.rs`, `pending.rs`, `keys.rs` | rows and late labels to learn, once each |
//! | `learner.rs`, `commit.rs`, `log.rs` | the one thread that learns, groups of requests, and the log |
//! | `learning.rs`, `batch.rs` | trainings that learn rows as they come, or in batches |
//! | `model.rs`, `events.rs`, `health.rs`, `metrics.rs`, `page.rs` | what a server tells about itself |
//! | `app.rs`, `served.rs` | what requests share, and the model that is served |
//!
//! **Contract.** An acknowledged row is on disk. A restart loads the last checkpoint and replays the log. The model is that
//! of `tamis fit` on the log, byte for byte.

mod app;
mod auth;
mod batch;
mod body;
mod commit;
mod error;
mod events;
mod health;
mod inference;
mod keys;
mod learn;
mod learner;
mod learning;
mod leftover;
mod log;
mod metrics;
mod mlflow;
mod model;
mod options;
mod page;
mod pending;
mod routes;
mod score;
mod served;
mod server;
mod tls;

pub use auth::Scope;
pub use error::ServeError;
pub use options::{Limits, Options, PendingLimits};
pub use routes::{ROUTES, Route};
pub use server::Server;
