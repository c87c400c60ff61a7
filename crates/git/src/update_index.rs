//! `git update-index`, for an index in a format that only git writes.
//!
//! The process is started before the branch moves and takes git's lock, so that the index is read under the
//! lock; it receives the entries last.
//!
//! If both processes are killed, git's lock stays. So it is noted which lock the process holds, and the next command
//! removes the lock if it is still that one and the process is gone. A lock is told from a later one with the same number
//! by the time at which it was made.

use super::error::GitFault;
use super::git::finish_git;
use super::lock::Locks;
use super::splice::Edit;
use super::{Error, Index, durable};
use orch_base::ObjectFormat;
use orch_files::Directory;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, UNIX_EPOCH};

/// The note of the lock that a git process of ours holds.
const NOTE: &str = "git-lock";
const COMMAND: [&str; 3] = ["update-index", "-z", "--index-info"];

/// A git process that holds the index lock, or is about to take it, and then waits for entries to write. If
/// it is dropped or this process dies, it releases the lock and changes nothing.
pub(super) struct GitUpdate {
    process: Option<Child>,
    lock: PathBuf,
    /// Where the lock file is that the process was seen to hold.
    held: Option<(u64, u64)>,
    /// The directory of `orch`, for the note.
    own: Directory,
    format: ObjectFormat,
}

impl GitUpdate {
    /// Waits until the process holds the lock. Returns false if it cannot take it.
    pub(super) fn wait_for_lock(&mut self) -> bool {
        let Some(process) = &mut self.process else {
            return false;
        };
        for _ in 0..400 {
            if holds(process.id(), &self.lock) {
                self.held = place_of(&self.lock);
                self.keep_note();
                return true;
            }
            if !matches!(process.try_wait(), Ok(None)) {
                return false;
            }
            sleep(Duration::from_micros(500));
        }
        false
    }

    /// Writes these entries and releases the lock, even if git was killed and left it. Returns an error if git fails.
    pub(super) fn write(mut self, edits: &[Edit<'_>]) -> Result<(), Error> {
        let Some(process) = self.process.take() else {
            return Ok(());
        };
        let written = finish_git(COMMAND[0], process, &lines(edits, self.format));
        self.drop_note();
        // The process has ended, so a lock file that is still the one it held belongs to nobody.
        if written.is_err() && self.held.is_some() && self.held == place_of(&self.lock) {
            durable::remove(durable::parent(&self.lock), &self.lock);
        }
        Ok(written.map(drop)?)
    }

    /// Notes which lock the process holds. If that fails, a lock that both processes leave stays until a person removes
    /// it.
    fn keep_note(&self) {
        let Some((process, lock)) = self.process.as_ref().zip(identity_of(&self.lock)) else {
            return;
        };
        let note = format!("{} {lock}", process.id());
        let _ = self
            .own
            .create_anew(NOTE)
            .and_then(|mut file| file.write_all(note.as_bytes()));
    }

    fn drop_note(&self) {
        // One that stays names a process that is gone and a lock that is.
        let _ = self.own.remove_if_there(NOTE);
    }
}

impl Drop for GitUpdate {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // Without entries it writes nothing, and releases the lock when it exits.
            let _ = finish_git(COMMAND[0], process, &[]);
            self.drop_note();
        }
    }
}

/// Whether a process has a file open, according to `/proc`; without `/proc`, whether the file exists.
fn holds(process: u32, file: &Path) -> bool {
    match fs::read_dir(format!("/proc/{process}/fd")) {
        Ok(open) => open
            .flatten()
            .any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file)),
        Err(_) => file.symlink_metadata().is_ok(),
    }
}

/// The device and the number of a file; `None` if there is none.
fn place_of(file: &Path) -> Option<(u64, u64)> {
    file.symlink_metadata()
        .ok()
        .map(|found| (found.dev(), found.ino()))
}

/// What tells a lock file from every other one: its device, its number and when it was made, and the namespace in which
/// processes have their numbers. `None` if the system does not say all of it.
fn identity_of(lock: &Path) -> Option<String> {
    let found = lock.symlink_metadata().ok()?;
    let made = found
        .created()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .ok()?
        .as_nanos();
    let processes = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!(
        "{} {} {made} {}",
        found.dev(),
        found.ino(),
        processes.display()
    ))
}

/// The input of `git update-index --index-info` for these edits.
fn lines(edits: &[Edit<'_>], format: ObjectFormat) -> Vec<u8> {
    let line = |edit: &Edit<'_>| match edit.entry {
        Some((blob, mode)) => format!("{mode:o} {blob}\t{}\0", edit.path),
        None => format!("0 {}\t{}\0", format.null(), edit.path),
    };
    edits.iter().map(line).collect::<String>().into_bytes()
}

impl Locks<'_> {
    /// Whether the lock of the index is that of a git process of ours that is gone.
    pub(super) fn is_locked_by_our_dead_git(&self) -> bool {
        let Ok(note) = durable::text_of(&self.own(NOTE)) else {
            return false;
        };
        let Some((process, lock)) = note.split_once(' ') else {
            return false;
        };
        durable::is_dead(process)
            && identity_of(&self.index_lock()).is_some_and(|held| held == lock)
    }
}

impl Index<'_> {
    /// Starts git's index writer, which takes the lock and then waits for entries. While it holds the lock,
    /// no checkout, stash or `git add` can start.
    pub(super) fn start_git_update(&self) -> Result<GitUpdate, Error> {
        let process = self.git.start_git(&COMMAND)?;
        // `/proc` shows the path with all links resolved.
        let directory = self
            .objects
            .repo
            .path()
            .canonicalize()
            .unwrap_or_else(|_| self.objects.repo.path().to_owned());
        Ok(GitUpdate {
            process: Some(process),
            lock: directory.join("index.lock"),
            held: None,
            own: self.layout.own_directory()?,
            format: self.objects.format,
        })
    }

    /// Lets git write these entries now. Returns an error with [`Code::Busy`](orch_base::Code) if it cannot
    /// take the lock.
    pub(super) fn update_by_git(&self, edits: &[Edit<'_>]) -> Result<(), Error> {
        match self.git.git(&COMMAND, &lines(edits, self.objects.format)) {
            Ok(_) => Ok(()),
            Err(GitFault::Refused { message, .. }) if message.contains("index.lock") => {
                Err(Error::busy(message))
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Environment, Store};
    use super::*;

    #[test]
    fn the_lock_of_a_git_that_was_killed_with_its_orch_is_removed_and_no_other() {
        let home = tempfile::tempdir().expect("a directory");
        Store::create(home.path()).expect("created");
        let store = || {
            Store::discover(home.path(), &Environment::default())
                .expect("opened")
                .expect("there")
        };
        let lock = home.path().join(".git/index.lock");
        let stays = |what: &str| {
            store()
                .transactions()
                .recover_leftovers()
                .expect("recovered");
            assert!(lock.exists(), "{what}");
        };
        let mut update = store().index().start_git_update().expect("started");
        assert!(update.wait_for_lock());
        stays("git lives");
        let mut git = update.process.take().expect("started");
        git.kill().and_then(|()| git.wait()).expect("killed");
        drop(update);
        // What nothing is known of.
        let note = store().layout().own(NOTE);
        let text = fs::read_to_string(&note).expect("noted");
        for other in [
            String::new(),
            text.replace(' ', "  "),
            text[..text.len() - 1].to_owned(),
        ] {
            fs::write(&note, other).expect("written");
            stays("another note");
        }
        fs::write(&note, text).expect("written");
        store()
            .transactions()
            .recover_leftovers()
            .expect("recovered");
        assert!(!lock.exists(), "nobody holds it");
        fs::write(&lock, "").expect("written");
        stays("another lock");
        fs::remove_file(&lock).expect("removed");
        let mut update = store().index().start_git_update().expect("started");
        assert!(update.wait_for_lock());
        drop(update);
        assert!(
            !note.exists() && !lock.exists(),
            "one that ends leaves nothing"
        );
    }
}
