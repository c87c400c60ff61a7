//! All routes behind the gate, and what every answer has.

use super::gate::HEALTH;
#[cfg(feature = "mcp")]
use super::gate::{Asker, named};
use super::openapi::{self, CONTENT, EVENTS, OUTPUT};
use super::pages;
use super::problem::problem;
#[cfg(feature = "mcp")]
use super::request::{self, BODY};
use super::service::{Service, answer, content, described, events, health, output};
#[cfg(feature = "mcp")]
use crate::mcp;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, REFERRER_POLICY, TRANSFER_ENCODING,
    X_CONTENT_TYPE_OPTIONS,
};
#[cfg(feature = "mcp")]
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
#[cfg(feature = "mcp")]
use axum::routing::post_service;
use axum::routing::{MethodRouter, get, post};
use orch_base::{Code, Error};
use std::sync::Arc;

/// The path of the protocol for agents.
#[cfg(feature = "mcp")]
const MCP: &str = "/mcp";

/// What a page may load and where it may send what: only from here and to here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// All routes, behind the gate.
pub(super) fn router(service: Arc<Service>) -> Router {
    let mut router: Router<Arc<Service>> = Router::new();
    for route in &service.routes {
        let served = Arc::clone(route);
        let handler = move |State(service): State<Arc<Service>>, request: Request| {
            answer(service, served, request)
        };
        let methods: MethodRouter<Arc<Service>> = if route.writes {
            post(handler)
        } else {
            get(handler)
        };
        router = router.route(route.path, methods);
    }
    for other in &service.others {
        router = router.merge((other.routes)(&service));
    }
    router
        .route(HEALTH, get(health))
        .route(openapi::PATH, get(described))
        .route(EVENTS, get(events))
        .route(OUTPUT, get(output))
        .route(CONTENT, get(content))
        .merge(pages::router())
        .merge(agents(&service))
        .fallback(async |uri: Uri| {
            problem(Error::new(
                Code::UnknownRoute,
                format!("there is no `{}` here", uri.path()),
            ))
        })
        .method_not_allowed_fallback(async |request: Request| {
            let message = format!(
                "`{}` has no method {}",
                request.uri().path(),
                request.method()
            );
            problem(Error::new(Code::MethodNotAllowed, message))
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&service), guard))
        .with_state(service)
}

/// The protocol for agents, at [`MCP`]. Whoever asks acts as an agent there.
#[cfg(feature = "mcp")]
fn agents(service: &Arc<Service>) -> Router<Arc<Service>> {
    let reported = Arc::clone(service);
    let service = mcp::http(
        service.runner.clone(),
        Arc::clone(&service.queue),
        BODY,
        move |printed| reported.report(printed),
        |extensions| match named(extensions.get::<Parts>()?).ok()? {
            Asker::Agent(name) => name,
            Asker::Person | Asker::Anyone => None,
        },
        service.stop.clone(),
    );
    // The others are refused by the protocol.
    let calls = post_service(service.clone()).route_layer(middleware::from_fn(vetted));
    Router::new().route(MCP, calls.fallback_service(service))
}

/// Answers a message to the protocol, unless the name of the agent can be none, or the body is not JSON.
#[cfg(feature = "mcp")]
async fn vetted(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let vetted = async {
        named(&parts)?;
        request::json(&parts.headers, body).await
    };
    match vetted.await {
        Ok(body) => next.run(Request::from_parts(parts, body.into())).await,
        Err(error) => problem(error),
    }
}

#[cfg(not(feature = "mcp"))]
fn agents(_service: &Arc<Service>) -> Router<Arc<Service>> {
    Router::new()
}

/// The answer to a request for `path` that may not be answered, in the form of its API.
fn refusal(service: &Service, error: Error, path: &str) -> Response {
    match service.others.iter().find(|other| other.has(path)) {
        Some(other) => (other.refusal)(&error, path),
        None => problem(error),
    }
}

/// Lets only those in who may, and adds what every answer has.
async fn guard(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    // Such a body could end elsewhere for a proxy, which then would take its rest for another request.
    let is_last = request.headers().contains_key(TRANSFER_ENCODING);
    let path = request.uri().path().to_owned();
    let is_for_page = pages::is_for_page(&request);
    let mut response = match service
        .gate
        .admit(request.method(), request.uri(), request.headers())
    {
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            let response = next.run(request).await;
            if is_for_page {
                pages::readable(response, &path)
            } else {
                response
            }
        }
        Err(error) if is_for_page && error.code() == Code::NoToken => pages::sign_in(),
        Err(error) if is_for_page => pages::readable(refusal(&service, error, &path), &path),
        Err(error) => refusal(&service, error, &path),
    };
    let headers = response.headers_mut();
    if is_last {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
