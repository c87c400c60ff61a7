//! `orch recover`: brings back a lost or broken record.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::apply::Recovered;

/// Brings back a lost or broken record: the log from git history and from what is left of it, else the
/// state from the files of the task if its workflow says how. Then `state.json` is written anew.
///
/// What was there is kept as `transcript.jsonl.broken` and `state.json.broken`. Nothing is committed.
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
        let answer = serde_json::json!({
            "schemaVersion": 1, "kind": "recovery", "task": task.id.as_str(), "from": from, "message": text,
        });
        ui.answer(&format!("{answer:#}\n"))?;
    } else {
        ui.answer(&format!("{}: {text}\n", task.id))?;
    }
    Ok(exit)
}
