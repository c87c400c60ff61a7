//! `orch prompt`: the complete instruction for the current phase.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::view;

/// Print the complete instruction for the current phase, ready to pipe into an agent.
///
/// Contains the agent instructions of the phase, the inputs, which files to write and where, their schemas,
/// and the `of` map to copy into reports. Writes nothing.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
}

pub fn run(args: &PromptArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let judged = [workspace.look(&task)?];
    let subjects = report::subjects(&workspace, &judged)?;
    let Some(subject) = subjects.first() else { return Ok(ExitCode::Nothing) };
    let text = view::prompt(subject);
    if context.global.json {
        ui.answer(&view::pretty(&view::PromptAnswer { task: task.id.to_string(), prompt: text }))?;
    } else {
        ui.answer(&text)?;
    }
    Ok(ExitCode::Fine)
}
