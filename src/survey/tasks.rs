//! Finding tasks: which directories are tasks, and which one a person means.

use super::{Error, Workspace};
use crate::base::{Code, Diagnostic, Digest, InvalidPath, RepoPath, TaskId, WorkflowName, nearest};
use crate::record::{STATE_FILE, SUGGESTION_FILE, TRANSCRIPT_FILE};
use crate::store::Head;

/// A task and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRef {
    /// Its id.
    pub id: TaskId,
    /// Its directory.
    pub directory: RepoPath,
    /// The workflow of its root; a state may name another.
    pub workflow: WorkflowName,
    record: [RepoPath; 3],
}

impl TaskRef {
    /// A task in a directory; the error says that no file of a record can lie there.
    pub fn new(id: TaskId, directory: RepoPath, workflow: WorkflowName) -> Result<Self, InvalidPath> {
        let [state, transcript, suggestion] =
            [STATE_FILE, TRANSCRIPT_FILE, SUGGESTION_FILE].map(|name| directory.join(name));
        Ok(Self { record: [state?, transcript?, suggestion?], id, directory, workflow })
    }

    /// Where its state lies.
    #[must_use]
    pub fn state_path(&self) -> RepoPath {
        self.record[0].clone()
    }

    /// Where its transcript lies.
    #[must_use]
    pub fn transcript_path(&self) -> RepoPath {
        self.record[1].clone()
    }

    /// Where the copy of its suggestion lies.
    #[must_use]
    pub fn suggestion_path(&self) -> RepoPath {
        self.record[2].clone()
    }

    /// Where a file of it lies.
    pub(crate) fn file(&self, name: &str) -> Result<RepoPath, Error> {
        self.directory.join(name).map_err(|error| Diagnostic::error(Code::BadPath, error.to_string()).into())
    }
}

impl Workspace {
    /// Every task, in id order: directories of a root that hold a `state.json`, a transcript or a declared artifact.
    ///
    /// A task never contains a task: below a task no other is looked for.
    pub fn tasks(&self) -> Result<Vec<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.tasks())
    }

    /// Every task, and a finding for each directory that holds what a task holds and cannot be one by
    /// its name.
    pub fn survey(&self) -> Result<(Vec<TaskRef>, Vec<Diagnostic>), Error> {
        self.snapshot(|snapshot| snapshot.survey())
    }

    /// Every task at or below a path, in id order.
    pub fn tasks_below(&self, path: &RepoPath) -> Result<Vec<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.tasks_below(path))
    }

    /// What a watch listens to: where tasks lie, and what the verdicts depend on beside them.
    #[must_use]
    pub fn watched(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self.setting.config.roots.bases().cloned().collect();
        paths.push(self.setting.config.system.clone());
        paths.extend(RepoPath::new(crate::config::FILE));
        paths
    }

    /// The task with this id, or in this directory; the error suggests what was meant.
    pub fn task(&self, name: &str) -> Result<TaskRef, Error> {
        let trimmed = name.trim_end_matches('/');
        if let Ok(id) = TaskId::new(trimmed)
            && let Some(task) = self.snapshot(|snapshot| snapshot.task_named(&id))?
        {
            return Ok(task);
        }
        if let Ok(path) = RepoPath::new(trimmed)
            && let Some(task) = self.task_of_path(&path)?
        {
            return Ok(task);
        }
        for place in [
            TaskId::new(trimmed).ok().and_then(|id| Some(self.place_for(&id)?.directory)),
            RepoPath::new(trimmed).ok(),
        ] {
            place.map_or(Ok(()), |place| self.refuse_elsewhere(&place))?;
        }
        let tasks = self.tasks()?;
        let mut diagnostic = Diagnostic::error(Code::UnknownTask, format!("there is no task `{name}`"));
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
        if let Some(here) = here
            && let Some(task) = self.task_of_path(here)?
        {
            return Ok(task);
        }
        let tasks = self.tasks()?;
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
                Err(Diagnostic::error(Code::UnknownTask, "there is no open task").hint("orch new ID").into())
            }
            (Some(_), Some(_)) => {
                let message = "several tasks are open; say which one is meant";
                Err(Diagnostic::error(Code::UnknownTask, message).hint("list them with `orch status`").into())
            }
        }
    }

    /// The name of the current branch, without `refs/heads/`.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        self.store.as_ref()?.head().ok()?.branch_name().map(str::to_owned)
    }

    /// Where HEAD is; `None` outside git, and where it cannot be read.
    #[must_use]
    pub(crate) fn present_head(&self) -> Option<Head> {
        self.store.as_ref()?.head().ok()
    }

    /// The commit that HEAD names, if there is one.
    #[must_use]
    pub fn head(&self) -> Option<Digest> {
        self.store.as_ref()?.head().ok()?.commit
    }

    /// The task that a file or directory belongs to.
    pub fn task_of_path(&self, path: &RepoPath) -> Result<Option<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.task_of_path(path))
    }

    /// The task in exactly this directory, if it is one.
    pub(crate) fn task_at(&self, directory: &RepoPath) -> Result<Option<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.task_at(directory))
    }

    /// A task in another repository belongs to that one, and cannot be proven in this.
    pub(crate) fn refuse_elsewhere(&self, directory: &RepoPath) -> Result<(), Error> {
        let mut other = self.snapshot(|snapshot| snapshot.source.other_repository(directory))?;
        if let Some(store) = self.store.as_ref().filter(|_| other.is_none()) {
            other = store.submodule_around(directory)?;
        }
        let Some(other) = other else { return Ok(()) };
        let message = format!("{other} is a repository of its own, so a task there belongs to that one");
        Err(Diagnostic::error(Code::NestedRepository, message).hint(format!("orch -C {other} status")).into())
    }

    /// Where a task with this id would lie, by the first root that can hold it.
    #[must_use]
    pub fn place_for(&self, id: &TaskId) -> Option<TaskRef> {
        self.setting.config.roots.iter().enumerate().find_map(|(index, root)| {
            let directory = self.setting.config.roots.directory_of(index, id)?;
            TaskRef::new(id.clone(), directory, root.workflow.clone()).ok()
        })
    }
}
