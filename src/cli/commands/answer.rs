//! `orch answer`: answers the question of a task.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_base::{Code, Reason};
use orch_engine::drive::{self, Asked};

/// Answer the question that a task waits for, or pick one of the offered actions.
///
/// A key is a path into the state, with dots or slashes; `action=NAME` picks an action. A value is parsed as
/// JSON if possible and is a string otherwise. The answer is recorded in one commit.
///
/// Rejects keys that the question does not ask for, values that are not among its options, and values that
/// the state schema does not accept.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The answer, after the task: one or more keys with their values. The task is optional if the current
    /// directory, the branch name or a single open task identifies it.
    #[arg(required = true, value_name = "[TASK] KEY=VALUE")]
    words: Vec<String>,
    /// Fail if the task has changed since it was at this revision: its `rev` in `orch suggest --json`.
    #[arg(long, value_name = "REV")]
    expect: Option<u64>,
    /// Write nothing; only validate the answer.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &AnswerArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let (task, answers) = args.parts()?;
    let task = report::meant(&workspace, context, task)?;
    let applied = drive::answer(
        &context.writer(&workspace),
        &task,
        (&answers, args.expect),
        args.dry_run,
    )?;
    report::applied(&workspace, context, ui, &applied, args.dry_run)?;
    Ok(ExitCode::Fine)
}

impl AnswerArgs {
    /// The task, if it is named, and the answers. Returns an error if there are none, or one has no key.
    fn parts(&self) -> Result<(Option<&str>, Vec<Asked>), Failure> {
        let (task, answers) = match self.words.split_first() {
            Some((task, answers)) if !task.contains('=') => (Some(task.as_str()), answers),
            _ => (None, self.words.as_slice()),
        };
        let parsed: Result<Vec<Asked>, Reason> =
            answers.iter().map(|text| Asked::parse(text)).collect();
        match parsed {
            Ok(parsed) if !parsed.is_empty() => Ok((task, parsed)),
            Ok(_) => {
                Err(Failure::new(Code::Usage, "the answer is missing")
                    .hint("write it as KEY=VALUE"))
            }
            Err(why) => {
                Err(Failure::new(Code::Usage, why.to_string())
                    .hint("write each answer as KEY=VALUE"))
            }
        }
    }
}
