//! The run machine: decides what happens next and what is consumed, and guarantees that every run ends. It is
//! pure, so tests can exercise every path to the end without processes.
//!
//! [`RunMachine`] is the loop as a machine that consumes events and yields effects. `orch run` carries out
//! the effects with processes and commits, the tests with scripts.

mod cause;
mod command;
mod ending;
mod event;
mod limit;
mod machine;
mod measure;
mod next;
mod precondition;
mod proposal;
mod usage;

pub use cause::{ExecutorTrace, FailureCause};
pub use command::{Recorder, RunCommand};
pub use ending::{ControlRequest, Ending};
pub use event::{
    Blocker, ExecutorExit, Leftover, News, RecordOutcome, RetryPolicy, Returned, RunEffect,
    RunEvent, Tick,
};
pub use limit::{LimitWait, PassingLimit};
pub use machine::RunMachine;
pub use next::{DefaultAnswer, EvaluatedTask, FailedAction, NextStep, Work, WorkKind, next};
pub use precondition::{Precondition, fingerprint};
pub use usage::{Budget, Job, Usage};
