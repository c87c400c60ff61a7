//! Tasks that are worked on side by side, and work trees, as lines of an answer.

use crate::drive::{ParallelTask, TreeStanding};
use crate::survey::Reader;
use orch_git::Uncommitted;
use orch_view::{ParallelLine, WorkTreeLine};

/// The line of an answer about a task that is worked on beside others.
#[must_use]
pub fn parallel_line(reader: &Reader, task: &ParallelTask) -> ParallelLine {
    ParallelLine {
        task: task.task.to_string(),
        state: task.stage.as_str(),
        phase: task.phase.clone(),
        work: task.work.clone(),
        turns: task.turns.map(|turns| turns.0),
        max_turns: task.turns.map(|turns| turns.1),
        unfenced: task.unfenced.clone(),
        branch: task.branch.clone(),
        work_tree: reader.relative(&task.tree),
        log: reader.relative(&task.log),
        note: Some(task.note.clone()).filter(|note| !note.is_empty()),
        since: task.since,
    }
}

/// The line of an answer about the work tree of a task.
#[must_use]
pub fn work_tree_line(reader: &Reader, standing: &TreeStanding) -> WorkTreeLine {
    WorkTreeLine {
        task: standing.tree.task.to_string(),
        path: reader.relative(&standing.tree.path),
        branch: standing.tree.branch.clone(),
        phase: standing.phase.clone(),
        dirty: standing.uncommitted != Uncommitted::Nothing,
        merged: standing.is_merged,
        removed: standing.is_removed,
        stays: standing.stays.clone(),
    }
}
