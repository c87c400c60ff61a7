//! What happened to a task, read from commits. Costs the commits walked, not the repository.

use super::tree::entry_at;
use super::{Error, Store, TreeSource, digest, oid};
use crate::base::{Digest, RepoPath, Timestamp};
use crate::record::STATE_FILE;
use git2::{Commit as GitCommit, Oid, Sort};
use std::collections::BTreeMap;
use std::fs;

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

/// Where what is known of changes is kept.
const KNOWN: &str = "changes";

/// Which commit last changed which path, as seen from a HEAD.
struct Known {
    head: Option<Digest>,
    changes: BTreeMap<RepoPath, Digest>,
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

    /// For each path, the newest commit that changed it.
    ///
    /// What is known of an earlier HEAD is kept beside the repository, so that only the commits
    /// since then are walked.
    pub fn last_changes(&self, paths: &[RepoPath]) -> Result<Vec<Option<Digest>>, Error> {
        let Some(head) = self.head()?.commit else { return Ok(vec![None; paths.len()]) };
        let mut known = self.known_changes()?;
        if known.head != Some(head) {
            let older = known.head.filter(|older| self.is_ancestor(*older, head).unwrap_or(false));
            if older.is_none() {
                known.changes.clear();
            }
            let all: Vec<RepoPath> = known.changes.keys().cloned().collect();
            let newer = self.walk_for(&all, head, older)?;
            known.changes.extend(newer);
            known.head = Some(head);
            self.keep_changes(&known);
        }
        let missing: Vec<RepoPath> =
            paths.iter().filter(|path| !known.changes.contains_key(path)).cloned().collect();
        if !missing.is_empty() {
            known.changes.extend(self.walk_for(&missing, head, None)?);
            self.keep_changes(&known);
        }
        Ok(paths.iter().map(|path| known.changes.get(path).copied()).collect())
    }

    /// The same as seen from any commit.
    pub fn last_changes_before(
        &self,
        commit: Digest,
        paths: &[RepoPath],
    ) -> Result<Vec<Option<Digest>>, Error> {
        let found = self.walk_for(paths, commit, None)?;
        Ok(paths.iter().map(|path| found.get(path).copied()).collect())
    }

    /// The newest commit that changed each of these paths, among those that `from` reaches and `until`
    /// does not.
    fn walk_for(
        &self,
        paths: &[RepoPath],
        from: Digest,
        until: Option<Digest>,
    ) -> Result<BTreeMap<RepoPath, Digest>, Error> {
        let mut found = BTreeMap::new();
        let mut open: Vec<&RepoPath> = paths.iter().collect();
        if open.is_empty() {
            return Ok(found);
        }
        self.walk_between(from, until, |commit| {
            let mut still = Vec::new();
            for path in open.drain(..) {
                if changes(&commit, path)? {
                    found.insert(path.clone(), digest(commit.id()));
                } else {
                    still.push(path);
                }
            }
            open = still;
            Ok(!open.is_empty())
        })?;
        Ok(found)
    }

    fn is_ancestor(&self, older: Digest, newer: Digest) -> Result<bool, Error> {
        Ok(self.repo.graph_descendant_of(oid(newer)?, oid(older)?)?)
    }

    fn known_changes(&self) -> Result<Known, Error> {
        let text = fs::read_to_string(self.own(KNOWN)).unwrap_or_default();
        let mut lines = text.lines();
        let head = lines.next().and_then(Digest::parse);
        let rows = lines.filter_map(|line| {
            let (commit, path) = line.split_once(' ')?;
            Some((RepoPath::new(path).ok()?, Digest::parse(commit)?))
        });
        Ok(Known { head, changes: if head.is_some() { rows.collect() } else { BTreeMap::new() } })
    }

    /// Keeps what is known; where that fails it is found again the next time.
    fn keep_changes(&self, known: &Known) {
        let Some(head) = known.head else { return };
        let rows = known.changes.iter().filter(|(path, _)| !path.as_str().contains('\n'));
        let rows: String = rows.map(|(path, commit)| format!("{commit} {path}\n")).collect();
        let target = self.own(KNOWN);
        let Some(directory) = target.parent() else { return };
        let _ = fs::create_dir_all(directory);
        if let Ok(file) = tempfile::Builder::new().prefix(super::durable::TEMPORARY).tempfile_in(directory)
            && fs::write(file.path(), format!("{head}\n{rows}")).is_ok()
        {
            let _ = file.persist(target);
        }
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

    /// The newest commit that `is_meant`, by what it holds, among these and everything that they reach.
    /// Commits from before `since` are passed over.
    pub fn ancestor<'s>(
        &'s self,
        from: &[Digest],
        since: Option<Timestamp>,
        mut is_meant: impl FnMut(&TreeSource<'s>) -> Result<bool, Error>,
    ) -> Result<Option<Digest>, Error> {
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TIME)?;
        for commit in from {
            walk.push(oid(*commit)?)?;
        }
        for id in walk {
            // A shallow clone ends where its history does.
            let Ok(commit) = self.repo.find_commit(id?) else { break };
            if since.is_some_and(|since| commit.time().seconds() < since.seconds()) {
                continue;
            }
            let id = digest(commit.id());
            if is_meant(&self.tree_source(id))? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Visits HEAD's history, newest first, as long as `visit` says so.
    fn walk(&self, visit: impl FnMut(GitCommit<'_>) -> Result<bool, Error>) -> Result<(), Error> {
        match self.head()?.commit {
            Some(head) => self.walk_between(head, None, visit),
            None => Ok(()),
        }
    }

    /// The same for what `from` reaches and `until` does not.
    fn walk_between(
        &self,
        from: Digest,
        until: Option<Digest>,
        mut visit: impl FnMut(GitCommit<'_>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
        walk.push(oid(from)?)?;
        if let Some(until) = until {
            walk.hide(oid(until)?)?;
        }
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
