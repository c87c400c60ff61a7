//! `orch prompt`: the whole instruction for the current phase.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::view;

/// Prints the whole instruction for the current phase of a task, ready to pipe into an agent: the
/// agent text, the inputs, what to write where, the schema, and the `of` map to copy.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The task; may be left out where the directory, the branch or a single open task names it.
    task: Option<String>,
}

pub fn run(args: &PromptArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let judged = [workspace.look(&task)?];
    let subjects = report::subjects(&workspace, &judged)?;
    let Some(subject) = subjects.first() else { return Ok(ExitCode::Nothing) };
    let text = view::prompt(subject);
    if context.global.json {
        let answer = serde_json::json!({
            "schemaVersion": view::SCHEMA_VERSION, "kind": "prompt", "task": task.id.as_str(), "prompt": text,
        });
        ui.answer(&view::pretty(&answer))?;
    } else {
        ui.answer(&text)?;
    }
    Ok(ExitCode::Fine)
}
