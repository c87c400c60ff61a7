//! `orch resume`: continues a paused run.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::drive::{self, Controlled, RunOptions};

/// Resume a paused run.
///
/// Withdraws the pause if the run has not ended yet. Otherwise applies the rule with `on = "resume"`, if the
/// workflow has one, and continues the run as `orch run` does, with the same exit codes. Exits with 3 if
/// there is nothing to resume.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// Start what orch.toml names even if nobody has trusted it; in CI, you can set ORCH_TRUST_ONCE=1 instead.
    #[arg(long)]
    trust_once: bool,
    /// The executor for all work in this run: a program and its arguments, not passed through a shell.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub fn run(args: &ResumeArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    context.keep_log(&workspace);
    let controlled = drive::resume(&context.writer(&workspace), &task)?;
    if matches!(controlled, Controlled::Sent(_) | Controlled::Nothing) {
        return report::controlled(&workspace, context, ui, (&task, "resume"), &controlled);
    }
    let command = args.command.clone();
    let trust = args.trust_once;
    if trust {
        context.writer(&workspace).authority().refuse_agent(&[
            "orch",
            "resume",
            task.id.as_str(),
            "--trust-once",
        ])?;
    }
    let options = RunOptions {
        command,
        trust,
        ..RunOptions::default()
    };
    super::run::go(&workspace, &task, &options, context, ui)
}
