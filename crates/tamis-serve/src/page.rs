//! The live page at `/`, and the description of all routes.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

const OPENAPI: &str = include_str!("openapi.json");

/// The live page.
pub async fn page() -> Response {
    "tamis".into_response()
}

/// The description of all routes (OpenAPI 3.1).
pub async fn openapi() -> Response {
    let mut response = OPENAPI.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
