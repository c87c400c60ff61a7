//! `orch completions`: completion scripts for shells, by clap_complete.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::cli::Cli;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub fn run(args: &CompletionsArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "orch", &mut script);
    report::text(context, ui, &String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Fine)
}
