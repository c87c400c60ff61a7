//! git's locks of the index and of HEAD, held by this process during a transition.
//!
//! A lock is a file, `index.lock` or `HEAD.lock`, that must not exist before. Ours is a hard link to a file kept for that
//! purpose, so that it appears with its complete content or not at all; the new index is written to another
//! file. While the lock of the index exists, every git command that wants to write the index fails with "Unable to create
//! index.lock: File exists". Commands that switch to another branch wait for the lock of HEAD.
//!
//! If this process is killed meanwhile, the lock file stays, as git's own does. It is taken only under the
//! kernel lock of [`Transactions::begin`](super::Transactions::begin), so a process that holds that lock and finds a file with our content knows
//! that its owner is dead, and removes it; every command of `orch` does so first. A regular exit waits until
//! the lock is released, see [`IndexGate`].

use super::durable::read_if_regular;
use super::next_index::NextIndex;
use super::{Error, Index, Layout, durable};
use orch_base::locked;
use orch_files::{Directory, io_error};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::sleep;
use std::time::Duration;

/// The content of our lock file, also for people who find it.
const CONTENT: &str = "orch is recording a step, which takes a moment.\n\
                       If no orch is running, it was killed: `orch status` finishes its work.\n";
/// The file that the lock is a link to.
const KEPT: &str = "index.lock";
/// The name of the index in the git directory.
const INDEX: &str = "index";

/// Held while a store holds the lock of its index. All stores opened with one environment share one gate; the
/// signal handler closes it before it ends the process.
#[derive(Debug, Clone, Default)]
pub struct IndexGate(Arc<LockUse>);

#[derive(Debug, Default)]
struct LockUse {
    /// Locked while a store may write an index.
    writing: Mutex<()>,
    /// The locks of stores that have not begun to write.
    resting: Mutex<Vec<PathBuf>>,
}

impl IndexGate {
    /// Releases the index locks of stores that have not begun to write, waits until no store holds one, and keeps stores
    /// from taking one while the returned value lives. Returns `None` after two seconds: then the disk hangs, and the
    /// process has to end anyway.
    #[must_use]
    pub fn close(&self) -> Option<impl Drop> {
        locked(&self.0.resting)
            .drain(..)
            .for_each(|lock| release(&lock));
        for _ in 0..2000 {
            match self.0.writing.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(1)),
            }
        }
        None
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
    pub index: PathBuf,
    /// The directory of `orch`.
    pub own: Arc<Directory>,
    git: Directory,
    is_left: bool,
    gate: &'s LockUse,
    /// `None` while nothing is written yet.
    writing: Option<MutexGuard<'s, ()>>,
}

/// git's lock of HEAD. Dropping it releases it.
pub(super) struct HeadLock(PathBuf);

/// The locks of git that this process may hold in this work tree.
#[derive(Clone, Copy)]
pub(super) struct Locks<'s>(Layout<'s>);

impl<'s> Layout<'s> {
    /// git's locks of the index and of HEAD.
    pub(super) fn locks(self) -> Locks<'s> {
        Locks(self)
    }
}

impl<'s> Locks<'s> {
    /// Takes the index lock, or takes over the one that a killed process left. The caller holds the lock among `orch`
    /// processes.
    ///
    /// Fails with [`io::ErrorKind::AlreadyExists`] if another process holds it. Other errors mean that it
    /// cannot be taken in this way, for example without hard links.
    pub(super) fn lock_index(&self) -> io::Result<IndexLock<'s>> {
        let own = self.kept_for_locks()?;
        let gate: &LockUse = &self.0.objects.environment.index_gate.0;
        let writing = Some(locked(&gate.writing));
        let git = Directory::open(self.0.objects.repo.path(), self.0.objects.repo.path())?;
        let lock = self.index_lock();
        take(&own, &git, &lock)?;
        Ok(IndexLock {
            lock,
            own: Arc::new(own),
            git,
            index: self.0.objects.repo.path().join(INDEX),
            is_left: false,
            gate,
            writing,
        })
    }

    /// Takes the lock of HEAD, like [`Self::lock_index`].
    pub(super) fn lock_head(&self) -> io::Result<HeadLock> {
        let own = self.kept_for_locks()?;
        let git = Directory::open(self.0.objects.repo.path(), self.0.objects.repo.path())?;
        let lock = self.head_lock();
        take(&own, &git, &lock)?;
        Ok(HeadLock(lock))
    }

    /// The directory of `orch`, with the file that locks are links to.
    fn kept_for_locks(&self) -> io::Result<Directory> {
        let kept = self.0.own(KEPT);
        if !is_ours(&kept).unwrap_or(false) {
            durable::write_atomic(self.0.objects.repo.path(), &kept, CONTENT.as_bytes())
                .map_err(io::Error::other)?;
        }
        self.0.own_directory().map_err(io::Error::other)
    }

    /// A file of `orch`.
    pub(super) fn own(&self, name: &str) -> PathBuf {
        self.0.own(name)
    }

    /// git's lock file of the index.
    pub(super) fn index_lock(&self) -> PathBuf {
        self.0.objects.repo.path().join("index.lock")
    }

    /// git's lock file of HEAD.
    pub(super) fn head_lock(&self) -> PathBuf {
        self.0.objects.repo.path().join("HEAD.lock")
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

    /// The same of the lock of HEAD.
    pub(super) fn has_our_head_lock(&self) -> bool {
        is_ours(&self.head_lock()).unwrap_or(true)
    }

    /// Removes the lock files of a killed process. The caller holds the lock among `orch` processes.
    pub(super) fn clear(&self) -> Result<(), Error> {
        let lock = self.head_lock();
        let cleared = is_ours(&lock).and_then(|is_left| {
            if is_left {
                tracing::warn!("removing the lock of HEAD of a killed process");
                fs::remove_file(&lock)?;
            }
            Ok(())
        });
        cleared.map_err(|source| io_error(&lock, source))?;
        self.clear_index_lock()
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
}

impl Index<'_> {
    /// The index of this work tree, even if a git hook runs with another one.
    pub(super) fn path(&self) -> PathBuf {
        self.objects.repo.path().join(INDEX)
    }
}

impl IndexLock<'_> {
    /// Holds the lock on while nothing is written, so that the process may end at any time.
    pub(super) fn rest(&mut self) {
        locked(&self.gate.resting).push(self.lock.clone());
        self.writing = None;
    }

    /// Begins to write. Returns an error if the process is about to end.
    pub(super) fn resume(&mut self) -> Result<(), Error> {
        self.writing = Some(locked(&self.gate.writing));
        let mut resting = locked(&self.gate.resting);
        let at = resting.iter().position(|lock| *lock == self.lock);
        let at = at.ok_or_else(Error::moved)?;
        resting.swap_remove(at);
        Ok(())
    }

    /// Leaves the lock to whoever mends what this process could not, which takes it over.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }

    /// Replaces the index by this file, which the caller has synced.
    pub(super) fn put(&self, next: NextIndex) -> Result<(), Error> {
        match is_ours(&self.lock) {
            Ok(true) => next
                .put(&self.git, INDEX)
                .map_err(|source| io_error(&self.index, source)),
            // A user may have removed the lock, because git suggests that for one that stays too long.
            Ok(false) => Err(io_error(
                &self.lock,
                io::Error::other("another process removed the lock"),
            )),
            Err(source) => Err(io_error(&self.lock, source)),
        }
    }
}

impl Drop for IndexLock<'_> {
    fn drop(&mut self) {
        locked(&self.gate.resting).retain(|lock| *lock != self.lock);
        if !self.is_left {
            release(&self.lock);
        }
    }
}

impl Drop for HeadLock {
    fn drop(&mut self) {
        release(&self.0);
    }
}

/// Creates this lock file in git's directory, or takes over the one that a killed process left.
fn take(own: &Directory, git: &Directory, lock: &Path) -> io::Result<()> {
    let name = lock.file_name().unwrap_or_default();
    match own.link(KEPT, git, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_ours(lock)? => {
            tracing::warn!(lock = %lock.display(), "taking over the lock of a killed process");
            Ok(())
        }
        linked => linked,
    }
}

/// Removes a lock file if it is still ours.
fn release(lock: &Path) {
    // A lock that stays keeps git out, so one failure to look is not the last word.
    if is_ours(lock).or_else(|_| is_ours(lock)).unwrap_or(false) {
        // If this fails, the next command removes it.
        let _ = fs::remove_file(lock);
    }
}

/// Whether `orch` created this lock file. Returns an error if that cannot be determined.
fn is_ours(lock: &Path) -> io::Result<bool> {
    let is_as_long =
        |metadata: Metadata| metadata.is_file() && metadata.len() == CONTENT.len() as u64;
    let looked = fs::symlink_metadata(lock).and_then(|metadata| {
        Ok(is_as_long(metadata)
            && read_if_regular(lock)?.is_some_and(|bytes| bytes == CONTENT.as_bytes()))
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
        is_ours(&lock.join("below")).expect_err("a file is not a directory");
    }
}
