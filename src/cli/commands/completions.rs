//! `orch completions`: completions for a shell, by clap_complete.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::cli::Cli;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints completions for a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub fn run(args: &CompletionsArgs, _context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "orch", &mut script);
    ui.answer(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Fine)
}
