//! `orch pause`: a run ends after the action that is going on.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::drive;
use crate::run::ControlRequest;

/// Lets the run of a task end after the action that is going on. `orch resume`, or `orch run`, goes on
/// with it, with what is left of its limits.
///
/// Where no process drives the task, the rule that answers to `on = "pause"` is applied, if there is one.
#[derive(Debug, Args)]
pub struct PauseArgs {
    /// The task.
    task: String,
}

pub fn run(args: &PauseArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = workspace.task(&args.task)?;
    let controlled = drive::control(&context.writer(&workspace), &task, ControlRequest::Pause)?;
    report::controlled(&workspace, context, ui, (&task, "pause"), &controlled)
}
