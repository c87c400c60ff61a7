//! Finds tasks: which directories are tasks, and which one a command means that names none.

use super::setting::Settings;
use super::snapshot::first;
use super::{Error, Finder};
use orch_base::{Code, Diagnostic, Hint, InvalidPath, RepoPath, TaskId, TaskPlace, WorkflowName};
use orch_core::config::Root;
use orch_core::record::{STATE_FILE, SUGGESTION_FILE, TRANSCRIPT_FILE};
use orch_core::workflow::Workflow;
use orch_files::Entry;
use orch_git::MovedPath;

/// A task and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRef {
    /// The id: the part of the directory that the wildcards of its root match.
    pub id: TaskId,
    /// Where its files are, relative to the root of the repository.
    pub place: TaskPlace,
    /// The workflow of its root; the record may name another.
    pub workflow: WorkflowName,
    /// Whether the caller chose the workflow. Then it counts, and not the one that a state of another tool names.
    pub is_workflow_chosen: bool,
    record: [RepoPath; 3],
}

impl TaskRef {
    /// A task with its files at this place. Returns an error if its directory cannot contain the files of a
    /// record.
    pub fn new(id: TaskId, place: TaskPlace, workflow: WorkflowName) -> Result<Self, InvalidPath> {
        let [state, transcript, suggestion] =
            [STATE_FILE, TRANSCRIPT_FILE, SUGGESTION_FILE].map(|name| place.directory().join(name));
        let record = [state?, transcript?, suggestion?];
        Ok(Self {
            record,
            id,
            place,
            workflow,
            is_workflow_chosen: false,
        })
    }

    /// The task of a root with this directory. Returns an error as [`TaskRef::new`] does.
    pub fn in_root(root: &Root, id: TaskId, directory: &RepoPath) -> Result<Self, InvalidPath> {
        Self::new(id, root.place(directory), root.workflow.clone())
    }

    /// The directory of the task, which contains its record and identifies it.
    #[must_use]
    pub fn directory(&self) -> &RepoPath {
        self.place.directory()
    }

    /// The path that stands for the task, as far as its id determines that.
    #[must_use]
    pub fn shown(&self) -> RepoPath {
        self.place.shown([])
    }

    /// The same task, governed by another workflow.
    pub(crate) fn governed_by(self, workflow: &WorkflowName) -> Self {
        Self {
            workflow: workflow.clone(),
            ..self
        }
    }

    /// The same task under another id.
    pub(crate) fn with_id(&self, id: TaskId) -> Self {
        Self { id, ..self.clone() }
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

    /// The path of one of its files. Returns an error if the name is not valid.
    pub(crate) fn file(&self, name: &str) -> Result<RepoPath, Error> {
        self.place
            .path(name)
            .map_err(|error| Diagnostic::error(Code::BadPath, error.to_string()).into())
    }

    /// The names of the files that are the task, of these entries.
    pub(crate) fn own_files(&self, entries: &[Entry]) -> Vec<String> {
        let paths = entries
            .iter()
            .filter_map(|entry| RepoPath::new(&entry.path).ok());
        let names = paths.filter_map(|path| self.place.name(&path).map(str::to_owned));
        names.filter(|name| self.place.is_own_file(name)).collect()
    }

    /// The moves that give the task another place: of its directory, and of these files that are the task, which
    /// keep their titles. Returns an error if a path would not be valid.
    pub(crate) fn moves_to(&self, place: &Self, files: &[String]) -> Result<Vec<MovedPath>, Error> {
        let mut moves = vec![MovedPath {
            from: self.directory().clone(),
            to: place.directory().clone(),
        }];
        if let (Some(own), Some(other)) = (self.place.file(), place.place.file()) {
            for name in files {
                let title = own.title(name).unwrap_or_default();
                moves.push(MovedPath {
                    from: self.file(name)?,
                    to: place.file(&other.named(title))?,
                });
            }
        }
        Ok(moves)
    }
}

/// What identifies the task of a command that names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The current directory.
    Directory,
    /// The name of the current branch.
    Branch,
}

impl Finder<'_> {
    /// All tasks at or below a path, sorted by id.
    pub fn tasks_below(&self, path: &RepoPath) -> Result<Vec<TaskRef>, Error> {
        self.reader
            .snapshot(|snapshot| snapshot.search().tasks_below(path))
    }

    /// The task meant without naming one: that of the current directory, or of the branch name, or else the
    /// only one of which `is_meant` is true. `kind` names those in words. Archived tasks are meant only by
    /// their directory. Returns an error if there is no such task or more than one.
    pub fn task_meant(
        &self,
        here: Option<&RepoPath>,
        kind: &str,
        is_meant: impl Fn(&TaskRef) -> bool,
    ) -> Result<TaskRef, Error> {
        if let Some((task, _)) = self.task_around(here)? {
            return Ok(task);
        }
        let mut tasks = self.tasks()?;
        tasks.retain(|task| !task.id.is_archived());
        let mut meant = tasks.into_iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => {
                let message = format!("there is no {kind} task");
                Err(Diagnostic::error(Code::UnknownTask, message)
                    .hint(Hint::run(&["orch", "new", "ID"]))
                    .into())
            }
            (Some(_), Some(_)) => {
                let message = format!("several tasks are {kind}; name one");
                Err(Diagnostic::error(Code::AmbiguousTask, message)
                    .hint(Hint::from("list them: ").command(&["orch", "status"]))
                    .into())
            }
        }
    }

    /// The task that the current directory, or else the name of the current branch, identifies. Archived tasks
    /// are identified only by their directory. Returns an error if the source or HEAD cannot be read.
    pub fn task_around(
        &self,
        here: Option<&RepoPath>,
    ) -> Result<Option<(TaskRef, NamedBy)>, Error> {
        if let Some(here) = here
            && let Some(task) = self.task_of_path(here)?
        {
            return Ok(Some((task, NamedBy::Directory)));
        }
        let Some(branch) = self.reader.branch()? else {
            return Ok(None);
        };
        Ok(self
            .task_of_branch(&branch)?
            .map(|task| (task, NamedBy::Branch)))
    }

    /// The open task that the branch name identifies by `task_branch` in orch.toml, if it does. Returns an
    /// error if the task cannot be read.
    pub fn open_task_of_branch(&self) -> Result<Option<TaskRef>, Error> {
        let pattern = &self.reader.settings.config.git.task_branch;
        let Some(id) = self
            .reader
            .branch()?
            .and_then(|branch| pattern.task(&branch))
        else {
            return Ok(None);
        };
        let Some(task) = self
            .reader
            .snapshot(|snapshot| snapshot.search().task_named(&id))?
        else {
            return Ok(None);
        };
        let is_open = !self.reader.look(&task)?.decision.is_done();
        Ok(is_open.then_some(task))
    }

    /// The task that a branch name names: by `task_branch` of the settings, as a whole, or by its last part.
    fn task_of_branch(&self, branch: &str) -> Result<Option<TaskRef>, Error> {
        let by_pattern = self.reader.settings.config.git.task_branch.task(branch);
        let names = [Some(branch), branch.rsplit('/').next()]
            .into_iter()
            .flatten();
        let ids = by_pattern
            .into_iter()
            .chain(names.filter_map(|name| TaskId::new(name).ok()));
        let mut open = ids.filter(|id| !id.is_archived());
        self.reader
            .snapshot(|snapshot| first(&mut open, |id| snapshot.search().task_named(&id)))
    }

    /// The task that contains a file or directory.
    pub fn task_of_path(&self, path: &RepoPath) -> Result<Option<TaskRef>, Error> {
        self.reader
            .snapshot(|snapshot| snapshot.search().task_of_path(path))
    }

    /// The task in exactly this directory, if it is one.
    pub(crate) fn task_at(&self, directory: &RepoPath) -> Result<Option<TaskRef>, Error> {
        self.reader
            .snapshot(|snapshot| snapshot.search().task_at(directory))
    }

    /// Returns an error if a directory is in another repository: a task there belongs to that one and cannot
    /// be proven here.
    pub(crate) fn refuse_elsewhere(&self, directory: &RepoPath) -> Result<(), Error> {
        let mut other = self
            .reader
            .snapshot(|snapshot| snapshot.source.other_repository(directory))?;
        if let Some(store) = self.reader.store.as_ref().filter(|_| other.is_none()) {
            other = store.refs().submodule_around(directory)?;
        }
        let Some(other) = other else { return Ok(()) };
        let message =
            format!("{other} is a separate repository, so a task in it belongs to that repository");
        Err(Diagnostic::error(Code::NestedRepository, message)
            .hint(Hint::run(&["orch", "-C", other.as_str(), "status"]))
            .into())
    }

    /// Where a task with this id would be, in the first root that permits it.
    #[must_use]
    pub fn place_for(&self, id: &TaskId) -> Option<TaskRef> {
        self.reader.settings.places(id).next().map(|(_, task)| task)
    }
}

impl Settings {
    /// The paths that a watch observes: the places of tasks, and what decisions depend on besides.
    #[must_use]
    pub fn watched(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self.config.roots.bases().cloned().collect();
        paths.push(self.config.system.clone());
        paths.extend(RepoPath::new(orch_core::config::FILE));
        paths.extend(self.required_files());
        paths
    }

    /// The files outside tasks that a phase of some workflow requires.
    fn required_files(&self) -> Vec<RepoPath> {
        // A document without the word need not be compiled.
        let may_require = |name: &String| {
            let text = self.system.workflow(name);
            text.is_some_and(|text| text.contains("requires"))
        };
        let names = self.workflow_names().into_iter().filter(may_require);
        let loaded: Vec<_> = names.filter_map(|name| self.workflow(&name).ok()).collect();
        let workflows = loaded.iter().filter_map(|loaded| loaded.workflow());
        workflows
            .flat_map(Workflow::required_files)
            .cloned()
            .collect()
    }

    /// Every root that permits a task with this id, in order, with the task that it would be there.
    pub(crate) fn places<'s>(
        &'s self,
        id: &TaskId,
    ) -> impl Iterator<Item = (&'s Root, TaskRef)> + use<'s> {
        let roots = &self.config.roots;
        let id = id.clone();
        roots.iter().enumerate().filter_map(move |(index, root)| {
            Some((
                root,
                TaskRef::in_root(root, id.clone(), &roots.directory_of(index, &id)?).ok()?,
            ))
        })
    }

    /// The task that this directory is by its name alone.
    pub(crate) fn named_so(&self, directory: &RepoPath) -> Option<TaskRef> {
        let (root, id) = self.config.roots.match_directory(directory)?;
        TaskRef::in_root(self.config.roots.get(root)?, id, directory).ok()
    }
}
