//! `orch rename`: gives a task another id.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Relocation;

/// Give a task another id: move its directory with its record.
///
/// The move is one commit, which records the rename and moves every committed file of the task. Files that
/// are not committed move too, and stay uncommitted. Works on any branch; another branch that still has the
/// old name merges as git merges a renamed directory. `orch rename archive/ID ID` takes a task out of the
/// archive.
///
/// Exits with 4 while a process is running the task, and with 5 if any of its files is staged.
#[derive(Debug, Args)]
pub struct RenameArgs {
    /// The task.
    old: String,
    /// The new id.
    new: String,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &RenameArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = workspace.finder().task(&args.old)?;
    let done = context.writer(&workspace).relocate().task(
        &task,
        Relocation::Rename(&args.new),
        args.dry_run,
    )?;
    report::applied(&workspace, context, ui, &done, args.dry_run)?;
    Ok(ExitCode::Fine)
}
