//! `orch answer`: answers the question of a task.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::drive::{self, Asked};

/// Answer the question that a task waits for, or pick one of the offered actions.
///
/// A key is a path into the state, with dots or slashes; `action=NAME` picks an action. A value is parsed as
/// JSON if possible and is a string otherwise. The answer is recorded in one commit.
///
/// Rejects keys that the question does not ask for, values that are not among its options, and values that
/// the state schema does not accept.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The task.
    task: String,
    /// The answer: one or more keys with their values.
    #[arg(required = true, value_name = "KEY=VALUE", value_parser = Asked::parse)]
    answers: Vec<Asked>,
    /// Write nothing; only validate the answer.
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
