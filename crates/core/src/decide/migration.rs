//! What a migration takes from the record of a task.

use super::State;
use crate::workflow::Workflow;

/// What counts no more after a task has moved to a version of its workflow, in words: records of phases that the step drops, and
/// artifacts that the document forgets.
#[must_use]
pub fn counts_no_more(workflow: &Workflow, before: &State, after: &State) -> Vec<String> {
    let before = before.under_own_names(workflow);
    let mut lost = Vec::new();
    for (name, actor) in &before.actors {
        let now = after.actors.get(name);
        let is_gone = |had: bool, has: fn(&super::Actor) -> bool| had && !now.is_some_and(has);
        if is_gone(!actor.left_with.is_empty(), |now| !now.left_with.is_empty()) {
            lost.push(format!("what `{name}` was left with"));
        }
        if is_gone(!actor.approvals.is_empty(), |now| !now.approvals.is_empty()) {
            lost.push(format!("the approvals of `{name}`"));
        }
    }
    let mut forgotten: Vec<String> = Vec::new();
    for artifact in before.recorded_artifacts() {
        let name = artifact.to_string();
        if workflow.forgets.contains(&name) && !forgotten.contains(&name) {
            lost.push(format!("the artifact `{name}`, which the document forgets"));
            forgotten.push(name);
        }
    }
    lost
}
