//! `orch workflow diff`: what two versions of a workflow decide differently.

use super::super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_base::Diagnostic;
use orch_engine::gather::{self, SaidOfTask};
use orch_engine::survey::VersionPair;
use orch_view::{SaidDecision, TaskDiff, WorkflowDiff, WorkflowDiffs};

/// Compare what two versions of a workflow decide.
///
/// A version is a workflow of the work tree by its name, a file, a file or a workflow in a commit as COMMIT:PATH or
/// COMMIT:NAME, or a revision, which stands for all its workflows. Prints which tables of the document have changed; which
/// decisions differ, each with the values of a case; and which live tasks the two versions decide differently as they are
/// now. Versions that differ only in prose or layout are the same machine.
///
/// Writes nothing. Exits with 1 if the versions differ.
#[derive(Debug, Args)]
pub struct WorkflowDiffArgs {
    /// The former version.
    #[arg(default_value = "HEAD")]
    former: String,
    /// The present version; default: that of the work tree, and if the first is a workflow of it, that of HEAD is the
    /// former one.
    now: Option<String>,
}

pub(super) fn run(
    args: &WorkflowDiffArgs,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let pairs = workspace.versions(&context.start, &args.former, args.now.as_deref())?;
    let former = context.bare_workspace()?.by_versions(&pairs, true);
    let now = context.bare_workspace()?.by_versions(&pairs, false);
    let mut workflows = Vec::new();
    let mut problems: Vec<Diagnostic> = Vec::new();
    for pair in &pairs {
        let mut diff = compared(pair)?;
        if matches!(pair, VersionPair::Both { .. }) && !diff.same {
            let (tasks, unread) = gather::decided_otherwise(&former, &now, pair)?;
            problems.extend(unread);
            let tasks = tasks.iter().map(|one| TaskDiff {
                task: one.task.id.to_string(),
                phase: one.former.phase.clone(),
                former: said(&one.former),
                now: said(&one.now),
            });
            diff.tasks.extend(tasks);
        }
        workflows.push(diff);
    }
    let diffs = WorkflowDiffs { workflows };
    problems.sort_by(|one, other| one.message.cmp(&other.message));
    problems.dedup();
    problems.iter().for_each(|problem| ui.finding(problem));
    if context.global.json {
        ui.document(&diffs)?;
    } else {
        context.page(ui, &diffs.text(ui.paint, ui.width))?;
        if diffs.workflows.is_empty() {
            ui.status("all workflows are the same machines");
        }
    }
    Ok(if diffs.is_same() {
        ExitCode::Fine
    } else {
        ExitCode::No
    })
}

/// Two versions compared. Returns an error if one of them has errors.
fn compared(pair: &VersionPair) -> Result<WorkflowDiff, Failure> {
    Ok(match pair {
        VersionPair::Both { former, now } => WorkflowDiff {
            former: Some(former.label.clone()),
            now: Some(now.label.clone()),
            ..WorkflowDiff::of(former.usable()?, now.usable()?)
        },
        VersionPair::Removed(former) => {
            WorkflowDiff::of_one(former.name(), Some(former.label.clone()), None)
        }
        VersionPair::Added(now) => WorkflowDiff::of_one(now.name(), None, Some(now.label.clone())),
    })
}

fn said(of: &SaidOfTask) -> SaidDecision {
    SaidDecision {
        rule: of.rule.as_ref().map(ToString::to_string),
        outcome: of.outcome.clone(),
    }
}
