//! What the machine of a run is told, and what it says is to be done.

use super::{ControlRequest, Ending, JudgedTask, RunCommand, Work};
use crate::base::{Period, Reason};
use crate::decide::{ActionResult, State};

/// What time it is, and what is wished.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tick {
    /// How long the run has taken.
    pub time: Period,
    /// What is wished of it, and by whom, in words.
    pub request: Option<(ControlRequest, String)>,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEffect {
    /// Look what an earlier process left of the work: [`RunEvent::Found`].
    LookBack,
    /// Judge the task: [`RunEvent::Judged`].
    Judge,
    /// Record something: [`RunEvent::Recorded`].
    Record(RunCommand),
    /// Start an executor for the work: [`RunEvent::Performed`].
    Perform,
    /// Wait so long, or until something is wished, and go on with this: [`RunEvent::Waited`].
    Wait(Period, Box<Self>),
    /// Write the end down, unless something stronger is wished by then: [`RunEvent::Finished`].
    Finish(Option<ControlRequest>),
    /// Nothing: it is over.
    Over,
}

/// What has happened.
pub enum RunEvent<'a> {
    /// The run begins, or goes on.
    Begun,
    /// This is what an earlier process left.
    Found(Leftover, &'a State),
    /// The task was judged.
    Judged(&'a JudgedTask<'a>),
    /// Something was recorded, or was not.
    Recorded(RunCommand, RecordOutcome),
    /// An executor has ended.
    Performed(Returned),
    /// What was to be waited for is over; this comes next.
    Waited(RunEffect),
    /// An effect could not be carried out.
    Blocked(RunEffect, Blocker),
    /// The end is written down, or something else is wished.
    Finished(Option<(ControlRequest, String)>),
}

/// What an earlier process left of its work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leftover {
    /// Whether its executor was still running, and had to be ended.
    pub was_running: bool,
    /// Its result, if one lies there.
    pub result: Option<Result<ActionResult, Reason>>,
}

/// What came of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is made.
    Done,
    /// There was nothing to record.
    Nothing,
    /// The workflow does not allow it; why.
    Refused(Reason),
}

/// What came of an executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    /// How it ended.
    pub how: ExecutorExit,
    /// The result that it left, if it left one.
    pub result: Option<Result<ActionResult, Reason>>,
}

/// How an executor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutorExit {
    /// By itself, well.
    Well,
    /// Somebody wanted the end.
    Stopped,
    /// It was ended, because it took too long; the text says so.
    TooLong(String),
    /// It failed; why.
    Badly(String),
    /// It could not even be started; why.
    NotStarted(String),
}

/// Why something cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// How long to wait for it.
    pub retry: RetryPolicy,
    /// What it is, and what to do about it.
    pub why: String,
}

/// How long something that hinders is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// It passes by itself: as long as the run may take.
    Long,
    /// Somebody has to act: for a minute.
    Short,
    /// It does not pass: the run ends so.
    Never(Ending),
}

/// What whoever watches should be told.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Work is done.
    Done {
        /// What was performed.
        work: Work,
        /// What it says.
        message: Option<String>,
    },
    /// A try has failed.
    Failed {
        /// What was performed.
        work: Work,
        /// Why.
        why: String,
    },
}
