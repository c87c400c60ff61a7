//! Orders: override, rollback, reopen and confirm.

use super::Writer;
use super::advance::{Applied, TaskOutcome};
use crate::base::{Code, Diagnostic, command};
use crate::decide::{self, Recorded, Step, initial_state};
use crate::survey::{Error, TaskRef};

/// An order of a person, or of a program on a person's behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Move the task against the rules.
    Override {
        /// The target phase; by default that of the first forward rule.
        to: Option<String>,
        /// The reason, which is recorded.
        reason: String,
    },
    /// Go back to an earlier phase.
    Rollback {
        /// The target phase; by default the last consistent one.
        to: Option<String>,
        /// The reason, which is recorded.
        reason: String,
    },
    /// Leave a terminal phase.
    Reopen {
        /// The target phase; by default the one the task finished from.
        to: Option<String>,
        /// The reason, which is recorded.
        reason: String,
    },
    /// Confirm that an unchanged artifact is still correct.
    Confirm {
        /// The name of the artifact.
        artifact: String,
        /// The reason, which is recorded.
        reason: String,
    },
}

impl Writer<'_> {
    /// Executes an order; with `dry_run` nothing is written. Returns an error if the order is refused or
    /// cannot be committed now.
    pub fn order(&self, task: &TaskRef, order: &Order, dry_run: bool) -> Result<Applied, Error> {
        let outcomes = self.apply(std::slice::from_ref(task), dry_run, &|judged| {
            if judged.untracked {
                let message =
                    format!("task `{}` is untracked: its record is not on this branch", judged.task.id);
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
        _ => Err(Error::new(Code::NothingToApply, "there is nothing to apply")),
    }
}
