//! `orch recover`: restores a lost or broken record.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::apply::Recovered;
use orch_view::RecoveryAnswer;

/// Bring back the lost or broken record of a task.
///
/// Takes the events from git history and from what is left of `transcript.jsonl`, and writes `state.json`
/// again. If there are none, rebuilds the state from the task's files if the workflow declares
/// `[state.rebuild]`. Keeps broken files as `transcript.jsonl.broken` and `state.json.broken`. Nothing is
/// committed.
///
/// Exits with 3 if the record is intact.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
}

pub fn run(args: &RecoverArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let (from, text, exit) = match context.writer(&workspace).recover().task(&task)? {
        Recovered::NotNeeded => (
            "none",
            "the record is intact; nothing was changed".to_owned(),
            ExitCode::Nothing,
        ),
        Recovered::FromGit(commit) => (
            "git",
            format!("restored transcript.jsonl from commit {}", commit.short()),
            ExitCode::Fine,
        ),
        Recovered::FromFiles => {
            let text =
                "rebuilt the state from the files of the task; the log starts again".to_owned();
            ("files", text, ExitCode::Fine)
        }
        Recovered::FromTranscript => (
            "transcript",
            "folded state.json from transcript.jsonl".to_owned(),
            ExitCode::Fine,
        ),
    };
    if context.global.json {
        ui.document(&RecoveryAnswer {
            task: task.id.to_string(),
            from,
            message: text,
        })?;
    } else {
        ui.answer(&format!("{}: {text}\n", task.id))?;
    }
    Ok(exit)
}
