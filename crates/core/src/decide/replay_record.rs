//! Replays the recorded steps that follow from the record alone: a rename, an order that was taken back, and what says so in a
//! detail.

use super::detailed::{DetailStep, detailed, standing_of, why_detailed};
use super::rename::{rename, why_renamed};
use super::replay::difference;
use super::undo::{undo, why_undone};
use super::{
    Facts, HistoryEntry, Kind, Stamp, Standing, State, TakenBack, Transition, apply, document,
};
use crate::workflow::Workflow;
use orch_base::TaskId;

/// What a step is that follows from the record alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowedRecord {
    /// Whether the step needs a person.
    pub by_human: bool,
    /// Whose word it rests on.
    pub standing: Standing,
    /// Why it is in doubt, if it is.
    pub doubt: Option<&'static str>,
}

/// Replays the step `entry`, which leads from `before` to `after`. `taken` is the order that an undo takes back, or the
/// reason why none can be; `former` is the version of the workflow that a migration leaves. Returns an error if the record does not follow.
pub fn replay_record(
    workflow: &Workflow,
    before: &State,
    entry: &HistoryEntry,
    (taken, former): (Result<TakenBack, String>, Option<&Workflow>),
    after: &State,
) -> Result<FollowedRecord, String> {
    let id = after.task.as_deref().map(TaskId::new);
    let Some(Ok(task)) = id else {
        return Err("the record does not say which task it is of".to_owned());
    };
    let transition: Transition = match (entry.kind, &entry.detail) {
        (Kind::Rename, _) => {
            let why = why_renamed(entry, before.task.as_deref().unwrap_or_default());
            rename(workflow, before, &task, why).map_err(|error| error.to_string())?
        }
        (_, Some(detail)) => {
            let why = why_detailed(entry, detail);
            let step = DetailStep {
                detail: (**detail).clone(),
                at: entry.at,
                to: Some(&entry.to),
                former,
                why,
            };
            detailed(workflow, before, &task, step)?
        }
        (_, None) => {
            let taken = taken?;
            undo(workflow, before, &taken, why_undone(entry, &taken))
                .map_err(|error| error.to_string())?
        }
    };
    let stamp = Stamp::of(entry);
    let mut next = apply(
        workflow,
        before,
        &Facts::of_no_files(task),
        &transition,
        &stamp,
    );
    next.be_recorded_as(after, workflow);
    let [next, after] = [&next, after].map(|state| document(state, &workflow.phase_key));
    match difference(&next, &after, "") {
        None => {
            let by_human = transition.by_human;
            let is_unknown = before
                .phase
                .as_deref()
                .is_some_and(|phase| workflow.phase_named(phase).is_none());
            let lacks_former = is_unknown && former.is_none();
            let (standing, doubt) = standing_of(entry.kind, by_human, lacks_former);
            Ok(FollowedRecord {
                by_human,
                standing,
                doubt,
            })
        }
        Some(why) => Err(format!(
            "the state differs from the result of the step: {why}"
        )),
    }
}
