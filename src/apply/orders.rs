//! What people order, by name.

use super::Writer;
use super::advance::{Applied, TaskOutcome};
use crate::base::{Code, Diagnostic, command};
use crate::decide::{self, Recorded, Step, initial_state};
use crate::survey::{Error, TaskRef};

/// An order of a person, or of whoever acts for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Move against the rules.
    Override {
        /// Where to; by default where the first forward rule leads.
        to: Option<String>,
        /// Why.
        reason: String,
    },
    /// Back to an earlier phase.
    Rollback {
        /// Where to; by default the last consistent phase.
        to: Option<String>,
        /// Why.
        reason: String,
    },
    /// Out of a terminal phase.
    Reopen {
        /// Where to; by default the phase that was left.
        to: Option<String>,
        /// Why.
        reason: String,
    },
    /// Unchanged bytes are right.
    Confirm {
        /// Which artifact.
        artifact: String,
        /// Why.
        reason: String,
    },
}

impl Writer<'_> {
    /// Carries out an order, or says why it is refused. With `dry_run` nothing is written.
    pub fn order(&self, task: &TaskRef, order: &Order, dry_run: bool) -> Result<Applied, Error> {
        let outcomes = self.apply(std::slice::from_ref(task), dry_run, &|judged| {
            if judged.untracked {
                let message = format!("no state of `{}` is on this branch", judged.task.id);
                return Err(Diagnostic::error(Code::Untracked, message)
                    .hint(command(&["orch", "new", judged.task.id.as_str()]))
                    .into());
            }
            let workflow = judged.workflow();
            let initial;
            let state = match &judged.recorded {
                Recorded::Known(state) => state,
                Recorded::New => {
                    initial = initial_state(workflow);
                    &initial
                }
                Recorded::Lost | Recorded::Broken(_) => {
                    let way_out = judged.decision.options.first().map(|choice| command(&choice.argv));
                    let hint =
                        way_out.unwrap_or_else(|| command(&["orch", "recover", judged.task.id.as_str()]));
                    let message = judged.decision.reason.clone();
                    return Err(Error::new(Code::StateUnusable, message).with_hint(hint));
                }
            };
            let facts = &judged.observed.facts;
            let transition = match order {
                Order::Override { to, reason } => {
                    decide::override_to(workflow, state, facts, to.as_deref(), reason)
                }
                Order::Rollback { to, reason } => {
                    decide::rollback(workflow, state, facts, to.as_deref(), reason)
                }
                Order::Reopen { to, reason } => decide::reopen(workflow, state, facts, to.as_deref(), reason),
                Order::Confirm { artifact, reason } => {
                    decide::confirm(workflow, state, facts, artifact, reason)
                }
            }?;
            let state = decide::apply(workflow, state, facts, &transition, &self.stamp());
            Ok(self.workspace.after(judged, vec![Step { transition, state }]))
        })?;
        first_applied(outcomes)
    }
}

/// The outcome of a call that always applies something.
pub(crate) fn first_applied(outcomes: Vec<TaskOutcome>) -> Result<Applied, Error> {
    match outcomes.into_iter().next() {
        Some(TaskOutcome::Applied(applied)) => Ok(*applied),
        _ => Err(Error::new(Code::NothingToApply, "there was nothing to apply")),
    }
}
