//! The Model Context Protocol on stdin and stdout, for agents.
//!
//! A tool is a command of `orch` with `--json`: `tools` says which; its arguments and what they mean are those of
//! the command. `agent` executes it in this process. So an agent gets the documents that the command line prints, and its
//! orders are checked as the command line checks them. The protocol is that of the crate `rmcp`. Its runtime exists
//! only while a server runs.

mod agent;
#[cfg(feature = "api")]
mod http;
mod input;
mod news;
mod resources;
mod server;
mod tools;

#[cfg(feature = "api")]
pub(crate) use http::http;
pub use tools::{AgentTool, tools};

use crate::{CommandRunner, QueueLimits, WorkQueue};
use agent::Agent;
use orch_base::{Code, Error};
use server::OrchServer;
use std::sync::Arc;
use std::time::Duration;

/// How long the command in progress may take at the end.
const END: Duration = Duration::from_secs(60);

/// Serves the agent on stdin and stdout until stdin ends. Returns an error if the first messages are not of the protocol.
pub fn serve(runner: Arc<dyn CommandRunner>) -> Result<(), Error> {
    let cannot = |error: std::io::Error| Error::new(Code::Io, format!("cannot serve: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let queue = Arc::new(WorkQueue::new(QueueLimits::SERVER));
    // A person who starts it is none here.
    let server = OrchServer::new(Agent::by(runner, |_| {}), Arc::clone(&queue));
    let served = runtime.block_on(server::serve(server));
    // A read of stdin may still be waiting.
    runtime.shutdown_background();
    // A command that has begun is completed, so that its commit is whole.
    queue.finish(END);
    served.map_err(|why| Error::new(Code::Io, why))
}
