//! The way of a task: the phases from the first to a good end, and where the task is among them.

use super::State;
use super::order::onward;
use crate::workflow::{Phase, Workflow};
use orch_base::{PhaseId, words};
use serde::{Deserialize, Serialize};

words! {
    /// How far a task is with a phase of its way.
    pub enum WayStage {
        /// The task was in it and has moved on.
        Passed = "passed",
        /// The task was in it or jumped over it, and a person has waived what it produces.
        Waived = "waived",
        /// The task is in it.
        Current = "current",
        /// It still lies ahead.
        Ahead = "ahead",
    }
}

/// A phase of the way of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayStop {
    /// The phase.
    pub phase: PhaseId,
    /// How far the task is with it.
    pub stage: WayStage,
}

/// The way of a task that is in this phase, in document order: the earlier phases that it was in, the phase itself, and
/// those to which the work leads from there.
///
/// A phase off the main way, such as one that undoes the work, is part of it only while the task is in it.
pub(super) fn way(workflow: &Workflow, state: &State, current: &Phase) -> Vec<WayStop> {
    let main = match workflow.phase(&workflow.initial) {
        Some(initial) => line_from(workflow, initial),
        None => Vec::new(),
    };
    let here = workflow.position(&current.id);
    let mut stops = Vec::new();
    for phase in main
        .iter()
        .filter(|phase| workflow.position(&phase.id) < here)
    {
        let is_waived = phase
            .produces
            .iter()
            .any(|artifact| state.waived.contains_key(artifact));
        if is_waived {
            stops.push(stop(phase, WayStage::Waived));
        } else if state.attempt(&phase.id) > 0 {
            stops.push(stop(phase, WayStage::Passed));
        }
    }
    stops.push(stop(current, WayStage::Current));
    if current.terminal {
        return stops;
    }
    let mut ahead: Vec<&Phase> = line_from(workflow, current).split_off(1);
    if ahead.is_empty() {
        ahead.extend(
            main.iter()
                .filter(|phase| workflow.position(&phase.id) > here),
        );
    }
    stops.extend(ahead.into_iter().map(|phase| stop(phase, WayStage::Ahead)));
    stops
}

/// A phase, and those to which its work leads. Each is later than the one before it, so there is an end.
fn line_from<'w>(workflow: &'w Workflow, start: &'w Phase) -> Vec<&'w Phase> {
    let mut line = vec![start];
    let mut last = start;
    while let Some(next) = onward(workflow, last) {
        line.push(next);
        last = next;
    }
    line
}

fn stop(phase: &Phase, stage: WayStage) -> WayStop {
    WayStop {
        phase: phase.id.clone(),
        stage,
    }
}
