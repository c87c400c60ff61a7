//! `orch recover`: brings back a lost or broken record.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::apply::Recovered;
use crate::view::{RecoveryAnswer, pretty};

/// Bring back the lost or broken record of a task.
///
/// Takes the events from git history and from what is left of `transcript.jsonl`, and writes `state.json`
/// anew. If there are none, rebuilds the state from the task's files if the workflow declares
/// `[state.rebuild]`. Keeps broken files as `transcript.jsonl.broken` and `state.json.broken`. Nothing is
/// committed.
///
/// Exits with 3 if the record is intact.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    /// The task.
    task: String,
}

pub fn run(args: &RecoverArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = workspace.task(&args.task)?;
    let (from, text, exit) = match context.writer(&workspace).recover(&task)? {
        Recovered::NotNeeded => {
            ("none", "the record is whole; nothing was done".to_owned(), ExitCode::Nothing)
        }
        Recovered::FromGit(commit) => {
            ("git", format!("transcript.jsonl is restored from commit {}", commit.short()), ExitCode::Fine)
        }
        Recovered::FromFiles => {
            let text = "the record begins anew, with what the files of the task hold".to_owned();
            ("files", text, ExitCode::Fine)
        }
        Recovered::FromTranscript => {
            ("transcript", "state.json is folded anew from transcript.jsonl".to_owned(), ExitCode::Fine)
        }
    };
    if context.global.json {
        ui.answer(&pretty(&RecoveryAnswer { task: task.id.to_string(), from, message: text }))?;
    } else {
        ui.answer(&format!("{}: {text}\n", task.id))?;
    }
    Ok(exit)
}
