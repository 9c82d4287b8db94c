//! Bodies of requests, read within the limits, and the rows in them.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::value::RawValue;
use tamis::data::RawRows;
use tamis::io::{Block, Format, ReadOptions, RowStream, Source};
use tamis::parse::json_table;
use tamis::parse::schema::SchemaOptions;

use crate::app::{App, Held};
use crate::error::ApiError;
use crate::options::Limits;
use crate::served::Served;

/// Bytes of a body that is worked on in the thread that received it; larger ones get a thread of their own.
const SMALL: usize = 1 << 15;

/// A request whose body was read, and the model that is served to it.
pub struct Received {
    /// What all requests share.
    pub app: Arc<App>,
    /// The model when the request came.
    pub served: Arc<Served>,
    /// The head of the request.
    pub headers: HeaderMap,
    /// The body.
    pub bytes: Bytes,
}

/// Reads the body of a request and works on it. The guard counts the bytes of the body until the request is answered.
pub async fn receive<T: Send + 'static>(
    app: Arc<App>,
    request: Request,
    work: impl FnOnce(Received) -> Result<T, ApiError> + Send + 'static,
) -> Result<(T, Held), ApiError> {
    let (parts, body) = request.into_parts();
    let served = app.model()?;
    let (bytes, held) = read(&app, &parts.headers, body).await?;
    let size = bytes.len();
    let received = Received { app, served, headers: parts.headers, bytes };
    run(size, move || work(received).map(|done| (done, held))).await
}

/// Runs work on `bytes` bytes: at once if there are few, else on the threads for long work, so that it delays no other
/// request.
pub async fn run<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if bytes <= SMALL {
        return work();
    }
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(internal()))
}

/// The answer after a panic, which is an error of the program.
fn internal() -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "an error of the server; its log has more")
}

/// Reads a body. The guard counts its bytes until the request is answered.
pub async fn read(app: &Arc<App>, headers: &HeaderMap, body: Body) -> Result<(Bytes, Held), ApiError> {
    let limits = &app.options.limits;
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let too_large = || ApiError::too_large(format!("the body may have {} bytes; send fewer rows at once", limits.body));
    if stated.is_some_and(|length| length > limits.body) {
        return Err(too_large());
    }
    if headers.get(header::CONTENT_ENCODING).is_some_and(|value| value != "identity") {
        let text = "compressed bodies are not read; send it without Content-Encoding";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", text));
    }
    let held = app.hold(stated.unwrap_or(limits.body));
    let held = held.ok_or_else(|| ApiError::busy("too many large requests at once; send this one again later"))?;
    let collected = tokio::time::timeout(limits.receive, Limited::new(body, limits.body).collect()).await;
    let slow = || {
        let text = format!("the body did not arrive within {} seconds", limits.receive.as_secs_f64());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "slow", text)
    };
    match collected.map_err(|_| slow())? {
        Ok(collected) => Ok((collected.to_bytes(), held)),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(ApiError::bad("bad_body", format!("the body ended early: {error}"))),
    }
}

/// Content types and the formats they stand for.
pub const CONTENT_TYPES: [(&str, Format); 9] = [
    ("application/x-ndjson", Format::JsonLines),
    ("application/jsonl", Format::JsonLines),
    ("application/json", Format::JsonLines),
    ("text/csv", Format::Csv),
    ("text/tab-separated-values", Format::Tsv),
    ("text/x-vw", Format::VowpalWabbit),
    ("text/x-svmlight", Format::Svmlight),
    ("application/vnd.apache.arrow.stream", Format::Arrow),
    ("application/vnd.apache.arrow.file", Format::Arrow),
];

/// The content type without its parameters.
pub fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// The format of a body.
fn format_of(headers: &HeaderMap) -> Result<Format, ApiError> {
    let given = content_type(headers);
    let found = CONTENT_TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(given));
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names = CONTENT_TYPES.map(|(name, _)| name).join(", ");
        let text = format!("the Content-Type {given:?} is not one of {names}");
        ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_type", text)
    })
}

/// How rows are read.
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// Whether each row must have a label.
    pub needs_label: bool,
    /// The column of a table whose text identifies a row.
    pub id_column: Option<String>,
    /// Whether columns of the model that a table lacks count as zero.
    pub missing_columns_are_zero: bool,
}

/// The rows of a body, read as the model reads them.
pub fn rows(
    served: &Served,
    headers: &HeaderMap,
    body: Bytes,
    options: &RowOptions,
    limits: &Limits,
) -> Result<Block, ApiError> {
    let format = format_of(headers)?;
    let content: Arc<[u8]> = match content_type(headers).eq_ignore_ascii_case("application/json") {
        true => json_lines(&body)?.into(),
        false => Arc::from(&body[..]),
    };
    read_rows(served, format, content, options, limits)
}

/// Reads rows from bytes.
pub fn read_rows(
    served: &Served,
    format: Format,
    content: Arc<[u8]>,
    options: &RowOptions,
    limits: &Limits,
) -> Result<Block, ApiError> {
    let too_many = || ApiError::too_large(format!("a request may have {} rows; send fewer at once", limits.rows));
    if format != Format::Arrow && memchr::memchr_iter(b'\n', &content).count() > limits.rows {
        return Err(too_many());
    }
    let is_table = match format {
        Format::Csv | Format::Tsv | Format::Arrow => true,
        Format::JsonLines => json_table::is_flat(&content),
        _ => false,
    };
    if is_table && served.model.columns.is_none() {
        let text = "the model was not learned from a table: send rows with named features, such as JSON lines \
                    {\"x\": {\"name\": value}}, Vowpal Wabbit or svmlight";
        return Err(ApiError::bad("not_a_table_model", text));
    }
    let columns = SchemaOptions {
        known: served.model.columns.clone(),
        required: if options.missing_columns_are_zero { Vec::new() } else { served.used_columns().to_vec() },
        needs_target: options.needs_label,
        id: options.id_column.clone().filter(|_| is_table),
        ..SchemaOptions::default()
    };
    let max_unpacked = Some(4 * limits.body as u64);
    let read = ReadOptions { columns, live: true, threads: 1, max_unpacked, ..ReadOptions::default() };
    let mut stream = RowStream::open(vec![Source::in_memory("request", content, format)], read);
    let mut all: Option<Block> = None;
    while let Some(block) = stream.next_block()? {
        // Rows that are learned give way to those that are scored, on a core that is shared with them.
        if options.needs_label {
            std::thread::yield_now();
        }
        check_features(&block, limits)?;
        match &mut all {
            None => all = Some(block),
            Some(first) => {
                let shift = (block.first_line - first.first_line) as u32;
                first.rows.append(block.rows, shift);
            }
        }
        if all.as_ref().is_some_and(|all| all.rows.len() > limits.rows) {
            return Err(too_many());
        }
    }
    let none = || ApiError::bad("no_rows", "the request has no rows");
    let block = all.filter(|block| !block.rows.is_empty()).ok_or_else(none)?;
    Ok(block)
}

fn check_features(block: &Block, limits: &Limits) -> Result<(), ApiError> {
    let rows: &RawRows = &block.rows;
    match (0..rows.len()).find(|&row| rows.first_and_last(row).0 > limits.features) {
        None => Ok(()),
        Some(row) => {
            let text = format!("a row may have {} features", limits.features);
            Err(ApiError::too_large(text).at_line(block.first_line + u64::from(rows.lines[row])))
        }
    }
}

/// The objects of a JSON document, one or a list, a line each. Line ends between the parts of an object are spaces.
fn json_lines(body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let failed = |error: serde_json::Error| ApiError::bad_json("the body is not JSON", &error);
    let is_list = body.trim_ascii_start().starts_with(b"[");
    let objects: Vec<&RawValue> = match is_list {
        true => serde_json::from_slice(body).map_err(failed)?,
        false => vec![serde_json::from_slice(body).map_err(failed)?],
    };
    let mut lines = Vec::with_capacity(body.len() + objects.len());
    for object in objects {
        lines.extend(object.get().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
        lines.push(b'\n');
    }
    Ok(lines)
}
