//! The input and the output of the run machine.

use super::{
    ControlRequest, Ending, EvaluatedTask, ExecutorTrace, LimitWait, PassingLimit, RunCommand, Work,
};
use crate::decide::{ActionResult, State};
use orch_base::{Period, Reason, Timestamp};

/// The time, and the current control request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tick {
    /// How long the run has taken.
    pub time: Period,
    /// The present time.
    pub at: Timestamp,
    /// The control request and its origin, in words.
    pub request: Option<(ControlRequest, String)>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEffect {
    /// Check what an earlier process left of the work: [`RunEvent::Found`].
    LookBack,
    /// Evaluate the task: [`RunEvent::Evaluated`].
    Evaluate,
    /// Record something: [`RunEvent::Recorded`].
    Record(RunCommand),
    /// Start an executor for the work: [`RunEvent::Performed`].
    Perform,
    /// Wait this long, or until a control request arrives, and continue with this: [`RunEvent::Waited`].
    Wait(Period, Box<Self>),
    /// Persist the end, unless a stronger control request has arrived: [`RunEvent::Finished`].
    Finish(Option<ControlRequest>),
    /// Nothing; the run is over.
    Over,
}

/// What happened since the last effect.
pub enum RunEvent<'a> {
    /// The run starts or continues.
    Begun,
    /// This is what an earlier process left.
    Found(Leftover, &'a State),
    /// The task was evaluated.
    Evaluated(&'a EvaluatedTask<'a>),
    /// Something was recorded or refused.
    Recorded(RunCommand, RecordOutcome),
    /// An executor exited.
    Performed(Returned),
    /// The wait is over; this effect is next.
    Waited(RunEffect),
    /// An effect could not be carried out.
    Blocked(RunEffect, Blocker),
    /// The end was persisted, or a stronger control request arrived.
    Finished(Option<(ControlRequest, String)>),
}

/// What an earlier process left of its work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leftover {
    /// Whether its executor was still running and had to be ended.
    pub was_running: bool,
    /// The result of the executor, if it wrote one.
    pub result: Option<Result<ActionResult, Reason>>,
}

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordOutcome {
    /// The steps were recorded.
    Done,
    /// There was nothing to record.
    Nothing,
    /// The workflow does not allow the steps; the reason.
    Refused(Reason),
}

/// The outcome of an executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    /// How the executor ended.
    pub how: ExecutorExit,
    /// The result that the executor left, if any.
    pub result: Option<Result<ActionResult, Reason>>,
    /// The cost that the executor reported; it counts where no result names one.
    pub cost: f64,
    /// Whether it was killed before it could report its cost.
    pub is_unpriced: bool,
    /// What the record keeps if the try failed.
    pub trace: ExecutorTrace,
    /// What an agent program said last, and what it was not allowed to do, as part of a sentence.
    pub said: Option<String>,
}

/// How an executor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutorExit {
    /// It ended by itself, and reported no failure.
    Well,
    /// It was ended by a control request.
    Stopped,
    /// It was ended because it took too long; the text says which limit.
    TooLong(String),
    /// It failed; the reason.
    Badly(String),
    /// It met a limit that passes by itself.
    Limited(PassingLimit),
    /// It reported what no further try can change; the reason.
    Hopeless(String),
    /// It could not be started; the reason.
    NotStarted(String),
}

/// An obstacle to an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// How long to wait for the obstacle to pass.
    pub retry: RetryPolicy,
    /// The obstacle, and what to do about it.
    pub why: String,
}

/// How long to wait for an obstacle to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// It passes by itself: wait for up to an hour, within the budget.
    Long,
    /// Someone has to act: wait for a minute.
    Short,
    /// It does not pass: the run ends like this.
    Never(Ending),
}

/// A message for people who watch the run.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Work is done.
    Done {
        /// The finished work.
        work: Work,
        /// The executor's message.
        message: Option<String>,
    },
    /// A try failed.
    Failed {
        /// The failed work.
        work: Work,
        /// Why the try failed.
        why: String,
    },
    /// The run waits for a limit of an executor.
    Limited {
        /// The work that waits.
        work: Work,
        /// The limit, and until when the run waits.
        limit: LimitWait,
    },
}
