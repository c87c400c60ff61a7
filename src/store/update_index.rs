//! `git update-index`, for an index in a format that only git itself writes.
//!
//! Its process is started before the branch moves and takes git's lock, so that all that is looked at
//! is looked at under the lock; it is told last what to write.

use super::error::GitFault;
use super::git::finish_git;
use super::splice::Edit;
use super::{Error, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

const COMMAND: [&str; 3] = ["update-index", "-z", "--index-info"];

/// A process of git that holds, or is about to take, the lock of the index, and writes what it is
/// told. Dropped without being told anything, it lets go and changes nothing; so it does if we die.
pub(super) struct GitUpdate {
    process: Option<Child>,
    lock: PathBuf,
}

impl GitUpdate {
    /// Waits until it holds the lock; false if somebody else does.
    pub(super) fn wait_for_lock(&mut self) -> bool {
        let Some(process) = &mut self.process else { return false };
        for _ in 0..400 {
            if holds(process.id(), &self.lock) {
                return true;
            }
            if !matches!(process.try_wait(), Ok(None)) {
                return false;
            }
            sleep(Duration::from_micros(500));
        }
        false
    }

    /// Lets it write these entries and let go of the lock.
    pub(super) fn write(mut self, edits: &[Edit<'_>]) -> Result<(), Error> {
        match self.process.take() {
            Some(process) => Ok(finish_git(COMMAND[0], process, &lines(edits)).map(drop)?),
            None => Ok(()),
        }
    }
}

impl Drop for GitUpdate {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // Without entries it writes nothing; its lock is gone when it has ended.
            let _ = finish_git(COMMAND[0], process, &[]);
        }
    }
}

/// Whether a process has a file open, as `/proc` tells it; where there is none, the file has to do.
fn holds(process: u32, file: &Path) -> bool {
    match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(open) => {
            open.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
        }
        Err(_) => file.symlink_metadata().is_ok(),
    }
}

/// Entries as `git update-index --index-info` reads them.
fn lines(edits: &[Edit<'_>]) -> Vec<u8> {
    let line = |edit: &Edit<'_>| match edit.entry {
        Some((blob, mode)) => format!("{mode:o} {blob}\t{}\0", edit.path),
        None => format!("0 {:040}\t{}\0", 0, edit.path),
    };
    edits.iter().map(line).collect::<String>().into_bytes()
}

impl Store {
    /// Starts git's own writer of the index, which takes the lock first and then waits for what to
    /// write. While it holds the lock no checkout, stash or `git add` can begin.
    pub(super) fn start_git_update(&self) -> Result<GitUpdate, Error> {
        let process = self.start_git(&COMMAND)?;
        // What `/proc` names is the real place, whatever links lead there.
        let directory = self.repo.path().canonicalize().unwrap_or_else(|_| self.repo.path().to_owned());
        Ok(GitUpdate { process: Some(process), lock: directory.join("index.lock") })
    }

    /// Has git write these entries now. Where it cannot have the lock, the answer is
    /// [`Code::Busy`](crate::base::Code).
    pub(super) fn update_by_git(&self, edits: &[Edit<'_>]) -> Result<(), Error> {
        match self.git(&COMMAND, &lines(edits)) {
            Ok(_) => Ok(()),
            Err(GitFault::Refused { message, .. }) if message.contains("index.lock") => {
                Err(Error::busy(message))
            }
            Err(error) => Err(error.into()),
        }
    }
}
