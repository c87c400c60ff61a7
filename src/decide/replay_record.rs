//! Replays the recorded steps that rest on no file: a rename, and an order that was taken back.

use super::rename::{rename, why_renamed};
use super::replay::difference;
use super::undo::{undo, why_undone};
use super::{Facts, HistoryEntry, Kind, Stamp, State, TakenBack, apply, document};
use crate::base::TaskId;
use crate::workflow::Workflow;

/// Replays the rename or the undo `entry`, which leads from `before` to `after`. `taken` is the order that an
/// undo takes back, or the reason why none can be. Returns whether the step needs a person, and an error if
/// the record does not follow.
pub fn replay_record(
    workflow: &Workflow,
    before: &State,
    entry: &HistoryEntry,
    taken: Result<TakenBack, String>,
    after: &State,
) -> Result<bool, String> {
    let id = after.task.as_deref().map(TaskId::new);
    let Some(Ok(task)) = id else { return Err("the record does not say which task it is of".to_owned()) };
    let transition = match entry.kind {
        Kind::Rename => {
            let why = why_renamed(entry, before.task.as_deref().unwrap_or_default());
            rename(workflow, before, &task, why)
        }
        _ => {
            let taken = taken?;
            undo(workflow, before, &taken, why_undone(entry, &taken))
        }
    };
    let transition = transition.map_err(|error| error.to_string())?;
    let stamp = Stamp::of(entry);
    let mut next = apply(workflow, before, &Facts::of_no_files(task), &transition, &stamp);
    next.heads.clone_from(&after.heads);
    let [next, after] = [&next, after].map(|state| document(state, &workflow.phase_key));
    match difference(&next, &after, "") {
        None => Ok(transition.by_human),
        Some(why) => Err(format!("the state differs from the result of the step: {why}")),
    }
}
