//! The rule that is nearest to firing.

use super::{Decision, Direction, GuardPart, Tried, Truth, direction};
use crate::workflow::Workflow;
use std::collections::BTreeSet;

/// The rule that decided; else the one for which the fewest things would have to change, where rules that
/// lead forward precede those that lead back, and both precede those that wait. `None` if no rule was tried.
///
/// All parts of a guard that read the same artifact count as one thing, because writing that artifact can
/// change them all.
#[must_use]
pub fn nearest_rule<'d>(workflow: &Workflow, decision: &'d Decision) -> Option<&'d Tried> {
    by_nearness(workflow, decision).into_iter().next()
}

/// The rules that were tried, the nearest first, as [`nearest_rule`] ranks them.
pub(super) fn by_nearness<'d>(workflow: &Workflow, decision: &'d Decision) -> Vec<&'d Tried> {
    let rank = |tried: &&'d Tried| {
        let leads = match (&tried.to, direction(workflow, decision.phase.as_ref(), tried.to.as_ref())) {
            (None, _) => 2,
            (Some(_), Direction::Advance) => 0,
            (Some(_), _) => 1,
        };
        (decision.rule.as_ref() != Some(&tried.rule), lacking(&tried.parts).len(), leads)
    };
    let mut tried: Vec<&Tried> =
        decision.tried.iter().filter(|tried| tried.result != Truth::NotTried).collect();
    tried.sort_by_key(rank);
    tried
}

/// The artifacts, values of the state and other names that keep a guard from being true.
fn lacking(parts: &[GuardPart]) -> BTreeSet<&str> {
    let is_opened = |name: &str| parts.iter().any(|part| part.within.as_deref() == Some(name));
    let unmet = parts.iter().filter(|part| part.result != Truth::True);
    unmet
        .flat_map(|part| {
            let names: Vec<&str> = part.saw.iter().map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { vec![part.text.as_str()] } else { names }
        })
        .filter(|name| !is_opened(name))
        .map(|name| match name.split(['.', '[']).next() {
            Some(root) if root != "state" => root,
            _ => name,
        })
        .collect()
}
