//! Keeping the index true after the branch has moved, without touching what the user staged.
//!
//! The `git` command writes it: it takes git's own lock first, reads every index format, and knows
//! about entries that are racily clean. libgit2 reads before it locks and loses the user's work.
//! Its process is started before the branch moves, so that all that is looked at is looked at under
//! the lock.

use super::entries::{IndexEntry, Staged, read_entries};
use super::git::finish_git;
use super::{Error, Store};
use crate::base::{Digest, RepoPath, shell_word};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

/// What the branch's move means for one path: blob and mode before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexChange {
    pub path: RepoPath,
    pub before: Option<(Digest, i32)>,
    pub after: Option<(Digest, i32)>,
}

/// How many paths are named on a command line; beyond that everything is listed.
const MAX_NAMED: usize = 500;
/// How often the user's own lock is waited for.
const TRIES: u32 = 7;

/// A process of git that holds, or is about to take, the lock of the index, and writes what it is
/// told. Dropped without being told anything, it lets go and changes nothing; so it does if we die.
pub(super) struct IndexUpdate {
    process: Option<Child>,
    lock: PathBuf,
}

impl IndexUpdate {
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
    pub(super) fn write(mut self, input: &[u8]) -> Result<(), Error> {
        match self.process.take() {
            Some(process) => finish_git("update-index", process, input).map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for IndexUpdate {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // Without entries it writes nothing; its lock is gone when it has ended.
            let _ = finish_git("update-index", process, &[]);
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

/// What to tell git so that these paths are up to date, and the paths where the user has staged
/// something else.
pub(super) fn input_for(changes: &[IndexChange], staged: &Staged) -> (Vec<u8>, Vec<RepoPath>) {
    let mut input = Vec::new();
    let mut left = Vec::new();
    for change in changes {
        let entry = staged.entries.get(change.path.as_str());
        let present = entry.map(|entry| (entry.blob, entry.mode));
        let intended = change.before.is_none() && entry.is_some_and(|entry| entry.intended);
        if present == change.after && !intended {
            continue;
        }
        if present == change.before || intended {
            match change.after {
                Some((blob, mode)) => {
                    input.extend(format!("{mode:o} {blob}\t{}\0", change.path).into_bytes())
                }
                None => input.extend(format!("0 {:040}\t{}\0", 0, change.path).into_bytes()),
            }
        } else {
            left.push(change.path.clone());
        }
    }
    (input, left)
}

impl Store {
    /// Brings the entries of these paths up to date; returns those where the user has staged
    /// something else, which are left as they are.
    pub(super) fn sync_index(&self, changes: &[IndexChange]) -> Result<Vec<RepoPath>, Error> {
        let mut tries = 0;
        loop {
            let (input, left) = input_for(changes, &self.staged(changes)?);
            if input.is_empty() {
                return Ok(left);
            }
            match self.git(&["update-index", "-z", "--index-info"], &input) {
                Ok(_) => return Ok(left),
                Err(Error::Command { message, .. }) if message.contains("index.lock") && tries < TRIES => {
                    sleep(Duration::from_millis(10 << tries));
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts git's own writer of the index, which takes the lock first and then waits for what to
    /// write. While it holds the lock no checkout, stash or `git add` can begin.
    pub(super) fn start_index_update(&self) -> Result<IndexUpdate, Error> {
        let process = self.start_git(&["update-index", "-z", "--index-info"])?;
        // What `/proc` names is the real place, whatever links lead there.
        let directory = self.repo.path().canonicalize().unwrap_or_else(|_| self.repo.path().to_owned());
        Ok(IndexUpdate { process: Some(process), lock: directory.join("index.lock") })
    }

    /// Refuses while one of these paths is in an unfinished merge, also one that left no other trace.
    pub(super) fn refuse_unmerged(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        let staged = self.staged(changes)?;
        match staged.unmerged.first() {
            None => Ok(staged),
            Some(path) => Err(Error::NotNow {
                why: format!("{path} is unmerged"),
                hint: format!("resolve it, then: git add {}", shell_word(path.as_str())),
            }),
        }
    }

    /// What the index says of these paths.
    fn staged(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        let wanted: HashSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        match fs::read(self.repo.path().join("index")) {
            Ok(bytes) => match read_entries(&bytes, &wanted) {
                Some(staged) => Ok(staged),
                None => self.listed(changes),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Staged::default()),
            Err(_) => self.listed(changes),
        }
    }

    /// The same, as git itself lists them: whatever the format of the index.
    fn listed(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-s", "-z", "--full-name"];
        if changes.len() <= MAX_NAMED {
            arguments.push("--");
            arguments.extend(changes.iter().map(|change| change.path.as_str()));
        }
        let listed = self.git(&arguments, &[])?;
        let mut staged = Staged::default();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let Some((head, path)) = line.split_once('\t') else { continue };
            let fields: Vec<&str> = head.split(' ').collect();
            let [mode, blob, stage] = fields.as_slice() else { continue };
            if *stage != "0" {
                staged.unmerged.push(path.to_owned());
                continue;
            }
            if let (Ok(mode), Some(blob)) = (i32::from_str_radix(mode, 8), Digest::parse(blob)) {
                // Nothing that orch commits is empty, so an empty blob is only intended.
                let intended = blob == Digest::of_blob(b"");
                staged.entries.insert(path.to_owned(), IndexEntry { blob, mode, intended });
            }
        }
        Ok(staged)
    }
}
