//! Finding tasks: which directories are tasks, and which one a person means.

use super::{Engine, Error};
use crate::base::{Diagnostic, Place, RepoPath, TaskId, WorkflowName, nearest};
use crate::record::{STATE_FILE, TRANSCRIPT_FILE};
use std::fs::{self, DirEntry};
use std::path::Path;

/// A task and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRef {
    /// Its id.
    pub id: TaskId,
    /// Its directory.
    pub directory: RepoPath,
    /// The workflow of its root; a state may name another.
    pub workflow: WorkflowName,
}

/// What a walk over the roots finds.
#[derive(Default)]
struct Survey {
    tasks: Vec<TaskRef>,
    misnamed: Vec<Diagnostic>,
}

/// How deep below a root's base tasks are looked for.
const MAX_DEPTH: usize = 8;

impl Engine {
    /// Every task, in id order: directories of a root that hold a `state.json`, a transcript or a declared artifact.
    ///
    /// A task never contains a task: below a task no other is looked for.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskRef> {
        self.survey().0
    }

    /// Every task, and a finding for each directory that holds what a task holds and cannot be one by
    /// its name.
    #[must_use]
    pub fn survey(&self) -> (Vec<TaskRef>, Vec<Diagnostic>) {
        let mut found = Survey::default();
        let mut bases: Vec<RepoPath> = self.config.roots.bases().cloned().collect();
        bases.sort();
        bases.dedup();
        for base in bases {
            self.look_below(Path::new(base.as_str()), 0, &mut found);
        }
        found.tasks.sort_by(|a, b| (&a.id, &a.directory).cmp(&(&b.id, &b.directory)));
        found.tasks.dedup();
        found.misnamed.sort();
        found.misnamed.dedup();
        (found.tasks, found.misnamed)
    }

    /// Every task at or below a path, in id order.
    #[must_use]
    pub fn tasks_below(&self, path: &RepoPath) -> Vec<TaskRef> {
        let mut found = Survey::default();
        let reaches =
            |base: &RepoPath| path == base || path.below(base).is_some() || base.below(path).is_some();
        if self.config.roots.bases().any(reaches) {
            self.look_below(Path::new(path.as_str()), 0, &mut found);
        }
        found.tasks.sort_by(|a, b| a.id.cmp(&b.id));
        found.tasks
    }

    /// What a watch listens to: where tasks lie, and what the verdicts depend on beside them.
    #[must_use]
    pub fn watched(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self.config.roots.bases().cloned().collect();
        paths.push(self.config.system.clone());
        paths.extend(RepoPath::new(crate::config::FILE));
        paths
    }

    /// The task with this id, or in this directory; the error suggests what was meant.
    pub fn task(&self, name: &str) -> Result<TaskRef, Error> {
        let trimmed = name.trim_end_matches('/');
        if let Ok(id) = TaskId::new(trimmed) {
            let direct = (0..self.config.roots.iter().count())
                .filter_map(|root| self.config.roots.directory_of(root, &id))
                .find(|directory| directory.under(&self.root).is_dir());
            if let Some(task) = direct.and_then(|directory| self.task_at(&directory)) {
                return Ok(task);
            }
        }
        if let Some(task) = RepoPath::new(trimmed).ok().and_then(|path| self.task_of_path(&path)) {
            return Ok(task);
        }
        let tasks = self.tasks();
        let mut diagnostic = Diagnostic::error("unknown-task", format!("there is no task `{name}`"));
        diagnostic.hint = Some(match nearest(name, tasks.iter().map(|task| task.id.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None if tasks.is_empty() => "there are no tasks yet: orch new ID".to_owned(),
            None => "list them with `orch status`".to_owned(),
        });
        Err(diagnostic.into())
    }

    /// The task meant where none is named: of the current directory, of the branch name, or the only
    /// one that is open.
    pub fn task_meant(
        &self,
        here: Option<&RepoPath>,
        is_open: impl Fn(&TaskRef) -> bool,
    ) -> Result<TaskRef, Error> {
        if let Some(task) = here.and_then(|here| self.task_of_path(here)) {
            return Ok(task);
        }
        let tasks = self.tasks();
        let branch = self.branch();
        let named = branch.as_deref().and_then(|branch| {
            let whole = tasks.iter().find(|task| branch == task.id.as_str());
            whole.or_else(|| tasks.iter().find(|task| branch.rsplit('/').next() == Some(task.id.as_str())))
        });
        if let Some(task) = named {
            return Ok(task.clone());
        }
        let mut open = tasks.into_iter().filter(is_open);
        match (open.next(), open.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => {
                Err(Diagnostic::error("unknown-task", "there is no open task").hint("orch new ID").into())
            }
            (Some(_), Some(_)) => {
                let message = "several tasks are open; say which one is meant";
                Err(Diagnostic::error("unknown-task", message).hint("list them with `orch status`").into())
            }
        }
    }

    /// The name of the current branch, without `refs/heads/`.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        let head = self.store.as_ref()?.head().ok()?;
        head.branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned())
    }

    /// The task that a file or directory of the work directory belongs to.
    #[must_use]
    pub fn task_of_path(&self, path: &RepoPath) -> Option<TaskRef> {
        let mut ancestors: Vec<RepoPath> =
            std::iter::successors(Some(path.clone()), RepoPath::parent).collect();
        ancestors.reverse();
        // The topmost task wins, because a task never contains a task.
        ancestors.iter().find_map(|directory| self.task_at(directory))
    }

    /// The task in exactly this directory, if it is one.
    pub(super) fn task_at(&self, directory: &RepoPath) -> Option<TaskRef> {
        let (root, id) = self.config.roots.match_directory(directory)?;
        if self.leads_out(directory) {
            return None;
        }
        let root = self.config.roots.get(root)?;
        let workflow = root.workflow.clone();
        let is_task = self.holds_task(&workflow, &directory.under(&self.root));
        is_task.then(|| TaskRef { id, directory: directory.clone(), workflow })
    }

    /// A finding where a directory holds what a task holds, at a place for tasks, and its name does not
    /// allow it to be one.
    fn misnamed(&self, directory: &Path) -> Option<Diagnostic> {
        // Where a part is not UTF-8, the path as far as it can be shown stands for it.
        let shown = RepoPath::new(directory.to_string_lossy()).ok()?;
        let misnamed = self.config.roots.misnamed(&shown);
        let (root, code, why) = match (directory.to_str(), misnamed) {
            (Some(_), misnamed) => misnamed.map(|(root, error)| (root, "bad-task-id", error.to_string()))?,
            (None, misnamed) => {
                let root = misnamed.map(|(root, _)| root);
                let root = root.or_else(|| Some(self.config.roots.match_directory(&shown)?.0))?;
                (root, "path-not-utf8", "its path is not UTF-8".to_owned())
            }
        };
        let workflow = &self.config.roots.get(root)?.workflow;
        if self.leads_out(&shown) || !self.holds_task(workflow, &self.root.join(directory)) {
            return None;
        }
        let message = format!("this directory holds what a task holds, but cannot be one: {why}");
        Some(Diagnostic::error(code, message).at(Place::file(&shown)).hint("rename the directory"))
    }

    /// Whether a directory holds a state, a transcript or an artifact.
    fn holds_task(&self, workflow: &WorkflowName, directory: &Path) -> bool {
        let Some(names) = names_in(directory) else { return false };
        // A transcript alone means that the state was lost, which must be seen.
        let is_recorded =
            |entry: &DirEntry| entry.file_name() == STATE_FILE || entry.file_name() == TRANSCRIPT_FILE;
        names.iter().any(is_recorded) || self.holds_artifact(workflow, directory, &names)
    }

    /// Whether a symbolic link stands on the way to a directory: what lies behind it may be anywhere.
    pub(super) fn leads_out(&self, directory: &RepoPath) -> bool {
        let mut on_the_way = std::iter::successors(Some(directory.clone()), RepoPath::parent);
        on_the_way.any(|step| {
            !step.as_str().is_empty()
                && step.under(&self.root).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
        })
    }

    /// Where a task with this id would lie, by the first root that can hold it.
    #[must_use]
    pub fn place_for(&self, id: &TaskId) -> Option<TaskRef> {
        self.config.roots.iter().enumerate().find_map(|(index, root)| {
            let directory = self.config.roots.directory_of(index, id)?;
            Some(TaskRef { id: id.clone(), directory, workflow: root.workflow.clone() })
        })
    }

    fn look_below(&self, directory: &Path, depth: usize, found: &mut Survey) {
        let named = directory.to_str().and_then(|text| RepoPath::new(text).ok());
        if let Some(task) = named.and_then(|directory| self.task_at(&directory)) {
            found.tasks.push(task);
            return;
        }
        if let Some(finding) = self.misnamed(directory) {
            found.misnamed.push(finding);
            return;
        }
        if depth >= MAX_DEPTH {
            return;
        }
        for entry in names_in(&self.root.join(directory)).unwrap_or_default() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && entry.file_name() != ".git" {
                self.look_below(&directory.join(entry.file_name()), depth + 1, found);
            }
        }
    }

    /// Whether a directory holds a file that matches an artifact of the workflow.
    fn holds_artifact(&self, workflow: &WorkflowName, directory: &Path, names: &[DirEntry]) -> bool {
        let Ok(loaded) = self.workflow(workflow.as_str()) else { return false };
        let Some(matcher) = &loaded.matcher else { return false };
        let mut open: Vec<(String, bool)> = names
            .iter()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                matcher
                    .may_start_with(&name)
                    .then(|| (name, entry.file_type().is_ok_and(|kind| kind.is_dir())))
            })
            .collect();
        while let Some((path, is_directory)) = open.pop() {
            if !is_directory {
                if matcher.matches(&path) {
                    return true;
                }
                continue;
            }
            for entry in names_in(&directory.join(&path)).unwrap_or_default() {
                if let Ok(name) = entry.file_name().into_string() {
                    open.push((format!("{path}/{name}"), entry.file_type().is_ok_and(|kind| kind.is_dir())));
                }
            }
        }
        false
    }
}

/// The entries of a directory in name order; `None` if it cannot be listed.
fn names_in(path: &Path) -> Option<Vec<DirEntry>> {
    let mut entries: Vec<DirEntry> = fs::read_dir(path).ok()?.filter_map(Result::ok).collect();
    entries.sort_by_key(DirEntry::file_name);
    Some(entries)
}
