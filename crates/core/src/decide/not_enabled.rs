//! Shows from the state alone that an action cannot have been due.
//!
//! The files at the start of an action are not kept, and the action may have changed them since. So the parts
//! of a guard that read files are skipped.

use super::evaluation::SeenTask;
use super::scope::TaskScope;
use super::{Facts, State};
use crate::workflow::guard::GuardOutcome;
use crate::workflow::{Guard, Outcome, Phase, Rule, VERIFIED, Workflow};
use orch_base::ActionName;
use serde_json::Value;

/// Why `rule` cannot have decided on `action` here, whatever the files were; `None` if it can.
pub(super) fn not_enabled(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    phase: &Phase,
    rule: &Rule,
    action: &ActionName,
) -> Option<String> {
    let state = &*state.under_own_names(workflow);
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    let attempt = state.attempt(&phase.id).max(1);
    let scope = TaskScope::new(workflow, &task.seen, state, &phase.id, attempt, facts);
    let earlier = workflow
        .rules_from(&phase.id)
        .take_while(|other| other.id != rule.id);
    for other in earlier.filter(|other| other.on.is_none() && !rule_looks_at_files(workflow, other))
    {
        let may = match other.when.holds(&scope).result {
            Ok(true) => evaluation
                .rules()
                .may_perform(other, &scope, &mut Vec::new()),
            otherwise => otherwise,
        };
        match may {
            Ok(false) => {}
            Ok(true) => return Some(other.because.clone()),
            Err(message) => {
                return Some(format!(
                    "rule `{}` cannot be evaluated: {message}",
                    other.id
                ));
            }
        }
    }
    if state.tally(action).skipped {
        return Some(format!("`{action}` has been given up"));
    }
    if matches!(rule.outcome, Outcome::Choose(_)) && state.run.chosen.as_ref() != Some(action) {
        return Some(format!("`{action}` has not been picked"));
    }
    let when = workflow
        .action(action)
        .map(|action| action.when.holds(&scope));
    [Some(rule.when.holds(&scope)), when]
        .iter()
        .flatten()
        .find_map(|held| broken(workflow, held))
}

/// The first part that is false whatever the files are.
fn broken(workflow: &Workflow, held: &GuardOutcome) -> Option<String> {
    let part = held
        .parts
        .iter()
        .find(|part| part.result != Ok(true) && !part_looks_at_files(workflow, &part.saw))?;
    Some(format!("`{}` does not hold", part.text))
}

/// Whether a part of a guard reads files, directly or through a named expression.
pub(super) fn part_looks_at_files(workflow: &Workflow, saw: &[(String, Option<Value>)]) -> bool {
    saw.iter().any(|(read, _)| {
        let root = read.split(['.', '[']).next().unwrap_or(read);
        let named = workflow.defines.iter().find(|(name, _)| name == root);
        is_observed(workflow, root)
            || named.is_some_and(|(_, guard)| looks_at_files(workflow, guard))
    })
}

fn rule_looks_at_files(workflow: &Workflow, rule: &Rule) -> bool {
    let whens = rule
        .outcome
        .actions()
        .iter()
        .filter_map(|action| Some(&workflow.action(action)?.when));
    whens
        .chain([&rule.when])
        .any(|guard| looks_at_files(workflow, guard))
}

fn looks_at_files(workflow: &Workflow, guard: &Guard) -> bool {
    workflow
        .reads(guard)
        .iter()
        .any(|chain| is_observed(workflow, &chain[0]))
}

/// Whether the value of a name comes from files.
fn is_observed(workflow: &Workflow, name: &str) -> bool {
    name == VERIFIED || is_artifact(workflow, name)
}

fn is_artifact(workflow: &Workflow, name: &str) -> bool {
    workflow
        .artifacts
        .iter()
        .any(|artifact| artifact.name.as_str() == name)
}
