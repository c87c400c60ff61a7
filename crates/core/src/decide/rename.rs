//! Renames: a task gets another id and stays where it stands. Archiving a task is a rename too.

use super::order::{SEPARATOR, current, refused, why_after, with_why};
use super::{HistoryEntry, Kind, State, Transition};
use crate::workflow::Workflow;
use orch_base::{Code, Error, Hint, TaskId};

/// What the reason of a rename begins with; the former id follows.
const FROM: &str = "renamed from ";

/// The step that gives a task the id `to`.
///
/// Archiving a task that is not finished needs a person with a reason. Anyone may rename any other task.
/// Returns an error if the task has this id already, or the reason is missing.
pub fn rename(
    workflow: &Workflow,
    state: &State,
    to: &TaskId,
    why: Option<&str>,
) -> Result<Transition, Error> {
    let phase = current(workflow, state)?;
    let Some(former) = state
        .task
        .as_deref()
        .filter(|former| *former != to.as_str())
    else {
        let message = format!("the task is already recorded as `{to}`");
        return Err(refused(Code::TaskExists, message, "choose another id"));
    };
    let is_early = to.is_archived() && !phase.terminal;
    if is_early && why.is_none() {
        let message = format!("`{former}` is in `{}` and not finished", phase.id);
        let hint = Hint::from("as a person: ").command(&[
            "orch",
            "archive",
            former,
            "--force",
            super::WHY,
        ]);
        return Err(refused(Code::NotTerminal, message, hint));
    }
    let reason = with_why(format!("{FROM}{former}"), why)?;
    let transition = Transition::new(
        Some(phase.id.clone()),
        phase.id.clone(),
        Kind::Rename,
        &reason,
    );
    Ok(Transition {
        by_human: is_early,
        ..transition
    })
}

/// The reason of a person in a recorded rename of a task with the id `former`, if it has one.
pub(super) fn why_renamed<'e>(entry: &'e HistoryEntry, former: &str) -> Option<&'e str> {
    why_after(&entry.reason, &format!("{FROM}{former}"))
}

/// Whether the last step of a task renamed it.
#[must_use]
pub fn is_just_renamed(state: &State) -> bool {
    state
        .history
        .last()
        .is_some_and(|entry| entry.kind == Kind::Rename)
}

/// The id that a rename replaced; `None` for any other step.
#[must_use]
pub fn former_id(entry: &HistoryEntry) -> Option<&str> {
    let former = entry
        .reason
        .strip_prefix(FROM)
        .filter(|_| entry.kind == Kind::Rename)?;
    Some(
        former
            .split_once(SEPARATOR)
            .map_or(former, |(former, _)| former),
    )
}
