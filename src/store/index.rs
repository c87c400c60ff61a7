//! Updates the index for a commit, without touching what the user has staged.
//!
//! git's index lock is taken, and the index is read under that lock; libgit2 reads before it locks and would
//! lose concurrent changes. A plain index is written here, because starting git for
//! that is the slowest step in a large repository. Any other index is written by git.

use super::entries::{IndexEntry, IndexFile, Staged};
use super::environment::settings;
use super::lock::IndexLock;
use super::ls_files::Listed;
use super::splice::{Edit, LARGE_INDEX, is_plain, splice};
use super::syncs::Syncs;
use super::update_index::GitUpdate;
use super::{Error, Store, syncs};
use crate::base::{Class, Code, Digest, ObjectFormat, RepoPath, command};
use crate::record::{STATE_FILE, TRANSCRIPT_FILE};
use crate::scan::FileStamp;
use serde::{Deserialize, Serialize};
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, UNIX_EPOCH};

/// A change of one path by the commit: blob and mode before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexChange {
    pub path: RepoPath,
    pub before: Option<(Digest, i32)>,
    pub after: Option<(Digest, i32)>,
}

/// The maximum number of paths on a command line; for more, all paths are listed.
const MAX_NAMED: usize = 500;
/// How often to try while another process holds the lock.
const TRIES: u32 = 7;

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
    lock: IndexLock<'s>,
    read: ReadIndex,
    /// Whether the file that is to replace the index is written.
    is_ready: bool,
}

/// An index that was read.
pub(super) struct ReadIndex {
    pub index: IndexFile,
    /// The file, if there is one. While it is open, no other file gets its number.
    file: Option<File>,
    /// Its metadata when it was read.
    metadata: Option<Metadata>,
}

impl ReadIndex {
    /// Whether the file at this path is the one that was read, unchanged.
    fn is_still_at(&self, path: &Path) -> bool {
        let read = self.metadata.as_ref().and_then(FileStamp::of);
        read.is_some() && FileStamp::at(path) == read
    }
}

/// A large index that another thread reads, while this one evaluates the task. Dropping it leaves the thread alone.
#[derive(Default)]
pub(super) struct IndexAhead(Option<JoinHandle<io::Result<Option<ReadIndex>>>>);

impl IndexAhead {
    /// What was read, if the file at this path has not changed since.
    fn read(self, path: &Path) -> Option<ReadIndex> {
        let read = self.0?.join().ok()?.ok()??;
        read.is_still_at(path).then_some(read)
    }
}

impl<'s> PlainUpdate<'s> {
    /// Writes the file that is to replace the index, with these edits, and begins to sync it, unless only git can write
    /// it: an index without its bytes would block git, and lose what is staged.
    fn prepare(&mut self, edits: &[Edit<'_>], syncs: &Syncs) -> Result<(), Error> {
        let ReadIndex { index, metadata, .. } = &self.read;
        let Some(content) = splice(index, edits) else { return Ok(()) };
        let time = metadata.as_ref().and_then(|metadata| time_to_keep(index, metadata));
        self.lock.write_next(&content, metadata.as_ref(), time, syncs)?;
        self.is_ready = true;
        Ok(())
    }

    /// Replaces the index by one with these edits. Returns the lock, or `None` after releasing it if only git can
    /// write.
    fn write(mut self, edits: &[Edit<'_>]) -> Result<Option<IndexLock<'s>>, Error> {
        if !self.is_ready {
            let syncs = Syncs::default();
            self.prepare(edits, &syncs)?;
            syncs.wait()?;
        }
        if !self.is_ready {
            return Ok(None);
        }
        self.lock.put_next()?;
        self.read.file.into_iter().for_each(|file| syncs::close(file.into()));
        Ok(Some(self.lock))
    }
}

impl IndexUpdate<'_> {
    /// Writes what is to replace the index with these changes, and begins to sync it. Nothing but a file beside the index
    /// changes by that.
    pub(super) fn prepare(&mut self, due: &[IndexChange], syncs: &Syncs) -> Result<(), Error> {
        match self {
            Self::Ours(update) if !due.is_empty() => update.prepare(&edits_of(due), syncs),
            _ => Ok(()),
        }
    }
}

/// The modification time that the new index must have, if not the current time.
///
/// git considers a file unchanged if its time equals the one in the index. A file that changed twice within
/// one clock tick also has that time, so git compares its bytes unless the file is older than the index
/// itself. `orch` compares no bytes and therefore must not make such an index newer.
fn time_to_keep(index: &IndexFile, metadata: &Metadata) -> Option<FileTimes> {
    let written = metadata.modified().ok()?;
    let seconds = written.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
    let is_racy = u32::try_from(seconds).map_or(true, |seconds| index.is_racy(seconds));
    is_racy.then(|| FileTimes::new().set_modified(written))
}

impl Staged {
    /// Keeps the changes that must be written, and drops those that the index already has or of which the user
    /// has staged another version. Returns the paths of the latter.
    pub(super) fn keep_due(&self, changes: &mut Vec<IndexChange>) -> Vec<RepoPath> {
        let mut left = Vec::new();
        changes.retain(|change| {
            let entry = self.entries.get(change.path.as_str());
            let present = entry.map(|entry| (entry.blob, entry.mode));
            let intended = change.before.is_none() && entry.is_some_and(|entry| entry.intended);
            if present == change.after && !intended {
                return false;
            }
            let is_due = present == change.before || intended;
            if !is_due {
                left.push(change.path.clone());
            }
            is_due
        });
        left
    }
}

fn edits_of(changes: &[IndexChange]) -> Vec<Edit<'_>> {
    changes.iter().map(|change| Edit { path: &change.path, entry: change.after }).collect()
}

impl Store {
    /// Takes git's index lock, so that no other process can stage or check out anything. Returns an error of
    /// [`Class::Busy`] if another process holds it.
    pub(super) fn begin_index_update(&self) -> Result<IndexUpdate<'_>, Error> {
        match self.lock_plain_index() {
            Ok(Some(update)) => return Ok(IndexUpdate::Ours(Box::new(update))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(self.index_is_busy()),
            // git locks in its own way, and reports what is wrong with the index.
            Ok(None) | Err(_) => self.clear_index_lock()?,
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

    /// Begins to read the index for an update that may come soon, if it is a large one.
    pub(crate) fn read_index_ahead(&self) {
        let (path, format) = (self.index(), self.format());
        if self.index_ahead.borrow().0.is_none()
            && path.symlink_metadata().is_ok_and(|index| index.len() >= LARGE_INDEX)
            && !self.wants_git_to_write()
        {
            // Without a thread it is read when it is needed.
            let thread = thread::Builder::new().spawn(move || read_index(&path, format));
            *self.index_ahead.borrow_mut() = IndexAhead(thread.ok());
        }
    }

    /// Locks the index if it is one that this process can write.
    fn lock_plain_index(&self) -> io::Result<Option<PlainUpdate<'_>>> {
        if self.wants_git_to_write() {
            return Ok(None);
        }
        let (lock, path) = (self.lock_index()?, self.index());
        let ahead = self.index_ahead.take().read(&path);
        let read = ahead.map_or_else(|| read_index(&path, self.format()), |read| Ok(Some(read)))?;
        let plain = read.filter(|read| is_plain(&read.index));
        Ok(plain.map(|read| PlainUpdate { lock, read, is_ready: false }))
    }

    /// Whether the configuration contains something that only git applies when it writes an index.
    fn wants_git_to_write(&self) -> bool {
        let Ok(config) = settings(&self.repo) else { return true };
        let hooks = match config.get_path("core.hookspath") {
            Ok(path) => self.root.join(path),
            Err(_) => self.repo.commondir().join("hooks"),
        };
        hooks.join("post-index-change").exists()
            || config.get_str("core.fsync").is_ok()
            || (config.get_str("core.sharedrepository").is_ok() && !self.index().exists())
    }

    /// The entries of these paths, read under the lock.
    pub(super) fn staged_under(
        &self,
        update: &IndexUpdate<'_>,
        changes: &[IndexChange],
    ) -> Result<Staged, Error> {
        match update {
            IndexUpdate::Ours(update) => {
                Ok(update.read.index.staged(changes.iter().map(|change| &change.path)))
            }
            IndexUpdate::Git(_) | IndexUpdate::Unlocked => self.staged(changes),
        }
    }

    /// Writes these changes, which the index read under the lock does not have. Returns the lock if this process
    /// still holds it; git releases its own when it has written.
    pub(super) fn finish_index_update<'s>(
        &'s self,
        update: IndexUpdate<'s>,
        due: &[IndexChange],
    ) -> Result<Option<IndexLock<'s>>, Error> {
        let is_written = match update {
            IndexUpdate::Ours(update) if due.is_empty() => return Ok(Some(update.lock)),
            IndexUpdate::Ours(update) => match update.write(&edits_of(due))? {
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

    /// Locks the index after git has written it. Returns [`Error::moved`] if another process was faster, and
    /// `None` where the lock cannot be taken, for example without hard links.
    pub(super) fn lock_written_index(&self) -> Result<Option<IndexLock<'_>>, Error> {
        match self.lock_index() {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::moved()),
            Err(_) => Ok(None),
        }
    }

    /// Takes the lock of the index, or takes over the one that a killed process left, and leaves it to
    /// [`Self::sync_index`] and [`Self::clear_index_lock`]. Returns an error of [`Class::Busy`] if git holds it.
    pub(super) fn hold_index(&self) -> Result<(), Error> {
        self.wait_for_index_lock()?.into_iter().for_each(IndexLock::leave);
        Ok(())
    }

    /// The lock of the index; `None` where it cannot be taken, for example without hard links: git locks in its own way.
    /// Returns an error of [`Class::Busy`] if git holds it.
    pub(super) fn wait_for_index_lock(&self) -> Result<Option<IndexLock<'_>>, Error> {
        patiently(|| match self.lock_index() {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(self.index_is_busy()),
            Err(_) => Ok(None),
        })
    }

    /// Brings the index up to date with these changes. Returns the paths of which the user has staged another
    /// version, and an error if the index cannot be read or written.
    pub(super) fn sync_index(&self, changes: &[IndexChange]) -> Result<Vec<RepoPath>, Error> {
        let mut due = changes.to_vec();
        let left = self.staged(changes)?.keep_due(&mut due);
        if due.is_empty() {
            return Ok(left);
        }
        patiently(|| {
            let update = self.begin_index_update()?;
            let mut due = changes.to_vec();
            let left = self.staged_under(&update, changes)?.keep_due(&mut due);
            self.finish_index_update(update, &due).map(|_| left)
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
        let mut due = changes.to_vec();
        self.staged(changes)?.keep_due(&mut due);
        if due.is_empty() { Ok(()) } else { Err(Error::new(Code::Git, "git did not write the index")) }
    }

    /// The index entries of these paths.
    fn staged(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        match read_index(&self.index(), self.format()) {
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
        let listed = self.git(&arguments, &[])?;
        let mut staged = Staged::default();
        for Listed { mode, blob, stage, path } in Listed::all(&listed) {
            let path = String::from_utf8_lossy(path).into_owned();
            if stage != 0 {
                staged.unmerged.push(path);
            } else if let Ok(mode) = i32::try_from(mode) {
                staged.entries.insert(path, IndexEntry { blob, mode, intended: false });
            }
        }
        // An intent-to-add entry is listed with the empty blob.
        let nothing = self.format().blob(b"");
        if staged.entries.values().any(|entry| entry.blob == nothing) {
            let listed = self.git(&["diff-files", "--name-only", "--diff-filter=A", "-z"], &[])?;
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

/// The parsed index; `None` if only git can read it.
pub(super) fn read_index(path: &Path, format: ObjectFormat) -> io::Result<Option<ReadIndex>> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(ReadIndex { index: IndexFile::empty(format), file: None, metadata: None }));
        }
        _ => {}
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.read_to_end(&mut bytes)?;
    let index = IndexFile::parse(bytes, format);
    Ok(index.map(|index| ReadIndex { index, file: Some(file), metadata: Some(metadata) }))
}

/// Returns an error if one of these paths is unmerged, even if no other trace of the merge remains.
pub(super) fn refuse_unmerged(staged: &Staged) -> Result<(), Error> {
    match staged.unmerged.first() {
        None => Ok(()),
        Some(path) => {
            Err(Error::new(Code::Unmerged, format!("{path} is unmerged")).with_hint(resolving(path)))
        }
    }
}

/// The command that resolves an unmerged path.
#[must_use]
pub fn resolving(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((task, STATE_FILE | TRANSCRIPT_FILE)) => command(&["orch", "resolve", task]),
        _ => format!("resolve it, then: {}", command(&["git", "add", "--", path])),
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
