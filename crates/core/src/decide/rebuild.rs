//! Rebuilds a lost state from the task's files, as far as its workflow describes how.

use super::data::set_pointer;
use super::derive::look;
use super::scope::TaskScope;
use super::{Facts, Stamp, State, apply, create, data_of, initial_state};
use crate::workflow::Workflow;

/// A state in the initial phase with the data found in the artifacts; `None` if they contain none.
///
/// Data from a missing or invalid artifact stays empty. What no file contains, such as the current phase, is
/// lost, and the rebuilt state does not pretend otherwise.
#[must_use]
pub fn rebuild_from_files(workflow: &Workflow, facts: &Facts, stamp: &Stamp) -> Option<State> {
    let transition = create(workflow, "the state was rebuilt from the files of the task");
    let mut state = apply(
        workflow,
        &initial_state(workflow),
        facts,
        &transition,
        stamp,
    );
    let mut own = data_of(workflow, &state);
    let seen = look(workflow, &state, &workflow.initial, facts);
    let scope = TaskScope::new(workflow, &seen, &state, &workflow.initial, 1, facts);
    let mut any = false;
    for (pointer, guard) in &workflow.state.rebuild {
        if let Some(value) = guard.value(&scope).ok().filter(|value| !value.is_null()) {
            set_pointer(&mut own, pointer, value);
            any = true;
        }
    }
    drop(scope);
    state.extra = own;
    any.then_some(state)
}
