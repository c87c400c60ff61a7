//! The file that will replace the index: written in the directory of `orch`, and renamed when all else is ready.

use super::side_work::SideWork;
use super::splice::SplicedIndex;
use super::{Error, durable};
use orch_files::{Directory, io_error};
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAME: &str = "index.next";
/// The lock of git for it.
const LOCK: &str = "index.next.lock";

/// The written file. Dropping it removes the file. The owner holds the lock among `orch` processes.
pub(super) struct NextIndex {
    own: Arc<Directory>,
    is_put: bool,
}

impl NextIndex {
    /// Writes the file, with the permissions of the index, and begins to sync it; `time` is its modification time, if not
    /// the current time.
    pub(super) fn write(
        own: Arc<Directory>,
        content: &SplicedIndex<'_>,
        old: Option<&Metadata>,
        time: Option<FileTimes>,
        syncs: &SideWork,
    ) -> io::Result<Self> {
        let next = Self { own, is_put: false };
        let mut file = next.own.create_anew(NAME)?;
        content.write(&mut file)?;
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        time.map_or(Ok(()), |time| file.set_times(time))?;
        syncs.add(Self::path(&next.own));
        Ok(next)
    }

    /// The same, written by git and synced: `write` gets the path of a copy of the index, with its time, by which git knows
    /// the files that it must compare. git locks the copy, so that a git that is killed leaves no lock of the index.
    pub(super) fn write_by(
        own: Arc<Directory>,
        index: &Path,
        write: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let next = Self { own, is_put: false };
        let copied = || {
            next.own.remove_if_there(LOCK)?;
            let mut old = File::open(index)?;
            let metadata = old.metadata()?;
            let mut copy = next.own.create_anew(NAME)?;
            io::copy(&mut old, &mut copy)?;
            copy.set_permissions(metadata.permissions())?;
            copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
        };
        copied().map_err(|source| io_error(index, source))?;
        write(&Self::path(&next.own))?;
        durable::sync(&[Self::path(&next.own)])?;
        Ok(next)
    }

    /// Removes what a killed process left.
    pub(super) fn clear(own: &Path) {
        // If it cannot be removed now, the next update overwrites it.
        let _ = fs::remove_file(own.join(NAME));
    }

    /// Where the file is, in the directory of `orch`.
    pub(super) fn path(own: &Directory) -> PathBuf {
        own.path().join(NAME)
    }

    /// Gives the file its place.
    pub(super) fn put(mut self, directory: &Directory, name: &str) -> io::Result<()> {
        self.own.rename(NAME, directory, name)?;
        self.is_put = true;
        Ok(())
    }
}

impl Drop for NextIndex {
    fn drop(&mut self) {
        if !self.is_put {
            // If it cannot be removed now, the next update overwrites it.
            let _ = self.own.remove(NAME);
        }
    }
}
