//! Orders: override, rollback, reopen, confirm, approve and reject.

use super::advance::{Advance, Applied, TaskOutcome};
use super::authority::{Authority, OrderedStep};
use super::new_result::{NewResult, with_results};
use super::record_files::bytes_at;
use crate::survey::{Error, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint, PhaseId};
use orch_core::decide::{
    self, ApprovalPlan, Draft, FreshResult, HistoryEntry, Kind, Objection, Recorded, Ruled, Ruling,
    RulingOrder, Stamp, State, Step, TakenBack, WHY, WrittenVerdict, initial_state,
    of_another_file, other_format, unknown_in_record,
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
    /// Confirm that tests are gone on purpose.
    ConfirmLost {
        /// The name of a lost test, in which `*` stands for any text.
        test: String,
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
        /// The phase up to which every verdict is approved; `None` for the next one alone.
        to: Option<String>,
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
    /// Take the move that a verdict makes due, which a person has written whole.
    Verdict {
        /// The name of the artifact.
        artifact: String,
        /// The text of its file.
        text: String,
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
            | Self::ConfirmLost { reason, .. }
            | Self::Reject { reason, .. } => Some(reason),
            Self::Undo { reason } => reason.as_deref(),
            Self::Approve { although, .. } => although.as_deref(),
            Self::Verdict { .. } => None,
        }
    }

    /// The way back to a phase, with the reason of this order if it has one.
    fn as_rollback(&self, phase: &PhaseId) -> Self {
        Self::Rollback {
            to: Some(phase.to_string()),
            reason: self
                .reason()
                .unwrap_or("the approval was taken back")
                .to_owned(),
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
            Self::ConfirmLost { test, reason } => (
                Kind::Confirm,
                false,
                vec![
                    "confirm",
                    task.id.as_str(),
                    "--lost",
                    test,
                    "--reason",
                    reason,
                ],
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
            Self::Verdict { .. } => (Kind::Advance, true, vec!["review", task.id.as_str()]),
        };
        if let Self::Override { to: Some(to), .. }
        | Self::Rollback { to: Some(to), .. }
        | Self::Reopen { to: Some(to), .. }
        | Self::Reject { to: Some(to), .. }
        | Self::Approve { to: Some(to), .. } = self
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

    /// Whether a person decides by it where a verdict is asked for; otherwise it is against the rules.
    pub(super) fn is_ruling(&self) -> bool {
        matches!(
            self,
            Self::Approve { .. } | Self::Reject { .. } | Self::Verdict { .. }
        )
    }

    /// What a person decides about a task; `None` for an order against the rules.
    fn ruled(&self, sight: &Sight, state: &State, stamp: &Stamp) -> Option<Result<Ruled, Error>> {
        let workflow = sight.workflow();
        let facts = &sight.observed.facts;
        if let Self::Verdict { artifact, text } = self {
            let verdict = WrittenVerdict { artifact, text };
            return Some(decide::rule_by(workflow, state, facts, verdict, stamp));
        }
        let ruling = self.ruling()?;
        Some(decide::rule_on(workflow, state, facts, ruling, stamp))
    }

    /// What a person approves or rejects.
    fn ruling(&self) -> Option<RulingOrder<'_>> {
        match self {
            Self::Approve {
                objections,
                although,
                ..
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
            | Self::ConfirmLost { .. }
            | Self::Undo { .. }
            | Self::Verdict { .. } => None,
        }
    }

    /// The steps that the order asks for. What a person decides has to be written by then, unless it is only tried.
    fn steps(
        &self,
        sight: &Sight,
        state: &State,
        stamp: &Stamp,
        given: &OrderInputs<'_>,
    ) -> Result<Vec<Step>, Error> {
        let workflow = sight.workflow();
        let facts = &sight.observed.facts;
        if let Some(plan) = self.approval(given) {
            let way = decide::approve(workflow, state, facts, &plan, stamp)?;
            if !given.is_trial {
                refuse_unwritten(&way.drafts)?;
            }
            return Ok(way.steps);
        }
        let mut written = Cow::Borrowed(facts);
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
            Self::ConfirmLost { test, reason } => {
                let tests = decide::lost_tests(workflow, state, facts, test)?;
                decide::confirm_lost(workflow, state, facts, &tests, reason)
            }
            Self::Override { to, reason } => {
                decide::override_to(workflow, state, facts, to.as_deref(), reason)
            }
            Self::Undo { reason } if let Some(taken) = given.taken => {
                decide::undo(workflow, state, taken, reason.as_deref())
            }
            Self::Reject { .. } | Self::Verdict { .. }
                if let Some(ruled) = self.ruled(sight, state, stamp) =>
            {
                let ruled = ruled?;
                if !given.is_trial {
                    refuse_unwritten(ruled.draft.as_slice())?;
                }
                let drafted = ruled.draft.and_then(|draft| draft.facts);
                if let Some(facts) = drafted.or(ruled.written) {
                    written = Cow::Owned(facts);
                }
                Ok(ruled.transition)
            }
            Self::Undo { .. }
            | Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Verdict { .. } => Err(Error::new(Code::NothingToApply, "nothing is decided")),
        };
        let transition = transition?;
        let state = decide::apply(workflow, state, &written, &transition, stamp);
        Ok(vec![Step { transition, state }])
    }

    /// The files that have to be written before a person's decision can be recorded.
    pub(super) fn drafts(
        &self,
        sight: &Sight,
        stamp: &Stamp,
        given: &OrderInputs<'_>,
    ) -> Result<Vec<Draft>, Error> {
        let state = usable_state(sight)?;
        let workflow = sight.workflow();
        let facts = &sight.observed.facts;
        if let Some(plan) = self.approval(given) {
            return Ok(decide::approve(workflow, &state, facts, &plan, stamp)?.drafts);
        }
        match self.ruled(sight, &state, stamp) {
            Some(ruled) => Ok(ruled?.draft.into_iter().collect()),
            None => Ok(Vec::new()),
        }
    }

    /// What a person approves; `None` for any other order.
    fn approval<'a>(&'a self, given: &OrderInputs<'a>) -> Option<ApprovalPlan<'a>> {
        let Self::Approve { to, .. } = self else {
            return None;
        };
        Some(ApprovalPlan {
            order: self.ruling()?,
            until: to.as_deref(),
            results: given.results,
            ran_by: given.ran_by,
        })
    }
}

/// What an order is given with.
#[derive(Clone, Copy)]
pub(super) struct OrderInputs<'a> {
    /// What an undo takes back.
    taken: Option<&'a TakenBack>,
    /// What verifications gave on the way.
    results: &'a [FreshResult],
    /// Who ran them.
    ran_by: &'a Stamp,
    /// Whether nothing is written.
    is_trial: bool,
}

/// Returns an error if a decision that was written is no longer there.
fn refuse_unwritten(drafts: &[Draft]) -> Result<(), Error> {
    if drafts.iter().any(|draft| draft.facts.is_some()) {
        let message = "the file with the decision changed meanwhile";
        return Err(Error::new(Code::NothingToApply, message));
    }
    Ok(())
}

/// Gives the orders of a person: override, rollback, reopen, confirm, undo, approve, reject, and verdicts that were written.
#[derive(Clone, Copy)]
pub struct Orders<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) advance: Advance<'w>,
    /// What verifications gave that an approval takes along.
    pub(super) results: &'w [NewResult],
}

impl<'w> Orders<'w> {
    /// The same, where an approval takes these results along.
    #[must_use]
    pub fn with_results(self, results: &'w [NewResult]) -> Self {
        Self { results, ..self }
    }

    /// The text of the verdict by which an approval lets a task continue now; `None` if none has to be written, or the way is
    /// closed. Returns an error if the task cannot be read.
    pub fn approval_text(&self, task: &TaskRef) -> Result<Option<String>, Error> {
        let sight = self.reader.look(task)?;
        let stamp = self.authority.stamp();
        let order = Order::Approve {
            to: None,
            objections: Vec::new(),
            although: None,
        };
        let given = OrderInputs {
            taken: None,
            results: &[],
            ran_by: &stamp,
            is_trial: true,
        };
        let drafts = order.drafts(&sight, &stamp, &given);
        Ok(drafts
            .ok()
            .and_then(|mut drafts| drafts.pop())
            .map(|draft| draft.text))
    }

    /// Returns an error if the caller may not give an order.
    pub fn refuse_caller(&self, task: &TaskRef, order: &Order) -> Result<(), Error> {
        self.authority.stamp_of(&order.step(task)).map(drop)
    }

    /// Executes an order; with `dry_run` nothing is written, and anyone may ask. Returns an error if the
    /// caller may not give the order, or if it is refused or cannot be committed now.
    pub fn give(&self, task: &TaskRef, order: &Order, dry_run: bool) -> Result<Applied, Error> {
        order.reason().map_or(Ok(()), decide::refuse_placeholder)?;
        let stamp = if dry_run {
            self.authority.stamp()
        } else {
            self.authority.stamp_of(&order.step(task))?
        };
        let results: Vec<FreshResult> = self.results.iter().map(|new| new.fresh.clone()).collect();
        let given = OrderInputs {
            taken: None,
            results: &results,
            ran_by: &self.authority.caller.own_stamp(),
            is_trial: dry_run,
        };
        let written = if dry_run {
            Vec::new()
        } else {
            self.write_decisions(task, order, &stamp, &given)?
        };
        let taken = RefCell::new(None);
        let advance = Advance {
            results: self.results,
            together: true,
            ..self.advance
        };
        let outcomes = advance.apply(std::slice::from_ref(task), dry_run, &|sight| {
            let state = usable_state(sight)?;
            let way_back = match order {
                Order::Undo { .. } => Some(last_order(self.reader, sight)?),
                _ => None,
            };
            let (undone, rollback) = match way_back {
                Some(WayBack::Undo(taken)) => (Some(*taken), None),
                Some(WayBack::Rollback(phase)) => (None, Some(order.as_rollback(&phase))),
                None => (None, None),
            };
            let order = rollback.as_ref().unwrap_or(order);
            let given = OrderInputs {
                taken: undone.as_ref(),
                ..given
            };
            let steps = order.steps(sight, &state, &stamp, &given)?;
            taken.replace(undone);
            Ok(self
                .reader
                .settled(&with_results(sight, self.results), steps))
        });
        let applied = outcomes.and_then(first_applied);
        match applied {
            Ok(mut applied) => {
                applied
                    .notes
                    .extend(taken.borrow().as_ref().map(taken_back));
                applied
                    .notes
                    .extend(written.iter().filter_map(|one| one.note()));
                Ok(applied)
            }
            Err(error) => {
                written.into_iter().rev().for_each(|one| one.undo());
                Err(error)
            }
        }
    }
}

/// What takes back the last order of a task.
pub enum WayBack {
    /// The task stands again as it stood before it.
    Undo(Box<TakenBack>),
    /// Going back to the phase in which a person approved by a verdict that the rules do not ask a person for.
    Rollback(PhaseId),
}

/// How the last order of a task can be taken back. Returns an error that says why it cannot.
pub fn last_order(reader: &Reader, sight: &Sight) -> Result<WayBack, Error> {
    let whole;
    let log = match sight.observed.log.whole() {
        Some(log) => log,
        None => {
            whole = bytes_at(&reader.root, &sight.task.transcript_path())?;
            &whole
        }
    };
    let (log, _) = EventLog::parse(log);
    let workflow = sight.workflow();
    let heads = log.heads();
    if let Some(state) = sight.state()
        && let Some(phase) = log.last_approval(workflow, &heads, state)
    {
        return Ok(WayBack::Rollback(phase));
    }
    let last = log.last_order(workflow, &heads, &mut FoldCache::default());
    let last = last.map(|taken| WayBack::Undo(Box::new(taken)));
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
