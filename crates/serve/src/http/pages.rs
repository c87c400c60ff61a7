//! What a browser gets: the page that signs it in, and the pages and assets of the board.
//!
//! Pages are behind the gate, as everything else is, so each has the policy that forbids inline scripts and styles.
//! They show what the API answers, and their orders are requests of the API.

use super::board::{PageMaker, workspace};
use super::gate::{Asker, is_reading};
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
use orch_view::html::{self, ASSETS, BoardFilter};
use std::sync::Arc;

/// The routes of pages and assets.
pub(super) fn router() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(front))
        .route("/cards", get(cards))
        .route("/overview", get(overview))
        .route("/decide", get(decide))
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
    let session = match gate.sessions.begin(holder, gate.clock.now()) {
        Ok(session) => session,
        Err(error) => return problem(error),
    };
    let cookie = format!(
        "{}={session}; HttpOnly; SameSite=Strict; Path=/",
        gate.cookie()
    );
    let mut response = see_other("/");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

async fn all_tasks(service: Arc<Service>, request: Request) -> Result<Response, Error> {
    page(service, request, |maker| maker.front()).await
}

/// The cards of the tasks that the query names.
async fn cards(State(service): State<Arc<Service>>, request: Request) -> Response {
    let cards = async {
        let mut names = request::query(request.uri())?;
        names.retain(|(name, _)| name == "task");
        let names: Vec<String> = names.into_iter().map(|(_, task)| task).collect();
        page(service, request, move |maker| maker.cards(&names)).await
    };
    cards.await.unwrap_or_else(problem)
}

/// The tasks of all branches and work trees.
async fn overview(State(service): State<Arc<Service>>, request: Request) -> Response {
    page(service, request, |maker| maker.overview())
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
    page(service, request, move |maker| maker.task(&name))
        .await
        .unwrap_or_else(problem)
}

/// Leads to the decision that is next, or to the one with the number `at` of the query.
async fn decide(State(service): State<Arc<Service>>, request: Request) -> Response {
    let there = async {
        let query = request::query(request.uri())?;
        let at = query.iter().find(|(name, _)| name == "at");
        let number = at.and_then(|(_, text)| text.parse().ok()).unwrap_or(1);
        made(service, request, move |maker| maker.decision(number)).await
    };
    match there.await {
        Ok(there) => see_other(&there),
        Err(error) => problem(error),
    }
}

fn see_other(there: &str) -> Response {
    match HeaderValue::from_str(there) {
        Ok(there) => (StatusCode::SEE_OTHER, [(LOCATION, there)]).into_response(),
        Err(_) => problem(request::wrong("the query is no text of a URL")),
    }
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

/// Makes a page in another thread.
async fn page(
    service: Arc<Service>,
    request: Request,
    make: impl FnOnce(PageMaker<'_>) -> Result<String, Error> + Send + 'static,
) -> Result<Response, Error> {
    Ok(html(made(service, request, make).await?))
}

/// What a page is, or where it is, made in another thread.
async fn made(
    service: Arc<Service>,
    request: Request,
    make: impl FnOnce(PageMaker<'_>) -> Result<String, Error> + Send + 'static,
) -> Result<String, Error> {
    let asker = request.extensions().get::<Asker>().cloned();
    let asker = asker.unwrap_or(Asker::Anyone);
    let filter = BoardFilter::of(request::query(request.uri())?);
    drop(request);
    let work = move |service: &Service| {
        let workspace = workspace(service)?;
        let caller = service.caller(&asker);
        make(PageMaker {
            service,
            workspace,
            asker,
            caller,
            filter,
        })
    };
    service.in_background(work).await
}
