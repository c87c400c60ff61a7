//! `git update-index`, for an index in a format that only git writes.
//!
//! The process is started before the branch moves and takes git's lock, so that the index is read under the
//! lock; it receives the entries last.

use super::error::GitFault;
use super::git::finish_git;
use super::splice::Edit;
use super::{Error, Store, durable};
use crate::base::ObjectFormat;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

const COMMAND: [&str; 3] = ["update-index", "-z", "--index-info"];

/// A git process that holds the index lock, or is about to take it, and then waits for entries to write. If
/// it is dropped or this process dies, it releases the lock and changes nothing.
pub(super) struct GitUpdate {
    process: Option<Child>,
    lock: PathBuf,
    /// Where the lock file is that the process was seen to hold.
    held: Option<(u64, u64)>,
    format: ObjectFormat,
}

impl GitUpdate {
    /// Waits until the process holds the lock. Returns false if it cannot take it.
    pub(super) fn wait_for_lock(&mut self) -> bool {
        let Some(process) = &mut self.process else { return false };
        for _ in 0..400 {
            if holds(process.id(), &self.lock) {
                self.held = place_of(&self.lock);
                return true;
            }
            if !matches!(process.try_wait(), Ok(None)) {
                return false;
            }
            sleep(Duration::from_micros(500));
        }
        false
    }

    /// Writes these entries and releases the lock, also if git was killed and left it. Returns an error if git fails.
    pub(super) fn write(mut self, edits: &[Edit<'_>]) -> Result<(), Error> {
        let Some(process) = self.process.take() else { return Ok(()) };
        let written = finish_git(COMMAND[0], process, &lines(edits, self.format));
        // The process has ended, so a lock file that is still the one it held belongs to nobody.
        if written.is_err() && self.held.is_some() && self.held == place_of(&self.lock) {
            durable::remove(durable::parent(&self.lock), &self.lock);
        }
        Ok(written.map(drop)?)
    }
}

impl Drop for GitUpdate {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // Without entries it writes nothing, and releases the lock when it exits.
            let _ = finish_git(COMMAND[0], process, &[]);
        }
    }
}

/// Whether a process has a file open, according to `/proc`; without `/proc`, whether the file exists.
fn holds(process: u32, file: &Path) -> bool {
    match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(open) => {
            open.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
        }
        Err(_) => file.symlink_metadata().is_ok(),
    }
}

/// The device and the number of a file; `None` if there is none.
fn place_of(file: &Path) -> Option<(u64, u64)> {
    file.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// The input of `git update-index --index-info` for these edits.
fn lines(edits: &[Edit<'_>], format: ObjectFormat) -> Vec<u8> {
    let line = |edit: &Edit<'_>| match edit.entry {
        Some((blob, mode)) => format!("{mode:o} {blob}\t{}\0", edit.path),
        None => format!("0 {}\t{}\0", format.null(), edit.path),
    };
    edits.iter().map(line).collect::<String>().into_bytes()
}

impl Store {
    /// Starts git's index writer, which takes the lock and then waits for entries. While it holds the lock,
    /// no checkout, stash or `git add` can start.
    pub(super) fn start_git_update(&self) -> Result<GitUpdate, Error> {
        let process = self.start_git(&COMMAND)?;
        // `/proc` shows the path with all links resolved.
        let directory = self.repo.path().canonicalize().unwrap_or_else(|_| self.repo.path().to_owned());
        Ok(GitUpdate {
            process: Some(process),
            lock: directory.join("index.lock"),
            held: None,
            format: self.format(),
        })
    }

    /// Lets git write these entries now. Returns an error with [`Code::Busy`](crate::base::Code) if it cannot
    /// take the lock.
    pub(super) fn update_by_git(&self, edits: &[Edit<'_>]) -> Result<(), Error> {
        match self.git(&COMMAND, &lines(edits, self.format())) {
            Ok(_) => Ok(()),
            Err(GitFault::Refused { message, .. }) if message.contains("index.lock") => {
                Err(Error::busy(message))
            }
            Err(error) => Err(error.into()),
        }
    }
}
