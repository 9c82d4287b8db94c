//! The routes: paths, what a token needs for them, and what is checked before a request reaches its handler.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing;

use crate::app::App;
use crate::auth::{Access, Scope};
use crate::error::ApiError;
use crate::leftover::Leftover;
use crate::{events, health, inference, learn, mlflow, model, page, score};

/// A route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// The method, in small letters.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// What a token needs; `None` is open to all.
    pub scope: Option<Scope>,
}

/// Makes the list of routes and the router of one table.
macro_rules! routes {
    ($($method:ident $path:literal $scope:expr => $handler:path;)*) => {
        /// All routes.
        pub const ROUTES: &[Route] = &[$(Route { method: stringify!($method), path: $path, scope: $scope }),*];

        fn handlers() -> Router<Arc<App>> {
            Router::new()$(.route($path, routing::$method($handler)))*
        }
    };
}

routes! {
    get "/" None => page::page;
    get "/healthz" None => health::healthz;
    get "/readyz" None => health::readyz;
    get "/v1/openapi.json" None => page::openapi;
    get "/metrics" Some(Scope::Score) => health::metrics;
    post "/v1/score" Some(Scope::Score) => score::score;
    post "/v1/learn" Some(Scope::Learn) => learn::learn;
    post "/v1/label" Some(Scope::Learn) => learn::label;
    get "/v1/model" Some(Scope::Admin) => model::get;
    put "/v1/model" Some(Scope::Admin) => model::put;
    post "/v1/checkpoint" Some(Scope::Admin) => model::checkpoint;
    get "/v1/features" Some(Scope::Score) => model::features;
    get "/v1/events" Some(Scope::Score) => events::events;
    get "/ping" None => health::readyz;
    post "/invocations" Some(Scope::Score) => mlflow::invocations;
    get "/v2" None => inference::server;
    get "/v2/health/live" None => health::healthz;
    get "/v2/health/ready" None => health::readyz;
    get "/v2/models/{name}" Some(Scope::Score) => inference::model;
    get "/v2/models/{name}/ready" Some(Scope::Score) => inference::ready;
    post "/v2/models/{name}/infer" Some(Scope::Score) => inference::infer;
}

/// The router with all checks.
pub fn router(app: Arc<App>) -> Router {
    let none = || async {
        ApiError::new(StatusCode::NOT_FOUND, "no_route", "there is nothing here; GET /v1/openapi.json lists what is")
    };
    let other = || async {
        let text = "this path has another method; GET /v1/openapi.json lists it";
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "no_method", text)
    };
    handlers()
        .method_not_allowed_fallback(other)
        .fallback(none)
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

/// Checks where a request comes from and what its token allows, limits its time, and counts it.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string()).unwrap_or_default();
    let method = request.method().as_str().to_ascii_lowercase();
    let route = ROUTES.iter().find(|route| route.path == path && route.method == method);
    let limits = &app.options.limits;
    let waits = request.headers().contains_key(header::EXPECT);
    let (request, leftover) = Leftover::of(request);
    let mut response = match check(&app, &request, route) {
        Err(error) => {
            drop(request);
            error.into_response()
        }
        // Events go on for as long as somebody listens.
        Ok(()) if path == "/v1/events" => next.run(request).await,
        Ok(()) => {
            let time = limits.receive + limits.answer;
            tokio::time::timeout(time, next.run(request)).await.unwrap_or_else(|_| {
                let text = format!("the request took more than {} seconds", time.as_secs_f64());
                ApiError::unavailable(text).into_response()
            })
        }
    };
    // Who was too slow is not waited for again.
    let waits = waits || response.status() == StatusCode::REQUEST_TIMEOUT;
    leftover.drain(&mut response, waits, limits.body, limits.receive).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let known = route.map_or("other", |route| route.path);
    app.metrics.request(known, response.status().as_u16(), started.elapsed());
    response
}

fn check(app: &App, request: &Request, route: Option<&Route>) -> Result<(), ApiError> {
    let text = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    // Pages of other sites must not use a server that trusts this machine.
    if let Some(origin) = text(header::ORIGIN)
        && origin.split_once("://").is_none_or(|(_, authority)| !authority.eq_ignore_ascii_case(host))
    {
        let text = format!("requests of pages from {origin} are not served");
        return Err(ApiError::new(StatusCode::FORBIDDEN, "other_origin", text));
    }
    if app.is_local && !is_local_name(host) {
        let text = format!("a server without tokens is called by the name localhost, not {host:?}");
        return Err(ApiError::new(StatusCode::FORBIDDEN, "other_host", text));
    }
    let Some(scope) = route.and_then(|route| route.scope) else { return Ok(()) };
    match app.tokens.access(text(header::AUTHORIZATION), scope) {
        Access::Allowed => Ok(()),
        Access::Unknown => {
            let text = "send a token of this server: `Authorization: Bearer TOKEN`";
            Err(ApiError::new(StatusCode::UNAUTHORIZED, "no_token", text))
        }
        Access::Lacking => {
            let text = format!("the token lacks the scope {}", scope.name());
            Err(ApiError::new(StatusCode::FORBIDDEN, "no_scope", text))
        }
    }
}

/// Whether a Host header names this machine.
fn is_local_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_few_names() {
        for name in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:99", "[::1]"] {
            assert!(is_local_name(name), "{name}");
        }
        for name in ["", "example.org", "localhost.example.org", "10.0.0.1:80", "127.0.0.1.example.org", "[fe80::1]"] {
            assert!(!is_local_name(name), "{name}");
        }
    }
}
