//! `/v2/…`: the Open Inference Protocol, for scoring.
//!
//! The input is one tensor of shape [rows, features] with the features of the model in its order (the metadata of the model
//! lists them), or one tensor of shape [rows] for each feature, by its name.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::body::{self, Received};
use crate::error::ApiError;
use crate::mlflow::{feature_names, named_rows};
use crate::score::Scored;

/// The server.
pub async fn server() -> Response {
    let version = env!("CARGO_PKG_VERSION");
    axum::Json(json!({ "name": "tamis", "version": version, "extensions": [] })).into_response()
}

fn check_name(app: &App, name: &str) -> Result<(), ApiError> {
    if name == app.name {
        return Ok(());
    }
    let text = format!("there is no model {name:?}; this server has {:?}", app.name);
    Err(ApiError::new(StatusCode::NOT_FOUND, "unknown_model", text))
}

/// Whether the model is ready.
pub async fn ready(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response, ApiError> {
    check_name(&app, &name)?;
    app.model()?;
    Ok(axum::Json(json!({ "name": name, "ready": true })).into_response())
}

/// The inputs and outputs of the model.
pub async fn model(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response, ApiError> {
    check_name(&app, &name)?;
    let served = app.model()?;
    let names = feature_names(&served);
    let classes = served.model.classes().len();
    let datatype = if classes == 0 { "FP64" } else { "BYTES" };
    let mut outputs = vec![json!({ "name": "prediction", "datatype": datatype, "shape": [-1] })];
    if served.model.gives_probabilities() {
        outputs.push(json!({ "name": "probability", "datatype": "FP64", "shape": [-1, classes] }));
    }
    Ok(axum::Json(json!({
        "name": name,
        "versions": [served.sequence.to_string()],
        "platform": "tamis",
        "inputs": [{ "name": "features", "datatype": "FP64", "shape": [-1, names.len()], "parameters": { "names": names } }],
        "outputs": outputs,
    }))
    .into_response())
}

#[derive(Deserialize)]
struct InferRequest {
    #[serde(default)]
    id: Option<String>,
    inputs: Vec<Tensor>,
}

#[derive(Deserialize)]
struct Tensor {
    name: String,
    shape: Vec<usize>,
    datatype: String,
    data: Value,
}

/// Scores rows.
pub async fn infer(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    check_name(&app, &name)?;
    let (answer, _held) = body::receive(app, request, answer).await?;
    Ok(axum::Json(answer).into_response())
}

fn answer(Received { app, served, bytes, .. }: Received) -> Result<Value, ApiError> {
    let request: InferRequest = serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::bad_json("not a request of the Open Inference Protocol", &error))?;
    let records = records_of(&request.inputs)?;
    let block = named_rows(&served, &records, &app.options.limits)?;
    let (scored, rows) = (Scored::of(&app, &served, &block)?, block.rows.len());
    let labels: Vec<Value> = (0..rows).map(|row| scored.label(&served, row)).collect();
    let classes = served.model.classes().len();
    let text = |label: Value| label.as_str().map_or_else(|| label.to_string(), String::from);
    let mut outputs = vec![match classes {
        0 => json!({ "name": "prediction", "datatype": "FP64", "shape": [rows], "data": labels }),
        _ => {
            let texts: Vec<String> = labels.into_iter().map(text).collect();
            json!({ "name": "prediction", "datatype": "BYTES", "shape": [rows], "data": texts })
        }
    }];
    let probabilities: Option<Vec<Vec<f64>>> = (0..rows).map(|row| scored.probabilities(&served, row)).collect();
    if let Some(probabilities) = probabilities {
        let shape = [rows, classes];
        outputs
            .push(json!({ "name": "probability", "datatype": "FP64", "shape": shape, "data": probabilities.concat() }));
    }
    let version = served.sequence.to_string();
    let mut answer = json!({ "model_name": app.name, "model_version": version, "outputs": outputs });
    if let Some(id) = request.id {
        answer["id"] = json!(id);
    }
    Ok(answer)
}

/// The rows of tensors: lists in the order of the features, or objects by name.
fn records_of(inputs: &[Tensor]) -> Result<Vec<Value>, ApiError> {
    let numbers = inputs.iter().map(numbers_of).collect::<Result<Vec<_>, _>>()?;
    if let ([Tensor { shape, .. }], [data]) = (inputs, &numbers[..])
        && let [_, columns] = shape[..]
    {
        return Ok(data.chunks(columns.max(1)).map(|row| json!(row)).collect());
    }
    let rows = numbers.first().map_or(0, Vec::len);
    if numbers.iter().any(|data| data.len() != rows) || inputs.iter().any(|input| input.shape.first() != Some(&rows)) {
        return Err(ApiError::bad(
            "bad_rows",
            "expected one tensor [rows, features], or one tensor [rows] for each feature",
        ));
    }
    let record = |row: usize| {
        let cells = inputs.iter().zip(&numbers).map(|(input, data)| (input.name.clone(), json!(data[row])));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    Ok((0..rows).map(record).collect())
}

/// The numbers of a tensor, nested or flat.
fn numbers_of(tensor: &Tensor) -> Result<Vec<f64>, ApiError> {
    let bad = |what: &str| ApiError::bad("bad_rows", format!("input {:?}: {what}", tensor.name));
    let is_number = ["FP", "INT", "UINT"].iter().any(|kind| tensor.datatype.starts_with(kind));
    if !is_number {
        return Err(bad(&format!("the datatype {} is not one of numbers", tensor.datatype)));
    }
    let mut numbers = Vec::new();
    collect(&tensor.data, &mut numbers).ok_or_else(|| bad("the data are not numbers"))?;
    let size = tensor.shape.iter().try_fold(1_usize, |size, length| size.checked_mul(*length));
    if size == Some(numbers.len()) { Ok(numbers) } else { Err(bad("the shape is not that of the data")) }
}

/// Appends the numbers of nested lists. JSON text is at most 128 levels deep.
fn collect(value: &Value, numbers: &mut Vec<f64>) -> Option<()> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, numbers)),
        Value::Number(number) => {
            numbers.push(number.as_f64()?);
            Some(())
        }
        _ => None,
    }
}
