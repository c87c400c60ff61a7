//! `orch answer`: what a task waits for.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::drive::{self, Asked};

/// Answers the question that a rule asks, or picks one of the actions that it offers.
///
/// A key is a place in the state, with dots or slashes; `action=NAME` picks an action. A value is read
/// as JSON where that fits, else it is a text. What the question does not ask for, what is not among its
/// options, and what the schema of the state refuses, is refused.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The task.
    task: String,
    /// The answer.
    #[arg(required = true, value_name = "KEY=VALUE", value_parser = Asked::parse)]
    answers: Vec<Asked>,
    /// Check the answer and write nothing.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &AnswerArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = workspace.task(&args.task)?;
    let applied = drive::answer(&context.writer(&workspace), &task, &args.answers, args.dry_run)?;
    report::applied(&workspace, context, ui, &applied, args.dry_run)?;
    Ok(ExitCode::Fine)
}
