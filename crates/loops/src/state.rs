//! What the loop API knows besides the server that answers for it.

use super::changes::LoopNews;
use super::generations::Generations;
use orch_serve::http::Service;
use std::sync::Arc;

/// The state of the routes.
pub(super) struct LoopState {
    pub service: Arc<Service>,
    /// The outcome of the executors that propose tasks.
    pub generations: Generations,
    /// Where changes of loops are told.
    pub news: LoopNews,
}
