//! `orch pause`: ends a run after the action in progress.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::drive;
use orch_engine::run::ControlRequest;

/// Pause a run after the action in progress.
///
/// Sends a control request to the process that drives the task. `orch resume` or `orch run` continues within
/// the remaining budget.
///
/// If no process drives the task, ends an interrupted run, records any finished result, and applies the rule
/// with `on = "pause"`, if the workflow has one. Exits with 3 if there is nothing to pause.
#[derive(Debug, Args)]
pub struct PauseArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
}

pub fn run(args: &PauseArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let controlled = drive::control(&context.writer(&workspace), &task, ControlRequest::Pause)?;
    report::controlled(&workspace, context, ui, (&task, "pause"), &controlled)
}
