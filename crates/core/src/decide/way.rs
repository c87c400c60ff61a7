//! The whole way of a task: the phases that it passed, where it is, and those that lie ahead.

use super::State;
use crate::workflow::{Phase, Workflow};
use orch_base::{PhaseId, words};

words! {
    /// Where a phase lies on the way of a task.
    pub enum WayState {
        /// The task has left it forward.
        Passed = "passed",
        /// The task is in it.
        Current = "current",
        /// The task has not come there, or was sent back from there.
        Ahead = "ahead",
    }
}

/// A phase on the way of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayStop {
    /// The phase.
    pub phase: PhaseId,
    /// Where it lies.
    pub state: WayState,
}

/// The way of a task, in document order. Of the phases in which a task ends, the one in which it did, or else the first
/// good one; and one that undoes work, only if the task is or was there.
#[must_use]
pub fn way(workflow: &Workflow, state: Option<&State>) -> Vec<WayStop> {
    let own = state.map(|state| state.under_own_names(workflow));
    let state = own.as_deref();
    let current = state.and_then(|state| workflow.phase_named(state.phase.as_deref()?));
    let position = current.and_then(|phase| workflow.position(&phase.id));
    let was_in = |phase: &Phase| state.is_some_and(|state| state.attempt(&phase.id) > 0);
    let end = match current.filter(|phase| phase.terminal) {
        Some(phase) => Some(phase),
        None => workflow.phases.iter().find(|phase| phase.is_good_end()),
    };
    let mut stops = Vec::new();
    for phase in &workflow.phases {
        let is_current = current.is_some_and(|current| current.id == phase.id);
        let is_shown = match phase.terminal {
            true => end.is_some_and(|end| end.id == phase.id),
            false => is_current || was_in(phase) || phase.undoes.is_empty(),
        };
        if !is_shown {
            continue;
        }
        let is_before = position > workflow.position(&phase.id);
        let state = match is_current {
            true => WayState::Current,
            false if is_before && was_in(phase) => WayState::Passed,
            false => WayState::Ahead,
        };
        // What a finished task has jumped over is no part of its way.
        let is_jumped = state == WayState::Ahead && current.is_some_and(|current| current.terminal);
        if !is_jumped {
            stops.push(WayStop {
                phase: phase.id.clone(),
                state,
            });
        }
    }
    stops
}
