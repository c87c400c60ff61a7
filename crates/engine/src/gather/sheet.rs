//! The sheet of a task: all that whoever decides about it has to see, from one look.

use crate::history::stories;
use crate::survey::{Reader, RestedStep, Sight, TaskChanges, TaskRef, Workspace, issue_place};
use orch_base::{Error, Place};
use orch_core::decide::{QuotedIssue, issues};
use orch_view::{SheetSource, Subject, TaskSheet};

/// The sheet of a task. Returns an error if the task or git cannot be read.
pub fn sheet(workspace: &Workspace, task: &TaskRef) -> Result<TaskSheet, Error> {
    let sight = workspace.look(task)?;
    sheet_of(workspace, &sight)
}

/// The sheet of a task that was looked at. A log that cannot be read leaves out what it would tell. Returns an error if git
/// cannot be read.
pub fn sheet_of(workspace: &Workspace, sight: &Sight) -> Result<TaskSheet, Error> {
    let mut stories = stories(workspace, std::slice::from_ref(&sight.task))?;
    let story = stories.pop().and_then(Result::ok).unwrap_or_default();
    let moves = story.steps.iter().filter(|(entry, _)| !entry.kind.stays());
    let steps: Vec<RestedStep> = moves
        .map(|(entry, commit)| RestedStep {
            at: entry.at,
            evidence: entry.evidence.clone(),
            commit: *commit,
        })
        .collect();
    let reader = workspace.reader();
    let changes = TaskChanges {
        reader,
        sight,
        steps: &steps,
    };
    let change = changes.change()?;
    let subject = reader.subject(sight);
    let source = source_of(reader, sight, &subject)?;
    Ok(TaskSheet::of(SheetSource { change, ..source }))
}

/// What a sheet is made of, without the change of the code. Returns an error if git cannot be read.
pub(super) fn source_of<'a>(
    reader: &Reader,
    sight: &'a Sight,
    subject: &'a Subject<'a>,
) -> Result<SheetSource<'a>, Error> {
    let files = sight.observed.files.iter();
    Ok(SheetSource {
        repository: reader.repository()?,
        subject,
        state: sight.state(),
        facts: &sight.observed.facts,
        issues: placed_issues(sight),
        contents: files
            .map(|file| (file.path.as_str(), file.bytes.as_slice()))
            .collect(),
        change: None,
    })
}

/// What the files of a task object to, each with its place.
fn placed_issues(sight: &Sight) -> Vec<(QuotedIssue, Option<Place>)> {
    let found = match sight.state() {
        Some(state) => issues(sight.workflow(), state, &sight.observed.facts),
        None => Vec::new(),
    };
    let placed = |issue: QuotedIssue| {
        let place = issue_place(sight, &issue);
        (issue, place)
    };
    found.into_iter().map(placed).collect()
}
