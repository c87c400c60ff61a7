//! A run as a line of an answer.

use crate::drive::RunInfo;
use orch_view::RunLine;

/// The line of an answer about a run.
pub fn run_line(info: &RunInfo) -> RunLine {
    let run = &info.run;
    let ended = run.ended().map(|(_, why)| why.to_owned());
    let why = ended.or_else(|| info.limit().map(|limit| limit.why.clone()));
    RunLine {
        task: info.task.id.to_string(),
        work_tree: info.work_tree.clone(),
        run: run.id.clone(),
        state: info.standing(),
        since: info.since().to_string(),
        pid: run.pid,
        mode: run.mode,
        work: info.work(),
        turns: run.usage.turns,
        max_turns: run.max_turns,
        cost: run.usage.cost,
        seconds: run.usage.time.milliseconds() / 1000,
        unpriced_turns: run.usage.unpriced,
        waits_until: info.limit().map(|limit| limit.until.to_string()),
        reason: why,
    }
}
