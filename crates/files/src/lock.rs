//! Kernel locks on open files; see flock(2).

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Deref;

/// An exclusive kernel lock on an open file. It ends when this value is dropped, or when the process dies.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Locks a file, as soon as no other handle has it locked. Returns an error if it cannot be locked at all.
    pub fn new(file: File) -> io::Result<Self> {
        file.lock()?;
        Ok(Self(file))
    }

    /// Locks a file; `None` if another handle has it locked. Returns an error if it cannot be locked at all.
    pub fn try_new(file: File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A process that another thread has just forked has the handle, too, until it starts its program. Closing ours would
        // leave the file locked until then.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_although_another_has_its_handle() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("lock");
        let lock = FileLock::try_new(File::create(&path)?)?.expect("a lock");
        assert!(FileLock::try_new(File::open(&path)?)?.is_none());
        // As a forked process has it.
        let copy = lock.try_clone()?;
        drop(lock);
        assert!(FileLock::try_new(File::open(&path)?)?.is_some());
        drop(copy);
        Ok(())
    }
}
