//! The end of an executor that a killed process left running.

use crate::run::{RunFiles, end_leftovers};
use std::time::Duration;

/// The time between SIGTERM and SIGKILL for leftover processes.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// The base name of the files of a commission. A task has one at a time, and the next replaces its log.
pub(super) const COMMISSION: &str = "generate";

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
