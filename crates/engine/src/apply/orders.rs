//! Orders: override, rollback, reopen, confirm, approve and reject.

use super::advance::{Advance, Applied, TaskOutcome};
use super::authority::{Authority, OrderedStep};
use super::record_files::bytes_at;
use crate::survey::{Error, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint};
use orch_core::decide::{
    self, Facts, HistoryEntry, Kind, Objection, Recorded, Ruling, RulingOrder, Stamp, State, Step,
    TakenBack, Transition, WHY, initial_state, of_another_file, other_format, unknown_in_record,
};
use orch_core::record::{EventLog, FoldCache};
use std::borrow::Cow;
use std::cell::RefCell;

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
    /// Take back the last order.
    Undo {
        /// The reason, which is recorded.
        reason: Option<String>,
    },
    /// Let the task continue where a verdict is asked for.
    Approve {
        /// The objections that the verdict names.
        objections: Vec<Objection>,
        /// Why it continues even if what it rests on does not stand; `None` if that closes the way.
        although: Option<String>,
    },
    /// Send the task back where a verdict is asked for.
    Reject {
        /// The target phase; by default the one that the workflow names first.
        to: Option<String>,
        /// The reason, which is recorded.
        reason: String,
        /// The objections that the verdict names.
        objections: Vec<Objection>,
    },
}

impl Order {
    /// The reason that was given.
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Override { reason, .. }
            | Self::Rollback { reason, .. }
            | Self::Reopen { reason, .. }
            | Self::Confirm { reason, .. }
            | Self::Reject { reason, .. } => Some(reason),
            Self::Undo { reason } => reason.as_deref(),
            Self::Approve { although, .. } => although.as_deref(),
        }
    }

    /// The step that the order asks for.
    fn step(&self, task: &TaskRef) -> OrderedStep {
        let (kind, by_human, mut words) = match self {
            Self::Override { reason, .. } => (
                Kind::Override,
                false,
                vec!["next", task.id.as_str(), "--override", reason],
            ),
            Self::Rollback { reason, .. } => (
                Kind::Rollback,
                false,
                vec!["rollback", task.id.as_str(), "--reason", reason],
            ),
            Self::Reopen { reason, .. } => (
                Kind::Reopen,
                false,
                vec!["reopen", task.id.as_str(), "--reason", reason],
            ),
            Self::Confirm { artifact, reason } => (
                Kind::Confirm,
                false,
                vec!["confirm", task.id.as_str(), artifact, "--reason", reason],
            ),
            Self::Undo { reason } => {
                let why = reason
                    .iter()
                    .flat_map(|reason| ["--reason", reason.as_str()]);
                (
                    Kind::Undo,
                    false,
                    ["undo", task.id.as_str()].into_iter().chain(why).collect(),
                )
            }
            Self::Approve { although, .. } => {
                let kind = if although.is_some() {
                    Kind::Override
                } else {
                    Kind::Advance
                };
                let why = although.iter().flat_map(|why| ["--override", why.as_str()]);
                (
                    kind,
                    true,
                    ["approve", task.id.as_str()]
                        .into_iter()
                        .chain(why)
                        .collect(),
                )
            }
            Self::Reject { reason, .. } => (
                Kind::Regress,
                true,
                vec!["reject", task.id.as_str(), "--reason", reason],
            ),
        };
        if let Self::Override { to: Some(to), .. }
        | Self::Rollback { to: Some(to), .. }
        | Self::Reopen { to: Some(to), .. }
        | Self::Reject { to: Some(to), .. } = self
        {
            words.extend(["--to", to]);
        }
        if let Self::Approve { objections, .. } | Self::Reject { objections, .. } = self {
            words.extend(
                objections
                    .iter()
                    .flat_map(|objection| ["--issue", objection.text()]),
            );
        }
        let argv = std::iter::once("orch")
            .chain(words)
            .map(str::to_owned)
            .collect();
        OrderedStep {
            kind,
            by_human,
            argv,
        }
    }

    /// What a person decides; `None` for an order against the rules.
    pub(super) fn ruling(&self) -> Option<RulingOrder<'_>> {
        match self {
            Self::Approve {
                objections,
                although,
            } => Some(RulingOrder {
                ruling: Ruling::Approve,
                to: None,
                reason: although.as_deref(),
                overrides: although.is_some(),
                objections,
            }),
            Self::Reject {
                to,
                reason,
                objections,
            } => Some(RulingOrder {
                ruling: Ruling::Reject,
                to: to.as_deref(),
                reason: Some(reason),
                overrides: false,
                objections,
            }),
            Self::Override { .. }
            | Self::Rollback { .. }
            | Self::Reopen { .. }
            | Self::Confirm { .. }
            | Self::Undo { .. } => None,
        }
    }

    /// The transition that the order asks for, with the facts that it rests on. What a person decides has to be written
    /// by then, unless it is only tried.
    fn transition<'f>(
        &self,
        sight: &'f Sight,
        state: &State,
        stamp: &Stamp,
        taken: Option<&TakenBack>,
        is_trial: bool,
    ) -> Result<(Transition, Cow<'f, Facts>), Error> {
        let workflow = sight.workflow();
        let facts = &sight.observed.facts;
        if let Some(ruling) = self.ruling() {
            let ruled = decide::rule_on(workflow, state, facts, ruling, stamp)?;
            let is_said = ruled
                .draft
                .as_ref()
                .is_some_and(|draft| draft.facts.is_none());
            if ruled.draft.is_some() && !is_trial && !is_said {
                // The decision was written, and something else has replaced it since.
                let message = "the file with the decision changed meanwhile";
                return Err(Error::new(Code::NothingToApply, message));
            }
            let drafted = ruled
                .draft
                .and_then(|draft| draft.facts)
                .or(ruled.written)
                .map(Cow::Owned);
            return Ok((ruled.transition, drafted.unwrap_or(Cow::Borrowed(facts))));
        }
        let transition = match self {
            Self::Rollback { to, reason } => {
                decide::rollback(workflow, state, facts, to.as_deref(), reason)
            }
            Self::Reopen { to, reason } => {
                decide::reopen(workflow, state, facts, to.as_deref(), reason)
            }
            Self::Confirm { artifact, reason } => {
                decide::confirm(workflow, state, facts, artifact, reason)
            }
            Self::Override { to, reason } => {
                decide::override_to(workflow, state, facts, to.as_deref(), reason)
            }
            Self::Undo { reason } if let Some(taken) = taken => {
                decide::undo(workflow, state, taken, reason.as_deref())
            }
            Self::Undo { .. } | Self::Approve { .. } | Self::Reject { .. } => {
                Err(Error::new(Code::NothingToApply, "nothing is decided"))
            }
        };
        Ok((transition?, Cow::Borrowed(facts)))
    }
}

/// Gives the orders of a person: override, rollback, reopen, confirm, undo, approve and reject.
#[derive(Clone, Copy)]
pub struct Orders<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) advance: Advance<'w>,
}

impl Orders<'_> {
    /// Executes an order; with `dry_run` nothing is written, and anyone may ask. Returns an error if the
    /// caller may not give the order, or if it is refused or cannot be committed now.
    pub fn give(&self, task: &TaskRef, order: &Order, dry_run: bool) -> Result<Applied, Error> {
        order.reason().map_or(Ok(()), decide::refuse_placeholder)?;
        let stamp = if dry_run {
            self.authority.stamp()
        } else {
            self.authority.stamp_of(&order.step(task))?
        };
        let until = self.phase_ahead(task, order, &stamp)?;
        let written = if dry_run {
            None
        } else {
            self.write_decision(task, order, &stamp, until.as_ref())?
        };
        let taken = RefCell::new(None);
        let outcomes = self
            .advance
            .apply(std::slice::from_ref(task), dry_run, &|looked| {
                let ahead = until
                    .as_ref()
                    .and_then(|until| self.ahead(looked, &stamp, Some(until)));
                let (mut steps, ahead) = ahead.unzip();
                let sight = ahead.as_ref().unwrap_or(looked);
                let state = usable_state(sight)?;
                let undone = if matches!(order, Order::Undo { .. }) {
                    Some(self.last_order(sight)?)
                } else {
                    None
                };
                let (transition, facts) =
                    order.transition(sight, &state, &stamp, undone.as_ref(), dry_run)?;
                let workflow = sight.workflow();
                let state = decide::apply(workflow, &state, &facts, &transition, &stamp);
                taken.replace(undone);
                let steps = steps.get_or_insert_default();
                let after = self.steps_after_order(order, workflow, &facts, (&state, &stamp));
                steps.push(Step { transition, state });
                steps.extend(after);
                Ok(self.reader.settled(looked, std::mem::take(steps)))
            });
        let applied = outcomes.and_then(first_applied).map(|mut applied| {
            applied
                .notes
                .extend(taken.borrow().as_ref().map(taken_back));
            applied
        });
        match (applied, written) {
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

    /// The last order of a task, which can be taken back. Returns an error that says why there is none.
    fn last_order(&self, sight: &Sight) -> Result<TakenBack, Error> {
        let whole;
        let log = match sight.observed.log.whole() {
            Some(log) => log,
            None => {
                whole = bytes_at(&self.reader.root, &sight.task.transcript_path())?;
                &whole
            }
        };
        let (log, _) = EventLog::parse(log);
        let last = log.last_order(sight.workflow(), &log.heads(), &mut FoldCache::default());
        last.map_err(|why| {
            let message = format!("nothing of `{}` can be taken back: {why}", sight.task.id);
            let hint = Hint::from("see ")
                .command(&["orch", "log", sight.task.id.as_str()])
                .text("; to go back: ")
                .command(&["orch", "rollback", sight.task.id.as_str(), "--reason", WHY])
                .or(&["git", "revert", "COMMIT"]);
            Error::new(Code::NothingToUndo, message).with_hint(hint)
        })
    }
}

/// What an undo takes back, in words.
fn taken_back(taken: &TakenBack) -> Diagnostic {
    let step = |entry: &HistoryEntry| {
        let from = entry.from.as_ref().map_or("new", |from| from.as_str());
        format!("{from} -> {}", entry.to)
    };
    let order = &taken.order;
    let confirmed = order
        .confirmed
        .as_ref()
        .map(|artifact| format!(" of `{artifact}`"))
        .unwrap_or_default();
    let kind = order.kind.as_str();
    let name = &order.actor.name;
    let message = format!(
        "step {} ({kind}{confirmed}, {}, by {name}): {}",
        order.seq,
        step(order),
        order.reason
    );
    let found = Diagnostic::note(Code::TakenBack, format!("takes back {message}"));
    let since: Vec<String> = taken.steps.iter().map(|entry| step(entry)).collect();
    match since.as_slice() {
        [] => found,
        _ => found.hint(format!(
            "the steps that followed by the rules go too: {}",
            since.join(", ")
        )),
    }
}

/// The recorded state of a task that an order can act on. Returns an error if the task is untracked or its
/// record cannot be used.
pub(super) fn usable_state(sight: &Sight) -> Result<Cow<'_, State>, Error> {
    sight.require_workflow()?;
    if let Some(found) = of_another_file(&sight.observed.facts) {
        return Err(found.into());
    }
    movable_state(sight)
}

/// The same, for a step that only gives the task another place.
pub(super) fn movable_state(sight: &Sight) -> Result<Cow<'_, State>, Error> {
    let task = sight.task.id.as_str();
    sight.require_tracked()?;
    match &sight.recorded {
        Recorded::Known(state) => {
            // A finished task is done in any format, but no step can follow.
            let format = sight.workflow().digest.format();
            if state.is_of_another_format(format) {
                return Err(other_format(&sight.observed.facts, format).into());
            }
            if let Some(found) = unknown_in_record(sight.workflow(), state, &sight.observed.facts) {
                return Err(found.into());
            }
            Ok(Cow::Borrowed(state))
        }
        Recorded::New => Ok(Cow::Owned(initial_state(sight.workflow()))),
        Recorded::Lost | Recorded::Broken(_) => {
            let way_out = sight
                .decision
                .options
                .first()
                .map(|choice| Hint::run(&choice.argv));
            let hint = way_out.unwrap_or_else(|| Hint::run(&["orch", "recover", task]));
            Err(sight.unusable(hint))
        }
    }
}

/// The outcome of a call that always applies something.
pub(crate) fn first_applied(outcomes: Vec<TaskOutcome>) -> Result<Applied, Error> {
    match outcomes.into_iter().next() {
        Some(TaskOutcome::Applied(applied)) => Ok(*applied),
        _ => Err(Error::new(
            Code::NothingToApply,
            "there is nothing to apply",
        )),
    }
}
