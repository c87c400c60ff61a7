//! The value of an expression for a task, for people who read or write a workflow.

use super::derive::look;
use super::scope::TaskScope;
use super::{Facts, Recorded, initial_state};
use crate::workflow::{Guard, Workflow};
use orch_base::Reason;
use serde_json::Value;
use std::borrow::Cow;

/// Evaluates an expression as the rules of the task's phase would. Returns the reason if it has no value, or if the record
/// of the task cannot be read.
pub fn value_of(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    guard: &Guard,
) -> Result<Value, Reason> {
    let state = match recorded {
        Recorded::Known(state) => state.under_own_names(workflow),
        Recorded::New => Cow::Owned(initial_state(workflow)),
        Recorded::Lost | Recorded::Broken(_) => {
            return Err(Reason::from("the record cannot be read".to_owned()));
        }
    };
    let named = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name));
    let phase = named.map_or(&workflow.initial, |phase| &phase.id);
    let seen = look(workflow, &state, phase, facts);
    let attempt = state.attempt(phase).max(1);
    let scope = TaskScope::new(workflow, &seen, &state, phase, attempt, facts);
    guard.value(&scope)
}
