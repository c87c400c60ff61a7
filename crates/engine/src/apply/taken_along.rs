//! What a step that somebody orders takes along, where steps share a commit (`commit = "batch"`): what the rules decide
//! before it and after it.
//!
//! Only steps forward are taken, so the commit holds no send-back and one version of each file, and reverting it takes back
//! what was ordered. Where each step is a commit of its own, nothing is taken along.

use super::orders::{Order, Orders, usable_state};
use crate::survey::{Error, Sight, TaskRef, facts_after};
use orch_base::PhaseId;
use orch_core::decide::{
    self, Facts, Kind, Recorded, Settled, Stamp, State, Step, Transition, settle, settle_from,
};
use orch_core::workflow::Workflow;

/// Whether a step that the rules decide may be taken along: it leads forward and asks nobody.
fn leads_on(transition: &Transition) -> bool {
    transition.kind == Kind::Advance && !transition.by_human
}

/// The steps that follow from a state by the rules.
pub(super) fn steps_after(
    workflow: &Workflow,
    facts: &Facts,
    state: &State,
    stamp: &Stamp,
) -> Vec<Step> {
    let facts = facts_after(workflow, facts, state);
    let recorded = Recorded::Known(Box::new(state.clone()));
    settle(workflow, &recorded, &facts, stamp, &leads_on).steps
}

impl Orders<'_> {
    /// The phase in which an approval is given that the task only reaches by steps which are due; `None` if it is given where
    /// the task is, or nowhere, or nothing is taken along.
    pub(super) fn phase_ahead(
        &self,
        task: &TaskRef,
        order: &Order,
        stamp: &Stamp,
    ) -> Result<Option<PhaseId>, Error> {
        let Some(ruling) = order.ruling().filter(|_| self.takes_along(order)) else {
            return Ok(None);
        };
        let sight = self.reader.look(task)?;
        let state = usable_state(&sight)?;
        let workflow = sight.workflow();
        if decide::rule_on(workflow, &state, &sight.observed.facts, ruling, stamp).is_ok() {
            return Ok(None);
        }
        let Some((_, ahead)) = self.ahead(&sight, stamp, None) else {
            return Ok(None);
        };
        let state = usable_state(&ahead)?;
        let ruled = decide::rule_on(workflow, &state, &ahead.observed.facts, ruling, stamp);
        Ok(ruled.ok().and(ahead.decision.phase))
    }

    /// The steps that an order takes along after it.
    pub(super) fn steps_after_order(
        &self,
        order: &Order,
        workflow: &Workflow,
        facts: &Facts,
        (state, stamp): (&State, &Stamp),
    ) -> Vec<Step> {
        match self.takes_along(order) {
            true => steps_after(workflow, facts, state, stamp),
            false => Vec::new(),
        }
    }

    /// Whether an order takes anything along.
    fn takes_along(&self, order: &Order) -> bool {
        self.reader.settings.batches() && matches!(order, Order::Approve { .. })
    }

    /// The steps that are due, and the task as it is after them; `None` if there are none. In the phase `until` the task
    /// stays: what is decided there is ordered.
    pub(super) fn ahead(
        &self,
        sight: &Sight,
        stamp: &Stamp,
        until: Option<&PhaseId>,
    ) -> Option<(Vec<Step>, Sight)> {
        let workflow = sight.workflow();
        let facts = &sight.observed.facts;
        let may =
            |due: &Transition| leads_on(due) && (until.is_none() || due.from.as_ref() != until);
        let first = sight.decision.clone();
        let Settled { steps, decision } =
            settle_from(first, workflow, &sight.recorded, facts, stamp, &may);
        let state = steps.last()?.state.clone();
        let mut ahead = sight.clone();
        ahead.observed.facts = facts_after(workflow, facts, &state).into_owned();
        ahead.recorded = Recorded::Known(Box::new(state));
        ahead.decision = decision;
        Some((steps, ahead))
    }
}
