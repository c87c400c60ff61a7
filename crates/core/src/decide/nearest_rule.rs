//! The rule that is nearest to firing.

use super::{Decision, Direction, GuardPart, Tried, Truth, direction};
use crate::workflow::{Outcome, Workflow};
use std::collections::BTreeSet;

/// The rule that decided; otherwise the one for which the fewest things would have to change, and of several that
/// lack as much, one that leads forward. `None` if no rule was tried.
///
/// A rule that leads back or waits comes after all that lead on, unless a file that it reads is there and cannot
/// be read: such a file may speak for it. All parts of a guard that read the same artifact count as one thing,
/// because writing that artifact can change them all.
#[must_use]
pub fn nearest_rule<'d>(workflow: &Workflow, decision: &'d Decision) -> Option<&'d Tried> {
    by_nearness(workflow, decision).into_iter().next()
}

/// The rules that were tried, the nearest first, as [`nearest_rule`] ranks them.
pub(super) fn by_nearness<'d>(workflow: &Workflow, decision: &'d Decision) -> Vec<&'d Tried> {
    let mut tried: Vec<&Tried> = decision
        .tried
        .iter()
        .filter(|tried| tried.result != Truth::NotTried)
        .collect();
    tried.sort_by_cached_key(|tried| {
        let to = tried.to.as_ref();
        let leads = match direction(workflow, decision.phase.as_ref(), to) {
            _ if to.is_none() => 2,
            Direction::Advance => 0,
            _ => 1,
        };
        let lacks = lacking(&tried.parts);
        let is_likely = leads_on(workflow, decision, tried) || has_unreadable(decision, &lacks);
        let parts = tried.parts.iter();
        (
            decision.rule.as_ref() != Some(&tried.rule),
            !is_likely,
            lacks.len(),
            leads,
            parts.filter(|part| part.result != Truth::True).count(),
        )
    });
    tried
}

/// Whether a rule leads forward or starts an action.
fn leads_on(workflow: &Workflow, decision: &Decision, tried: &Tried) -> bool {
    let rule = workflow.rules.iter().find(|rule| rule.id == tried.rule);
    match rule.map(|rule| &rule.outcome) {
        Some(Outcome::To(to)) => {
            direction(workflow, decision.phase.as_ref(), Some(to)) == Direction::Advance
        }
        Some(Outcome::Run(_) | Outcome::Choose(_)) => true,
        Some(Outcome::Wait(_)) | None => false,
    }
}

/// Whether one of these artifacts is there and cannot be read, so that nobody knows what it says.
fn has_unreadable(decision: &Decision, names: &BTreeSet<&str>) -> bool {
    let mut named = decision
        .artifacts
        .iter()
        .filter(|derived| names.contains(derived.name.as_str()));
    named.any(|derived| derived.present && !derived.valid)
}

/// The artifacts, values of the state and other names that keep a guard from being true.
fn lacking(parts: &[GuardPart]) -> BTreeSet<&str> {
    let mut lacking = BTreeSet::new();
    for part in parts.iter().filter(|part| part.result != Truth::True) {
        // The task is the same whatever anybody writes.
        let names = part.saw.iter().map(|(name, _)| name.as_str());
        let mut names: Vec<&str> = names.filter(|name| *name != "task").collect();
        if names.is_empty() {
            names.push(&part.text);
        }
        for name in names {
            let mut opened = parts.iter().filter_map(|part| part.within.as_deref());
            if opened.any(|opened| opened == name) {
                continue;
            }
            lacking.insert(match name.split(['.', '[']).next() {
                Some(root) if root != "state" => root,
                _ => name,
            });
        }
    }
    lacking
}
