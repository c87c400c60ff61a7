//! The end of an executor: in words, and of one that a killed process left running.

use crate::run::{Ended, RunFiles, end_leftovers};
use orch_core::decide::ExecutorExit;
use std::time::Duration;

/// The time between SIGTERM and SIGKILL for leftover processes.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// How many characters of a reported error are told.
const MOST_SAID: usize = 300;
/// The base name of the files of a commission. A task has one at a time, and the next replaces its log.
pub(super) const COMMISSION: &str = "generate";

/// How a try ended, in words. `failure` is the error that the program printed.
pub(super) fn exit_of(ended: Ended, failure: Option<String>) -> ExecutorExit {
    let said: Option<String> = failure.map(|why| why.chars().take(MOST_SAID).collect());
    let badly = |how: String| {
        ExecutorExit::Badly(said.iter().fold(how, |how, said| format!("{how}: {said}")))
    };
    match ended {
        Ended::Well if said.is_some() => badly("it reported an error".to_owned()),
        Ended::Well => ExecutorExit::Well,
        Ended::Stopped => ExecutorExit::Stopped,
        Ended::Code(code) => badly(format!("it exited with code {code}")),
        Ended::Signal(signal) => ExecutorExit::Badly(format!("it was killed by signal {signal}")),
        Ended::TooLong(limit) => ExecutorExit::TooLong(format!("it took longer than {limit}")),
        Ended::Silent(limit) => ExecutorExit::Badly(format!("it printed nothing for {limit}")),
        Ended::NotStarted(why) => ExecutorExit::NotStarted(why),
    }
}

/// Ends the executor of a commission that a killed process left running.
pub(super) fn end_left(files: &RunFiles) {
    let Some(process) = files.left_process(COMMISSION) else {
        return;
    };
    if process.is_of_this_boot()
        && end_leftovers(
            Some(process.group),
            process.started,
            &files.result(COMMISSION),
            GRACE,
        )
    {
        tracing::warn!("ended an executor that a killed process left behind");
    }
    files.drop_process(COMMISSION);
}
