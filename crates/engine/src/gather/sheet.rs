//! The sheet of a task: all that whoever decides about it has to see, from one look.

use crate::history::stories;
use crate::survey::{RestedStep, Sight, TaskChanges, TaskRef, Workspace};
use orch_base::Error;
use orch_view::{SheetSource, TaskSheet};

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
    let files = sight.observed.files.iter();
    Ok(TaskSheet::of(SheetSource {
        repository: reader.repository()?,
        subject: &reader.subject(sight),
        state: sight.state(),
        facts: &sight.observed.facts,
        contents: files
            .map(|file| (file.path.as_str(), file.bytes.as_slice()))
            .collect(),
        change: changes.change()?,
    }))
}
