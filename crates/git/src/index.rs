//! Updates the index for a commit, without touching what the user has staged.
//!
//! What is to replace the index is written and synced before git's index lock is taken, because every git command of the
//! user that meets the lock fails. Under the lock the index is compared with what was read; libgit2 reads before it locks
//! and would lose concurrent changes. A plain index is written here, because starting git for that is the slowest step in a
//! large repository. Any other index is written by git, and read under its lock.

use super::entries::Staged;
use super::environment::settings;
use super::git_processes::outlast_writers;
use super::index_entry::IndexEntry;
use super::lock::IndexLock;
use super::lock_wait::LockWait;
use super::ls_files::{Listed, path_of};
use super::next_index::NextIndex;
use super::read_index::{IndexChange, PreparedIndex, ReadIndex, edits_of, read_index};
use super::splice::is_plain;
use super::update_index::GitUpdate;
use super::{Error, Filters, GitProgram, Layout, Objects, side_work};
use orch_base::{Class, Code, Hint, RepoPath};
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use orch_files::{Directory, io_error};
use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The maximum number of paths on a command line; for more, all paths are listed.
const MAX_NAMED: usize = 500;
/// How often to try while another process holds the lock.
const TRIES: u32 = 7;

/// How often the index is planned anew because a program has written it meanwhile. The next time, it is planned under the
/// lock.
const MOST_PLANS: u32 = 3;

/// What becomes of the index, before it is locked.
pub(super) enum IndexPlan {
    /// This process writes it.
    Ours(Box<PlannedIndex>),
    /// Only git can write it.
    Git,
}

/// A plain index as it was read, and what is to replace it.
pub(super) struct PlannedIndex {
    read: ReadIndex,
    /// `None` if nothing is due.
    next: Option<PreparedIndex>,
}

impl IndexPlan {
    /// Writes what is to replace the index with these changes, and begins to sync it. Nothing but a file beside the index
    /// changes by that.
    pub(super) fn begin(&mut self, due: &[IndexChange], own: Directory) -> Result<(), Error> {
        if let Self::Ours(planned) = self
            && !due.is_empty()
        {
            planned.next = prepared(&planned.read, due, Arc::new(own))?;
        }
        Ok(())
    }

    /// Waits until it is synced.
    pub(super) fn wait(&self) -> Result<(), Error> {
        match self {
            Self::Ours(planned) => planned
                .next
                .as_ref()
                .map_or(Ok(()), |next| next.syncs.wait()),
            Self::Git => Ok(()),
        }
    }
}

/// What is to replace an index with these changes, as it begins to be synced; `None` if only git can write it.
fn prepared(
    read: &ReadIndex,
    due: &[IndexChange],
    own: Arc<Directory>,
) -> Result<Option<PreparedIndex>, Error> {
    let path = NextIndex::path(&own);
    read.prepare(due, own)
        .map_err(|source| io_error(&path, source))
}

/// The holder of the index lock during an update.
pub(super) enum IndexUpdate<'s> {
    /// We do, and the index is one that we can write.
    Ours(Box<PlainUpdate<'s>>),
    /// A git process.
    Git(GitUpdate),
    /// No one: git keeps its lock elsewhere, and takes it when it writes.
    Unlocked,
}

/// A plain index, locked by this process, as it is under the lock.
pub(super) struct PlainUpdate<'s> {
    read: ReadIndex,
    /// What is to replace the index, as soon as it is written.
    next: Option<PreparedIndex>,
    /// Released last, when nothing is left beside the index.
    lock: IndexLock<'s>,
}

impl<'s> PlainUpdate<'s> {
    /// Writes what is to replace the index with these changes, unless that is done or only git can.
    fn prepare(&mut self, due: &[IndexChange]) -> Result<(), Error> {
        if self.next.is_none() && !due.is_empty() {
            self.next = prepared(&self.read, due, Arc::clone(&self.lock.own))?;
        }
        Ok(())
    }

    /// Replaces the index by one with these changes, or those that were begun. Returns the lock, or `None` after releasing it if only git can
    /// write, and an error of [`Class::Busy`] if another program has changed the index.
    fn write(mut self, due: &[IndexChange]) -> Result<Option<IndexLock<'s>>, Error> {
        self.prepare(due)?;
        let Some(PreparedIndex { file, syncs }) = self.next else {
            return Ok(None);
        };
        syncs.wait()?;
        if !self.read.is_still_at(&self.lock.index) {
            return Err(Error::busy(
                "another program changes the index without its lock",
            ));
        }
        self.lock.put(file)?;
        side_work::close(self.read);
        Ok(Some(self.lock))
    }
}

impl IndexUpdate<'_> {
    /// Writes and syncs what is to replace the index that [`Index::lock_first`] has locked.
    pub(super) fn prepare(&mut self, due: &[IndexChange]) -> Result<(), Error> {
        let Self::Ours(plain) = self else {
            return Ok(());
        };
        plain.lock.resume()?;
        plain.prepare(due)?;
        plain.next.as_ref().map_or(Ok(()), |next| next.syncs.wait())
    }
}

/// The index of the work tree, and its lock.
#[derive(Clone, Copy)]
pub struct Index<'s> {
    pub(super) objects: &'s Objects,
    pub(super) git: GitProgram<'s>,
    pub(super) layout: Layout<'s>,
    pub(super) filters: Filters<'s>,
    /// How long a caller waits for locks, if not as long as suits each.
    pub(super) wait: Option<Duration>,
}

impl<'s> Index<'s> {
    /// The files of the work tree that differ from HEAD, and those that git neither tracks nor ignores. A path that is no
    /// UTF-8 is left out. Returns an error if git fails.
    pub fn uncommitted(&self) -> Result<Vec<RepoPath>, Error> {
        let arguments = [
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ];
        let listed = self.git.git(&arguments, &[])?;
        // Two letters and a blank stand before each path; see git-status(1), "Porcelain Format Version 1".
        let entries = listed.split(|byte| *byte == 0);
        Ok(entries
            .filter_map(|entry| path_of(entry.get(3..)?))
            .collect())
    }

    /// The paths that the index has. Returns an error if git fails.
    pub fn tracked(&self) -> Result<Vec<String>, Error> {
        let listed = self.git.git(&["ls-files", "-z"], &[])?;
        let paths = listed.split(|byte| *byte == 0);
        Ok(paths
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect())
    }

    /// Waits for one lock: the usual time, or not at all if the caller of a transaction waits.
    pub(super) fn patience(&self, usual: Duration) -> LockWait {
        LockWait::at_most(if self.wait.is_some() {
            Duration::ZERO
        } else {
            usual
        })
    }

    /// Reads the index, to plan what these changes make of it; with the entries of their paths. Returns an error if it cannot
    /// be read.
    pub(super) fn plan_update(
        &self,
        changes: &[IndexChange],
    ) -> Result<(IndexPlan, Staged), Error> {
        let read = if self.wants_git_to_write() {
            None
        } else {
            // git reports what is wrong with the index.
            read_index(&self.path(), self.objects.format).unwrap_or_default()
        };
        match read.filter(|read| is_plain(&read.index)) {
            Some(read) => {
                let staged = read.index.staged(changes.iter().map(|change| &change.path));
                let planned = PlannedIndex { read, next: None };
                Ok((IndexPlan::Ours(Box::new(planned)), staged))
            }
            None => Ok((IndexPlan::Git, self.staged(changes)?)),
        }
    }

    /// Takes the lock for a plan: of `changes`, those that are `due`. If a program has written the index meanwhile, it is
    /// planned anew. Returns an error of [`Class::Busy`] if another process holds the lock, and [`Error::moved`] if other
    /// changes are due now.
    pub(super) fn lock_planned(
        &self,
        mut plan: IndexPlan,
        changes: &[IndexChange],
        due: &[IndexChange],
    ) -> Result<IndexUpdate<'s>, Error> {
        if self.wait != Some(Duration::ZERO) {
            outlast_writers(self.layout.root);
        }
        for tried in 0.. {
            let IndexPlan::Ours(planned) = plan else {
                break;
            };
            let Some(lock) = self.wait_for_index_lock()? else {
                break;
            };
            let PlannedIndex { read, next } = *planned;
            if read.is_still_at(&lock.index) {
                return Ok(IndexUpdate::Ours(Box::new(PlainUpdate {
                    read,
                    next,
                    lock,
                })));
            }
            // The next plan has the same file.
            drop(next);
            let read = read_index(&lock.index, self.objects.format);
            let read = read.map_err(|source| io_error(&lock.index, source))?;
            let Some(read) = read.filter(|read| is_plain(&read.index)) else {
                break;
            };
            require_due(
                &read.index.staged(changes.iter().map(|change| &change.path)),
                changes,
                due,
            )?;
            if tried == MOST_PLANS {
                let next = None;
                return Ok(IndexUpdate::Ours(Box::new(PlainUpdate {
                    read,
                    next,
                    lock,
                })));
            }
            drop(lock);
            plan = IndexPlan::Ours(Box::new(PlannedIndex { read, next: None }));
            plan.begin(due, self.layout.own_directory()?)?;
            plan.wait()?;
        }
        let update = self.begin_index_update()?;
        require_due(&self.staged_under(&update, changes)?, changes, due)?;
        Ok(update)
    }

    /// Takes git's index lock before anything is planned. Returns an error of [`Class::Busy`] if another process keeps it.
    pub(super) fn lock_first(&self) -> Result<IndexUpdate<'s>, Error> {
        let mut update = if self.wait == Some(Duration::ZERO) {
            self.begin_index_update()?
        } else {
            patiently(|| self.begin_index_update())?
        };
        if let IndexUpdate::Ours(plain) = &mut update {
            plain.lock.rest();
        }
        Ok(update)
    }

    /// Takes git's index lock, so that no other process can stage or check out anything. Returns an error of
    /// [`Class::Busy`] if another process holds it.
    pub(super) fn begin_index_update(&self) -> Result<IndexUpdate<'s>, Error> {
        match self.lock_plain_index() {
            Ok(Some(update)) => return Ok(IndexUpdate::Ours(Box::new(update))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.index_is_busy());
            }
            // git locks in its own way, and reports what is wrong with the index.
            Ok(None) | Err(_) => self.layout.locks().clear_index_lock()?,
        }
        let mut process = self.start_git_update()?;
        if process.wait_for_lock() {
            Ok(IndexUpdate::Git(process))
        } else if self.index_is_locked() {
            Err(self.index_is_busy())
        } else {
            Ok(IndexUpdate::Unlocked)
        }
    }

    /// Locks the index if it is one that this process can write.
    fn lock_plain_index(&self) -> io::Result<Option<PlainUpdate<'s>>> {
        if self.wants_git_to_write() {
            return Ok(None);
        }
        let lock = self.layout.locks().lock_index()?;
        let read = read_index(&self.path(), self.objects.format)?;
        let plain = read.filter(|read| is_plain(&read.index));
        Ok(plain.map(|read| PlainUpdate {
            read,
            next: None,
            lock,
        }))
    }

    /// Whether the configuration contains something that only git applies when it writes an index.
    fn wants_git_to_write(&self) -> bool {
        let Ok(config) = settings(&self.objects.repo) else {
            return true;
        };
        let hooks = self.layout.hooks_directory(&config);
        hooks.join("post-index-change").exists()
            || config.get_str("core.fsync").is_ok()
            || (config.get_str("core.sharedrepository").is_ok() && !self.path().exists())
    }

    /// The entries of these paths, read under the lock.
    pub(super) fn staged_under(
        &self,
        update: &IndexUpdate<'_>,
        changes: &[IndexChange],
    ) -> Result<Staged, Error> {
        match update {
            IndexUpdate::Ours(update) => Ok(update
                .read
                .index
                .staged(changes.iter().map(|change| &change.path))),
            IndexUpdate::Git(_) | IndexUpdate::Unlocked => self.staged(changes),
        }
    }

    /// Writes these changes, which the index read under the lock does not have. Returns the lock if this process
    /// still holds it; git releases its own when it has written.
    pub(super) fn finish_index_update(
        &self,
        update: IndexUpdate<'s>,
        due: &[IndexChange],
    ) -> Result<Option<IndexLock<'s>>, Error> {
        let is_written = match update {
            IndexUpdate::Ours(update) if due.is_empty() => return Ok(Some(update.lock)),
            IndexUpdate::Ours(update) => match update.write(due)? {
                Some(lock) => return Ok(Some(lock)),
                None => false,
            },
            IndexUpdate::Git(_) | IndexUpdate::Unlocked if due.is_empty() => true,
            IndexUpdate::Git(process) => {
                process.write(&edits_of(due))?;
                self.require_written(due)?;
                true
            }
            IndexUpdate::Unlocked => false,
        };
        if !is_written {
            patiently(|| self.sync_by_git(due.to_vec()))?;
        }
        Ok(None)
    }

    /// Locks the index after git has written these changes. Returns [`Error::moved`] if another process was faster, or
    /// wrote back what it had read before, and `None` where the lock cannot be taken, for example without hard links.
    pub(super) fn lock_written_index(
        &self,
        changes: &[IndexChange],
    ) -> Result<Option<IndexLock<'s>>, Error> {
        match self.layout.locks().lock_index() {
            Ok(lock) => match self.is_written(changes) {
                Ok(true) => Ok(Some(lock)),
                result => {
                    // Whoever takes the entries back takes over the lock, so that git does not commit them.
                    lock.leave();
                    Err(result.err().unwrap_or_else(Error::moved))
                }
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::moved()),
            Err(_) => Ok(None),
        }
    }

    /// Takes the lock of the index, or takes over the one that a killed process left, and leaves it to
    /// [`Self::sync_index`] and [`Self::clear_index_lock`]. Returns an error of [`Class::Busy`] if git holds it.
    pub(super) fn hold_index(&self) -> Result<(), Error> {
        self.wait_for_index_lock()?
            .into_iter()
            .for_each(IndexLock::leave);
        Ok(())
    }

    /// The lock of the index; `None` where it cannot be taken, for example without hard links: git locks in its own way.
    /// Returns an error of [`Class::Busy`] if git holds it.
    pub(super) fn wait_for_index_lock(&self) -> Result<Option<IndexLock<'s>>, Error> {
        patiently(|| match self.layout.locks().lock_index() {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(self.index_is_busy()),
            Err(_) => Ok(None),
        })
    }

    /// Brings the index up to date with these changes. `was_replaced` says whether the index may have been replaced for
    /// them before. Returns the paths of which the user has staged another version, and an error if the index cannot be
    /// read or written.
    pub(super) fn sync_index(
        &self,
        changes: &[IndexChange],
        was_replaced: bool,
    ) -> Result<Vec<RepoPath>, Error> {
        let mut due = changes.to_vec();
        let left = self.staged(changes)?.keep_due(&mut due);
        if due.is_empty() {
            if was_replaced {
                self.layout
                    .locks()
                    .lock_index()
                    .into_iter()
                    .for_each(|lock| self.index_replaced(lock).release());
            }
            return Ok(left);
        }
        patiently(|| {
            let update = self.begin_index_update()?;
            let mut due = changes.to_vec();
            let left = self.staged_under(&update, changes)?.keep_due(&mut due);
            let held = self.finish_index_update(update, &due)?;
            let lock = held.or_else(|| self.layout.locks().lock_index().ok());
            lock.into_iter()
                .for_each(|lock| self.index_replaced(lock).release());
            Ok(left)
        })
    }

    fn sync_by_git(&self, mut changes: Vec<IndexChange>) -> Result<(), Error> {
        self.staged(&changes)?.keep_due(&mut changes);
        if changes.is_empty() {
            return Ok(());
        }
        self.update_by_git(&edits_of(&changes))?;
        self.require_written(&changes)
    }

    /// Returns an error if the index still has what these changes replace: git takes an input that it cannot read for
    /// an empty one, and ends as if it had done everything.
    fn require_written(&self, changes: &[IndexChange]) -> Result<(), Error> {
        match self.is_written(changes)? {
            true => Ok(()),
            false => Err(Error::new(Code::Git, "git did not write the index")),
        }
    }

    /// Whether the index has nothing that these changes replace.
    fn is_written(&self, changes: &[IndexChange]) -> Result<bool, Error> {
        let mut due = changes.to_vec();
        self.staged(changes)?.keep_due(&mut due);
        Ok(due.is_empty())
    }

    /// The index entries of these paths.
    fn staged(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        match read_index(&self.path(), self.objects.format) {
            Ok(Some(read)) => Ok(read.index.staged(changes.iter().map(|change| &change.path))),
            Ok(None) | Err(_) => self.listed(changes),
        }
    }

    /// The index entries as git lists them, for an index in any format.
    fn listed(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-s", "-z", "--full-name"];
        if changes.len() <= MAX_NAMED {
            arguments.push("--");
            arguments.extend(changes.iter().map(|change| change.path.as_str()));
        }
        let listed = self.git.git(&arguments, &[])?;
        let mut staged = Staged::default();
        for Listed {
            mode,
            blob,
            stage,
            path,
        } in Listed::all(&listed)
        {
            let path = String::from_utf8_lossy(path).into_owned();
            if stage != 0 {
                staged.unmerged.push(path);
            } else if let Ok(mode) = i32::try_from(mode) {
                staged.entries.insert(
                    path,
                    IndexEntry {
                        blob,
                        mode,
                        intended: false,
                    },
                );
            }
        }
        // An intent-to-add entry is listed with the empty blob.
        let nothing = self.objects.format.blob(b"");
        if staged.entries.values().any(|entry| entry.blob == nothing) {
            let listed = self
                .git
                .git(&["diff-files", "--name-only", "--diff-filter=A", "-z"], &[])?;
            for path in listed.split(|byte| *byte == 0) {
                let entry = staged.entries.get_mut(&*String::from_utf8_lossy(path));
                entry
                    .into_iter()
                    .filter(|entry| entry.blob == nothing)
                    .for_each(|entry| entry.intended = true);
            }
        }
        Ok(staged)
    }
}

/// Returns [`Error::moved`] if other changes are due than these.
fn require_due(staged: &Staged, changes: &[IndexChange], due: &[IndexChange]) -> Result<(), Error> {
    let mut now = changes.to_vec();
    staged.keep_due(&mut now);
    if now == due {
        Ok(())
    } else {
        Err(Error::moved())
    }
}

/// Returns an error if one of these paths is unmerged, even if no other trace of the merge remains.
pub(super) fn refuse_unmerged(staged: &Staged) -> Result<(), Error> {
    match staged.unmerged.first() {
        None => Ok(()),
        Some(path) => {
            Err(Error::new(Code::Unmerged, format!("{path} is unmerged"))
                .with_hint(resolving(path)))
        }
    }
}

/// The command that resolves an unmerged path.
#[must_use]
pub fn resolving(path: &str) -> Hint {
    match path.rsplit_once('/') {
        Some((task, STATE_FILE | TRANSCRIPT_FILE)) => Hint::run(&["orch", "resolve", task]),
        _ => Hint::from("resolve it, then: ").command(&["git", "add", "--", path]),
    }
}

/// Tries again while another process holds the lock.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for tried in 0..TRIES {
        match attempt() {
            Err(error) if error.class() == Class::Busy => sleep(Duration::from_millis(10 << tried)),
            result => return result,
        }
    }
    attempt()
}
