//! `POST /v1/learn` and `POST /v1/label`: rows with labels, and labels of rows that were scored before.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use tamis::data::{Label, RawRows};
use tamis::io::Block;
use tamis::parse::row_log::{LONGEST_KEY, LateRow};

use crate::app::App;
use crate::body::{self, Received, RowOptions};
use crate::error::ApiError;
use crate::learner::{Command, Content, LearnJob, Learned};

/// Learns the rows of a request. The answer comes when they are on disk.
pub async fn learn(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    app.check_learns()?;
    let key = key_of(request.headers())?;
    let parse = |Received { app, served, headers, bytes }: Received| {
        let options = RowOptions { needs_label: true, missing_columns_are_zero: true, ..RowOptions::default() };
        let block = body::rows(&served, &headers, bytes, &options, &app.options.limits)?;
        check_labels(&block).map(|()| block)
    };
    let (block, held) = body::receive(app.clone(), request, parse).await?;
    let content = Content::Rows(Box::new(block));
    let learned = app.ask(|reply| Command::Learn(Box::new(LearnJob { content, key, reply }))).await?;
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
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateLabel {
    /// The id of the row.
    pub id: String,
    /// Its label.
    pub y: Label,
    /// Its weight, if it is not the one it was scored with.
    #[serde(default)]
    pub weight: Option<f64>,
    /// The line of the request, from 1.
    #[serde(skip)]
    pub line: u64,
}

impl LateLabel {
    /// The labels of rows that waited.
    pub fn of(rows: &RawRows, late: &[LateRow]) -> Vec<LateLabel> {
        let label = |(row, late): (usize, &LateRow)| LateLabel {
            id: late.id.clone(),
            y: rows.labels[row].clone(),
            weight: Some(rows.weight(row)),
            line: u64::from(rows.lines[row]) + 1,
        };
        late.iter().enumerate().map(label).collect()
    }
}

/// Learns rows that were scored before, with their labels: JSON lines `{"id": …, "y": …}`.
pub async fn label(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    app.check_learns()?;
    let (parts, body) = request.into_parts();
    let key = key_of(&parts.headers)?;
    let (bytes, _held) = body::read(&app, &parts.headers, body).await?;
    let content = Content::Labels(labels_of(&bytes)?);
    Ok(answer(app.ask(|reply| Command::Learn(Box::new(LearnJob { content, key, reply }))).await?))
}

fn labels_of(bytes: &Bytes) -> Result<Vec<LateLabel>, ApiError> {
    let (mut labels, mut ids) = (Vec::new(), HashSet::new());
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
        let bad = |what: &str| ApiError::bad("bad_row", format!("request:{line}: {what}")).at_line(line);
        let has_weight = label.weight.is_none_or(|weight| weight > 0.0 && weight.is_finite());
        if matches!(&label.y, Label::Absent) || !has_weight {
            return Err(bad("expected a label, and a weight above 0 if there is one"));
        }
        if !ids.insert(label.id.clone()) {
            return Err(bad(&format!("the id {:?} has two labels", label.id)));
        }
        labels.push(LateLabel { line, ..label });
    }
    if labels.is_empty() { Err(ApiError::bad("no_rows", "the request has no labels")) } else { Ok(labels) }
}
