//! `orch stop`: a run ends now.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::drive;
use crate::run::ControlRequest;

/// Ends the run of a task, and the action that is going on: its process group is asked to end, then
/// ended. What it was about to say is lost.
///
/// Where no process drives the task, what an interrupted run left running is ended, and the rule that
/// answers to `on = "stop"` is applied, if there is one.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The task.
    task: String,
}

pub fn run(args: &StopArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = workspace.task(&args.task)?;
    let controlled = drive::control(&context.writer(&workspace), &task, ControlRequest::Stop)?;
    report::controlled(&workspace, context, ui, (&task, "stop"), &controlled)
}
