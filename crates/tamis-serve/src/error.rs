//! Errors: why a server cannot start or go on, and what a request is answered that cannot be served.

use std::io;
use std::path::PathBuf;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tamis::io::ReadError;
use tamis::train::TrainError;
use thiserror::Error;

/// A server cannot start, or had to end.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ServeError {
    #[error("{listen}: cannot listen: {source}")]
    Listen { listen: String, source: io::Error },
    #[error("{listen}: without tokens, the server listens on this machine only: use 127.0.0.1, or give a token file")]
    NoTokens { listen: String },
    #[error("{}: {reason}", path.display())]
    Tokens { path: PathBuf, reason: String },
    #[error("{}: not usable for TLS: {reason}", path.display())]
    Tls { path: PathBuf, reason: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: neither a model nor a checkpoint: {reason}", path.display())]
    Source { path: PathBuf, reason: String },
    #[error(
        "{}: a model file has no state to learn from; serve the checkpoint of its training (`tamis fit --checkpoint FILE`)",
        path.display()
    )]
    ModelCannotLearn { path: PathBuf },
    #[error("{}: another server uses this log", path.display())]
    LogInUse { path: PathBuf },
    #[error(
        "{}: this log was begun with another checkpoint than {}; give that one, or another folder",
        path.display(),
        given.display()
    )]
    OtherLog { path: PathBuf, given: PathBuf },
    #[error("{}: damaged at byte {offset}: {reason}; restore the file from a copy", path.display())]
    DamagedLog { path: PathBuf, offset: u64, reason: String },
    #[error("{}: {source}", path.display())]
    Training { path: PathBuf, source: Box<TrainError> },
    #[error("the runtime cannot start: {source}")]
    Runtime { source: io::Error },
}

/// The answer to a request that cannot be served.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// A name of the problem for programs.
    pub code: &'static str,
    /// The problem in words.
    pub message: String,
    /// The line of the body, from 1.
    pub line: Option<u64>,
    /// The byte of the line, from 1.
    pub column: Option<u32>,
}

impl ApiError {
    /// An error.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        ApiError { status, code, message: message.into(), line: None, column: None }
    }

    /// A request that makes no sense.
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A body that is not the JSON it should be. `what` says what was expected.
    pub fn bad_json(what: &str, error: &serde_json::Error) -> Self {
        let place = (Some(error.line() as u64), Some(error.column() as u32));
        ApiError { line: place.0, column: place.1, ..ApiError::bad("bad_json", format!("{what}: {error}")) }
    }

    /// A request that this server, as it was started, does not serve.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::CONFLICT, code, message)
    }

    /// There is too much to do at the moment.
    pub fn busy(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "busy", message)
    }

    /// The body is larger than a limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// The server is about to stop, or not yet ready.
    pub fn unavailable(message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// The error with the line of the body it is about.
    pub fn at_line(self, line: u64) -> Self {
        ApiError { line: Some(line), ..self }
    }

    /// The error as JSON.
    pub fn json(&self) -> serde_json::Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(line) = self.line {
            error["line"] = json!(line);
        }
        if let Some(column) = self.column {
            error["column"] = json!(column);
        }
        json!({ "error": error })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.json().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// Rows that cannot be read.
impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        let place = match &error {
            ReadError::Line { line, column, .. } => (Some(*line), Some(*column)),
            _ => (None, None),
        };
        let message = error.to_string();
        let code = if place.0.is_some() { "bad_row" } else { "bad_rows" };
        ApiError { line: place.0, column: place.1, ..ApiError::bad(code, message) }
    }
}

/// Rows that cannot be learned.
impl From<TrainError> for ApiError {
    fn from(error: TrainError) -> Self {
        let message = error.to_string();
        // Messages begin with the place of the row: `request:LINE: …`.
        let line = message.strip_prefix("request:").and_then(|rest| rest.split(':').next()?.parse().ok());
        let status = match error {
            TrainError::TooMuchMemory { .. } => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        ApiError { line, ..ApiError::new(status, "not_learned", message) }
    }
}
