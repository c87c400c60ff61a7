//! What happened to a task, read from commits. Costs the commits walked, not the repository.

use super::tree::entry_at;
use super::{Error, Store, digest};
use crate::base::{Digest, RepoPath, Timestamp};
use crate::record::STATE_FILE;
use git2::{Commit as GitCommit, Oid, Sort};

/// A commit that touched a task's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: Digest,
    /// When it was authored.
    pub at: Timestamp,
    /// Who authored it.
    pub author: String,
    /// Its message.
    pub message: String,
    /// The trailers of its message, in order.
    pub trailers: Vec<(String, String)>,
}

/// How many commits are looked through for a lost blob.
const MAX_WALK: usize = 20_000;

impl Store {
    /// The commits, newest first, that changed the state of the task in `directory`.
    pub fn history(&self, directory: &RepoPath, limit: usize) -> Result<Vec<Commit>, Error> {
        let Ok(path) = directory.join(STATE_FILE) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        self.walk(|commit| {
            if changes(&commit, &path)? {
                found.push(describe(&commit));
            }
            Ok(found.len() < limit)
        })?;
        Ok(found)
    }

    /// For each path, the newest commit that changed it; all in one walk.
    pub fn last_changes(&self, paths: &[RepoPath]) -> Result<Vec<Option<Digest>>, Error> {
        let mut found: Vec<Option<Digest>> = vec![None; paths.len()];
        let mut open: Vec<usize> = (0..paths.len()).collect();
        if open.is_empty() {
            return Ok(found);
        }
        self.walk(|commit| {
            let mut still = Vec::new();
            for index in open.drain(..) {
                if changes(&commit, &paths[index])? {
                    found[index] = Some(digest(commit.id()));
                } else {
                    still.push(index);
                }
            }
            open = still;
            Ok(!open.is_empty())
        })?;
        Ok(found)
    }

    /// The newest commit in HEAD's history that holds this blob at this path.
    pub fn commit_holding(&self, path: &RepoPath, blob: Digest) -> Result<Option<Digest>, Error> {
        let mut found = None;
        let mut left = MAX_WALK;
        self.walk(|commit| {
            left -= 1;
            if blob_of(&commit, path)?.map(digest) == Some(blob) {
                found = Some(digest(commit.id()));
            }
            Ok(found.is_none() && left > 0)
        })?;
        Ok(found)
    }

    /// Visits HEAD's history, newest first, as long as `visit` says so.
    fn walk(&self, mut visit: impl FnMut(GitCommit<'_>) -> Result<bool, Error>) -> Result<(), Error> {
        if self.head()?.commit.is_none() {
            return Ok(());
        }
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push_head()?;
        for id in walk {
            // A shallow clone ends where its history does.
            let Ok(commit) = self.repo.find_commit(id?) else { break };
            if !visit(commit)? {
                break;
            }
        }
        Ok(())
    }
}

fn blob_of(commit: &GitCommit<'_>, path: &RepoPath) -> Result<Option<Oid>, Error> {
    Ok(entry_at(&commit.tree()?, path)?.map(|entry| entry.id()))
}

/// Whether a commit's version of a path is unlike that of each of its parents.
fn changes(commit: &GitCommit<'_>, path: &RepoPath) -> Result<bool, Error> {
    let own = blob_of(commit, path)?;
    if commit.parent_count() == 0 {
        return Ok(own.is_some());
    }
    for parent in commit.parents() {
        if blob_of(&parent, path)? == own {
            return Ok(false);
        }
    }
    Ok(true)
}

fn describe(commit: &GitCommit<'_>) -> Commit {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let trailers = git2::message_trailers_strs(&message).map_or_else(
        |_| Vec::new(),
        |trailers| trailers.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
    );
    Commit {
        id: digest(commit.id()),
        at: Timestamp::from_seconds(commit.time().seconds()),
        author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
        message,
        trailers,
    }
}
