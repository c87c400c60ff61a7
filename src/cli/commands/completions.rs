//! `orch completions`: the scripts that complete in a shell.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::cli::complete;

/// Print a completion script for a shell.
///
/// The script asks `orch` for what may stand at the cursor, so tasks, phases, artifacts, workflows, answers and
/// codes complete too. It must come from the version of orch that it asks: let the shell run this command at its
/// start instead of saving the output.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: complete::Shell,
}

pub fn run(args: &CompletionsArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    report::text(context, ui, &complete::script(args.shell)?)?;
    Ok(ExitCode::Fine)
}
