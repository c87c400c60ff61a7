//! The work trees of tasks: where they are, how they are made, and when they may be removed.
//!
//! A work tree is made under a kernel lock of its task. As long as it is not prepared, a note beside the lock says so, and
//! whoever takes the lock next makes it anew; nothing is worked on in it before.

use crate::home::share_leases;
use orch_base::{Code, Digest, Error, Hint, TaskId};
use orch_core::config::{WorkTreeKind, WorkTreesConfig};
use orch_files::{Directory, FileLock, io_error};
use orch_git::{Store, Uncommitted};
use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The directory of the locks and notes, below the git directory that all work trees share.
const PLACE: &str = "orch/worktrees";

/// The work tree of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTree {
    /// The task.
    pub task: TaskId,
    /// Its root.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// What it is.
    pub kind: WorkTreeKind,
}

/// The work trees of the tasks of a repository.
#[derive(Clone)]
pub struct TaskTrees<'a> {
    store: &'a Store,
    settings: &'a WorkTreesConfig,
    /// The root of the main work tree, once git was asked.
    main: OnceCell<PathBuf>,
}

/// That this process alone makes or removes the work tree of a task.
pub struct TreeClaim<'a> {
    trees: TaskTrees<'a>,
    tree: TaskTree,
    note: PathBuf,
    _lock: FileLock,
}

impl<'a> TaskTrees<'a> {
    /// The work trees of a repository, by these settings.
    #[must_use]
    pub fn new(store: &'a Store, settings: &'a WorkTreesConfig) -> Self {
        Self {
            store,
            settings,
            main: OnceCell::new(),
        }
    }

    /// The branch of a task.
    #[must_use]
    pub fn branch(&self, task: &TaskId) -> String {
        self.settings.branch.of(task)
    }

    /// Where the work tree of a task is or would be. Returns an error if git cannot list the work trees.
    pub fn place(&self, task: &TaskId) -> Result<TaskTree, Error> {
        let main = self.main()?;
        let name = main.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".git").unwrap_or(&name);
        let path = main.join(self.settings.path.of(name, task));
        Ok(TaskTree {
            task: task.clone(),
            path: without_dots(&path),
            branch: self.branch(task),
            kind: self.settings.kind,
        })
    }

    fn main(&self) -> Result<&PathBuf, Error> {
        if let Some(main) = self.main.get() {
            return Ok(main);
        }
        let trees = self.store.work_trees().list()?;
        let main = trees.into_iter().next().map(|tree| tree.path);
        let main = main.unwrap_or_else(|| self.store.layout().root().to_owned());
        Ok(self.main.get_or_init(|| main))
    }

    /// The work tree of a task; `None` if there is none in its place. Returns an error if git cannot list them.
    pub fn find(&self, task: &TaskId) -> Result<Option<TaskTree>, Error> {
        let tree = self.place(task)?;
        Ok(if tree.path.exists() && self.is_there(&tree)? {
            Some(tree)
        } else {
            None
        })
    }

    /// All work trees on branches of tasks that exist, sorted by task, wherever they are. Returns an error if git cannot
    /// list them.
    pub fn list(&self) -> Result<Vec<TaskTree>, Error> {
        let mut found = Vec::new();
        for tree in self.store.work_trees().list()?.into_iter().skip(1) {
            let Some(branch) = tree.branch else {
                continue;
            };
            if let Some(task) = self.settings.branch.task(&branch) {
                found.push(TaskTree {
                    task,
                    path: tree.path,
                    branch,
                    kind: WorkTreeKind::WorkTree,
                });
            }
        }
        if self.settings.kind == WorkTreeKind::Clone {
            for branch in self.store.refs().branches()?.0 {
                let name = branch.name.strip_prefix("refs/heads/");
                let task = name.and_then(|name| self.settings.branch.task(name));
                if let Some(task) = task {
                    found.extend(self.find(&task)?);
                }
            }
        }
        found.sort_by(|a, b| a.task.cmp(&b.task));
        found.dedup();
        Ok(found)
    }

    /// Whether the work tree of a task is in its place.
    fn is_there(&self, tree: &TaskTree) -> Result<bool, Error> {
        match tree.kind {
            WorkTreeKind::Clone => Ok(tree.path.join(".git").is_dir()),
            WorkTreeKind::WorkTree => {
                let known = self.store.work_trees().list()?;
                let path = tree
                    .path
                    .canonicalize()
                    .unwrap_or_else(|_| tree.path.clone());
                Ok(known.iter().any(|one| {
                    one.path == path && one.branch.as_deref() == Some(tree.branch.as_str())
                }))
            }
        }
    }

    /// Takes the lock of the work tree of a task. Returns an error if another process makes or removes it now, or the lock
    /// cannot be made.
    pub fn claim(&self, task: &TaskId) -> Result<TreeClaim<'a>, Error> {
        let common = self.store.layout().common_directory();
        let directory = common.join(PLACE);
        let fail = |source| io_error(&directory, source);
        Directory::make(common, &directory).map_err(fail)?;
        let name = task.as_str().replace('/', "+");
        let path = directory.join(format!("{name}.lock"));
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = lock.map_err(|source| io_error(&path, source))?;
        let Some(lock) = FileLock::try_new(lock).map_err(|source| io_error(&path, source))? else {
            let message = format!("another process makes or removes the work tree of `{task}`");
            return Err(Error::busy(message));
        };
        Ok(TreeClaim {
            trees: self.clone(),
            tree: self.place(task)?,
            note: directory.join(format!("{name}.unprepared")),
            _lock: lock,
        })
    }

    /// Why a work tree has to stay, whatever its task says: it holds something that is nowhere else, or a process works in
    /// it. `None` if it may be removed. Returns an error if git cannot read it.
    pub fn stays_because(&self, tree: &TaskTree, base: &str) -> Result<Option<String>, Error> {
        let git = self.store.work_trees();
        if tree.path != self.place(&tree.task)?.path {
            return Ok(Some("it is not where [worktrees] says".to_owned()));
        }
        if tree.kind == WorkTreeKind::Clone {
            git.take_over(&tree.path, &tree.branch)?;
        }
        match git.uncommitted(&tree.path, false)? {
            Uncommitted::Nothing => {}
            Uncommitted::Files(file) => return Ok(Some(format!("{file} is not committed"))),
            Uncommitted::Operation(what) => return Ok(Some(format!("{what} has begun in it"))),
        }
        if let Some(process) = git.processes_in(&tree.path).first() {
            return Ok(Some(format!("process {process} works in it")));
        }
        let Some(tip) = git.tip(&tree.branch)? else {
            return Ok(None);
        };
        if self.is_kept_elsewhere(tip, base)? {
            Ok(None)
        } else {
            let branch = &tree.branch;
            Ok(Some(format!(
                "{branch} is neither merged into {base} nor pushed"
            )))
        }
    }

    /// Whether the base branch or a remote has what is on a branch.
    fn is_kept_elsewhere(&self, tip: Digest, base: &str) -> Result<bool, Error> {
        let git = self.store.work_trees();
        if git.pushed_to(tip)?.is_some() {
            return Ok(true);
        }
        match git.tip(base)? {
            Some(base) => git.is_contained(tip, base),
            None => Ok(false),
        }
    }
}

impl TreeClaim<'_> {
    /// The work tree.
    #[must_use]
    pub fn tree(&self) -> &TaskTree {
        &self.tree
    }

    /// Makes the work tree from this commit unless it is there. Returns whether it has to be prepared; call
    /// [`Self::prepared`] then. Returns an error if something else is in its place, its branch is checked out elsewhere, or
    /// git cannot make it.
    pub fn make(&self, from: Digest) -> Result<bool, Error> {
        let git = self.trees.store.work_trees();
        let tree = &self.tree;
        if self.note.exists() {
            self.discard()?;
        }
        git.prune()?;
        if self.trees.is_there(tree)? {
            return Ok(false);
        }
        let known = git.list()?;
        let other = known
            .iter()
            .find(|one| one.branch.as_ref() == Some(&tree.branch));
        if let Some(other) = other.filter(|_| tree.kind == WorkTreeKind::WorkTree) {
            let place = other.path.display();
            let message = format!("the branch {} is checked out in {place}", tree.branch);
            let hint = Hint::run(&["git", "-C", &place.to_string(), "switch", "--detach"]);
            return Err(Error::new(Code::WorkTreeTaken, message).with_hint(hint));
        }
        if !is_empty(&tree.path)? {
            let place = tree.path.display();
            let message = format!(
                "{place} is there, and is not the work tree of `{}`",
                tree.task
            );
            let hint = "move it away, or choose another `path` in [worktrees] of orch.toml";
            return Err(Error::new(Code::WorkTreeTaken, message).with_hint(hint));
        }
        fs::write(&self.note, b"").map_err(|source| io_error(&self.note, source))?;
        if let Some(above) = tree.path.parent() {
            fs::create_dir_all(above).map_err(|source| io_error(above, source))?;
        }
        match tree.kind {
            WorkTreeKind::WorkTree => git.add(&tree.path, &tree.branch, from)?,
            WorkTreeKind::Clone => {
                git.add_clone(&tree.path, &tree.branch, from)?;
                let common = self.trees.store.layout().common_directory();
                share_leases(&tree.path.join(".git"), common)?;
            }
        }
        Ok(true)
    }

    /// The work tree is prepared. Returns an error if that cannot be noted.
    pub fn prepared(&self) -> Result<(), Error> {
        match fs::remove_file(&self.note) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(io_error(&self.note, source))
            }
            _ => Ok(()),
        }
    }

    /// Removes a work tree that was not prepared: nobody has worked in it.
    fn discard(&self) -> Result<(), Error> {
        let path = &self.tree.path;
        let is_known = self.tree.kind == WorkTreeKind::WorkTree
            && self.trees.store.work_trees().remove(path, true).is_ok();
        if !is_known && path.exists() {
            fs::remove_dir_all(path).map_err(|source| io_error(path, source))?;
        }
        Ok(())
    }

    /// Removes the work tree; its branch stays. Look at [`TaskTrees::stays_because`] first. Returns an error if git refuses.
    pub fn remove(&self) -> Result<(), Error> {
        let path = &self.tree.path;
        match self.tree.kind {
            WorkTreeKind::WorkTree => self.trees.store.work_trees().remove(path, false),
            WorkTreeKind::Clone => {
                fs::remove_dir_all(path).map_err(|source| io_error(path, source))
            }
        }
    }
}

/// Whether a directory is empty or missing.
fn is_empty(path: &Path) -> Result<bool, Error> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(io_error(path, error)),
    }
}

/// The path without `.` and `..`, which stand for what is written before them.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
