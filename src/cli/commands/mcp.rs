//! `orch mcp`: the Model Context Protocol on stdin and stdout, for agents.

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use crate::cli::runner::CommandLineRunner;
use std::sync::Arc;

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
    orch_serve::mcp::serve(Arc::new(CommandLineRunner::of(context)))?;
    Ok(ExitCode::Fine)
}
