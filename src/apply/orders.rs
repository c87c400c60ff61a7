//! Orders: override, rollback, reopen, confirm, approve and reject.

use super::Writer;
use super::advance::{Applied, TaskOutcome};
use super::people::OrderedStep;
use crate::base::{Code, Diagnostic, command};
use crate::decide::{
    self, Facts, Kind, Recorded, Ruling, RulingOrder, Stamp, State, Step, Transition, initial_state,
};
use crate::survey::{Error, Sight, TaskRef};
use std::borrow::Cow;

/// An order of a person, or of a program on a person's behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Move the task against the rules.
    Override {
        /// The target phase; by default the one to which the work would go.
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
    /// Let the task go on where a person decides.
    Approve,
    /// Send the task back where a person decides.
    Reject {
        /// The target phase; by default the one that the workflow names first.
        to: Option<String>,
        /// The reason, which is recorded.
        reason: String,
    },
}

impl Order {
    /// The step that the order asks for.
    fn step(&self, task: &TaskRef) -> OrderedStep {
        let (kind, by_human, mut words) = match self {
            Self::Override { reason, .. } => {
                (Kind::Override, false, vec!["next", task.id.as_str(), "--override", reason])
            }
            Self::Rollback { reason, .. } => {
                (Kind::Rollback, false, vec!["rollback", task.id.as_str(), "--reason", reason])
            }
            Self::Reopen { reason, .. } => {
                (Kind::Reopen, false, vec!["reopen", task.id.as_str(), "--reason", reason])
            }
            Self::Confirm { artifact, reason } => {
                (Kind::Confirm, false, vec!["confirm", task.id.as_str(), artifact, "--reason", reason])
            }
            Self::Approve => (Kind::Advance, true, vec!["approve", task.id.as_str()]),
            Self::Reject { reason, .. } => {
                (Kind::Regress, true, vec!["reject", task.id.as_str(), "--reason", reason])
            }
        };
        if let Self::Override { to: Some(to), .. }
        | Self::Rollback { to: Some(to), .. }
        | Self::Reopen { to: Some(to), .. }
        | Self::Reject { to: Some(to), .. } = self
        {
            words.extend(["--to", to]);
        }
        let argv = std::iter::once("orch").chain(words).map(str::to_owned).collect();
        OrderedStep { kind, by_human, argv }
    }

    /// What a person decides; `None` for an order against the rules.
    pub(super) fn ruling(&self) -> Option<RulingOrder<'_>> {
        match self {
            Self::Approve => Some(RulingOrder { ruling: Ruling::Approve, to: None, reason: None }),
            Self::Reject { to, reason } => {
                Some(RulingOrder { ruling: Ruling::Reject, to: to.as_deref(), reason: Some(reason) })
            }
            Self::Override { .. } | Self::Rollback { .. } | Self::Reopen { .. } | Self::Confirm { .. } => {
                None
            }
        }
    }

    /// The transition that the order asks for, with the facts that it rests on.
    fn transition<'f>(
        &self,
        judged: &'f Sight,
        state: &State,
        stamp: &Stamp,
    ) -> Result<(Transition, Cow<'f, Facts>), Error> {
        let (workflow, facts) = (judged.workflow(), &judged.observed.facts);
        if let Some(ruling) = self.ruling() {
            let ruled = decide::rule_on(workflow, state, facts, ruling, stamp)?;
            let drafted = ruled.draft.map(|draft| Cow::Owned(draft.facts));
            return Ok((ruled.transition, drafted.unwrap_or(Cow::Borrowed(facts))));
        }
        let transition = match self {
            Self::Rollback { to, reason } => decide::rollback(workflow, state, facts, to.as_deref(), reason),
            Self::Reopen { to, reason } => decide::reopen(workflow, state, facts, to.as_deref(), reason),
            Self::Confirm { artifact, reason } => decide::confirm(workflow, state, facts, artifact, reason),
            Self::Override { to, reason } => {
                decide::override_to(workflow, state, facts, to.as_deref(), reason)
            }
            Self::Approve | Self::Reject { .. } => {
                Err(Error::new(Code::NothingToApply, "nothing is decided"))
            }
        };
        Ok((transition?, Cow::Borrowed(facts)))
    }
}

impl Writer<'_> {
    /// Executes an order; with `dry_run` nothing is written, and anyone may ask. Returns an error if the
    /// caller may not give the order, or if it is refused or cannot be committed now.
    pub fn order(&self, task: &TaskRef, order: &Order, dry_run: bool) -> Result<Applied, Error> {
        let stamp = if dry_run { self.stamp() } else { self.stamp_of(&order.step(task))? };
        let written = if dry_run { None } else { self.write_decision(task, order, &stamp)? };
        let outcomes = self.apply(std::slice::from_ref(task), dry_run, &|judged| {
            let state = usable_state(judged)?;
            let (transition, facts) = order.transition(judged, &state, &stamp)?;
            if matches!(facts, Cow::Owned(_)) && !dry_run {
                // The decision was written, and something else has replaced it since.
                let message = "the file with the decision changed meanwhile";
                return Err(Error::new(Code::NothingToApply, message));
            }
            let state = decide::apply(judged.workflow(), &state, &facts, &transition, &stamp);
            Ok(self.workspace.after(judged, vec![Step { transition, state }]))
        });
        match (outcomes.and_then(first_applied), written) {
            (Ok(mut applied), Some(written)) => {
                applied.notes.extend(written.note());
                Ok(applied)
            }
            (Err(error), Some(written)) => {
                written.undo();
                Err(error)
            }
            (done, None) => done,
        }
    }
}

/// The recorded state of a task that an order can act on. Returns an error if the task is untracked or its
/// record cannot be used.
pub(super) fn usable_state(judged: &Sight) -> Result<Cow<'_, State>, Error> {
    let task = judged.task.id.as_str();
    if judged.untracked {
        let message = format!("task `{task}` is untracked: its record is not on this branch");
        return Err(Diagnostic::error(Code::Untracked, message).hint(command(&["orch", "new", task])).into());
    }
    match &judged.recorded {
        Recorded::Known(state) => Ok(Cow::Borrowed(state)),
        Recorded::New => Ok(Cow::Owned(initial_state(judged.workflow()))),
        Recorded::Lost | Recorded::Broken(_) => {
            let way_out = judged.decision.options.first().map(|choice| command(&choice.argv));
            let hint = way_out.unwrap_or_else(|| command(&["orch", "recover", task]));
            Err(Error::new(Code::StateUnusable, judged.decision.reason.clone()).with_hint(hint))
        }
    }
}

/// The outcome of a call that always applies something.
pub(crate) fn first_applied(outcomes: Vec<TaskOutcome>) -> Result<Applied, Error> {
    match outcomes.into_iter().next() {
        Some(TaskOutcome::Applied(applied)) => Ok(*applied),
        _ => Err(Error::new(Code::NothingToApply, "there is nothing to apply")),
    }
}
