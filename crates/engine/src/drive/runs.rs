//! Lists runs.

use super::driver::own;
use super::{FenceNews, RunEnd};
use crate::apply::Writer;
use crate::run::RunState;
use crate::survey::{Error, TaskRef, Workspace, unread};
use orch_base::{Diagnostic, TaskId, Timestamp};
use orch_core::decide::LimitWait;
use std::path::PathBuf;

/// The last run of a task.
pub struct RunInfo {
    /// The root of its work tree, relative to that of the current one.
    pub work_tree: String,
    /// The task that it ran.
    pub task: TaskRef,
    /// The record of the run.
    pub run: RunState,
    /// Whether a process drives the task now.
    pub is_driven: bool,
}

/// The last run of every task in every work tree of the repository, in the order of the work trees and their tasks,
/// and an error for each record or work tree that cannot be read. Returns an error if git cannot list the work trees.
pub fn runs(workspace: &Workspace) -> Result<(Vec<RunInfo>, Vec<Diagnostic>), Error> {
    let mut unreadable = Vec::new();
    let others = workspace.other_work_trees(&mut unreadable)?;
    let (runs, more) = runs_in(workspace, std::iter::once(workspace).chain(&others));
    unreadable.extend(more);
    Ok((runs, unreadable))
}

/// The same for these work trees, as seen from `here`.
pub fn runs_in<'w>(
    here: &Workspace,
    work_trees: impl Iterator<Item = &'w Workspace>,
) -> (Vec<RunInfo>, Vec<Diagnostic>) {
    let mut runs = Vec::new();
    let mut unreadable = Vec::new();
    for workspace in work_trees {
        let work_tree = here.reader.relative(&workspace.reader.root);
        let (tasks, faults) = workspace.finder().readable_tasks().unwrap_or_else(|error| {
            unreadable.push(unread(&work_tree, &error));
            Default::default()
        });
        unreadable.extend(faults);
        for task in tasks {
            let files = workspace.reader.run_files(&task);
            match files.read() {
                Ok(None) => {}
                Ok(Some(run)) => {
                    let is_driven = files.is_driven();
                    let work_tree = work_tree.clone();
                    runs.push(RunInfo {
                        work_tree,
                        is_driven,
                        task,
                        run,
                    });
                }
                Err(error) => unreadable.push(error.into()),
            }
        }
    }
    (runs, unreadable)
}

/// The root of another work tree in which a run of the task has not ended, if there is one that can be read.
#[must_use]
pub fn work_tree_of_run(workspace: &Workspace, task: &TaskId) -> Option<PathBuf> {
    let others = workspace.other_work_trees(&mut Vec::new()).ok()?;
    let is_open = |other: &Workspace| {
        let found = other
            .finder()
            .tasks()
            .unwrap_or_default()
            .into_iter()
            .find(|one| one.id == *task);
        let run = found.and_then(|task| other.reader.run_files(&task).read().ok()?);
        run.is_some_and(|run| run.ended().is_none())
    };
    others
        .into_iter()
        .find(is_open)
        .map(|other| other.reader.root)
}

/// Updates the end of a waiting run with what others have done since: another ending, or another phase of the
/// task. Returns whether there was anything. Returns an error if the task or the record cannot be read.
pub(super) fn overrule(writer: &Writer<'_>, end: &mut RunEnd) -> Result<bool, Error> {
    let files = writer.workspace.reader.run_files(&end.sight.task);
    let sight = writer.workspace.look(&end.sight.task)?;
    let is_elsewhere = sight.decision.phase != end.sight.decision.phase;
    let run = files.read()?.filter(|run| run.id == end.run);
    match run.as_ref().and_then(RunState::ended) {
        Some((ending, why)) if ending != end.ending => {
            (end.ending, end.reason) = (ending, why.to_owned())
        }
        _ if is_elsewhere => end.reason = sight.decision.reason.clone(),
        _ => return Ok(false),
    }
    end.sight = sight;
    Ok(true)
}

/// How a run ended that an error ended; `None` if another run has begun since, or it has not ended. Returns an error if
/// the task or the record cannot be read.
pub fn last_end(writer: &Writer<'_>, task: &TaskRef, run: &str) -> Result<Option<RunEnd>, Error> {
    let files = writer.workspace.reader.run_files(task);
    let Some(last) = files.read()?.filter(|last| last.id == run) else {
        return Ok(None);
    };
    let Some((ending, why)) = last.ended() else {
        return Ok(None);
    };
    Ok(Some(RunEnd {
        ending,
        reason: why.to_owned(),
        sight: own(writer.workspace.look(task)?),
        run: last.id.clone(),
        turns: (last.usage.turns, last.max_turns),
        cost: last.usage.cost,
        unpriced: last.usage.unpriced,
        interrupted: false,
        keeps_lease: false,
        due: None,
        foreseen: Vec::new(),
        fence: last.unfenced.map(FenceNews::None),
    }))
}

impl RunInfo {
    /// Its state in one word: `running`, `interrupted`, or its ending.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match (self.run.ended(), self.is_driven) {
            (None, true) => "running",
            (None, false) => "interrupted",
            (Some((ending, _)), _) => ending.as_str(),
        }
    }

    /// The limit of an executor that the run waits for; `None` if it does not, or has ended.
    #[must_use]
    pub fn limit(&self) -> Option<&LimitWait> {
        self.run.limit()
    }

    /// The work in progress, or that waits for a limit.
    #[must_use]
    pub fn work(&self) -> Option<String> {
        let waits = self.limit().map(|limit| limit.job.name());
        let works = self.run.work().map(|doing| doing.work.name());
        works.or(waits).map(str::to_owned)
    }

    /// Since when it has been in this state, according to its record.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        if self.run.ended().is_none() && self.is_driven {
            self.run.started
        } else {
            self.run.updated
        }
    }
}
