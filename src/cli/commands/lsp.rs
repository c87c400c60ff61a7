//! `orch lsp`: a language server on stdin and stdout, for editors.

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};

/// Serve an editor by the Language Server Protocol (LSP) on stdin and stdout.
///
/// An editor starts it for Markdown, TOML and the artifacts of tasks. It reports what `orch workflow check` and `orch
/// check` report, while you type; it explains, completes and finds the names in workflow documents, renames phases and
/// artifacts, mends what a hint says, and redraws diagrams. It writes no file.
///
/// Ends when the editor does. docs/editor.md says how to set up editors.
#[derive(Debug, Args)]
pub struct LspArgs {}

pub fn run(_args: &LspArgs, context: &Context, _ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::FEW)?;
    context.interrupts.listen();
    let environment = context.caller.environment.clone();
    orch_lsp::serve_on_stdio(environment, env!("CARGO_PKG_VERSION"))?;
    Ok(ExitCode::Fine)
}
