//! The routes of the loop API, for a server that serves it beside its own.

use super::api::{PATH, loops, refusal};
use super::changes::LoopNews;
use super::generations::Generations;
use super::socket;
use super::state::LoopState;
use axum::Router;
use axum::routing::{any, get};
use orch_serve::http::{OtherApi, Service};
use std::sync::Arc;

/// The loop API, to be served beside that of `orch`.
#[must_use]
pub fn api() -> OtherApi {
    OtherApi {
        path: PATH,
        routes,
        refusal,
    }
}

fn routes(service: &Arc<Service>) -> Router<Arc<Service>> {
    let state = LoopState {
        service: Arc::clone(service),
        generations: Generations::default(),
        news: LoopNews::new(),
    };
    Router::new()
        .route(PATH, any(loops))
        .route(&format!("{PATH}/"), any(loops))
        .route(&format!("{PATH}/{{*below}}"), any(loops))
        .route(socket::PATH, get(socket::listen))
        .with_state(Arc::new(state))
}
