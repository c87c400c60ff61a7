//! Keeping the index true after the branch has moved, without touching what the user staged.
//!
//! The `git` command does it: it takes git's own lock first, reads every index format, and knows
//! about entries that are racily clean. libgit2 reads before it locks and loses the user's work.

use super::{Error, Store};
use crate::base::{Digest, RepoPath};
use std::collections::HashMap;
use std::thread::sleep;
use std::time::Duration;

/// What the branch's move means for one path: blob and mode before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexChange {
    pub path: RepoPath,
    pub before: Option<(Digest, i32)>,
    pub after: Option<(Digest, i32)>,
}

/// The blob of an entry that is only intended to be added.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
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
            let entries = self.index_entries(changes)?;
            let mut input = Vec::new();
            let mut left = Vec::new();
            for change in changes {
                let staged = entries.get(change.path.as_str()).copied();
                if staged == change.after {
                    continue;
                }
                let intended = change.before.is_none() && staged.is_some_and(|(blob, _)| blob.to_string() == EMPTY_BLOB);
                if staged == change.before || intended {
                    match change.after {
                        Some((blob, mode)) => input.extend(format!("{mode:o} {blob}\t{}\0", change.path).into_bytes()),
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

    /// The entries of these paths at stage 0; an unmerged path has none that equals anything.
    fn index_entries(&self, changes: &[IndexChange]) -> Result<HashMap<String, (Digest, i32)>, Error> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-s", "-z", "--full-name"];
        if changes.len() <= MAX_NAMED {
            arguments.push("--");
            arguments.extend(changes.iter().map(|change| change.path.as_str()));
        }
        let listed = self.git(&arguments, &[])?;
        let mut entries = HashMap::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let Some((head, path)) = line.split_once('\t') else { continue };
            let mut fields = head.split(' ');
            let mode = fields.next().and_then(|mode| i32::from_str_radix(mode, 8).ok());
            let blob = fields.next().and_then(Digest::parse);
            if let (Some(mode), Some(blob)) = (mode, blob) {
                entries.insert(path.to_owned(), (blob, mode));
            }
        }
        Ok(entries)
    }
}
