//! `orch runs`: the last run of every task, in all work trees.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::drive;
use orch_engine::gather::run_line;
use orch_view::Runs;

/// Show the last run of every task.
///
/// Includes the runs in the other work trees of the repository. For each run: the process that drives it, when it
/// started, its turns and their limit, its cost, and how it ended. A run whose process died is `interrupted`. Writes
/// nothing. Exits with 70 if the machine failed to read something.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Show only active and interrupted runs.
    #[arg(long)]
    open: bool,
}

pub fn run(args: &RunsArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let (known, unreadable) = drive::runs(&workspace)?;
    unreadable.iter().for_each(|problem| ui.finding(problem));
    let shown = known
        .iter()
        .filter(|run| !args.open || run.run.ended().is_none());
    let runs = Runs::new(
        workspace.reader().repository()?,
        shown.map(run_line).collect(),
    );
    if context.global.json {
        ui.document(&runs)?;
    } else {
        context.page(ui, &runs.text(ui.paint, ui.width))?;
    }
    Ok(report::exit_after(&unreadable, ExitCode::Fine))
}
