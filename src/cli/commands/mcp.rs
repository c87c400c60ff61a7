//! `orch mcp`: the Model Context Protocol on stdin and stdout, for agents.
//!
//! A tool is a command of `orch` with `--json`: [`mod@tools`] says which, and how its arguments are written, and
//! [`agent`] executes it in this process. So an agent gets the documents that the command line prints, and its
//! orders are checked as the command line checks them. The protocol is that of the crate `rmcp`. Its runtime exists
//! only while this command runs.

mod agent;
#[cfg(feature = "api")]
mod http;
mod input;
mod news;
mod resources;
mod server;
mod tools;

#[cfg(feature = "api")]
pub(super) use http::http;

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use crate::cli::remote::{QueueLimits, WorkQueue};
use agent::Agent;
use orch_base::Code;
use server::OrchServer;
use std::sync::Arc;
use std::time::Duration;

/// The names of the tools, which are those of their commands.
#[cfg(all(feature = "api", feature = "repl"))]
pub(super) fn tools() -> impl Iterator<Item = &'static str> {
    tools::TOOLS.iter().map(|tool| tool.name)
}

/// How long the command in progress may take at the end.
const END: Duration = Duration::from_secs(60);

/// Serve agents by the Model Context Protocol (MCP) on stdin and stdout.
///
/// Register it in an agent program as a server with the command `orch mcp`. An agent gets the tools `suggest`,
/// `prompt`, `explain`, `check`, `next`, `answer`, `log` and `schema`, and can read tasks, workflow documents,
/// schemas and instructions as resources. Every caller counts as an agent, so there is no tool for what only a person
/// may order. The tools print what the commands print with `--json`.
///
/// Ends when stdin ends, after the command in progress.
#[derive(Debug, Args)]
pub struct McpArgs {}

pub fn run(_args: &McpArgs, context: &Context, _ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::FEW)?;
    context.interrupts.listen();
    let cannot = |error: std::io::Error| Failure::new(Code::Io, format!("cannot serve: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let queue = Arc::new(WorkQueue::new(QueueLimits::SERVER));
    let server = OrchServer::new(Agent::of(context), Arc::clone(&queue));
    let served = runtime.block_on(server::serve(server));
    // A read of stdin may still be waiting.
    runtime.shutdown_background();
    // A command that has begun is completed, so that its commit is whole.
    queue.finish(END);
    served.map_err(|why| Failure::new(Code::Io, why))?;
    Ok(ExitCode::Fine)
}
