//! `orch audit`: replays history and says what is proven.

use super::check::{Form, form, print};
use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::history;
use crate::history::Checked;
use crate::survey::Workspace;
use crate::view::{AuditChange, AuditCommit, AuditReport, pretty};

/// Replays history: for every commit that changes a task's record, the transition is derived anew
/// from that commit alone. Exits 1 if anything is forged.
///
/// Each change is proven (the rules yield it), overridden or claimed (by a person, with a reason),
/// folded (several steps in one commit), restored (as an ancestor held it), merged, unverifiable
/// (evidence is not in git) or forged.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// The range, `A..B` or a revision; without it all of HEAD's history.
    range: Option<String>,
    /// In which form to print the audit; SARIF and annotations hold what is not in order.
    #[arg(long, default_value = "text")]
    format: Form,
}

pub fn run(args: &AuditArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.bare_workspace()?;
    let report = report(&workspace, args.range.as_deref())?;
    match form(args.format, context)? {
        Form::Json => ui.answer(&pretty(&report))?,
        Form::Text => {
            ui.answer(&report.text(ui.paint, ui.width))?;
            ui.status(&report.summary());
        }
        form => print(&Checked { findings: report.findings(), ..Checked::default() }, form, ui)?,
    }
    Ok(if report.finds_forgery() { ExitCode::No } else { ExitCode::Fine })
}

/// The report of a replayed range.
pub(super) fn report(workspace: &Workspace, range: Option<&str>) -> Result<AuditReport, Failure> {
    let audit = history::audit(workspace, range)?;
    let changes = audit.changes.iter().map(|change| {
        let parent = change.commit.parents.first().map(ToString::to_string);
        AuditChange::of(
            &AuditCommit { id: &change.commit.id.to_string(), parent: parent.as_deref() },
            change.commit.at.to_string(),
            change.commit.author.clone(),
            change.task.id.as_str(),
            change.task.directory.as_str(),
            &change.proof,
        )
    });
    Ok(AuditReport::new(workspace.repository(), audit.commits, changes.collect()))
}
