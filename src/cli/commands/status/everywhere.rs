//! `orch status --everywhere`: the tasks of all branches and work trees.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::super::report;
use super::StatusArgs;
use orch_engine::gather;

pub(super) fn run(args: &StatusArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    context.show_looks(&workspace, None, ui);
    let (everywhere, problems) = gather::everywhere(args.filter(), &workspace)?;
    if context.global.json {
        ui.document(&everywhere)?;
    } else {
        context.page(
            ui,
            &everywhere.text(
                ui.paint,
                &args.form(&workspace, context, (ui.width, ui.height)),
            ),
        )?;
    }
    Ok(report::exit_of(
        &problems,
        everywhere.tasks.iter().map(|task| task.status.duty.kind),
    ))
}
