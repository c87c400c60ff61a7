//! `orch recover`: rebuilds a lost or broken state.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::apply::Recovered;

/// Rebuilds a lost or broken `state.json`: from git history, else from the transcript, else from the
/// files of the task if its workflow says how.
///
/// What was there is kept as `state.json.broken`. Nothing is committed.
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
        let answer = serde_json::json!({
            "schemaVersion": 1, "kind": "recovery", "task": task.id.as_str(), "from": from, "message": text,
        });
        ui.answer(&format!("{answer:#}\n"))?;
    } else {
        ui.answer(&format!("{}: {text}\n", task.id))?;
    }
    Ok(exit)
}
