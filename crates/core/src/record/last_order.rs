//! The last order in a log that can be taken back.

use super::log::EventLog;
use super::{FoldCache, LogEvent};
use crate::decide::{HistoryEntry, Kind, State, TakenBack, is_person_order};
use crate::workflow::Workflow;
use orch_base::{Digest, PhaseId};
use std::sync::Arc;

impl EventLog {
    /// The last order before the end of the log, `heads`, that no later step has taken back.
    ///
    /// # Errors
    ///
    /// The reason why there is none: nobody ordered anything, something other than a step of the rules
    /// follows the order, or branches were joined since.
    pub fn last_order(
        &self,
        workflow: &Workflow,
        heads: &[Digest],
        cache: &mut FoldCache,
    ) -> Result<TakenBack, String> {
        let mut steps = Vec::new();
        // How many orders that were taken back still come.
        let mut undone = 0_usize;
        let mut at = heads;
        loop {
            let event = match at {
                [] => return Err("nobody has given an order that could be taken back".to_owned()),
                [only] => self.get(only).ok_or("an event is missing")?,
                _ => return Err("branches of the task were joined since its last order".to_owned()),
            };
            let LogEvent { entry, after, .. } = event;
            let is_order = is_person_order(workflow, entry);
            if is_order && undone == 0 {
                return self.before(event, steps, cache);
            }
            match entry.kind {
                Kind::Undo => undone += 1,
                _ if is_order => undone -= 1,
                Kind::Rename | Kind::Create => {}
                // What is no work on the task stays as it is.
                Kind::Relate | Kind::Take | Kind::Verify | Kind::Lapse => {}
                Kind::Advance | Kind::Regress if undone == 0 => steps.insert(0, entry.clone()),
                kind if undone == 0 => {
                    let kind = kind.as_str();
                    let seq = entry.seq;
                    return Err(format!(
                        "step {seq} ({kind}) has recorded work since the last order"
                    ));
                }
                _ => {}
            }
            at = after;
        }
    }

    /// The phase in which a person last approved by a verdict that an order wrote, where the rules asked for no person; `None`
    /// if an order that [`Self::last_order`] knows came later, or anything else that is no step of the rules. The state after
    /// such a verdict does not tell it from one that lay there, so it is taken back by going back to its phase.
    #[must_use]
    pub fn last_approval(
        &self,
        workflow: &Workflow,
        heads: &[Digest],
        state: &State,
    ) -> Option<PhaseId> {
        let mut at = heads;
        while let [only] = at {
            let LogEvent { entry, after, .. } = self.get(only)?;
            if is_person_order(workflow, entry) {
                return None;
            }
            match entry.kind {
                Kind::Advance if is_of_ordered_verdict(workflow, entry, state) => {
                    return entry.from.clone();
                }
                Kind::Advance
                | Kind::Rename
                | Kind::Relate
                | Kind::Take
                | Kind::Verify
                | Kind::Lapse => {}
                _ => return None,
            }
            at = after;
        }
        None
    }

    fn before(
        &self,
        event: &LogEvent,
        steps: Vec<Arc<HistoryEntry>>,
        cache: &mut FoldCache,
    ) -> Result<TakenBack, String> {
        let order = event.entry.clone();
        match event.after.as_slice() {
            [only] => {
                let before = self
                    .state_at(only, cache)
                    .map_err(|fault| fault.kind.to_string())?;
                Ok(TakenBack {
                    order,
                    steps,
                    before: Arc::unwrap_or_clone(before),
                })
            }
            _ => Err(format!(
                "step {} ({}) joined branches, and cannot be taken back",
                order.seq,
                order.kind.as_str()
            )),
        }
    }
}

/// Whether a step rests on a verdict of the phase that it left, which an order wrote.
fn is_of_ordered_verdict(workflow: &Workflow, entry: &HistoryEntry, state: &State) -> bool {
    let Some(from) = &entry.from else {
        return false;
    };
    let Some(actor) = state.actor(from) else {
        return false;
    };
    let produced = workflow
        .phase(from)
        .into_iter()
        .flat_map(|phase| &phase.produces);
    let mut written = produced
        .filter_map(|name| actor.writers.get(name))
        .flatten();
    written.any(|written| {
        let is_named = |digest: &Digest| {
            let digest = digest.to_string();
            entry.evidence.iter().any(|(_, named)| *named == digest)
        };
        written.by.ordered && written.files.iter().any(is_named)
    })
}
