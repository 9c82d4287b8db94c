//! `POST /invocations`: the scoring protocol of MLflow, with named columns.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tamis::data::{Label, RawRows};
use tamis::io::{Block, Format};

use crate::app::App;
use crate::body::{self, Received, RowOptions, content_type, read_rows};
use crate::error::ApiError;
use crate::options::Limits;
use crate::score::Scored;
use crate::served::Served;

/// Scores rows in one of MLflow's forms.
pub async fn invocations(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let (answer, _held) = body::receive(app, request, answer).await?;
    Ok(axum::Json(answer).into_response())
}

fn answer(Received { app, served, headers, bytes }: Received) -> Result<Value, ApiError> {
    let limits = &app.options.limits;
    let block = match content_type(&headers).eq_ignore_ascii_case("application/json") {
        false => body::rows(&served, &headers, bytes, &RowOptions::default(), limits)?,
        true => rows_of(&served, &bytes, limits)?,
    };
    let scored = Scored::of(&app, &served, &block)?;
    let labels: Vec<Value> = (0..block.rows.len()).map(|row| scored.label(&served, row)).collect();
    Ok(json!({ "predictions": labels }))
}

fn rows_of(served: &Served, bytes: &[u8], limits: &Limits) -> Result<Block, ApiError> {
    if let Some(block) = dense_rows(served, bytes, limits) {
        return Ok(block);
    }
    let request: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| ApiError::bad_json("the body is not a JSON object", &error))?;
    let forms = "expected dataframe_split, dataframe_records, instances or inputs";
    let mut found = request.iter().filter(|(name, _)| *name != "params");
    let (Some((name, data)), None) = (found.next(), found.next()) else { return Err(ApiError::bad("bad_rows", forms)) };
    let records = match (name.as_str(), data) {
        ("dataframe_split", Value::Object(split)) => split_records(split)?,
        ("dataframe_records" | "instances" | "inputs", Value::Array(records)) => records.clone(),
        ("inputs", Value::Object(columns)) => column_records(columns)?,
        _ => return Err(ApiError::bad("bad_rows", forms)),
    };
    named_rows(served, &records, limits)
}

/// A request of numbers only, as most are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DenseRequest {
    #[serde(default)]
    dataframe_split: Option<DenseSplit>,
    #[serde(default)]
    instances: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    #[expect(dead_code, reason = "parameters are allowed, and none is known")]
    params: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct DenseSplit {
    columns: Vec<String>,
    data: Vec<Vec<f64>>,
}

/// The rows of a request of numbers only, without the detour over records. `None` leaves a request to the general way,
/// which also says what is wrong with it.
fn dense_rows(served: &Served, bytes: &[u8], limits: &Limits) -> Option<Block> {
    if served.model.columns.is_some() {
        return None;
    }
    let request: DenseRequest = serde_json::from_slice(bytes).ok()?;
    let (columns, data) = match (request.dataframe_split, request.instances) {
        (Some(split), None) => (split.columns, split.data),
        (None, Some(data)) => (feature_names(served), data),
        _ => return None,
    };
    let is_within = !data.is_empty() && data.len() <= limits.rows && columns.len() <= limits.features;
    let distinct: HashSet<&String> = columns.iter().filter(|name| !name.is_empty()).collect();
    if !is_within || distinct.len() != columns.len() || data.iter().any(|row| row.len() != columns.len()) {
        return None;
    }
    let mut rows = RawRows::by_name();
    for (line, cells) in (0..).zip(&data) {
        for (name, &value) in columns.iter().zip(cells).filter(|(_, value)| **value != 0.0) {
            rows.push_name(&[name], value);
        }
        rows.end_row(Label::Absent, 1.0, line);
    }
    Some(Block { rows, file: "request".into(), first_line: 1 })
}

/// Records of the form of `{"columns": […], "data": [[…], …]}`.
fn split_records(split: &Map<String, Value>) -> Result<Vec<Value>, ApiError> {
    let bad = || ApiError::bad("bad_rows", "dataframe_split needs a list of columns and a list of rows as long as it");
    let columns = split.get("columns").and_then(Value::as_array).ok_or_else(bad)?;
    let rows = split.get("data").and_then(Value::as_array).ok_or_else(bad)?;
    let name = |column: &Value| column.as_str().map_or_else(|| column.to_string(), String::from);
    let mut met = HashSet::new();
    if let Some(twice) = columns.iter().map(name).find(|name| !met.insert(name.clone())) {
        return Err(ApiError::bad("bad_rows", format!("dataframe_split has the column {twice:?} twice")));
    }
    let record = |row: &Value| {
        let cells = row.as_array().filter(|cells| cells.len() == columns.len()).ok_or_else(bad)?;
        Ok(Value::Object(columns.iter().map(name).zip(cells.iter().cloned()).collect()))
    };
    rows.iter().map(record).collect()
}

/// Records of the form of `{"column": [cells], …}`.
fn column_records(columns: &Map<String, Value>) -> Result<Vec<Value>, ApiError> {
    let bad = || ApiError::bad("bad_rows", "inputs by name need lists of one length");
    let lists: Option<Vec<(&String, &Vec<Value>)>> =
        columns.iter().map(|(name, list)| Some((name, list.as_array()?))).collect();
    let lists =
        lists.filter(|lists| lists.windows(2).all(|pair| pair[0].1.len() == pair[1].1.len())).ok_or_else(bad)?;
    let rows = lists.first().map_or(0, |(_, list)| list.len());
    let record =
        |row: usize| Value::Object(lists.iter().map(|(name, list)| ((*name).clone(), list[row].clone())).collect());
    Ok((0..rows).map(record).collect())
}

/// Rows of records: objects by name, or lists in the order of the features of the model.
pub fn named_rows(served: &Served, records: &[Value], limits: &Limits) -> Result<Block, ApiError> {
    let order = feature_names(served);
    let mut lines = Vec::new();
    for (number, record) in (1..).zip(records) {
        let object = match record {
            Value::Object(object) => object.clone(),
            Value::Array(cells) if cells.len() == order.len() => {
                order.iter().cloned().zip(cells.iter().cloned()).collect()
            }
            Value::Array(cells) => {
                let text =
                    format!("row {number} has {} numbers, and the model has {} features", cells.len(), order.len());
                return Err(ApiError::bad("bad_row", text).at_line(number));
            }
            _ => {
                return Err(
                    ApiError::bad("bad_row", format!("row {number} is neither an object nor a list")).at_line(number)
                );
            }
        };
        let is_flat = served.model.columns.is_some() && record.is_object();
        let line = if is_flat { Value::Object(object) } else { json!({ "x": object }) };
        serde_json::to_writer(&mut lines, &line).expect("plain data becomes JSON");
        lines.push(b'\n');
    }
    let options = RowOptions { missing_columns_are_zero: true, ..RowOptions::default() };
    read_rows(served, Format::JsonLines, lines.into(), &options, limits)
}

/// The features of the model, each once, in its order.
pub fn feature_names(served: &Served) -> Vec<String> {
    let mut met = HashSet::new();
    let all = served.model.outputs.iter().flat_map(|output| &output.features);
    all.map(|feature| feature.name.clone()).filter(|name| met.insert(name.clone())).collect()
}
