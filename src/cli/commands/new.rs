//! `orch new`: creates a task, or adopts an existing directory as one.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::{Code, TaskId, command};

/// Create a task, or adopt an existing directory as a task.
///
/// Records the task in the initial phase of its workflow, in one commit. Files that are already in the
/// directory are kept and become part of the task. An untracked task, such as one that a branch switch left
/// behind, is adopted in the same way.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The task id: its path below the root. May contain `/` if the root in orch.toml allows it.
    id: String,
    /// The workflow that governs the task; default: the workflow of its root.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// A human-readable title.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

pub fn run(args: &NewArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let id = TaskId::new(&args.id).map_err(|error| Failure::new(Code::BadTaskId, error.to_string()))?;
    let created = context.writer(&workspace).create(&id, args.workflow.as_deref(), args.title.as_deref())?;
    report::applied(&workspace, context, ui, &created.applied, false)?;
    if !context.global.json {
        let typed = |word: &str| command(&["orch", word, id.as_str()]);
        ui.status(&format!("next: {}, or: {}", typed("prompt"), typed("suggest")));
    }
    Ok(ExitCode::Fine)
}
