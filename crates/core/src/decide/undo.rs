//! Takes back an order: the task stands again as it stood before it. The log keeps both.

use super::order::{current, why_after, with_why};
use super::{Change, HistoryEntry, Kind, State, Transition};
use crate::workflow::Workflow;
use orch_base::Error;
use std::sync::Arc;

/// An order that can be taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenBack {
    /// The step that the order made.
    pub order: Arc<HistoryEntry>,
    /// The steps that the rules took after it, oldest first; they are taken back too.
    pub steps: Vec<Arc<HistoryEntry>>,
    /// The state before the order.
    pub before: State,
}

/// Whether a recorded step is an order of a person.
#[must_use]
pub fn is_person_order(workflow: &Workflow, entry: &HistoryEntry) -> bool {
    match entry.kind {
        Kind::Override
        | Kind::Rollback
        | Kind::Reopen
        | Kind::Confirm
        | Kind::Merge
        | Kind::Approve => true,
        Kind::Advance | Kind::Regress => {
            let rule = workflow
                .rules
                .iter()
                .find(|rule| Some(rule.id.as_str()) == entry.rule.as_deref());
            rule.is_some_and(|rule| rule.by_human)
        }
        _ => false,
    }
}

/// The step that takes an order back. Returns an error if the reason is empty or the phase is unknown.
pub fn undo(
    workflow: &Workflow,
    state: &State,
    taken: &TakenBack,
    why: Option<&str>,
) -> Result<Transition, Error> {
    let phase = current(workflow, state)?;
    let target = current(workflow, &taken.before)?;
    let reason = with_why(beginning(&taken.order), why)?;
    let transition = Transition::new(
        Some(phase.id.clone()),
        target.id.clone(),
        Kind::Undo,
        &reason,
    );
    Ok(Transition {
        change: Some(Change::Back(Box::new(taken.before.clone()))),
        ..transition
    })
}

/// The reason of a person in a recorded undo, if it has one.
pub(super) fn why_undone<'e>(entry: &'e HistoryEntry, taken: &TakenBack) -> Option<&'e str> {
    why_after(&entry.reason, &beginning(&taken.order))
}

fn beginning(order: &HistoryEntry) -> String {
    format!("takes back step {} ({})", order.seq, order.kind.as_str())
}
