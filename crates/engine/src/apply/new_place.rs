//! Where `orch new` puts a task if several roots permit its id.

use super::new_id::{Naming, parse_task_id};
use crate::survey::{Error, Finder, Reader, TaskRef};
use orch_base::{Code, Diagnostic, RepoPath, TaskId, WorkflowName};
use orch_core::config::Root;

/// What narrows the choice of a root.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlaceWish<'a> {
    /// The path of the root as `orch.toml` gives it, or the directory that contains its tasks.
    pub root: Option<&'a str>,
    /// The workflow of the task.
    pub workflow: Option<&'a str>,
    /// The directory in which the command was started.
    pub here: Option<&'a RepoPath>,
}

/// Where tasks may be.
#[derive(Clone, Copy)]
pub struct Places<'w> {
    pub(super) reader: &'w Reader,
    pub(super) finder: Finder<'w>,
}

impl Places<'_> {
    /// The place of a new task, governed by the workflow of its root or the one that is wished for.
    ///
    /// `name` is an id, or the path of an existing directory or file that a root matches. What exists is
    /// adopted. Otherwise the wished root decides; then a root with the wished workflow, then the root that
    /// contains the current directory, then the first. Returns an error if no root permits the task, several
    /// directories could be adopted, or another directory is a task with this id.
    pub(super) fn new_place(&self, name: &str, wish: &PlaceWish<'_>) -> Result<TaskRef, Error> {
        let standing = self.standing(name, wish.here);
        let id = match &standing {
            Some(task) => task.id.clone(),
            None => {
                self.refuse_unmatched(name)?;
                parse_task_id(name, Naming::New(None))?
            }
        };
        let (root, mut task) = self.chosen_place(&id, standing.as_ref(), wish)?;
        self.refuse_second(&task)?;
        task.is_workflow_chosen = wish.workflow.is_some();
        if let Some(name) = wish.workflow.filter(|name| root.workflow.as_str() != *name) {
            self.reader.settings.workflow(name)?;
            task.workflow = WorkflowName::new(name)
                .map_err(|error| Diagnostic::error(Code::WorkflowName, error.to_string()))?;
        }
        Ok(task)
    }

    /// Refuses the path of a directory that is below a root, but that the root does not match: as an id, it would
    /// name another directory.
    fn refuse_unmatched(&self, name: &str) -> Result<(), Error> {
        let Ok(path) = RepoPath::new(name.trim_end_matches('/')) else {
            return Ok(());
        };
        let is_directory = path.under(&self.reader.root).is_dir();
        let mut bases = self.reader.settings.config.roots.bases();
        match bases.find(|base| is_directory && path.below(base).is_some()) {
            Some(base) => {
                let message =
                    format!("{path} is below the root {base}, which excludes or does not match it");
                Err(Error::new(Code::NoRoot, message).with_hint("see [[root]] in orch.toml"))
            }
            None => Ok(()),
        }
    }

    /// The directory or file that a path names, if a root of tasks matches it: from the root of the repository, or an
    /// existing one from the current directory.
    fn standing(&self, name: &str, here: Option<&RepoPath>) -> Option<TaskRef> {
        let name = name.trim_end_matches('/');
        let from_here = here.and_then(|here| {
            if name == "." {
                Some(here.clone())
            } else {
                here.join(name).ok()
            }
        });
        let from_root = RepoPath::new(name).ok();
        let roots = &self.reader.settings.config.roots;
        let from_here = from_here.into_iter().map(|path| (path, false));
        from_here
            .chain(from_root.map(|path| (path, true)))
            .find_map(|(path, is_from_root)| {
                let there = path.under(&self.reader.root);
                let directory = || {
                    roots
                        .match_directory(&path)
                        .filter(|_| is_from_root || there.is_dir())
                };
                let is_path = name.contains('/') || name == ".";
                let (root, directory, id) = match directory().filter(|_| is_path) {
                    Some((root, id)) => (root, path, id),
                    None => roots.match_file(&path).filter(|_| there.is_file())?,
                };
                TaskRef::in_root(roots.get(root)?, id, &directory).ok()
            })
    }

    /// Whether the directory of a task exists, or the file that it is.
    pub(super) fn stands(&self, task: &TaskRef) -> Result<bool, Error> {
        let is_file = || {
            self.reader
                .snapshot(|snapshot| snapshot.search().is_file(task))
        };
        Ok(task.directory().under(&self.reader.root).is_dir() || is_file()?)
    }

    /// Whether the archive of a root has a task that had this id.
    pub(super) fn is_archived(&self, id: &TaskId) -> Result<bool, Error> {
        let Ok(archived) = TaskId::new(id.archived()) else {
            return Ok(false);
        };
        for (_, place) in self.reader.settings.places(&archived) {
            if self.stands(&place)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn chosen_place(
        &self,
        id: &TaskId,
        standing: Option<&TaskRef>,
        wish: &PlaceWish<'_>,
    ) -> Result<(&Root, TaskRef), Error> {
        let permitted: Vec<(&Root, TaskRef)> = self.reader.settings.places(id).collect();
        let is_wished = |root: &Root| {
            wish.root.is_none_or(|name| {
                let name = name.trim_end_matches('/');
                root.path.as_str() == name || root.path.base().as_str() == name
            })
        };
        let places: Vec<_> = permitted
            .into_iter()
            .filter(|(root, _)| is_wished(root))
            .collect();
        if let Some(task) = standing
            && let Some(place) = places
                .iter()
                .find(|(_, place)| place.directory() == task.directory())
        {
            return Ok(place.clone());
        }
        let mut standing = Vec::new();
        for place in &places {
            standing.extend(self.stands(&place.1)?.then_some(place));
        }
        match standing.as_slice() {
            [] => preferred(&places, wish)
                .cloned()
                .ok_or_else(|| self.no_place(id, wish.root)),
            [only] => Ok((*only).clone()),
            [(_, one), (_, other), ..] => {
                let message = format!("`{id}` could be {} or {}", one.shown(), other.shown());
                let hint = "rename or remove one of the directories: each id names one task";
                Err(Diagnostic::error(Code::DuplicateTask, message)
                    .hint(hint)
                    .into())
            }
        }
    }

    /// Returns an error if another directory is a task with the same id.
    fn refuse_second(&self, task: &TaskRef) -> Result<(), Error> {
        for (_, other) in self.reader.settings.places(&task.id) {
            if other.directory() != task.directory()
                && self.finder.task_at(other.directory())?.is_some()
            {
                let message = format!("task `{}` is already in {}", task.id, other.shown());
                let hint = "choose another id: each id names one task of the repository";
                return Err(Diagnostic::error(Code::TaskExists, message)
                    .hint(hint)
                    .into());
            }
        }
        Ok(())
    }

    fn no_place(&self, id: &TaskId, root: Option<&str>) -> Error {
        let roots: Vec<String> = self
            .reader
            .settings
            .config
            .roots
            .iter()
            .map(|root| root.path.to_string())
            .collect();
        let roots = roots.join(", ");
        let message = match root {
            Some(root) => {
                format!("the root `{root}` permits no task `{id}`; the roots are {roots}")
            }
            None => format!("no root permits a task `{id}`; the roots are {roots}"),
        };
        Diagnostic::error(Code::NoRoot, message)
            .hint("add a [[root]] to orch.toml, or choose another id")
            .into()
    }

    /// Refuses a place inside a task, and one that contains recorded tasks: a task never contains a task, so they
    /// would no longer be tasks.
    pub(super) fn refuse_nested(&self, place: &TaskRef) -> Result<(), Error> {
        let id = &place.id;
        let directory = place.directory();
        let refused = |message| Err(Error::new(Code::TaskInsideTask, message));
        let parent = directory.parent().unwrap_or_else(RepoPath::root);
        if let Some(above) = self.finder.task_of_path(&parent)? {
            let above = above.id;
            return refused(format!(
                "`{id}` would be inside task `{above}`; a task cannot contain a task"
            ));
        }
        if place.place.file().is_some() {
            return Ok(());
        }
        for below in self
            .finder
            .tasks_below(directory)?
            .iter()
            .filter(|task| task.directory() != directory)
        {
            let record = [below.state_path(), below.transcript_path()];
            if record
                .iter()
                .any(|path| path.under(&self.reader.root).symlink_metadata().is_ok())
            {
                let below = &below.id;
                return refused(format!(
                    "`{id}` would contain task `{below}`; a task cannot contain a task"
                ));
            }
        }
        Ok(())
    }
}

/// Among the places that do not exist yet, the one in a root with the requested workflow, if there is one, and of
/// those the one in the innermost root around the current directory, or else the first.
fn preferred<'p, 'r>(
    places: &'p [(&'r Root, TaskRef)],
    wish: &PlaceWish<'_>,
) -> Option<&'p (&'r Root, TaskRef)> {
    let rank = |root: &Root| {
        let base = root.path.base();
        let is_around = wish
            .here
            .is_some_and(|here| here == base || here.below(base).is_some());
        let has_workflow = wish
            .workflow
            .is_some_and(|name| root.workflow.as_str() == name);
        (has_workflow, is_around.then_some(base.as_str().len()))
    };
    // `max_by_key` returns the last of several, and the first root has precedence.
    places.iter().rev().max_by_key(|(root, _)| rank(root))
}
