//! Derives recorded steps within a phase again, from the states before and after them.

use super::activity::{
    answered, asked, data_of, ended, give_up, phase_of, pick, result, running, signalled, start,
};
use super::data::{changed_outside, put_back};
use super::{ActorKind, Facts, HistoryEntry, Kind, State, Transition, data};
use crate::workflow::{Guard, Rule, Workflow};
use orch_base::{ActionName, Reason, RuleId};
use serde_json::{Map, Value};

/// Derives a recorded step within a phase again. Returns the reason if the step is impossible.
pub(super) fn rederive(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    entry: &HistoryEntry,
    after: &State,
) -> Result<Transition, Reason> {
    refuse_in_any_case(workflow, state, facts, entry, after)?;
    match (entry.kind, rule_of(workflow, entry), &entry.action) {
        (Kind::Run, Some(rule), Some(action)) => {
            let own = before_set(workflow, state, after, &rule.set);
            result(workflow, state, facts, &rule.id, action, own, &entry.reason)
        }
        (Kind::Skip, Some(rule), Some(action)) => {
            // What the executor printed and how it ended is its word: only the shape is checked.
            let error = after.errors.last().cloned().unwrap_or_default();
            let trace = serde_json::from_value(error).unwrap_or_default();
            give_up(
                workflow,
                state,
                facts,
                &rule.id,
                action,
                &entry.reason,
                trace,
            )
        }
        (Kind::Answer, Some(_), Some(action)) => {
            pick(workflow, state, facts, action, &entry.reason)
        }
        (Kind::Answer, Some(rule), None) => {
            let (asking, ask) = asked(workflow, state, facts).ok_or("no question was open")?;
            if asking.id != rule.id {
                return Err(format!(
                    "the question here comes from rule `{}`, not from `{}`",
                    asking.id, rule.id
                )
                .into());
            }
            let own = before_set(workflow, state, after, &ask.set);
            answered(workflow, state, facts, rule, ask, own, &entry.reason)
        }
        (Kind::Signal, Some(rule), _) => {
            let signal = rule
                .on
                .ok_or_else(|| format!("rule `{}` responds to no signal", rule.id))?;
            let moved = signalled(workflow, state, facts, signal)
                .ok_or("no rule responds to the signal here")??;
            if moved.rule.as_ref() != Some(&rule.id) || moved.to != entry.to {
                return Err(
                    format!("the signal leads to `{}`, not to `{}`", moved.to, entry.to).into(),
                );
            }
            Ok(moved)
        }
        (Kind::Start, None, None) => {
            let mode = after
                .run
                .mode
                .ok_or("the record does not say whether the run asks people")?;
            start(workflow, state, facts, mode).ok_or_else(|| "the step changes nothing".into())
        }
        (Kind::End, None, None) => ended(workflow, state, facts, &entry.reason),
        _ => Err("the record does not say what was done".into()),
    }
}

/// Whether a workflow permits a recorded step within a phase: a result, an answer, or the start or end of a run.
/// `state` and `after` are the states before and after it.
#[must_use]
pub fn permits_activity(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    entry: &HistoryEntry,
    after: &State,
) -> bool {
    rederive(workflow, state, facts, entry, after).is_ok()
}

/// Rejects a step within a phase that no files could justify.
pub(super) fn refuse_in_any_case(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    entry: &HistoryEntry,
    after: &State,
) -> Result<(), Reason> {
    refuse_other_actor(entry)?;
    let before = data_of(workflow, state);
    match (entry.kind, rule_of(workflow, entry), &entry.action) {
        (Kind::Run, Some(rule), Some(action)) => {
            let own = before_set(workflow, state, after, &rule.set);
            let writes = workflow
                .action(action)
                .map(|action| action.writes.as_slice())
                .unwrap_or_default();
            if let Some(pointer) = changed_outside(&before, &own, writes) {
                return Err(
                    format!("{pointer} changed, but action `{action}` may not write it").into(),
                );
            }
            refuse_not_enabled(workflow, state, facts, rule, action)
        }
        (Kind::Skip, Some(rule), Some(action)) => {
            refuse_not_enabled(workflow, state, facts, rule, action)
        }
        (Kind::Answer, Some(rule), None) => {
            let Some(ask) = rule.ask.as_deref().and_then(|name| workflow.ask(name)) else {
                return Err(format!("rule `{}` asks no question", rule.id).into());
            };
            let own = before_set(workflow, state, after, &ask.set);
            match changed_outside(&before, &own, &ask.writes) {
                Some(pointer) => Err(format!(
                    "{pointer} changed, but question `{}` does not ask for it",
                    ask.name
                )
                .into()),
                None => Ok(()),
            }
        }
        (Kind::End, ..) => ended(workflow, state, facts, &entry.reason).map(drop),
        _ => Ok(()),
    }
}

fn refuse_not_enabled(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    rule: &Rule,
    action: &ActionName,
) -> Result<(), Reason> {
    let phase = phase_of(workflow, state)?;
    running(workflow, state, facts, phase, &rule.id, action).map(drop)
}

/// Rejects a step whose recorded actor cannot perform such steps.
fn refuse_other_actor(entry: &HistoryEntry) -> Result<(), Reason> {
    let by = &entry.actor;
    let may = match (entry.kind, &entry.action) {
        (Kind::Run, Some(action)) => by.kind == ActorKind::Agent && by.name == action.as_str(),
        (Kind::Skip | Kind::End, _) => by.kind == ActorKind::Orch,
        _ => true,
    };
    if may {
        Ok(())
    } else {
        Err(format!("{} cannot perform such a step", by.name).into())
    }
}

fn rule_of<'w>(workflow: &'w Workflow, entry: &HistoryEntry) -> Option<&'w Rule> {
    let id = RuleId::new(entry.rule.as_deref()?).ok()?;
    workflow.rules.iter().find(|rule| rule.id == id)
}

/// The workflow's own data after a step, with the values that bookkeeping set restored to those before.
fn before_set(
    workflow: &Workflow,
    before: &State,
    after: &State,
    set: &[(String, Guard)],
) -> Map<String, Value> {
    let old = data_of(workflow, before);
    let mut own = after.extra.clone();
    for (pointer, _) in set {
        put_back(&mut own, pointer, data::at(&old, pointer));
    }
    own
}
