//! The machine of a run: what is done next, what has been used, and that it always ends. Pure, so that
//! every way to the end can be gone without a process.
//!
//! [`RunMachine`] is the loop, as a machine that is told what happened and says what is to be done.
//! `orch run` carries that out with processes and commits, the tests with scripts.

mod command;
mod ending;
mod event;
mod machine;
mod measure;
mod next;
mod precondition;
mod usage;

pub use command::{Recorder, RunCommand};
pub use ending::{ControlRequest, Ending};
pub use event::{
    Blocker, ExecutorExit, Leftover, News, RecordOutcome, RetryPolicy, Returned, RunEffect, RunEvent, Tick,
};
pub use machine::RunMachine;
pub use next::{DefaultAnswer, FailedAction, Job, JudgedTask, NextStep, Work, next};
pub use precondition::{Precondition, fingerprint};
pub use usage::{Budget, Usage, Worker};
