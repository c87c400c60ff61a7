//! `orch explain`: why a task is in its phase, rule by rule.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::gather;
use orch_view::Explanation;

/// Show every rule that was tried, which part of its guard was false, and the values it saw.
///
/// The nearest rule comes first: the one that decided, or else the one that comes closest. Also shows where each
/// value came from. Writes nothing but a cache in `.git/orch`. Exits with 1 if one of the tasks is in error.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The tasks or patterns; optional if the current directory, the branch name or a single open task
    /// identifies one.
    tasks: Vec<String>,
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
}

pub fn run(args: &ExplainArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    let tasks = if args.tasks.is_empty() {
        vec![report::meant(&workspace, context, None)?]
    } else {
        gather::named(&workspace, &args.tasks)?
    };
    let sights = tasks
        .iter()
        .map(|task| workspace.look(task))
        .collect::<Result<Vec<_>, _>>()?;
    let mut explanations = report::explanations(&workspace, &sights)?;
    if context.global.json {
        ui.document(&explanations)?;
    } else {
        for Explanation { suggestion, .. } in &mut explanations.explanations {
            suggestion.type_at(&ui.here());
            suggestion.task.tell_time(context.caller.clock.now());
        }
        context.page(ui, &explanations.text(ui.paint, ui.width))?;
    }
    Ok(report::exit_of(
        &[],
        explanations
            .explanations
            .iter()
            .map(|one| one.suggestion.duty.kind),
    ))
}
