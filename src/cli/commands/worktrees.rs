//! `orch worktrees`: the work trees of tasks.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_engine::drive::task_trees;
use orch_engine::gather::work_tree_line;
use orch_view::WorkTreesReport;

/// Show the work trees in which tasks are worked on side by side, or remove those that are no longer needed.
///
/// For each: its task and the phase of the task in it, whether it holds anything uncommitted, whether the base branch has its
/// work, its branch and its path; and why it has to stay.
///
/// `--clean` removes those whose task is done and whose branch is merged or pushed; the branch stays. A work tree stays that
/// holds anything uncommitted, commits that are nowhere else, or a process; and one that is not where `[worktrees]` says.
#[derive(Debug, Args)]
pub struct WorktreesArgs {
    /// Remove the work trees of tasks that are done and whose branches are merged or pushed.
    #[arg(long)]
    clean: bool,
}

pub fn run(args: &WorktreesArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let reader = workspace.reader();
    let (base, found) = task_trees(&context.writer(&workspace), args.clean)?;
    let report = WorkTreesReport {
        repository: reader.repository()?,
        base,
        work_trees: found
            .iter()
            .map(|tree| work_tree_line(reader, tree))
            .collect(),
    };
    if context.global.json {
        ui.document(&report)?;
    } else {
        context.page(ui, &report.text(ui.paint, ui.width))?;
    }
    Ok(ExitCode::Fine)
}
