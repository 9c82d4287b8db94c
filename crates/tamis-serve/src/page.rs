//! The live page at `/`, and the description of all routes.

use std::sync::OnceLock;

use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use tamis_report::live_page;

const OPENAPI: &str = include_str!("openapi.json");
const BODY: &str = include_str!("assets/live.html");
const SCRIPT: &str = include_str!("assets/live.js");
/// The form of the page on top of that of reports.
const STYLE: &str = include_str!("assets/live.css");

/// The live page. It holds no data: its script asks for them, with a token if there is one.
pub async fn page() -> Response {
    static PAGE: OnceLock<String> = OnceLock::new();
    let page = PAGE.get_or_init(|| {
        let page = live_page("serve", BODY, SCRIPT);
        page.replacen("</style>", &format!("{STYLE}</style>"), 1)
    });
    let mut response = Html(page.as_str()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// The description of all routes (OpenAPI 3.1).
pub async fn openapi() -> Response {
    let mut response = OPENAPI.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_uses_nothing_from_elsewhere_and_writes_text_only() {
        for part in [BODY, SCRIPT, STYLE] {
            assert!(!part.contains("https://") && !part.contains("src=") && !part.contains("@import"));
        }
        assert_eq!(SCRIPT.matches("http://").count(), 1, "the name space of SVG");
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("</script"));
    }
}
