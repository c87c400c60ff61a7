//! Finds tasks: which directories are tasks, and which task a command means.

use super::{Error, Workspace};
use crate::base::{Code, Diagnostic, Digest, InvalidPath, RepoPath, TaskId, WorkflowName, nearest};
use crate::record::{STATE_FILE, SUGGESTION_FILE, TRANSCRIPT_FILE};
use crate::store::Head;

/// A task and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRef {
    /// The id: the part of the directory that the wildcards of its root match.
    pub id: TaskId,
    /// The directory, relative to the root of the repository.
    pub directory: RepoPath,
    /// The workflow of its root; the record may name another.
    pub workflow: WorkflowName,
    record: [RepoPath; 3],
}

impl TaskRef {
    /// A task in a directory. Returns an error if the directory cannot contain the files of a record.
    pub fn new(id: TaskId, directory: RepoPath, workflow: WorkflowName) -> Result<Self, InvalidPath> {
        let [state, transcript, suggestion] =
            [STATE_FILE, TRANSCRIPT_FILE, SUGGESTION_FILE].map(|name| directory.join(name));
        Ok(Self { record: [state?, transcript?, suggestion?], id, directory, workflow })
    }

    /// The path of `state.json`.
    #[must_use]
    pub fn state_path(&self) -> RepoPath {
        self.record[0].clone()
    }

    /// The path of `transcript.jsonl`.
    #[must_use]
    pub fn transcript_path(&self) -> RepoPath {
        self.record[1].clone()
    }

    /// The path of `suggestion.json`.
    #[must_use]
    pub fn suggestion_path(&self) -> RepoPath {
        self.record[2].clone()
    }

    /// The path of a file in its directory. Returns an error if the name is not valid.
    pub(crate) fn file(&self, name: &str) -> Result<RepoPath, Error> {
        self.directory.join(name).map_err(|error| Diagnostic::error(Code::BadPath, error.to_string()).into())
    }
}

impl Workspace {
    /// All tasks, sorted by id: directories below a root that contain `state.json`, `transcript.jsonl` or a
    /// declared artifact.
    ///
    /// A task never contains a task, so the search stops at each task.
    pub fn tasks(&self) -> Result<Vec<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.tasks())
    }

    /// All tasks, and a finding for each directory that contains files of a task but cannot be one because of
    /// its name.
    pub fn survey(&self) -> Result<(Vec<TaskRef>, Vec<Diagnostic>), Error> {
        self.snapshot(|snapshot| snapshot.survey())
    }

    /// All tasks at or below a path, sorted by id.
    pub fn tasks_below(&self, path: &RepoPath) -> Result<Vec<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.tasks_below(path))
    }

    /// The paths that a watch observes: the places of tasks, and what decisions depend on besides.
    #[must_use]
    pub fn watched(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self.setting.config.roots.bases().cloned().collect();
        paths.push(self.setting.config.system.clone());
        paths.extend(RepoPath::new(crate::config::FILE));
        paths
    }

    /// The task with this id, or containing this path. Returns an error that suggests the nearest id if there
    /// is none.
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

    /// The task meant without naming one: that of the current directory, or of the branch name, or else the
    /// only open one. Returns an error if there is no open task or more than one.
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
                let message = "several tasks are open; name one";
                Err(Diagnostic::error(Code::UnknownTask, message).hint("list them with `orch status`").into())
            }
        }
    }

    /// The open task that the branch name identifies by `task_branch` in orch.toml, if it does. Returns an
    /// error if the task cannot be read.
    pub fn open_task_of_branch(&self) -> Result<Option<TaskRef>, Error> {
        let pattern = &self.setting.config.git.task_branch;
        let Some(id) = self.branch().and_then(|branch| pattern.task(&branch)) else { return Ok(None) };
        let Some(task) = self.snapshot(|snapshot| snapshot.task_named(&id))? else { return Ok(None) };
        let is_open = !self.look(&task)?.decision.is_done();
        Ok(is_open.then_some(task))
    }

    /// The name of the current branch without `refs/heads/`.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        self.store.as_ref()?.head().ok()?.branch_name().map(str::to_owned)
    }

    /// HEAD; `None` outside git, and if it cannot be read.
    #[must_use]
    pub(crate) fn present_head(&self) -> Option<Head> {
        self.store.as_ref()?.head().ok()
    }

    /// The commit of HEAD, if there is one.
    #[must_use]
    pub fn head(&self) -> Option<Digest> {
        self.store.as_ref()?.head().ok()?.commit
    }

    /// The task that contains a file or directory.
    pub fn task_of_path(&self, path: &RepoPath) -> Result<Option<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.task_of_path(path))
    }

    /// The task in exactly this directory, if it is one.
    pub(crate) fn task_at(&self, directory: &RepoPath) -> Result<Option<TaskRef>, Error> {
        self.snapshot(|snapshot| snapshot.task_at(directory))
    }

    /// Returns an error if a directory is in another repository: a task there belongs to that one and cannot
    /// be proven here.
    pub(crate) fn refuse_elsewhere(&self, directory: &RepoPath) -> Result<(), Error> {
        let mut other = self.snapshot(|snapshot| snapshot.source.other_repository(directory))?;
        if let Some(store) = self.store.as_ref().filter(|_| other.is_none()) {
            other = store.submodule_around(directory)?;
        }
        let Some(other) = other else { return Ok(()) };
        let message = format!("{other} is a separate repository, so a task in it belongs to that repository");
        Err(Diagnostic::error(Code::NestedRepository, message).hint(format!("orch -C {other} status")).into())
    }

    /// Where a task with this id would be, in the first root that permits it.
    #[must_use]
    pub fn place_for(&self, id: &TaskId) -> Option<TaskRef> {
        self.setting.config.roots.iter().enumerate().find_map(|(index, root)| {
            let directory = self.setting.config.roots.directory_of(index, id)?;
            TaskRef::new(id.clone(), directory, root.workflow.clone()).ok()
        })
    }
}
