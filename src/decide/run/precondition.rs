//! What work rests on: whether it would be the same again, and whether what it found still fits.

use crate::base::{ActionName, Digest, PhaseId, Reason, RuleId};
use crate::decide::data::put_back;
use crate::decide::{Decision, Facts, State, at, data_of};
use crate::workflow::Workflow;
use serde_json::Value;

/// What work was begun on, so that its result is taken into no other state than a later one of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition {
    /// What the decision rested on.
    pub fingerprint: Digest,
    /// The phase.
    pub phase: PhaseId,
    /// How often that had been entered.
    pub entered: u32,
    /// How often the action had been done; 0 for an agent.
    pub done: u32,
    /// The last thing that had been recorded: its number, and a digest of what it says.
    pub last: Option<(u64, Digest)>,
}

impl Precondition {
    /// What a decision of a rule rests on.
    #[must_use]
    pub(super) fn of(
        workflow: &Workflow,
        state: &State,
        facts: &Facts,
        (rule, action): (Option<&RuleId>, Option<&ActionName>),
    ) -> Self {
        let (phase, entered) = standing(workflow, state);
        Self {
            fingerprint: fingerprint(workflow, state, facts, rule),
            phase,
            entered,
            done: action.map_or(0, |action| state.tally(action).done),
            last: state.history.last().map(|entry| (entry.seq, told(entry))),
        }
    }

    /// Whether a result of the action has been recorded since. Only one is worked on at a time, so it
    /// is that one.
    #[must_use]
    pub fn is_recorded(&self, state: &State, action: &ActionName) -> bool {
        self.is_before(state) && state.tally(action).done > self.done
    }

    /// Refuses a state that is no later one of that which the work was begun on, or in which the task
    /// has moved since.
    pub fn check(&self, workflow: &Workflow, state: &State) -> Result<(), Reason> {
        let (phase, entered) = standing(workflow, state);
        if phase != self.phase {
            return Err(format!("the task moved to `{phase}` meanwhile").into());
        }
        if entered != self.entered {
            return Err(format!("the task left `{phase}` meanwhile and came back").into());
        }
        if !self.is_before(state) {
            return Err(
                "the task is another one now: what the work was begun on is not in its history".into()
            );
        }
        Ok(())
    }

    /// Whether the last thing that had been recorded is recorded in this state too, as far as it tells.
    fn is_before(&self, state: &State) -> bool {
        let Some((seq, digest)) = self.last else { return true };
        match state.history.iter().find(|entry| entry.seq == seq) {
            Some(entry) => told(entry) == digest,
            // What is older than the window of the history is not looked at.
            None => state.history.first().is_some_and(|first| first.seq > seq),
        }
    }
}

fn standing(workflow: &Workflow, state: &State) -> (PhaseId, u32) {
    let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
    workflow
        .phase_named(name)
        .map_or_else(|| (workflow.initial.clone(), 0), |phase| (phase.id.clone(), state.attempt(&phase.id)))
}

/// A digest of what a record says.
fn told(entry: &crate::decide::HistoryEntry) -> Digest {
    let (at, by) = (entry.at, &entry.actor.name);
    let text = format!("{} {at} {by} {:?} {} {}", entry.seq, entry.kind, entry.to, entry.reason);
    Digest::of_blob(text.as_bytes())
}

/// What a decision rests on, as far as work can change it: the phase and its attempt, the state's data
/// and the files.
///
/// Numbers that the bookkeeping of the deciding `run` rule sets are left out: that it counts its turns
/// is no progress.
#[must_use]
pub fn fingerprint(workflow: &Workflow, state: &State, facts: &Facts, rule: Option<&RuleId>) -> Digest {
    let mut own = data_of(workflow, state);
    let rule = workflow.rules.iter().find(|known| Some(&known.id) == rule);
    for (pointer, _) in rule.iter().flat_map(|rule| &rule.set) {
        if at(&own, pointer).is_some_and(Value::is_number) {
            put_back(&mut own, pointer, None);
        }
    }
    let (phase, entered) = standing(workflow, state);
    let mut text = format!("{phase} {entered}\n");
    canonical(&Value::Object(own), &mut text);
    for file in facts.artifacts.values().flatten() {
        let digest = file.digest.map(|digest| digest.to_string()).unwrap_or_default();
        text.push_str(&format!("\n{} {digest}", file.path));
    }
    Digest::of_blob(text.as_bytes())
}

/// What a decision asks for, as far as the rules see it: what they saw, and what is still expected. Bytes that
/// no rule looks at, such as the time in a report that is stale all the same, make no other of it.
pub(super) fn goal(decision: &Decision) -> Digest {
    let mut text =
        format!("{:?} {} {:?} {}\n", decision.phase, decision.attempt, decision.rule, decision.reason);
    for expected in &decision.expects {
        text.push_str(&format!("{} {:?}\n", expected.artifact, expected.state));
        for problem in &expected.problems {
            let pointer = problem.place.as_ref().and_then(|place| place.pointer.as_deref());
            text.push_str(&format!("{} {pointer:?}\n", problem.code));
        }
    }
    for tried in &decision.tried {
        text.push_str(&format!("{} {:?} {:?}\n", tried.rule, tried.result, tried.parts));
    }
    Digest::of_blob(text.as_bytes())
}

/// A value with its keys in order, so that the same data has the same text.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for key in keys {
                out.push_str(&format!("{key:?}:"));
                canonical(&members[key], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
