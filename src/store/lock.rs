//! git's index lock, held by this process during a transition.
//!
//! The lock is a file, `index.lock`, that must not exist before. Ours is a hard link to a file kept for that
//! purpose, so that it appears with its complete content or not at all; the new index is written to another
//! file. While the lock exists, every git command that wants to write the index fails with "Unable to create
//! index.lock: File exists".
//!
//! If this process is killed meanwhile, the lock file stays, as git's own does. It is taken only under the
//! kernel lock of [`Store::begin`], so a process that holds that lock and finds a file with our content knows
//! that its owner is dead, and removes it; every command of `orch` does so first. A regular exit waits until
//! the lock is released, see [`IndexGate`].

use super::durable::read_if_regular;
use super::splice::SplicedIndex;
use super::syncs::Syncs;
use super::{Error, Store, durable};
use crate::scan::{Directory, io_error};
use std::cell::Cell;
use std::fs::{self, File, FileTimes, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::sleep;
use std::time::Duration;

/// The content of our lock file, also for people who find it.
const CONTENT: &str = "orch is writing the index, which takes a moment.\n\
                       If no orch is running, it was killed: `orch status` finishes its work.\n";
/// The file that the lock is a link to, and the file that replaces the index.
const KEPT: &str = "index.lock";
const NEXT: &str = "index.next";
/// The lock of git for that file.
const NEXT_LOCK: &str = "index.next.lock";
/// The names of the lock and of the index in the git directory.
const LOCK: &str = "index.lock";
const INDEX: &str = "index";

/// Held while a store holds the lock of its index. All stores opened with one environment share one gate; the
/// signal handler closes it before it ends the process.
#[derive(Debug, Clone, Default)]
pub struct IndexGate(Arc<Mutex<()>>);

impl IndexGate {
    /// Waits until no store holds an index lock, and keeps stores from taking one while the returned value
    /// lives. Returns `None` after two seconds: then the disk hangs, and the process has to end anyway.
    #[must_use]
    pub fn close(&self) -> Option<impl Drop> {
        for _ in 0..2000 {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(1)),
            }
        }
        None
    }

    fn enter(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two environments with the same variables are equal, whatever their gates.
impl PartialEq for IndexGate {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for IndexGate {}

/// A held index lock. Dropping it releases the lock and leaves the index unchanged.
pub(super) struct IndexLock<'s> {
    lock: PathBuf,
    index: PathBuf,
    own: Directory,
    git: Directory,
    is_left: bool,
    /// Whether the file that replaces the index is written.
    has_next: Cell<bool>,
    _holding: MutexGuard<'s, ()>,
}

impl Store {
    /// Takes the index lock, or takes over the one that a killed process left. The caller holds the lock among `orch`
    /// processes.
    ///
    /// Fails with [`io::ErrorKind::AlreadyExists`] if another process holds it. Other errors mean that it
    /// cannot be taken in this way, for example without hard links.
    pub(super) fn lock_index(&self) -> io::Result<IndexLock<'_>> {
        let kept = self.own(KEPT);
        if !is_ours(&kept).unwrap_or(false) {
            durable::write_atomic(self.repo.path(), &kept, CONTENT.as_bytes()).map_err(io::Error::other)?;
        }
        let holding = self.environment.index_gate.enter();
        let lock = self.index_lock();
        let own = self.own_directory().map_err(io::Error::other)?;
        let git = Directory::open(self.repo.path(), self.repo.path())?;
        match own.link(KEPT, &git, LOCK) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_ours(&lock)? => {
                tracing::warn!("taking over the index lock of a killed process");
            }
            linked => linked?,
        }
        Ok(IndexLock {
            lock,
            own,
            git,
            index: self.index(),
            is_left: false,
            has_next: Cell::new(false),
            _holding: holding,
        })
    }

    /// Whether a lock file of `orch` exists. It belongs to a live process unless the caller holds the lock
    /// among `orch` processes.
    pub(super) fn has_our_index_lock(&self) -> bool {
        let lock = self.index_lock();
        match lock.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            // One that cannot be read may be ours; whoever wants to remove it looks again.
            Err(_) => true,
            Ok(_) => is_ours(&lock).unwrap_or(true) || self.is_locked_by_our_dead_git(),
        }
    }

    /// Removes the lock file of a killed process, also that of a git that it had started. The caller holds the lock among
    /// `orch` processes.
    pub(super) fn clear_index_lock(&self) -> Result<(), Error> {
        let lock = self.index_lock();
        let is_left = is_ours(&lock).map_err(|source| io_error(&lock, source))?
            || lock.symlink_metadata().is_ok() && self.is_locked_by_our_dead_git();
        if !is_left {
            return Ok(());
        }
        tracing::warn!("removing the index lock of a killed process");
        fs::remove_file(&lock).map_err(|source| io_error(&lock, source))
    }

    /// The index of this work tree, even if a git hook runs with another one.
    pub(super) fn index(&self) -> PathBuf {
        self.repo.path().join(INDEX)
    }
}

impl IndexLock<'_> {
    /// Leaves the lock to whoever mends what this process could not, which takes it over.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }

    /// Writes the file that is to replace the index, with the permissions of the index, and begins to sync it; `time` is
    /// its modification time, if not the current time. Nothing else changes yet.
    pub(super) fn write_next(
        &self,
        content: &SplicedIndex<'_>,
        old: Option<&Metadata>,
        time: Option<FileTimes>,
        syncs: &Syncs,
    ) -> Result<(), Error> {
        self.has_next.set(true);
        self.write(content, old, time, syncs).map_err(|source| io_error(&self.index, source))
    }

    /// The same, written by git: `write` gets the path of a copy of the index, with its time, by which git knows the files
    /// that it must compare. git locks the copy, so that a git that is killed leaves no lock of the index.
    pub(super) fn write_next_by(&self, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
        self.has_next.set(true);
        let fail = |source| io_error(&self.index, source);
        let copied = || {
            self.own.remove_if_there(NEXT_LOCK)?;
            let mut old = File::open(&self.index)?;
            let metadata = old.metadata()?;
            let mut next = self.own.create_anew(NEXT)?;
            io::copy(&mut old, &mut next)?;
            next.set_permissions(metadata.permissions())?;
            next.set_times(FileTimes::new().set_modified(metadata.modified()?))
        };
        copied().map_err(fail)?;
        let next = self.own.path().join(NEXT);
        write(&next)?;
        durable::sync(&[next])
    }

    /// Replaces the index by the file that was written.
    pub(super) fn put_next(&self) -> Result<(), Error> {
        let at = |path: &Path, source| io_error(path, source);
        match is_ours(&self.lock) {
            Ok(true) => self.own.rename(NEXT, &self.git, INDEX).map_err(|source| at(&self.index, source))?,
            // A user may have removed the lock, because git suggests that for one that stays too long.
            Ok(false) => return Err(at(&self.lock, io::Error::other("another process removed the lock"))),
            Err(source) => return Err(at(&self.lock, source)),
        }
        self.has_next.set(false);
        Ok(())
    }

    fn write(
        &self,
        content: &SplicedIndex<'_>,
        old: Option<&Metadata>,
        time: Option<FileTimes>,
        syncs: &Syncs,
    ) -> io::Result<()> {
        let file = self.own.create_anew(NEXT)?;
        let path = self.own.path().join(NEXT);
        content.write(&mut InParts { file: &file, path: &path, syncs, unsynced: 0 })?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        time.map_or(Ok(()), |time| file.set_times(time))?;
        syncs.add(path);
        Ok(())
    }
}

/// How many bytes are written until they begin to be synced.
const PART: usize = 2 << 20;

/// A file of which each large part is synced while the next one is written.
struct InParts<'f> {
    file: &'f File,
    path: &'f Path,
    syncs: &'f Syncs,
    unsynced: usize,
}

impl Write for InParts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes.get(..PART).unwrap_or(bytes))?;
        self.unsynced += written;
        if self.unsynced >= PART {
            self.syncs.add(self.path.to_owned());
            self.unsynced = 0;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for IndexLock<'_> {
    fn drop(&mut self) {
        if self.has_next.get() {
            // If it cannot be removed now, the next update overwrites it.
            let _ = self.own.remove(NEXT);
        }
        // A lock that stays keeps git out, so one failure to look is not the last word.
        if !self.is_left && is_ours(&self.lock).or_else(|_| is_ours(&self.lock)).unwrap_or(false) {
            // If this fails, the next command removes it.
            let _ = fs::remove_file(&self.lock);
        }
    }
}

/// Whether `orch` created this lock file. Returns an error if that cannot be told.
fn is_ours(lock: &Path) -> io::Result<bool> {
    let is_as_long = |metadata: Metadata| metadata.is_file() && metadata.len() == CONTENT.len() as u64;
    let looked = fs::symlink_metadata(lock).and_then(|metadata| {
        Ok(is_as_long(metadata) && read_if_regular(lock)?.is_some_and(|bytes| bytes == CONTENT.as_bytes()))
    });
    match looked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        looked => looked,
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTENT, is_ours};

    #[test]
    fn a_lock_that_cannot_be_looked_at_is_not_a_missing_one() {
        let home = tempfile::tempdir().expect("a directory");
        let lock = home.path().join("index.lock");
        assert!(!is_ours(&lock).expect("nothing is there"));
        std::fs::write(&lock, CONTENT).expect("written");
        assert!(is_ours(&lock).expect("ours"));
        is_ours(&lock.join("below")).expect_err("a file is no directory");
    }
}
