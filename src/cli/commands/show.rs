//! `orch show`: all that whoever decides about a task has to see, on one page.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_core::decide::{ActorKind, is_order};
use orch_engine::gather;
use orch_view::SheetForm;

/// Show all that is decided about a task, on one page.
///
/// What is stale, missing or in doubt comes first. Then: the way of the task, what is asked and of whom, the brief, the
/// plan, each review with its issues at their lines, verifications and reports, what an approval would rest on, and the
/// code that the task changes. What has changed since the last verdict about the code is marked.
///
/// Works for every task of every workflow: for finished ones, and for those with files that cannot be read. Writes
/// nothing but a cache in `.git/orch`. Exits with 1 if the task is in error.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// Show only the names of the changed files, with the number of their lines.
    #[arg(long)]
    stat: bool,
    /// Read the task and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
}

pub fn run(args: &ShowArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let sight = workspace.look(&task)?;
    let mut sheet = gather::sheet_of(&workspace, &sight)?;
    if let Some(problem) = gather::lease_problem(&workspace, &task) {
        ui.finding(&problem);
    }
    if context.global.json {
        ui.document(&sheet)?;
    } else {
        if context.caller.kind == ActorKind::Agent {
            sheet.options.retain(|option| !is_order(&option.id));
        }
        sheet.type_at(&ui.here());
        let form = SheetForm {
            paint: ui.paint,
            width: ui.width,
            now: context.caller.clock.now(),
            names_only: args.stat,
        };
        context.page(ui, &sheet.text(form))?;
    }
    Ok(report::exit_for(&sight))
}
