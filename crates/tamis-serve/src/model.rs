//! `GET` and `PUT /v1/model`, `GET /v1/features`, `POST /v1/checkpoint`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tamis::data::Label;
use tamis::model::{Feature, Model, Resize};

use crate::app::App;
use crate::body::{self, run};
use crate::error::ApiError;
use crate::learner::Command;
use crate::served::Served;

/// The model with all rows that were learned before the request.
async fn current(app: &App) -> Result<Arc<Served>, ApiError> {
    if app.learns() { app.ask(Command::Publish).await } else { app.model() }
}

/// The model file.
pub async fn get(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, ApiError> {
    let served = current(&app).await?;
    let tag = served.etag();
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|given| matches(given, &tag));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(served.text().to_string()).into_response(),
    };
    let headers = response.headers_mut();
    if !is_known {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    headers.insert(header::ETAG, HeaderValue::from_str(&tag).expect("a number in quotes"));
    headers.insert("tamis-sequence", HeaderValue::from(served.sequence));
    Ok(response)
}

/// Whether a list of tags contains one.
fn matches(given: &HeaderValue, tag: &str) -> bool {
    given.to_str().is_ok_and(|given| given.trim() == "*" || given.split(',').any(|one| one.trim() == tag))
}

/// Puts another model in place: a model file where the server only scores, a checkpoint where it learns. If it cannot be
/// used, the old one stays.
pub async fn put(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    if app.options.read_only {
        return Err(ApiError::conflict("read_only", "the server was started with --read-only: its model stays"));
    }
    let (parts, body) = request.into_parts();
    let (bytes, _held) = body::read(&app, &parts.headers, body).await?;
    if let Some(given) = parts.headers.get(header::IF_MATCH)
        && !matches(given, &current(&app).await?.etag())
    {
        let text = "the model is another one by now (If-Match)";
        return Err(ApiError::new(StatusCode::PRECONDITION_FAILED, "changed", text));
    }
    let is_model = bytes.trim_ascii_start().starts_with(b"{");
    let refused = |error: &dyn std::fmt::Display| {
        let text = format!("{error}; the model that is served stays");
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_model", text)
    };
    let served = match (app.learns(), is_model) {
        (true, true) => {
            let text = "this server learns, and a model file has no state to learn from: send a checkpoint";
            return Err(ApiError::conflict("needs_checkpoint", text));
        }
        (true, false) => {
            let replace = |reply| Command::Replace(bytes.to_vec(), reply);
            app.ask(replace).await.map_err(|error| refused(&error.message))?
        }
        (false, _) => {
            app.model()?;
            let size = bytes.len();
            let load = move || Model::from_bytes(&bytes, Path::new("request")).map_err(|error| refused(&error));
            let served = Arc::new(Served::new(run(size, load).await?, 0));
            app.publish(served.clone());
            served
        }
    };
    let mut response =
        axum::Json(json!({ "nonzeros": served.model.nonzeros(), "etag": served.etag() })).into_response();
    response.headers_mut().insert(header::ETAG, HeaderValue::from_str(&served.etag()).expect("a number in quotes"));
    Ok(response)
}

/// What a request for features may ask for in its query.
struct FeatureQuery {
    top: usize,
    size: Option<Resize>,
}

impl FeatureQuery {
    fn of(pairs: HashMap<String, String>) -> Result<Self, ApiError> {
        let mut query = FeatureQuery { top: usize::MAX, size: None };
        for (name, value) in pairs {
            let bad = |what: &str| ApiError::bad("bad_query", format!("{name}={value}: {what}"));
            let whole = || value.parse::<usize>().map_err(|_| bad("expected a whole number"));
            let share = || value.parse::<f64>().map_err(|_| bad("expected a number from 0 to 0.5"));
            let size = match name.as_str() {
                "top" => {
                    query.top = whole()?;
                    continue;
                }
                "k" => Resize::Size(whole()?),
                "fdr" => Resize::Fdr(share()?),
                _ => return Err(bad("a query has top=N, and k=N or fdr=Q")),
            };
            if query.size.replace(size).is_some() {
                return Err(bad("k and fdr cannot be given both"));
            }
        }
        Ok(query)
    }
}

/// The features with a weight, the most important first. `k` and `fdr` give those of another size of the model.
pub async fn features(
    State(app): State<Arc<App>>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, ApiError> {
    let FeatureQuery { top, size } = FeatureQuery::of(query)?;
    let served = app.model()?;
    let resized = size.map(|size| served.model.resize(size)).transpose();
    let resized = resized.map_err(|error| ApiError::conflict("no_such_size", error.to_string()))?;
    let model = resized.as_ref().unwrap_or(&served.model);
    let outputs: Vec<Value> = model
        .outputs
        .iter()
        .map(|output| {
            let features = output.features.iter().take(top).map(|one| feature(model, one)).collect::<Vec<_>>();
            let mut value = json!({ "intercept": output.intercept, "features": features });
            if let Some(class) = &output.class {
                value["class"] = json!(class);
            }
            value
        })
        .collect();
    let seen = &model.seen;
    Ok(axum::Json(json!({
        "method": model.recipe.method_name(),
        "loss_name": model.loss.name(),
        "classes": model.classes().iter().map(Label::to_string).collect::<Vec<_>>(),
        "sequence": served.sequence,
        "rows": seen.rows,
        "loss": seen.progressive_loss,
        "nonzeros": model.nonzeros(),
        "learns": app.learns(),
        "is_table": model.columns.is_some(),
        "outputs": outputs,
    }))
    .into_response())
}

fn feature(model: &Model, feature: &Feature) -> Value {
    let mut value = json!({ "name": feature.name, "weight": feature.weight, "effect": feature.weight * feature.scale });
    if let Some(frequency) = feature.frequency {
        value["frequency"] = json!(frequency);
    }
    if let Some(test) = model.test(&feature.name) {
        value["q"] = json!(test.q);
    }
    value
}

/// Writes a checkpoint.
pub async fn checkpoint(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let saved = app.ask(Command::Checkpoint).await?;
    Ok(axum::Json(json!({ "sequence": saved.sequence, "rows": saved.rows, "bytes": saved.bytes })).into_response())
}
