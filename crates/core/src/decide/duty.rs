//! The only table that maps a verdict to who must act; every output and every loop uses it.
//!
//! The input is a decision, its workflow, and what is known about a run of the task; the output is a
//! [`Duty`]. Suggestions, status, watch, check and `orch run` render or follow it; none of them derives from
//! the verdict whose turn it is. The matches list every verdict, so the compiler points here when one is
//! added.

use super::{
    Choice, Decision, DueVerification, Ending, ExpectState, Expectation, Verdict,
    VerificationAttempt,
};
use crate::workflow::{Owner, Workflow};
use orch_base::{Code, PhaseId, Timestamp, words};
use serde::{Deserialize, Serialize};

words! {
    /// The kind of a decision.
    pub enum DutyKind {
        /// A transition is due.
        Transition = "transition",
        /// An action is due.
        Run = "run",
        /// Something is missing, and its owner has to provide it.
        Wait = "wait",
        /// A person picks an action.
        Choose = "choose",
        /// The task is finished.
        Done = "done",
        /// An artifact that the phase needs is missing or broken.
        Inconsistent = "inconsistent",
        /// The state or a rule cannot be evaluated.
        Error = "error",
        /// The rules form a circle.
        Livelock = "livelock",
        /// A run stopped because nothing changed.
        Stalled = "stalled",
    }
}

words! {
    /// What has to be done.
    pub enum Do {
        /// Write an artifact that is missing.
        Write = "write",
        /// Correct an artifact that is invalid.
        Fix = "fix",
        /// Rewrite an artifact that is stale.
        Renew = "renew",
        /// Apply the transition that is due.
        Apply = "apply",
        /// Run an action.
        Run = "run",
        /// Choose among options.
        Decide = "decide",
        /// Answer a question.
        Answer = "answer",
        /// Repair the task, its state or its workflow.
        Repair = "repair",
        /// Nothing has to be done.
        Nothing = "nothing",
    }
}

words! {
    /// The direction from one phase to another, in document order.
    pub enum Direction {
        /// The target is later.
        Advance = "advance",
        /// The target is the same phase.
        Stay = "stay",
        /// The target is earlier.
        Regress = "regress",
        /// There is no target.
        None = "none",
    }
}

/// How urgent a task is, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Urgency {
    /// The state, a rule or the workflow is broken.
    Error,
    /// An artifact that the phase needs is missing or broken.
    Inconsistent,
    /// A person must act.
    Person,
    /// A transition is due.
    Transition,
    /// An artifact has to be corrected.
    Fix,
    /// An artifact has to be rewritten.
    Renew,
    /// An artifact has to be written, or an action run.
    Write,
    /// A process is working on the task.
    Process,
    /// No one has to act.
    Nothing,
}

/// What is known about the process that runs a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runner {
    /// A process is running the task now.
    Running,
    /// A process is running the task, and waits until then for a limit of an executor.
    Limited {
        /// When it goes on.
        until: Timestamp,
        /// The limit, in words.
        why: String,
    },
    /// The last run stopped because nothing changed, and nothing has changed since. Contains the reason.
    Stalled(String),
    /// The process that ran the task exited without recording how the run ended.
    Interrupted,
}

impl Runner {
    /// Whether a process is running the task now.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running | Self::Limited { .. })
    }
}

/// What `orch run` does about a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunTurn {
    /// It applies the transition.
    Apply,
    /// It runs the action that is due.
    Act,
    /// It answers by default or starts an executor if an executor may do the work of this owner; otherwise it
    /// waits.
    Work(Owner),
    /// It ends like this.
    End(Ending),
}

/// Who must do what about a task, and where that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// The kind of decision.
    pub kind: DutyKind,
    /// What has to be done.
    pub task: Do,
    /// Who has to do it.
    pub owner: Owner,
    /// The phase that it leads to, or whose work has to be done.
    pub phase: Option<PhaseId>,
    /// The direction of that phase from the current one.
    pub direction: Direction,
    /// How urgent it is.
    pub urgency: Urgency,
    /// What a run does about it, regardless of other runs.
    pub turn: RunTurn,
}

/// One row of the table.
struct DutyRow<'a>(DutyKind, Do, Owner, Option<&'a PhaseId>, RunTurn);

/// Who must do what about a decision under these circumstances.
#[must_use]
pub fn duty(workflow: &Workflow, decision: &Decision, runner: Option<&Runner>) -> Duty {
    let current = decision.phase.as_ref();
    let DutyRow(kind, task, owner, phase, turn) = row(workflow, decision);
    let (kind, task, owner, phase) = match runner.filter(|_| may_run(&decision.verdict)) {
        Some(Runner::Running | Runner::Limited { .. }) => {
            (DutyKind::Wait, Do::Nothing, Owner::Process, current)
        }
        Some(Runner::Stalled(_)) => (DutyKind::Stalled, Do::Decide, Owner::Human, current),
        Some(Runner::Interrupted) | None => (kind, task, owner, phase),
    };
    Duty {
        kind,
        task,
        owner,
        phase: phase.cloned(),
        direction: direction(workflow, current, phase),
        urgency: urgency(kind, owner, task),
        turn,
    }
}

/// The row of what cannot be evaluated.
const UNREAD: DutyRow<'_> = DutyRow(
    DutyKind::Error,
    Do::Repair,
    Owner::Human,
    None,
    RunTurn::End(Ending::Error),
);

/// Who must act on a task of which there is no decision, because it could not be read or has no usable workflow.
#[must_use]
pub fn duty_of_unread() -> Duty {
    let DutyRow(kind, task, owner, _, turn) = UNREAD;
    let phase = None;
    let direction = Direction::None;
    Duty {
        kind,
        task,
        owner,
        phase,
        direction,
        urgency: urgency(kind, owner, task),
        turn,
    }
}

/// The table: kind, what to do, owner, the target phase, and what a run does.
fn row<'a>(workflow: &Workflow, decision: &'a Decision) -> DutyRow<'a> {
    let current = decision.phase.as_ref();
    let phase = current.and_then(|phase| workflow.phase(phase));
    let works = phase.map_or(Owner::Agent, |phase| phase.owner);
    let ended = if phase.is_none_or(|phase| phase.success) {
        Ending::Completed
    } else {
        Ending::Failed
    };
    let waits = RunTurn::End(Ending::Waiting);
    let fails = RunTurn::End(Ending::Error);
    match &decision.verdict {
        Verdict::Transition(due) if decision.is_held_by_ignored() => {
            // Its runner is refused, and says why; what a person decides it does not try.
            let turn = if due.by_human { waits } else { RunTurn::Apply };
            DutyRow(
                DutyKind::Transition,
                Do::Repair,
                Owner::Human,
                Some(&due.to),
                turn,
            )
        }
        Verdict::Transition(due) if due.by_human => DutyRow(
            DutyKind::Transition,
            Do::Decide,
            Owner::Human,
            Some(&due.to),
            waits,
        ),
        Verdict::Transition(due) => DutyRow(
            DutyKind::Transition,
            Do::Apply,
            Owner::Orch,
            Some(&due.to),
            RunTurn::Apply,
        ),
        Verdict::Wait { .. } if decision.verifications.iter().any(could_not_run) => {
            DutyRow(DutyKind::Wait, Do::Repair, Owner::Human, current, waits)
        }
        Verdict::Wait { owner, .. } if decision.verifications.iter().any(may_run_now) => DutyRow(
            DutyKind::Wait,
            Do::Run,
            *owner,
            current,
            RunTurn::Work(*owner),
        ),
        Verdict::Run(_) => DutyRow(DutyKind::Run, Do::Run, works, current, RunTurn::Act),
        // A person decides by a command, which writes the file.
        Verdict::Wait {
            owner: Owner::Human,
            ..
        } if decision.options.iter().any(decides) => DutyRow(
            DutyKind::Wait,
            Do::Decide,
            Owner::Human,
            current,
            RunTurn::Work(Owner::Human),
        ),
        Verdict::Wait { owner, .. } if decision.lacks_history() => DutyRow(
            DutyKind::Wait,
            Do::Repair,
            *owner,
            current,
            RunTurn::Work(*owner),
        ),
        Verdict::Wait { owner, .. } => DutyRow(
            DutyKind::Wait,
            work(&decision.expects, *owner),
            *owner,
            current,
            RunTurn::Work(*owner),
        ),
        Verdict::Choose(_) => DutyRow(DutyKind::Choose, Do::Decide, Owner::Human, current, waits),
        Verdict::Handover { held, .. } => DutyRow(
            DutyKind::Choose,
            Do::Decide,
            Owner::Human,
            Some(&held.to),
            waits,
        ),
        Verdict::Done { .. } => DutyRow(
            DutyKind::Done,
            Do::Nothing,
            Owner::None,
            None,
            RunTurn::End(ended),
        ),
        Verdict::Inconsistent {
            last_consistent, ..
        } => DutyRow(
            DutyKind::Inconsistent,
            Do::Repair,
            Owner::Human,
            last_consistent.as_ref(),
            waits,
        ),
        Verdict::Error { .. } => UNREAD,
        Verdict::Livelock { .. } => {
            DutyRow(DutyKind::Livelock, Do::Repair, Owner::Human, None, fails)
        }
    }
}

fn could_not_run(due: &DueVerification) -> bool {
    matches!(due.attempt, Some(VerificationAttempt::CouldNotRun(_)))
}

fn may_run_now(due: &DueVerification) -> bool {
    due.attempt.is_none()
}

/// Whether a command decides, so that no file has to be written first.
fn decides(option: &Choice) -> bool {
    matches!(option.id, "archive" | "relate")
        || option
            .argv
            .get(1)
            .is_some_and(|command| command == "approve")
}

/// Whether a run changes who must act. A task that is finished or cannot be evaluated is not run.
fn may_run(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Done { .. } | Verdict::Error { .. } => false,
        Verdict::Transition(_)
        | Verdict::Run(_)
        | Verdict::Wait { .. }
        | Verdict::Choose(_)
        | Verdict::Handover { .. }
        | Verdict::Inconsistent { .. }
        | Verdict::Livelock { .. } => true,
    }
}

/// The code of the finding for a verdict that needs a repair. A watch reports it at once, `orch check` as an
/// error. `None` for a task that merely waits.
#[must_use]
pub fn trouble(verdict: &Verdict) -> Option<Code> {
    match verdict {
        Verdict::Inconsistent { .. } => Some(Code::Inconsistent),
        Verdict::Error { code } => Some(*code),
        Verdict::Livelock { .. } => Some(Code::Livelock),
        Verdict::Transition(_)
        | Verdict::Run(_)
        | Verdict::Wait { .. }
        | Verdict::Choose(_)
        | Verdict::Handover { .. }
        | Verdict::Done { .. } => None,
    }
}

/// The most urgent work in a list of expectations.
fn work(expects: &[Expectation], owner: Owner) -> Do {
    let states: Vec<ExpectState> = expects.iter().map(|expected| expected.state).collect();
    if states.contains(&ExpectState::Invalid) || states.contains(&ExpectState::Unmet) {
        return Do::Fix;
    }
    if states.contains(&ExpectState::Stale) {
        return Do::Renew;
    }
    if states.contains(&ExpectState::Missing) {
        return Do::Write;
    }
    match owner {
        Owner::Human => Do::Answer,
        // Every output is ready and still no rule fires: their content has to change.
        Owner::Agent => Do::Fix,
        Owner::Orch | Owner::Process | Owner::None => Do::Nothing,
    }
}

/// How urgent it is that the owner acts.
fn urgency(kind: DutyKind, owner: Owner, task: Do) -> Urgency {
    match kind {
        DutyKind::Error | DutyKind::Livelock => Urgency::Error,
        DutyKind::Inconsistent => Urgency::Inconsistent,
        DutyKind::Transition
        | DutyKind::Run
        | DutyKind::Wait
        | DutyKind::Choose
        | DutyKind::Done
        | DutyKind::Stalled => match (owner, task) {
            (Owner::Human, _) => Urgency::Person,
            (_, Do::Apply) => Urgency::Transition,
            (Owner::Process, _) => Urgency::Process,
            (_, Do::Fix) => Urgency::Fix,
            (_, Do::Renew) => Urgency::Renew,
            (_, Do::Write | Do::Run) => Urgency::Write,
            (_, Do::Decide | Do::Answer | Do::Repair | Do::Nothing) => Urgency::Nothing,
        },
    }
}

/// The direction from one phase to another, in document order. A task without a phase can only advance.
#[must_use]
pub fn direction(workflow: &Workflow, from: Option<&PhaseId>, to: Option<&PhaseId>) -> Direction {
    let Some(to) = to else { return Direction::None };
    let Some(from) = from else {
        return Direction::Advance;
    };
    if from == to {
        return Direction::Stay;
    }
    if workflow.position(to) > workflow.position(from) {
        Direction::Advance
    } else {
        Direction::Regress
    }
}
