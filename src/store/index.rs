//! Keeping the index true after the branch has moved, without touching what the user staged.
//!
//! The `git` command writes it: it takes git's own lock first, reads every index format, and knows
//! about entries that are racily clean. libgit2 reads before it locks and loses the user's work.
//! What the user stages of one of these very paths between our look and that write is replaced in
//! the index; the file in the work tree is not touched.

use super::entries::{IndexEntry, Staged, read_entries};
use super::{Error, Store};
use crate::base::{Digest, RepoPath};
use std::collections::HashSet;
use std::fs;
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

impl Store {
    /// Brings the entries of these paths up to date; returns those where the user has staged
    /// something else, which are left as they are.
    pub(super) fn sync_index(&self, changes: &[IndexChange]) -> Result<Vec<RepoPath>, Error> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let mut tries = 0;
        loop {
            let entries = self.staged(changes)?.entries;
            let mut input = Vec::new();
            let mut left = Vec::new();
            for change in changes {
                let entry = entries.get(change.path.as_str());
                let staged = entry.map(|entry| (entry.blob, entry.mode));
                let intended = change.before.is_none() && entry.is_some_and(|entry| entry.intended);
                if staged == change.after && !intended {
                    continue;
                }
                if staged == change.before || intended {
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

    /// Refuses while one of these paths is in an unfinished merge, also one that left no other trace.
    pub(super) fn refuse_unmerged(&self, changes: &[IndexChange]) -> Result<(), Error> {
        match self.staged(changes)?.unmerged.first() {
            None => Ok(()),
            Some(path) => Err(Error::NotNow {
                why: format!("{path} is unmerged"),
                hint: format!("resolve it, then: git add {path}"),
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
