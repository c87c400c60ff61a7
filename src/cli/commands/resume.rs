//! `orch resume`: a paused run goes on.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::drive::{self, Controlled, RunOptions};

/// Goes on with a run that was paused: takes the pause back where the run has not ended yet, else
/// applies the rule that answers to `on = "resume"`, if there is one, and runs the task from here.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The task.
    task: String,
    /// The command that performs everything; no shell reads it.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub fn run(args: &ResumeArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = workspace.task(&args.task)?;
    let controlled = drive::resume(&context.writer(&workspace), &task)?;
    if matches!(controlled, Controlled::Told(_) | Controlled::Nothing) {
        return report::controlled(&workspace, context, ui, (&task, "resume"), &controlled);
    }
    let options = RunOptions { command: args.command.clone(), ..RunOptions::default() };
    super::run::go(&workspace, &task, &options, context, ui)
}
