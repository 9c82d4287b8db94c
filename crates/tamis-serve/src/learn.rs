//! `POST /v1/learn` and `POST /v1/label`: rows with labels, and labels of rows that were scored before.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use tamis::data::{Label, RawRows};
use tamis::io::Block;
use tamis::parse::row_log::LONGEST_KEY;

use crate::app::App;
use crate::body::{self, RowOptions};
use crate::error::ApiError;
use crate::learner::{Command, LearnJob, Learned};
use crate::score::run;

/// Learns the rows of a request. The answer comes when they are on disk.
pub async fn learn(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    app.check_learns()?;
    let (parts, body) = request.into_parts();
    let key = key_of(&parts.headers)?;
    let served = app.model()?;
    let (bytes, held) = body::read(&app, &parts.headers, body).await?;
    let (limits, size) = (app.options.limits.clone(), bytes.len());
    let parse = move || {
        let options = RowOptions { needs_label: true, missing_columns_are_zero: true, ..RowOptions::default() };
        let block = body::rows(&served, &parts.headers, bytes, &options, &limits)?;
        check_labels(&block).map(|()| block)
    };
    let block = run(size, parse).await?;
    let learned = app.ask(|reply| Command::Learn(Box::new(LearnJob { block, key, reply }))).await?;
    drop(held);
    Ok(answer(learned))
}

fn answer(learned: Learned) -> Response {
    let Learned { accepted, sequence, repeated } = learned;
    axum::Json(json!({ "accepted": accepted, "sequence": sequence, "repeated": repeated })).into_response()
}

fn check_labels(block: &Block) -> Result<(), ApiError> {
    match block.rows.labels.iter().position(|label| *label == Label::Absent) {
        None => Ok(()),
        Some(row) => {
            let line = block.first_line + u64::from(block.rows.lines[row]);
            Err(ApiError::bad("bad_row", format!("request:{line}: the row has no label")).at_line(line))
        }
    }
}

/// The key of a request that may be sent again.
fn key_of(headers: &HeaderMap) -> Result<String, ApiError> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(String::new()) };
    let key = key.to_str().ok().filter(|key| (1..=LONGEST_KEY).contains(&key.len()));
    let bad =
        || ApiError::bad("bad_key", format!("an Idempotency-Key has 1 to {LONGEST_KEY} visible ASCII characters"));
    key.map(String::from).ok_or_else(bad)
}

/// The label of a row that was scored before.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LateLabel {
    id: String,
    y: Label,
    #[serde(default)]
    weight: Option<f64>,
}

/// Learns rows that were scored before, with their labels: JSON lines `{"id": …, "y": …}`.
pub async fn label(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    app.check_learns()?;
    let (parts, body) = request.into_parts();
    let key = key_of(&parts.headers)?;
    let (bytes, held) = body::read(&app, &parts.headers, body).await?;
    let labels = labels_of(&bytes)?;
    let rows = labelled_rows(&app, &labels)?;
    let block = Block { rows, file: "request".into(), first_line: 1 };
    let learned = app.ask(|reply| Command::Learn(Box::new(LearnJob { block, key, reply }))).await?;
    let mut pending = app.pending.lock().expect("no thread panicked");
    labels.iter().for_each(|label| pending.remove(&label.id));
    drop((pending, held));
    Ok(answer(learned))
}

fn labels_of(bytes: &Bytes) -> Result<Vec<LateLabel>, ApiError> {
    let mut labels = Vec::new();
    for (line, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let label: LateLabel = serde_json::from_slice(text).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" at line").next().unwrap_or_default();
            let text = format!("request:{line}: not a label {{\"id\": …, \"y\": …}}: {reason}");
            ApiError { line: Some(line), column: Some(error.column() as u32), ..ApiError::bad("bad_row", text) }
        })?;
        let is_valid =
            !matches!(&label.y, Label::Absent) && label.weight.is_none_or(|weight| weight >= 0.0 && weight.is_finite());
        if !is_valid {
            let text = format!("request:{line}: expected a label, and a weight of at least 0 if there is one");
            return Err(ApiError::bad("bad_row", text).at_line(line));
        }
        labels.push(label);
    }
    if labels.is_empty() { Err(ApiError::bad("no_rows", "the request has no labels")) } else { Ok(labels) }
}

/// The rows of labels. All must be there: a request is learned as a whole.
fn labelled_rows(app: &App, labels: &[LateLabel]) -> Result<RawRows, ApiError> {
    let mut pending = app.pending.lock().expect("no thread panicked");
    let expired = pending.expire(Instant::now());
    app.metrics.expired_labels.fetch_add(expired, std::sync::atomic::Ordering::Relaxed);
    let mut rows = RawRows::by_name();
    for (line, LateLabel { id, y, weight }) in (1..).zip(labels) {
        let Some(row) = pending.get(id) else {
            let text = format!(
                "request:{line}: no row with the id {id:?} waits for a label; it was not scored, or too long ago"
            );
            return Err(ApiError::new(StatusCode::NOT_FOUND, "unknown_id", text).at_line(line));
        };
        row.entries(0).for_each(|(key, value)| rows.push_name(&[&key.to_string()], value));
        rows.adds_duplicates |= row.adds_duplicates;
        rows.end_row(y.clone(), weight.unwrap_or_else(|| row.weight(0)), line as u32 - 1);
    }
    Ok(rows)
}
