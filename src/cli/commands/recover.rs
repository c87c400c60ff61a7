//! `orch recover`: rebuilds a lost or broken state.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::apply::Recovered;
use crate::view::{RecoveryAnswer, pretty};

/// Rebuild the lost or broken state of a task.
///
/// Takes the state from git history, or else from `transcript.jsonl`, or else from the task's files if the
/// workflow declares `[state.rebuild]`. Keeps a broken `state.json` as `state.json.broken`. Nothing is
/// committed.
///
/// Exits with 3 if the state is intact.
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
            ("none", "the state is whole; nothing was done".to_owned(), ExitCode::Nothing)
        }
        Recovered::FromGit(commit) => {
            ("git", format!("state.json is restored from commit {}", commit.short()), ExitCode::Fine)
        }
        Recovered::FromFiles => {
            let text = "state.json begins anew, with what the files of the task hold".to_owned();
            ("files", text, ExitCode::Fine)
        }
        Recovered::FromTranscript => {
            ("transcript", "state.json is rebuilt from transcript.jsonl".to_owned(), ExitCode::Fine)
        }
    };
    if context.global.json {
        ui.answer(&pretty(&RecoveryAnswer { task: task.id.to_string(), from, message: text }))?;
    } else {
        ui.answer(&format!("{}: {text}\n", task.id))?;
    }
    Ok(exit)
}
