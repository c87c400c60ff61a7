//! What a browser gets: the page that signs it in, and the pages and assets of the board.
//!
//! Pages are behind the gate, as everything else is, so each has the policy that forbids inline scripts and styles.
//! They show what the API answers, and their orders are requests of the API.

use super::board;
use super::gate::{Asker, is_reading};
use super::openapi::OUTPUT;
use super::orders::orders_of;
use super::problem::{ShownError, problem};
use super::request;
use super::service::Service;
use axum::Router;
use axum::extract::{Path, RawPathParams, Request, State};
use axum::http::header::{
    ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use orch_base::{Code, Error};
use orch_core::workflow::System;
use orch_engine::survey::{Caller, Workspace};
use orch_view::html::{self, ASSETS, BoardFilter};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::sync::Arc;

/// The routes of pages and assets.
pub(super) fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(front))
        .route("/cards", get(cards))
        .route("/overview", get(overview))
        .route("/tasks/{task}", get(task))
        .route("/assets/{name}", get(asset))
}

/// Whether a browser asks for a page.
pub(super) fn is_for_page(request: &Request) -> bool {
    let accepts = request
        .headers()
        .get_all(ACCEPT)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let is_page = accepts
        .flat_map(|value| value.split([',', ';']))
        .any(|media| media.trim() == "text/html");
    is_page && is_reading(request.method())
}

/// What a browser gets that is not signed in.
pub(super) fn sign_in() -> Response {
    let mut response = html(html::sign_in());
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
        .headers_mut()
        .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// The page in place of a problem document, for a browser that asked for a page at `path`; any other answer as it is.
/// An API answers a browser as it answers any program.
pub(super) fn readable(response: Response, path: &str) -> Response {
    let others = ["/api", "/assets", "/mcp", "/ws"];
    let is_page = !others.iter().any(|other| {
        path.strip_prefix(other)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    match response
        .extensions()
        .get::<ShownError>()
        .filter(|_| is_page)
    {
        Some(ShownError(error)) => {
            let mut page = html(html::served_problem(error));
            *page.status_mut() = response.status();
            for (name, value) in response
                .headers()
                .iter()
                .filter(|(name, _)| **name == RETRY_AFTER)
            {
                page.headers_mut().insert(name, value.clone());
            }
            page
        }
        None => response,
    }
}

fn html(text: String) -> Response {
    (
        [(
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        )],
        text,
    )
        .into_response()
}

/// Exchanges the token of the URL for a session, which a cookie keeps, or shows all tasks.
async fn front(State(service): State<Arc<Service>>, request: Request) -> Response {
    let gate = &service.gate;
    let Some(holder) = gate.exchange(request.uri()) else {
        return all_tasks(service, request).await.unwrap_or_else(problem);
    };
    let session = gate.sessions.of_holder(holder);
    let cookie = format!(
        "{}={session}; HttpOnly; SameSite=Strict; Path=/",
        gate.cookie()
    );
    let mut response = (
        StatusCode::SEE_OTHER,
        [(LOCATION, HeaderValue::from_static("/"))],
    )
        .into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

async fn all_tasks(service: Arc<Service>, request: Request) -> Result<Response, Error> {
    let mut filter = BoardFilter::default();
    for (name, value) in request::query(request.uri())? {
        match name.as_str() {
            "q" => filter.text = value,
            "owner" => filter.owner = value,
            // A link may have been made for another version.
            _ => {}
        }
    }
    page(service, asker(&request), move |_, workspace, caller| {
        board::front(workspace, caller, &filter)
    })
    .await
}

/// The cards of the tasks that the query names.
async fn cards(State(service): State<Arc<Service>>, request: Request) -> Response {
    let names = request::query(request.uri());
    let names = names.map(|pairs| {
        pairs
            .into_iter()
            .filter(|(name, _)| name == "task")
            .map(|(_, task)| task)
            .collect::<Vec<_>>()
    });
    match names {
        Ok(names) => page(service, asker(&request), move |_, workspace, caller| {
            board::cards(workspace, caller, &names)
        })
        .await
        .unwrap_or_else(problem),
        Err(error) => problem(error),
    }
}

/// The tasks of all branches and work trees.
async fn overview(State(service): State<Arc<Service>>, request: Request) -> Response {
    page(service, asker(&request), |_, workspace, caller| {
        board::overview(workspace, caller)
    })
    .await
    .unwrap_or_else(problem)
}

/// The page of a task.
async fn task(
    State(service): State<Arc<Service>>,
    path: RawPathParams,
    request: Request,
) -> Response {
    let name = path
        .iter()
        .map(|(_, value)| value.to_owned())
        .next()
        .unwrap_or_default();
    let asker = asker(&request);
    let may_order = asker == Asker::Person && !service.gate.read_only;
    page(service, asker, move |service, workspace, caller| {
        // First, so that an order never rests on something newer than what the page shows.
        let tag = if may_order {
            service.tag_of(&name, caller)?
        } else {
            String::new()
        };
        let output = OUTPUT.replace(
            "{task}",
            &utf8_percent_encode(&name, NON_ALPHANUMERIC).to_string(),
        );
        board::task(
            workspace,
            caller,
            &name,
            (&tag, &output),
            |suggestion, run, person| match may_order {
                true => orders_of(&service.routes, suggestion, run, person),
                false => Vec::new(),
            },
        )
    })
    .await
    .unwrap_or_else(problem)
}

/// A style or a script. Only those in the binary are served, never those of a repository.
async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(known, ..)| *known == name) {
        Some((_, media, path)) => (
            [(CONTENT_TYPE, HeaderValue::from_static(media))],
            System::built_in(path),
        )
            .into_response(),
        None => problem(Error::new(
            Code::UnknownRoute,
            format!("there is no `/assets/{name}` here"),
        )),
    }
}

fn asker(request: &Request) -> Asker {
    request
        .extensions()
        .get::<Asker>()
        .cloned()
        .unwrap_or(Asker::Anyone)
}

/// Makes a page in another thread.
async fn page(
    service: Arc<Service>,
    asker: Asker,
    make: impl FnOnce(&Service, &Workspace, &Caller) -> Result<String, Error> + Send + 'static,
) -> Result<Response, Error> {
    let work = move |service: &Service| {
        let workspace = service.runner.workspace()?;
        let caller = service.caller(&asker);
        make(service, &workspace, &caller)
    };
    let text = service.in_background(work).await?;
    Ok(html(text))
}
