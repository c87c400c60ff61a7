//! `orch archive`: moves a finished task out of the way.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Relocation;

/// Move a finished task to the archive.
///
/// The archive is the directory `archive` of the task's root, for example `tasks/archive`. The task keeps its record
/// and its files, and its id becomes `archive/ID`. `orch status` and `orch suggest` no longer list it, and `orch
/// watch` leaves it alone. `orch status --all` lists it, and every command still finds it by either id. The move is
/// one commit; `orch rename` undoes it.
///
/// A task that is not finished is archived only by a person, with a reason.
#[derive(Debug, Args)]
pub struct ArchiveArgs {
    /// The task; optional if the current directory, the branch name or a single finished task identifies it.
    task: Option<String>,
    /// Archive the task although it is not finished, and record this reason.
    #[arg(long, value_name = "WHY")]
    force: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ArchiveArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant_finished(&workspace, context, args.task.as_deref())?;
    let to = Relocation::Archive(args.force.as_deref());
    let done = context
        .writer(&workspace)
        .relocate()
        .task(&task, to, args.dry_run)?;
    report::applied(&workspace, context, ui, &done, args.dry_run)?;
    Ok(ExitCode::Fine)
}
