//! `orch audit`: replays the history and prints a verdict on every recorded step.

use super::check::{Form, form, print};
use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::history;
use crate::history::Checked;
use crate::survey::Workspace;
use crate::view::{AuditChange, AuditCommit, AuditReport};

/// Replay the history and print a verdict on every recorded step.
///
/// Re-derives each commit that changes a task's record from that commit and its parents. The verdicts: proven
/// (the rules yield it), overridden or claimed (a person or an executor vouches for it), folded (several
/// steps in one commit), restored (equal to an ancestor), merged, unverifiable (evidence is not in git),
/// forged.
///
/// Reads commits only and writes nothing. Exits with 1 if anything is forged.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// A range `A..B` or a revision; default: the whole history of HEAD.
    range: Option<String>,
    /// The output format. `sarif` and `github` contain only the problems.
    #[arg(long, default_value = "text")]
    format: Form,
}

pub fn run(args: &AuditArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.bare_workspace()?;
    let report = report(&workspace, args.range.as_deref())?;
    match form(args.format, context)? {
        Form::Json => ui.document(&report)?,
        Form::Text => {
            ui.answer(&report.text(ui.paint, ui.width))?;
            ui.status(&report.summary());
        }
        form => print(&Checked { findings: report.findings(), ..Checked::default() }, form, ui)?,
    }
    Ok(if report.finds_forgery() { ExitCode::No } else { ExitCode::Fine })
}

/// Audits a range, or the whole history of HEAD. Returns an error if the range is not one, or git cannot read
/// it.
pub(super) fn report(workspace: &Workspace, range: Option<&str>) -> Result<AuditReport, Failure> {
    let audit = history::audit(workspace, range)?;
    let changes = audit.changes.iter().map(|change| {
        let parent = change.commit.parents.first().map(ToString::to_string);
        AuditChange::of(
            &AuditCommit { id: &change.commit.id.to_string(), parent: parent.as_deref() },
            change.commit.at.to_string(),
            change.commit.author.clone(),
            (&change.task.id, &change.task.directory),
            &change.proof,
        )
    });
    Ok(AuditReport::new(workspace.repository(), audit.commits, changes.collect()))
}
