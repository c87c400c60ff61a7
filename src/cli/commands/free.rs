//! `orch free`: the tasks that somebody could go on with now.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_base::{Diagnostic, Error};
use orch_engine::gather;

/// List the tasks that somebody could go on with now, the first to be taken first.
///
/// A task is free if an agent has to work on it, or a step is due; if it waits for no person and no other task; and if
/// nobody holds it. They are sorted by priority, then by how many tasks wait for them one behind the other, then by how
/// long they have waited. Asks all branches and work trees, so what is done elsewhere is not listed; and the store of leases
/// that clones share, if `[leases]` in orch.toml names one and it is trusted. Otherwise it says so, and what was seen there
/// last counts. Writes nothing but a cache in `.git/orch`. Exits with 1 if no task is free.
#[derive(Debug, Args)]
pub struct FreeArgs {}

/// Why the store could not be asked, which is no error here.
fn unasked(error: Error) -> Diagnostic {
    let error = error.into_warning();
    let message = format!(
        "who holds what in other clones is as it was seen last: {}",
        error.message
    );
    Diagnostic { message, ..error }
}

pub fn run(_args: &FreeArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut workspace = context.workspace(ui)?;
    workspace.know_looks(gather::STATUS_CACHE);
    context.show_looks(&workspace, None, ui);
    if let Err(error) = context.writer(&workspace).taking().ask_store() {
        ui.finding(&unasked(error));
    }
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
