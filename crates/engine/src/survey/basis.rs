//! What a look depends on besides the settings, the files of the task and what HEAD holds of them.

use orch_base::{RepoPath, TaskId};
use std::cell::{Cell, RefCell};
use std::path::Path;

/// What a look has depended on besides the settings, the files of the task and what HEAD holds of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LookBasis {
    /// Whether it has read more of the history than what HEAD holds of the task.
    history: Cell<bool>,
    /// Whether it has read what cannot be compared later.
    unknown: Cell<bool>,
    /// Whether it has read other tasks.
    others: Cell<bool>,
    /// Of other tasks, those of which it was asked whether they are done on the base branch.
    on_base: RefCell<Vec<TaskId>>,
    /// Files outside the task, and whether they were there.
    files: RefCell<Vec<(RepoPath, bool)>>,
    /// Files of the task that git does not ignore, as it was asked.
    unignored: RefCell<Vec<RepoPath>>,
}

impl LookBasis {
    /// The basis of a sight that no look made.
    pub(crate) fn unknown() -> Self {
        let basis = Self::default();
        basis.note_unknown();
        basis
    }

    pub(crate) fn note_history(&self) {
        self.history.set(true);
    }

    pub(crate) fn note_unknown(&self) {
        self.unknown.set(true);
    }

    /// Notes that it rests on other tasks, which can change while every file of its own stays as it is.
    pub(super) fn note_others(&self) {
        self.others.set(true);
    }

    /// Notes that it was asked whether these tasks are done on the base branch.
    pub(super) fn note_on_base(&self, tasks: &[TaskId]) {
        self.on_base.borrow_mut().extend_from_slice(tasks);
    }

    /// Whether it has read other tasks.
    pub(super) fn rests_on_others(&self) -> bool {
        self.others.get()
    }

    pub(super) fn on_base(&self) -> Vec<TaskId> {
        self.on_base.borrow().clone()
    }

    /// Notes what git said about a file of the task. What it says depends on files that no stamp of the task tells of,
    /// so it is to be asked again; one that it ignores is looked at again.
    pub(super) fn note_ignored(&self, path: &RepoPath, is_ignored: bool) {
        if is_ignored {
            self.note_unknown();
        } else {
            self.unignored.borrow_mut().push(path.clone());
        }
    }

    pub(super) fn unignored(&self) -> Vec<RepoPath> {
        self.unignored.borrow().clone()
    }

    /// Notes whether a file outside the task is there.
    pub(super) fn note_file(&self, path: &RepoPath, is_file: bool) {
        self.files.borrow_mut().push((path.clone(), is_file));
    }

    /// Whether it has read no other task, and the files outside the task are there or missing as they were. Asks the disk, not what a series of looks
    /// has found, because a step rests on it.
    pub(super) fn stands(&self, root: &Path) -> bool {
        !self.rests_on_others()
            && self
                .files
                .borrow()
                .iter()
                .all(|(path, was_file)| path.under(root).is_file() == *was_file)
    }

    /// Whether it has read what cannot be compared later.
    pub(super) fn is_unknown(&self) -> bool {
        self.unknown.get()
    }

    pub(super) fn reads_history(&self) -> bool {
        self.history.get()
    }

    pub(super) fn files(&self) -> Vec<(RepoPath, bool)> {
        self.files.borrow().clone()
    }
}
