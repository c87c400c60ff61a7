//! What a browser gets: the page that signs it in, and the pages and assets of the board.
//!
//! Pages are mounted in [`router`]: `/`, `/tasks/{task}` and `/assets/{name}`. They are behind the gate, as
//! everything else is, so each has the policy that forbids inline scripts and styles. What a page knows about tasks it
//! gets from the API.

use super::service::Service;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

/// The page at `/` while there is no board.
const FRONT: &str = "<!doctype html>\n<html lang=\"en\">\n<title>orch</title>\n<h1>orch</h1>\n\
    <p>You are signed in. <a href=\"/api/v1/tasks\">Tasks</a>, \
    <a href=\"/api/v1/suggestions\">suggestions</a>, <a href=\"/api/v1/openapi.json\">the API</a></p>\n</html>\n";

/// The routes of pages and assets.
pub(super) fn router() -> Router<Arc<Service>> {
    Router::new().route("/", get(front))
}

/// Keeps the token of the URL in a cookie, or shows the front page.
async fn front(State(service): State<Arc<Service>>, request: Request) -> Response {
    let gate = &service.gate;
    let Some(token) = gate.token_in(request.uri()) else {
        return page(FRONT);
    };
    let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", gate.cookie());
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, HeaderValue::from_static("/"))]).into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn page(text: &'static str) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))], text).into_response()
}
