//! The protocol over HTTP: each request stands alone, and is answered by the commands of the same server.

use super::agent::Agent;
use super::server::OrchServer;
use crate::{CommandRunner, WorkQueue};
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use std::sync::Arc;
use tokio::sync::watch::Receiver;

/// Answers requests of agents with bodies of at most `most` bytes until `stop` is true. They wait in `queue`, with what
/// others want. `report` gets what a command has printed, and `named` is the name that a client has given with its
/// request. Whoever may ask has been asked before, so names of hosts are not.
pub(crate) fn http(
    runner: Arc<dyn CommandRunner>,
    queue: Arc<WorkQueue>,
    most: usize,
    report: impl Fn(&str) + Send + Sync + 'static,
    named: fn(&Extensions) -> Option<String>,
    mut stop: Receiver<bool>,
) -> StreamableHttpService<OrchServer, NeverSessionManager> {
    let server = OrchServer::new(Agent::by(runner, report), queue);
    // A client keeps no session, so one that never comes back leaves nothing behind.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(most)
        .disable_allowed_hosts();
    let ending = server.clone();
    let cancelled = config.cancellation_token.clone();
    tokio::spawn(async move {
        let _ = stop.wait_for(|is_stopped| *is_stopped).await;
        ending.end();
        cancelled.cancel();
    });
    let of_request = move || Ok(server.of_request(named));
    StreamableHttpService::new(of_request, Arc::new(NeverSessionManager::default()), config)
}
