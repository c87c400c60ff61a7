//! How a task stands that is worked on beside others.

use crate::drive::{FenceNews, RunEnd};
use orch_base::{TaskId, Timestamp, words};
use orch_core::config::WorkTreeKind;
use orch_core::decide::Ending;
use orch_fleet::worktrees::TaskTree;
use std::path::PathBuf;

words! {
    /// How a task stands.
    pub enum TaskStage {
        /// Its work tree is prepared.
        Preparing = "preparing",
        /// Its run goes on.
        Running = "running",
        /// It is done; its branch has the work.
        Done = "done",
        /// It is done; its branch could not be joined with the base branch yet.
        Unmerged = "unmerged",
        /// Its branch is joined with the base branch now.
        Merging = "merging",
        /// The base branch has its work.
        Merged = "merged",
        /// Its branch is pushed.
        Pushed = "pushed",
        /// Its branch does not fit the base branch, and it was sent back.
        SentBack = "sent-back",
        /// Its branch does not fit the base branch.
        Conflict = "conflict",
        /// Somebody has to act.
        Waiting = "waiting",
        /// Somebody else works on it.
        Held = "held",
        /// Its run was stopped.
        Stopped = "stopped",
        /// Its run has failed, or could not begin.
        Failed = "failed",
    }
}

/// A task that is worked on beside others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParallelTask {
    /// The task.
    pub task: TaskId,
    /// The root of its work tree.
    pub tree: PathBuf,
    /// What the work tree is.
    pub kind: WorkTreeKind,
    /// Its branch.
    pub branch: String,
    /// What its processes have printed.
    pub log: PathBuf,
    /// How it stands.
    pub stage: TaskStage,
    /// Its phase, as far as it is known.
    pub phase: Option<String>,
    /// What is done now.
    pub work: Option<String>,
    /// How many turns its run has used, and how many it may use.
    pub turns: Option<(u32, u32)>,
    /// Why its last executor worked without a fence; `None` if it has one, or nobody wants one.
    pub unfenced: Option<String>,
    /// Since when it stands so.
    pub since: Timestamp,
    /// Why, or what is next; may be empty.
    pub note: String,
}

impl ParallelTask {
    /// A task that is about to be begun.
    pub(super) fn new(tree: TaskTree, log: PathBuf, now: Timestamp) -> Self {
        Self {
            task: tree.task,
            tree: tree.path,
            kind: tree.kind,
            branch: tree.branch,
            log,
            stage: TaskStage::Preparing,
            phase: None,
            work: None,
            turns: None,
            unfenced: None,
            since: now,
            note: String::new(),
        }
    }

    /// It is begun, perhaps once more.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.stage = TaskStage::Preparing;
        self.since = now;
        self.note.clear();
    }

    /// Nothing works on it any more.
    pub(super) fn end(&mut self, stage: TaskStage, note: String) {
        self.stage = stage;
        self.work = None;
        self.note = note;
    }

    /// Takes in how its run has ended: by the exit code of `orch run`, and by the record of the run if it has one.
    pub(super) fn take_in_end(&mut self, code: i32, end: Option<RunEnd>) {
        let is_stopped = |end: &RunEnd| end.ending == Ending::Stopped;
        let stage = match code {
            0 => TaskStage::Done,
            // Another has taken it over.
            5 if end.as_ref().is_some_and(is_stopped) => TaskStage::Held,
            3 => TaskStage::Waiting,
            4 => TaskStage::Held,
            130 | 143 => TaskStage::Stopped,
            _ => TaskStage::Failed,
        };
        let note = match &end {
            Some(end) => end.reason.clone(),
            None if stage == TaskStage::Failed => {
                format!("`orch run` ended with {code}; see its log")
            }
            None => String::new(),
        };
        if let Some(end) = end {
            self.turns = Some(end.turns);
            self.unfenced = match end.fence {
                Some(FenceNews::None(why)) => Some(why),
                Some(FenceNews::Up(_)) | None => None,
            };
            self.phase = end.sight.decision.phase.as_ref().map(ToString::to_string);
        }
        self.end(stage, note);
    }

    /// Whether a process works on it or on its branch.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(
            self.stage,
            TaskStage::Preparing | TaskStage::Running | TaskStage::Merging
        )
    }
}
