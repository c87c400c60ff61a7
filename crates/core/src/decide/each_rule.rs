//! What each rule of a phase comes to by itself, whichever of them decides.

use super::apply::initial_state;
use super::evaluation::SeenTask;
use super::order::current;
use super::scope::TaskScope;
use super::{Facts, Recorded, Tried};
use crate::workflow::Workflow;
use std::borrow::Cow;

/// Each rule of the phase of a task, those that respond to control requests too, with what its guard came to and the parts of
/// that; in document order. Empty if the record names no phase.
#[must_use]
pub fn each_rule(workflow: &Workflow, recorded: &Recorded, facts: &Facts) -> Vec<Tried> {
    let state = match recorded {
        Recorded::Lost | Recorded::Broken(_) => return Vec::new(),
        Recorded::New => Cow::Owned(initial_state(workflow)),
        Recorded::Known(state) => state.under_own_names(workflow),
    };
    let Ok(phase) = current(workflow, &state) else {
        return Vec::new();
    };
    let task = SeenTask::of(workflow, &state, facts, phase);
    let evaluation = task.evaluation();
    let scope = TaskScope::new(
        workflow,
        &task.seen,
        &state,
        &phase.id,
        state.attempt(&phase.id).max(1),
        facts,
    );
    let rules = workflow.rules_from(&phase.id);
    rules
        .map(|rule| evaluation.rules().try_alone(rule, &scope))
        .collect()
}
