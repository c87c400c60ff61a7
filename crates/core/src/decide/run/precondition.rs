//! The precondition of work: whether the work would be repeated, and whether its result is still valid.

use crate::decide::data::put_back;
use crate::decide::{Decision, Facts, HistoryEntry, State, at, data_of};
use crate::workflow::Workflow;
use orch_base::{ActionName, Digest, PhaseId, Reason, RuleId};
use serde_json::Value;
use std::sync::Arc;

/// What work started from. Its result is accepted only into that state or a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition {
    /// The fingerprint of the task.
    pub fingerprint: Digest,
    /// The id of the phase.
    pub phase: PhaseId,
    /// How often the task had entered the phase.
    pub entered: u32,
    /// How often the action had been done; 0 for an agent.
    pub done: u32,
    /// The last recorded step: its number, and a digest of its contents.
    pub last: Option<(u64, Digest)>,
}

impl Precondition {
    /// The precondition for work that a rule decided.
    #[must_use]
    pub(super) fn of(
        workflow: &Workflow,
        state: &State,
        facts: &Facts,
        rule: Option<&RuleId>,
        action: Option<&ActionName>,
    ) -> Self {
        let (phase, entered) = standing(workflow, state);
        Self {
            fingerprint: fingerprint(workflow, state, facts, rule),
            phase,
            entered,
            done: action.map_or(0, |action| state.tally(action).done),
            last: state
                .history
                .last()
                .map(|entry| (entry.seq, entry_digest(entry))),
        }
    }

    /// Whether a result of the action has been recorded since. Only one action runs at a time, so it is the
    /// result of this work.
    #[must_use]
    pub fn is_recorded(&self, state: &State, action: &ActionName) -> bool {
        self.is_before(state) && state.tally(action).done > self.done
    }

    /// Checks that the state is the one the work started from, or a later one in the same phase. `earlier` are the
    /// steps that the log has with a number which the state keeps no more; `None` without a log. Returns the reason if
    /// it is not.
    pub fn check(
        &self,
        workflow: &Workflow,
        state: &State,
        earlier: &dyn Fn(u64) -> Option<Vec<Arc<HistoryEntry>>>,
    ) -> Result<(), Reason> {
        let (phase, entered) = standing(workflow, state);
        if phase != self.phase {
            return Err(format!("the task moved to `{phase}` meanwhile").into());
        }
        if entered != self.entered {
            return Err(format!("the task left `{phase}` and came back meanwhile").into());
        }
        let is_in_log = self.last.is_none_or(|(seq, digest)| {
            let steps = if keeps(state, seq) {
                None
            } else {
                earlier(seq)
            };
            steps.is_none_or(|steps| steps.iter().any(|entry| entry_digest(entry) == digest))
        });
        if !self.is_before(state) || !is_in_log {
            return Err(
                "the task's history was replaced: the step from which the work started is not in it".into()
            );
        }
        Ok(())
    }

    /// Whether the last step before the work is in this state's history, as far as the history reaches.
    fn is_before(&self, state: &State) -> bool {
        let Some((seq, digest)) = self.last else {
            return true;
        };
        match state.history.iter().find(|entry| entry.seq == seq) {
            Some(entry) => entry_digest(entry) == digest,
            // The log has the older ones.
            None => state.history.first().is_some_and(|first| first.seq > seq),
        }
    }
}

/// Whether the history of a state has a step with this number.
fn keeps(state: &State, seq: u64) -> bool {
    state.history.iter().any(|entry| entry.seq == seq)
}

fn standing(workflow: &Workflow, state: &State) -> (PhaseId, u32) {
    let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
    workflow.phase_named(name).map_or_else(
        || (workflow.initial.clone(), 0),
        |phase| (phase.id.clone(), state.attempt(&phase.id)),
    )
}

/// A digest of the contents of a history entry.
fn entry_digest(entry: &HistoryEntry) -> Digest {
    let at = entry.at;
    let by = &entry.actor.name;
    let text = format!(
        "{} {at} {by} {:?} {} {}",
        entry.seq, entry.kind, entry.to, entry.reason
    );
    Digest::of_blob(text.as_bytes())
}

/// The fingerprint: a digest of everything that a decision rests on and that work can change: the phase and
/// its attempt, the state's data and the files.
///
/// Numbers that the deciding `run` rule sets as bookkeeping are left out, because counting turns is not
/// progress.
#[must_use]
pub fn fingerprint(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    rule: Option<&RuleId>,
) -> Digest {
    let mut own = data_of(workflow, state);
    let rule = workflow.rules.iter().find(|known| Some(&known.id) == rule);
    for (pointer, _) in rule.iter().flat_map(|rule| &rule.set) {
        if at(&own, pointer).is_some_and(Value::is_number) {
            put_back(&mut own, pointer, None);
        }
    }
    let (phase, entered) = standing(workflow, state);
    // Equal data yields equal text.
    let mut own = Value::Object(own);
    own.sort_all_objects();
    let mut text = format!("{phase} {entered}\n{own}");
    for file in facts.artifacts.values().flatten() {
        let digest = file
            .digest
            .map(|digest| digest.to_string())
            .unwrap_or_default();
        text.push_str(&format!("\n{} {digest}", file.path));
    }
    Digest::of_blob(text.as_bytes())
}

/// A digest of what a decision asks for: the values that the rules read, and what is still expected. Bytes
/// that no rule reads, such as the time in a report that stays stale, do not affect it.
pub(super) fn goal(decision: &Decision) -> Digest {
    let mut text = format!(
        "{:?} {} {:?} {}\n",
        decision.phase, decision.attempt, decision.rule, decision.reason
    );
    for expected in &decision.expects {
        text.push_str(&format!("{} {:?}\n", expected.artifact, expected.state));
        for problem in &expected.problems {
            let pointer = problem
                .place
                .as_ref()
                .and_then(|place| place.pointer.as_deref());
            text.push_str(&format!("{} {pointer:?}\n", problem.code));
        }
    }
    for tried in &decision.tried {
        text.push_str(&format!(
            "{} {:?} {:?}\n",
            tried.rule, tried.result, tried.parts
        ));
    }
    Digest::of_blob(text.as_bytes())
}
