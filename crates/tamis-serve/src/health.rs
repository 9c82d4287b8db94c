//! `/healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::app::App;
use crate::error::ApiError;
use crate::metrics::Gauges;

/// The process serves requests.
pub async fn healthz() -> Response {
    axum::Json(json!({ "status": "ok" })).into_response()
}

/// The log is replayed, and rows can be scored.
pub async fn readyz(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let served = app.model()?;
    if *app.stopping().borrow() {
        return Err(ApiError::unavailable("the server is stopping"));
    }
    Ok(axum::Json(json!({ "status": "ready", "sequence": served.sequence })).into_response())
}

/// The counters as Prometheus text.
pub async fn metrics(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let served = app.model()?;
    let gauges = Gauges {
        progressive_loss: served.model.seen.progressive_loss,
        nonzeros: served.model.nonzeros() as u64,
        sequence: served.sequence,
        connections: app.connections.load(Ordering::Relaxed) as u64,
    };
    let mut response = app.metrics.text(&gauges).into_response();
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    Ok(response)
}
