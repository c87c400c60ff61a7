//! The one table from a verdict to who must act: every output and every loop reads it.
//!
//! In: a decision, its workflow, and what is known of a run of the task. Out: a [`Duty`]. Suggestions,
//! status, watch, check and `orch run` render or follow it; none of them looks at the verdict to find out
//! whose turn it is. The matches name every verdict, so the compiler points here when one is added.

use super::{Decision, Ending, ExpectState, Expectation, Verdict};
use crate::base::{Code, PhaseId};
use crate::workflow::{Owner, Workflow};

/// A closed list of words, each spelt in JSON as given.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $word:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$word_meta])* $word),+ }

        impl $name {
            /// The word as JSON spells it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text),+ }
            }
        }
    };
}

words! {
    /// What kind of decision stands.
    DutyKind {
        /// A transition is due.
        Transition = "transition",
        /// An action is due.
        Run = "run",
        /// Something is missing, and somebody has to provide it.
        Wait = "wait",
        /// A person picks.
        Choose = "choose",
        /// The task is finished.
        Done = "done",
        /// What the phase builds on is missing or broken.
        Inconsistent = "inconsistent",
        /// The state or a rule cannot be evaluated.
        Error = "error",
        /// The rules go round in circles.
        Livelock = "livelock",
        /// A run stopped because nothing changed.
        Stalled = "stalled",
    }
}

words! {
    /// What has to be done.
    Do {
        /// Write what is missing.
        Write = "write",
        /// Mend what is invalid.
        Fix = "fix",
        /// Write anew what is stale.
        Renew = "renew",
        /// Apply the transition that is due.
        Apply = "apply",
        /// Run an action.
        Run = "run",
        /// Decide among options.
        Decide = "decide",
        /// Answer a question.
        Answer = "answer",
        /// Repair the task, its state or its workflow.
        Repair = "repair",
        /// Nothing.
        Nothing = "nothing",
    }
}

words! {
    /// Where one phase lies from another, in document order.
    Direction {
        /// Later.
        Advance = "advance",
        /// The same.
        Stay = "stay",
        /// Earlier.
        Regress = "regress",
        /// There is no other phase.
        None = "none",
    }
}

/// How urgent a task is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// The state, a rule or the workflow is broken.
    Error,
    /// What the phase builds on is missing or broken.
    Inconsistent,
    /// A person must act.
    Person,
    /// A transition is due.
    Transition,
    /// Something has to be mended.
    Fix,
    /// Something has to be written anew.
    Renew,
    /// Something has to be written, or an action run.
    Write,
    /// A process is at work.
    Process,
    /// Nobody must act.
    Nothing,
}

/// What is known of a run of the task: the circumstances of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerState {
    /// A process works on the task now.
    Running,
    /// The run stopped because nothing changed.
    Stalled,
}

/// What `orch run` does about a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunTurn {
    /// It applies the transition.
    Apply,
    /// It performs the action that is due.
    Act,
    /// It answers by default or starts an executor, if one may do the work of this owner; else it waits.
    Work(Owner),
    /// It ends.
    End(Ending),
}

/// Who must do what about a task, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// What kind of decision stands.
    pub kind: DutyKind,
    /// What has to be done.
    pub task: Do,
    /// Who must act.
    pub owner: Owner,
    /// The phase it leads to, or that has to be done or redone.
    pub phase: Option<PhaseId>,
    /// Where that phase lies from the current one.
    pub direction: Direction,
    /// How urgent it is.
    pub urgency: Urgency,
    /// What a run does about it, whatever else is known of a run.
    pub turn: RunTurn,
}

/// One row of the table.
struct DutyRow<'a>(DutyKind, Do, Owner, Option<&'a PhaseId>, RunTurn);

/// Who must do what about a decision, under these circumstances.
#[must_use]
pub fn duty(workflow: &Workflow, decision: &Decision, runner: Option<RunnerState>) -> Duty {
    let current = decision.phase.as_ref();
    let DutyRow(kind, task, owner, phase, turn) = row(workflow, decision);
    let (kind, task, owner, phase) = match runner.filter(|_| may_run(&decision.verdict)) {
        Some(RunnerState::Running) => (DutyKind::Wait, Do::Nothing, Owner::Process, current),
        Some(RunnerState::Stalled) => (DutyKind::Stalled, Do::Decide, Owner::Human, current),
        None => (kind, task, owner, phase),
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

/// The table: kind, what to do, owner, the phase it leads to, and what a run does.
fn row<'a>(workflow: &Workflow, decision: &'a Decision) -> DutyRow<'a> {
    let current = decision.phase.as_ref();
    let phase = current.and_then(|phase| workflow.phase(phase));
    let works = phase.map_or(Owner::Agent, |phase| phase.owner);
    let ended = if phase.is_none_or(|phase| phase.success) { Ending::Completed } else { Ending::Failed };
    let waits = RunTurn::End(Ending::Waiting);
    let fails = RunTurn::End(Ending::Error);
    match &decision.verdict {
        Verdict::Transition(due) if due.by_human => {
            DutyRow(DutyKind::Transition, Do::Decide, Owner::Human, Some(&due.to), waits)
        }
        Verdict::Transition(due) => {
            DutyRow(DutyKind::Transition, Do::Apply, Owner::Orch, Some(&due.to), RunTurn::Apply)
        }
        Verdict::Run(_) => DutyRow(DutyKind::Run, Do::Run, works, current, RunTurn::Act),
        Verdict::Wait { owner, .. } => {
            DutyRow(DutyKind::Wait, work(&decision.expects, *owner), *owner, current, RunTurn::Work(*owner))
        }
        Verdict::Choose(_) => DutyRow(DutyKind::Choose, Do::Decide, Owner::Human, current, waits),
        Verdict::Handover { held, .. } => {
            DutyRow(DutyKind::Choose, Do::Decide, Owner::Human, Some(&held.to), waits)
        }
        Verdict::Done { .. } => DutyRow(DutyKind::Done, Do::Nothing, Owner::None, None, RunTurn::End(ended)),
        Verdict::Inconsistent { last_consistent, .. } => {
            DutyRow(DutyKind::Inconsistent, Do::Repair, Owner::Human, last_consistent.as_ref(), waits)
        }
        Verdict::Error { .. } => DutyRow(DutyKind::Error, Do::Repair, Owner::Human, None, fails),
        Verdict::Livelock { .. } => DutyRow(DutyKind::Livelock, Do::Repair, Owner::Human, None, fails),
    }
}

/// Whether what is known of a run changes who must act: neither what is finished nor what cannot be
/// judged is run.
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

/// The code of the finding that a verdict is by itself, where somebody has to repair the task: a watch
/// reports it at once, and it is an error of `orch check`. A task that merely waits has none.
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

/// The most pressing work that a list of expectations asks for.
fn work(expects: &[Expectation], owner: Owner) -> Do {
    let any = |wanted: &[ExpectState]| expects.iter().any(|expected| wanted.contains(&expected.state));
    if any(&[ExpectState::Invalid, ExpectState::Unmet]) {
        return Do::Fix;
    }
    if any(&[ExpectState::Stale]) {
        return Do::Renew;
    }
    if any(&[ExpectState::Missing]) {
        return Do::Write;
    }
    match owner {
        Owner::Human => Do::Answer,
        // Every output is ready and still no rule fires: something in them has to change.
        Owner::Agent => Do::Fix,
        Owner::Orch | Owner::Process | Owner::None => Do::Nothing,
    }
}

/// How urgent it is that somebody acts.
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

/// Where a phase lies from another, in document order; a task without a phase can only advance.
#[must_use]
pub fn direction(workflow: &Workflow, from: Option<&PhaseId>, to: Option<&PhaseId>) -> Direction {
    let Some(to) = to else { return Direction::None };
    let Some(from) = from else { return Direction::Advance };
    if from == to {
        return Direction::Stay;
    }
    if workflow.position(to) > workflow.position(from) { Direction::Advance } else { Direction::Regress }
}
