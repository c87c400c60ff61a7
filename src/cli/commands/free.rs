//! `orch free`: the tasks that somebody could go on with now.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::gather;

/// List the tasks that somebody could go on with now, the first to be taken first.
///
/// A task is free if an agent has to work on it, or a step is due; if it waits for no person and no other task; and if
/// nobody holds it. They are sorted by priority, then by how many tasks wait for them one behind the other, then by how
/// long they have waited. Asks all branches and work trees, so what is done elsewhere is not listed. Writes nothing
/// but a cache in `.git/orch`. Exits with 1 if no task is free.
#[derive(Debug, Args)]
pub struct FreeArgs {}

pub fn run(_args: &FreeArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut workspace = context.workspace(ui)?;
    workspace.know_looks(gather::STATUS_CACHE);
    context.show_looks(&workspace, None, ui);
    let (list, problems) = gather::free(&workspace)?.list(&workspace);
    if context.global.json {
        ui.document(&list)?;
    } else {
        context.page(ui, &list.text(ui.paint, ui.width))?;
    }
    let otherwise = if list.tasks.is_empty() {
        ExitCode::No
    } else {
        ExitCode::Fine
    };
    Ok(report::exit_after(&problems, otherwise))
}
