//! The last order in a log that can be taken back.

use super::log::EventLog;
use super::{FoldCache, LogEvent};
use crate::decide::{HistoryEntry, Kind, TakenBack, is_person_order};
use crate::workflow::Workflow;
use orch_base::Digest;
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
