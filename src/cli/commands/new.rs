//! `orch new`: creates a task, or adopts a directory as one.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::{TaskId, command};

/// Creates a task in the initial phase of its workflow and records that in one commit.
///
/// A directory that already holds artifacts is adopted as it is. An id may contain `/` where a root
/// of `orch.toml` allows it.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The id of the task, which is also where it lies below its root.
    id: String,
    /// The workflow that governs it; by default that of its root.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// A title for people.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

pub fn run(args: &NewArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let id =
        TaskId::new(&args.id).map_err(|error| Failure::new(ExitCode::Usage, "task-id", error.to_string()))?;
    let created = context.writer(&workspace).create(&id, args.workflow.as_deref(), args.title.as_deref())?;
    report::applied(&workspace, context, ui, &created.applied, false)?;
    if !context.global.json {
        let typed = |word: &str| command(&["orch", word, id.as_str()]);
        ui.status(&format!("next: {}, or: {}", typed("prompt"), typed("suggest")));
    }
    Ok(ExitCode::Fine)
}
