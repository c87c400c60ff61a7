//! Finds the tasks of a source: the directories and files below the roots that are tasks.

use super::costs::Costs;
use super::known::KnownLooks;
use super::setting::Settings;
use super::snapshot::{Snapshot, first};
use super::{Error, Finder, TaskRef};
use orch_base::{Class, Code, Diagnostic, Hint, Place, RepoPath, TaskId, WorkflowName};
use orch_core::config::{self, Root};
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use orch_files::{Child, EntryKind, Source};

/// The result of a search below the roots.
#[derive(Default)]
struct Survey {
    tasks: Vec<TaskRef>,
    /// What is no task only because of its name, and the directories that the machine failed to list.
    findings: Vec<Diagnostic>,
}

/// A directory that is still to be searched.
#[derive(Clone)]
struct OpenDirectory {
    path: RepoPath,
    /// Whether it is reached through a symbolic link, so that it may be anywhere.
    is_behind_link: bool,
    /// Whether the directory above it is in another repository.
    is_elsewhere: bool,
}

impl Survey {
    /// Sorts the tasks by id. A task that is a file was found once by its file, and once by its directory.
    fn sort(&mut self) {
        self.tasks
            .sort_by(|a, b| (&a.id, a.directory()).cmp(&(&b.id, b.directory())));
        self.tasks.dedup();
        self.findings.sort();
        self.findings.dedup();
    }

    /// The tasks, if every directory could be listed.
    fn in_full(self) -> Result<Vec<TaskRef>, Error> {
        match self.findings.into_iter().find(Diagnostic::is_fault) {
            Some(finding) => Err(finding.into()),
            None => Ok(self.tasks),
        }
    }
}

impl Finder<'_> {
    /// All tasks, sorted by id: directories below a root that contain `state.json`, `transcript.jsonl` or a
    /// declared artifact, and files below a root of files that are one.
    ///
    /// A task never contains a task, so the search stops at each task.
    pub fn tasks(&self) -> Result<Vec<TaskRef>, Error> {
        self.look_everywhere()?.in_full()
    }

    /// All tasks, and a finding for each directory or file that cannot be a task only because of its name, or that
    /// the machine failed to list, and for each root of which nothing can be seen.
    pub fn survey(&self) -> Result<(Vec<TaskRef>, Vec<Diagnostic>), Error> {
        let Survey { tasks, findings } = self.look_everywhere()?;
        Ok((tasks, findings))
    }

    /// All tasks that could be found, and a finding for each directory that the machine failed to list.
    pub fn readable_tasks(&self) -> Result<(Vec<TaskRef>, Vec<Diagnostic>), Error> {
        let (tasks, mut findings) = self.survey()?;
        findings.retain(Diagnostic::is_fault);
        Ok((tasks, findings))
    }

    /// Searches below all roots, in as many threads as there are cores.
    fn look_everywhere(&self) -> Result<Survey, Error> {
        let mut found = Survey::default();
        let open = self
            .reader
            .snapshot(|snapshot| snapshot.search().begin_everywhere(&mut found))?;
        let known = self.crew.known;
        let parts = self.crew.in_parts(&open, |reader, part| {
            let mut found = Survey::default();
            let searched = reader
                .snapshot(|snapshot| snapshot.search().through(part.to_vec(), known, &mut found));
            vec![searched.map(|()| found)]
        });
        for part in parts {
            let Survey { tasks, findings } = part?;
            found.tasks.extend(tasks);
            found.findings.extend(findings);
        }
        found.sort();
        self.refuse_nowhere(&found)?;
        found.findings.extend(self.hiding(&found.tasks)?);
        Ok(found)
    }

    /// Returns an error if nothing says that this is a place for tasks.
    fn refuse_nowhere(&self, found: &Survey) -> Result<(), Error> {
        let is_somewhere = self.reader.store.is_some()
            || !found.tasks.is_empty()
            || !found.findings.is_empty()
            || self.reader.settings.is_own();
        if is_somewhere {
            return Ok(());
        }
        let root = self.reader.root.display();
        let message = format!(
            "there is neither a git repository nor {} nor a task at {root}",
            config::FILE
        );
        let hint =
            Hint::from("start orch in a repository, or name it with -C DIR; to begin here: ")
                .command(&["git", "init"])
                .and(&["orch", "init"]);
        Err(Diagnostic::error(Code::NothingToJudge, message)
            .hint(hint)
            .into())
    }
}

/// The search for tasks in one source, by the settings in it.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub setting: &'a Settings,
    pub source: &'a dyn Source,
    /// The counters, if what is listed is counted.
    pub costs: Option<&'a Costs>,
}

impl<'a> Snapshot<'a> {
    /// The search for tasks in this source.
    pub(crate) fn search(&self) -> Search<'a> {
        Search {
            setting: self.setting,
            source: self.source,
            costs: self.costs,
        }
    }
}

impl Search<'_> {
    /// All tasks, sorted by id.
    pub(crate) fn tasks(&self) -> Result<Vec<TaskRef>, Error> {
        self.look_everywhere()?.in_full()
    }

    fn look_everywhere(&self) -> Result<Survey, Error> {
        let mut found = Survey::default();
        let open = self.begin_everywhere(&mut found)?;
        self.through(open, None, &mut found)?;
        found.sort();
        Ok(found)
    }

    /// Searches the directories that the roots are based on, without those in them, which are returned.
    fn begin_everywhere(&self, found: &mut Survey) -> Result<Vec<OpenDirectory>, Error> {
        let mut bases: Vec<RepoPath> = self.setting.config.roots.bases().cloned().collect();
        bases.sort();
        bases.dedup();
        let mut open = Vec::new();
        for base in bases {
            open.extend(self.search_one(self.open_at(base)?, None, found)?);
        }
        Ok(open)
    }

    /// A directory to begin a search at.
    fn open_at(&self, path: RepoPath) -> Result<OpenDirectory, Error> {
        let is_behind_link = self.source.is_behind_link(&path)?;
        let is_elsewhere = self.source.other_repository(&path)?.is_some();
        Ok(OpenDirectory {
            path,
            is_behind_link,
            is_elsewhere,
        })
    }

    /// Searches these directories and all in them. A task that is `known` not to have changed is not searched.
    fn through(
        &self,
        mut open: Vec<OpenDirectory>,
        known: Option<&KnownLooks>,
        found: &mut Survey,
    ) -> Result<(), Error> {
        while let Some(directory) = open.pop() {
            open.extend(self.search_one(directory, known, found)?);
        }
        Ok(())
    }

    /// Whether this root has a task. Searches only until one is found.
    pub(super) fn has_task_of(&self, root: &Root) -> Result<bool, Error> {
        let roots = &self.setting.config.roots;
        let is_of_root = |task: &TaskRef| {
            let found = roots
                .match_directory(task.directory())
                .and_then(|(index, _)| roots.get(index));
            found.is_some_and(|found| std::ptr::eq(found, root))
        };
        let mut found = Survey::default();
        let mut open = vec![self.open_at(root.path.base().clone())?];
        while let Some(directory) = open.pop() {
            open.extend(self.search_one(directory, None, &mut found)?);
            if found.tasks.drain(..).any(|task| is_of_root(&task)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All tasks at or below a path, sorted by id.
    pub(crate) fn tasks_below(&self, path: &RepoPath) -> Result<Vec<TaskRef>, Error> {
        let mut found = Survey::default();
        let reaches = |base: &RepoPath| {
            path == base || path.below(base).is_some() || base.below(path).is_some()
        };
        if self.setting.config.roots.bases().any(reaches) {
            self.through(vec![self.open_at(path.clone())?], None, &mut found)?;
        }
        found.sort();
        found.in_full()
    }

    /// The task that contains a file or directory.
    pub(crate) fn task_of_path(&self, path: &RepoPath) -> Result<Option<TaskRef>, Error> {
        let mut ancestors: Vec<RepoPath> =
            std::iter::successors(Some(path.clone()), RepoPath::parent).collect();
        ancestors.reverse();
        // The topmost task wins, because a task never contains a task.
        match first(ancestors.iter(), |directory| self.task_at(directory))? {
            None => self.task_of_file(path),
            task => Ok(task),
        }
    }

    /// The task that a file is, or that it was if the task has other files.
    fn task_of_file(&self, file: &RepoPath) -> Result<Option<TaskRef>, Error> {
        let Some((_, directory, _)) = self.setting.config.roots.match_file(file) else {
            return Ok(None);
        };
        let Some(task) = self.possible_task(&directory)? else {
            return Ok(None);
        };
        let is_file = self
            .source
            .entry_at(file)?
            .is_some_and(|entry| entry.kind != EntryKind::Directory);
        if is_file && self.is_artifact(&task.workflow, file.name()) {
            return Ok(Some(task));
        }
        self.task_at(&directory)
    }

    /// Whether the task is visible here: the roots match its directory, which holds a file of a task, and no
    /// directory above it is a task. Returns an error if the source cannot be listed.
    pub(crate) fn shows(&self, task: &TaskRef) -> Result<bool, Error> {
        let found = self.task_of_path(&task.transcript_path())?;
        Ok(found.is_some_and(|found| found.directory() == task.directory()))
    }

    /// The task with this id, in the first root that has it.
    pub(crate) fn task_named(&self, id: &TaskId) -> Result<Option<TaskRef>, Error> {
        let roots = &self.setting.config.roots;
        let directories = (0..roots.iter().count()).filter_map(|root| roots.directory_of(root, id));
        first(directories, |directory| self.task_at(&directory))
    }

    /// The task with exactly this directory, if it is one.
    pub(crate) fn task_at(&self, directory: &RepoPath) -> Result<Option<TaskRef>, Error> {
        let Some(task) = self.possible_task(directory)? else {
            return Ok(None);
        };
        let children = self.children(directory)?.unwrap_or_default();
        let is_task =
            self.holds_task(&task.workflow, directory, &children)? || self.is_file(&task)?;
        Ok(is_task.then_some(task))
    }

    /// Whether the task is a file that is there and is an artifact of its workflow.
    pub(crate) fn is_file(&self, task: &TaskRef) -> Result<bool, Error> {
        let Some(file) = task.place.file() else {
            return Ok(false);
        };
        let children = self.children(&file.directory)?.unwrap_or_default();
        let mut own = children
            .iter()
            .filter(|child| !child.is_directory && file.has_name(&child.name));
        Ok(own.any(|child| self.is_artifact(&task.workflow, &child.name)))
    }

    /// Whether a file with this name is an artifact of a workflow.
    fn is_artifact(&self, workflow: &WorkflowName, name: &str) -> bool {
        let loaded = self.setting.workflow(workflow.as_str());
        loaded.is_ok_and(|loaded| loaded.matcher().matches(name))
    }

    /// The task that this directory is if it contains a file of one.
    fn possible_task(&self, directory: &RepoPath) -> Result<Option<TaskRef>, Error> {
        let task = self.setting.named_so(directory);
        if task.is_some()
            && (self.source.is_behind_link(directory)?
                || self.source.other_repository(directory)?.is_some())
        {
            return Ok(None);
        }
        Ok(task)
    }

    /// Whether a directory with these children contains a state, a log or an artifact.
    fn holds_task(
        &self,
        workflow: &WorkflowName,
        directory: &RepoPath,
        children: &[Child],
    ) -> Result<bool, Error> {
        let is_archive = self.setting.config.roots.is_archive(directory);
        Ok(children.iter().any(|child| is_record(&child.name))
            || (!is_archive && self.holds_artifact(workflow, directory, children)?))
    }

    /// A finding if a directory in a place for tasks contains files of a task but has no valid name.
    fn misnamed(
        &self,
        directory: &RepoPath,
        children: &[Child],
    ) -> Result<Option<Diagnostic>, Error> {
        let Some((root, error)) = self.setting.config.roots.misnamed(directory) else {
            return Ok(None);
        };
        let Some(root) = self.setting.config.roots.get(root) else {
            return Ok(None);
        };
        if !self.holds_task(&root.workflow, directory, children)? {
            return Ok(None);
        }
        Ok(Some(misnamed(
            Code::BadTaskId,
            directory,
            &error.to_string(),
        )))
    }

    /// Like [`Self::misnamed`], for a name that is not UTF-8, which no path can contain.
    fn unnameable(&self, shown: &RepoPath, inside: &[String]) -> Option<Diagnostic> {
        let roots = &self.setting.config.roots;
        let root = roots
            .misnamed(shown)
            .map(|(root, _)| root)
            .or_else(|| Some(roots.match_directory(shown)?.0))?;
        let loaded = self
            .setting
            .workflow(roots.get(root)?.workflow.as_str())
            .ok()?;
        let artifact = |name: &String| loaded.matcher().may_start_with(name);
        let holds = inside.iter().any(|name| is_record(name) || artifact(name));
        holds.then(|| misnamed(Code::PathNotUtf8, shown, "its path is not UTF-8"))
    }

    /// Searches a directory. Returns the directories in it, unless it is a task or no task can be in it.
    fn search_one(
        &self,
        open: OpenDirectory,
        known: Option<&KnownLooks>,
        found: &mut Survey,
    ) -> Result<Vec<OpenDirectory>, Error> {
        let OpenDirectory {
            path,
            is_behind_link,
            is_elsewhere,
        } = open;
        let directory = &path;
        let task = self
            .setting
            .named_so(directory)
            .filter(|_| !is_behind_link && !is_elsewhere);
        if task.is_some() && known.is_some_and(|known| known.is_unchanged(directory)) {
            found.tasks.extend(task);
            return Ok(Vec::new());
        }
        let look = || -> Result<_, Error> {
            // The directory above all others is that of this repository.
            let is_root = directory.as_str().is_empty();
            let is_elsewhere =
                is_elsewhere || (!is_root && self.source.is_repository(directory)?);
            let task = task.filter(|_| !is_elsewhere);
            let children = self.children(directory)?.unwrap_or_default();
            let holds = task
                .as_ref()
                .map(|task| self.holds_task(&task.workflow, directory, &children));
            if holds.transpose()?.unwrap_or_default() {
                return Ok((task, children, is_elsewhere, None));
            }
            let misnamed = if is_behind_link {
                None
            } else {
                self.misnamed(directory, &children)?
            };
            Ok((None, children, is_elsewhere, misnamed))
        };
        let mut open = Vec::new();
        let (children, is_elsewhere, misnamed) = match look() {
            // What cannot be read hides this directory alone.
            Err(error) if error.class() == Class::Fault => {
                found
                    .findings
                    .push(Diagnostic::from(error).at(Place::file(directory)));
                return Ok(open);
            }
            looked => match looked? {
                (Some(task), ..) => {
                    found.tasks.push(task);
                    return Ok(open);
                }
                (None, children, is_elsewhere, misnamed) => (children, is_elsewhere, misnamed),
            },
        };
        found.findings.extend(misnamed);
        if is_elsewhere || !self.setting.config.roots.lead_on(directory) {
            return Ok(open);
        }
        for child in children {
            let Ok(path) = directory.join(&child.name) else {
                continue;
            };
            match &child.unnameable {
                Some(inside) => found.findings.extend(self.unnameable(&path, inside)),
                None if child.is_directory => {
                    // What is listed as a directory is no link.
                    open.push(OpenDirectory {
                        path,
                        is_behind_link,
                        is_elsewhere,
                    });
                }
                None => self.look_at_file(&path, found)?,
            }
        }
        Ok(open)
    }

    /// Adds the task that a file is, or a finding if only its name keeps it from being one.
    fn look_at_file(&self, file: &RepoPath, found: &mut Survey) -> Result<(), Error> {
        let roots = &self.setting.config.roots;
        if let Some((root, error)) = roots.misnamed_file(file) {
            let root = roots
                .get(root)
                .filter(|root| self.is_artifact(&root.workflow, file.name()));
            let message = format!("this file is where a task would be but cannot be one: {error}");
            let finding = Diagnostic::error(Code::BadTaskId, message).at(Place::file(file));
            found
                .findings
                .extend(root.map(|_| finding.hint("rename the file, or exclude it in orch.toml")));
        }
        let Some((root, directory, _)) = roots.match_file(file) else {
            return Ok(());
        };
        if roots
            .get(root)
            .is_some_and(|root| self.is_artifact(&root.workflow, file.name()))
        {
            found.tasks.extend(self.possible_task(&directory)?);
        }
        Ok(())
    }

    /// The direct children of a directory, counted.
    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        let children = self.source.children(directory)?;
        let many = children.as_ref().map_or(0, Vec::len);
        self.costs.inspect(|costs| costs.listed(many));
        Ok(children)
    }

    /// Whether a directory contains a file that matches an artifact of the workflow.
    fn holds_artifact(
        &self,
        workflow: &WorkflowName,
        directory: &RepoPath,
        children: &[Child],
    ) -> Result<bool, Error> {
        let Ok(loaded) = self.setting.workflow(workflow.as_str()) else {
            return Ok(false);
        };
        let matcher = loaded.matcher();
        let mut open: Vec<(String, bool)> = children
            .iter()
            .filter(|child| child.unnameable.is_none() && matcher.may_start_with(&child.name))
            .map(|child| (child.name.clone(), child.is_directory))
            .collect();
        while let Some((path, is_directory)) = open.pop() {
            if !is_directory {
                if matcher.matches(&path) {
                    return Ok(true);
                }
                continue;
            }
            let Ok(below) = directory.join(&path) else {
                continue;
            };
            let children = self.children(&below)?.unwrap_or_default();
            for child in children
                .into_iter()
                .filter(|child| child.unnameable.is_none())
            {
                open.push((format!("{path}/{}", child.name), child.is_directory));
            }
        }
        Ok(false)
    }
}

/// Whether a file with this name makes a directory a task. A log alone does too, because a lost state must be
/// reported.
fn is_record(name: &str) -> bool {
    name == STATE_FILE || name == TRANSCRIPT_FILE
}

fn misnamed(code: Code, directory: &RepoPath, why: &str) -> Diagnostic {
    let message = format!("this directory contains files of a task but cannot be a task: {why}");
    Diagnostic::error(code, message)
        .at(Place::file(directory))
        .hint("rename the directory")
}
