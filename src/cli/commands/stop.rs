//! `orch stop`: ends a run and its executor now.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::drive;
use orch_engine::run::ControlRequest;

/// Stop a run, including the action in progress.
///
/// Sends SIGTERM, then SIGKILL, to the executor's process group. A result that the executor has not finished
/// is lost.
///
/// If no process drives the task, ends the processes that an interrupted run left behind and applies the rule
/// with `on = "stop"`, if the workflow has one. Exits with 3 if there is nothing to stop.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
}

pub fn run(args: &StopArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let controlled = drive::control(&context.writer(&workspace), &task, ControlRequest::Stop)?;
    report::controlled(&workspace, context, ui, (&task, "stop"), &controlled)
}
