//! The history of paths, read from commits. The cost depends on the commits walked, not on the repository.

use super::walk::WalkOrder;
use super::walk::{CommitGraph, CommitNode};
use super::{Differences, Error, Objects, Refs, TreeSource, digest};
use git2::{Commit as GitCommit, Oid};
use orch_base::{Digest, RepoPath, Timestamp};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// A commit that changes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange {
    /// The commit.
    pub commit: Digest,
    /// The file in it; `None` if the commit removes it.
    pub blob: Option<Digest>,
}

/// The maximum number of commits that a search looks at.
pub(super) const MAX_WALK: usize = 20_000;
/// How many walks compare only the directory that contains what they look for. A command that walks more often is about
/// many tasks: one comparison of all that a commit changed then serves them all.
const NARROW_WALKS: usize = 8;
/// The maximum number of commits that one move of HEAD is followed over.
const MAX_MOVE: usize = 1000;

/// How many entries of directories a search compares: the last 200 changes of a directory with 10,000 entries.
const MAX_ENTRIES: u64 = 4_000_000;

/// The commits of a repository, and what each of them changes.
#[derive(Clone, Copy)]
pub struct History<'s> {
    pub(super) objects: &'s Objects,
    pub(super) refs: Refs<'s>,
    pub(super) differences: &'s Differences,
    /// How many walks have looked for the last changes of paths.
    pub(super) walks: &'s Cell<usize>,
}

impl<'s> History<'s> {
    /// The commits that are reachable from some and not from others, by date; each is read when it is needed if none is left
    /// out. Returns an error if one cannot be read.
    pub(super) fn walk_from(
        &self,
        from: &[Digest],
        hidden: &[Digest],
    ) -> Result<impl Iterator<Item = Result<Oid, Error>> + use<'s>, Error> {
        let objects = self.objects;
        let walk = self.commit_graph().walk(from, hidden)?;
        Ok(walk.map(|id| objects.oid(id?)))
    }

    /// The same commits in an order of git. Returns an error if one cannot be read.
    pub(super) fn sorted_walk(
        &self,
        from: &[Digest],
        hidden: &[Digest],
        order: WalkOrder,
    ) -> Result<Vec<Oid>, Error> {
        let sorted = self.commit_graph().sorted(from, hidden, order)?;
        sorted.into_iter().map(|id| self.objects.oid(id)).collect()
    }

    /// The commits of this clone.
    pub(super) fn commit_graph(
        &self,
    ) -> CommitGraph<impl FnMut(Digest) -> Result<CommitNode, Error> + use<'s>> {
        let objects = self.objects;
        CommitGraph::new(move |id| {
            let commit = objects.find_commit(objects.oid(id)?)?;
            Ok(CommitNode {
                time: commit.time().seconds(),
                parents: commit.parent_ids().map(digest).collect(),
            })
        })
    }

    /// The merge bases of two commits; empty if they have no common ancestor in this clone. Returns an error
    /// if git cannot read a commit.
    pub fn merge_bases(&self, one: Digest, another: Digest) -> Result<Vec<Digest>, Error> {
        self.commit_graph().merge_bases(one, another)
    }

    /// For each path, the commits that changed it, newest first, each with what it contains there; one walk for
    /// all. Returns an error if git cannot read the history.
    pub fn of_paths(
        &self,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, Vec<PathChange>>, Error> {
        let mut found: BTreeMap<RepoPath, Vec<PathChange>> = paths
            .iter()
            .map(|path| (path.clone(), Vec::new()))
            .collect();
        let tops = tops(paths);
        self.walk(|commit| {
            for path in self.changed_by(&commit, &tops)? {
                if let Some(changes) = found.get_mut(&path) {
                    let id = digest(commit.id());
                    let blob = self.blob_of(&commit, &path)?;
                    changes.push(PathChange { commit: id, blob });
                }
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// The tree of a commit; `None` if this clone does not have the commit, or the id is that of something else. Returns an
    /// error if git cannot read it.
    pub fn tree_if_held(&self, commit: Digest) -> Result<Option<Digest>, Error> {
        let Ok(id) = self.objects.oid(commit) else {
            return Ok(None);
        };
        let held = self.objects.commit_if_held(id)?;
        Ok(held.map(|commit| digest(commit.tree_id())))
    }

    /// The commits among `from` and its ancestors that changed a path, newest first. Returns an error if git
    /// cannot read the history.
    pub fn changes_of(&self, from: Digest, path: &RepoPath) -> Result<Vec<Digest>, Error> {
        let mut found = Vec::new();
        self.walk_between(from, None, |commit| {
            let own = self.blob_of(&commit, path)?;
            // At the end of a shallow clone, parents are missing.
            let mut before = self
                .objects
                .parents(&commit)?
                .iter()
                .map(|parent| self.blob_of(parent, path))
                .collect::<Result<Vec<_>, _>>()?;
            if commit.parent_count() == 0 {
                before.push(None);
            }
            if !before.contains(&own) {
                found.push(digest(commit.id()));
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// For each path, the newest commit among `from` and its ancestors that changed it; one walk for all. Leaves out a
    /// change of a side that a merge did not take, as git's simplified history of a path does: once the walk has come to
    /// a merge, a change counts if `from` has what it made. Returns an error if git cannot read the history.
    pub fn last_changes(
        &self,
        from: Digest,
        paths: &[RepoPath],
    ) -> Result<Vec<Option<Digest>>, Error> {
        let mut found = BTreeMap::new();
        let mut open: BTreeSet<&RepoPath> = paths.iter().collect();
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let walks = self.walks.replace(self.walks.get() + 1);
        let below = if walks < NARROW_WALKS {
            vec![common(paths)]
        } else {
            tops(paths)
        };
        let begin = self.objects.source_at(from);
        let mut has_merge = false;
        self.walk_by_time(from, |commit| {
            has_merge |= commit.parent_count() > 1;
            // The difference is listed once per commit, so a commit costs what it changed there, not the size
            // of its tree.
            for directory in &below {
                let difference = self.difference(&commit, directory)?;
                for file in difference.changed().map(|differences| &differences[0]) {
                    if open.contains(&file.path)
                        && (!has_merge || file.after == begin.blob_at(&file.path)?)
                    {
                        open.remove(&file.path);
                        found.insert(file.path.clone(), digest(commit.id()));
                    }
                }
            }
            Ok(!open.is_empty())
        })?;
        Ok(paths.iter().map(|path| found.get(path).copied()).collect())
    }

    /// The newest commit among `from` and its ancestors that has this blob at this path, if it is among the newest ones,
    /// which are searched. Returns an error if git cannot read the history.
    pub fn commit_holding(
        &self,
        from: Digest,
        path: &RepoPath,
        blob: Digest,
    ) -> Result<Option<Digest>, Error> {
        if !self.objects.has(blob)? {
            return Ok(None);
        }
        if self.objects.source_at(from).blob_at(path)? == Some(blob) {
            return Ok(Some(from));
        }
        // A command may ask about many tasks: one comparison of all that a commit changed then serves them all.
        let top = top(path);
        let begun = self.objects.listed.get();
        let mut left = MAX_WALK;
        let mut found = None;
        self.walk_by_time(from, |commit| {
            let difference = self.difference(&commit, &top)?;
            let taken = difference
                .files
                .iter()
                .find(|file| file.path == *path && file.before == Some(blob));
            found = taken.and_then(|file| file.parent);
            left -= 1;
            Ok(found.is_none() && left > 0 && self.objects.listed.get() - begun < MAX_ENTRIES)
        })?;
        Ok(found)
    }

    /// The files below some directories that the commits between two changed. `None` if they do not follow each other
    /// from the first to the second in one line, without merges, or there are too many of them. Returns an error if git
    /// cannot read the history.
    pub fn changed_since(
        &self,
        before: Digest,
        after: Digest,
        below: &[RepoPath],
    ) -> Result<Option<BTreeSet<RepoPath>>, Error> {
        let mut found = BTreeSet::new();
        let mut at = after;
        for _ in 0..MAX_MOVE {
            if at == before {
                return Ok(Some(found));
            }
            let Some(commit) = self.objects.commit_if_held(self.objects.oid(at)?)? else {
                return Ok(None);
            };
            let parents: Vec<Digest> = commit.parent_ids().map(digest).collect();
            let [parent] = parents[..] else {
                return Ok(None);
            };
            found.extend(self.changed_by(&commit, below)?);
            at = parent;
        }
        Ok(None)
    }

    /// The files below some directories that differ from those in every parent of a commit.
    pub(super) fn changed_by(
        &self,
        commit: &GitCommit<'_>,
        tops: &[RepoPath],
    ) -> Result<BTreeSet<RepoPath>, Error> {
        let mut changed = BTreeSet::new();
        for top in tops {
            let difference = self.difference(commit, top)?;
            changed.extend(
                difference
                    .changed()
                    .map(|differences| differences[0].path.clone()),
            );
        }
        Ok(changed)
    }

    /// Whether the history of `newer` contains `older`, which is another commit. Returns an error if git cannot
    /// read it.
    pub fn is_ancestor(&self, older: Digest, newer: Digest) -> Result<bool, Error> {
        Ok(older != newer && self.merge_bases(newer, older)?.contains(&older))
    }

    /// The commit among `to` and its ancestors that brings a text into a file of this name. `None` if there are
    /// several, or one takes the text out of such a file; even if this clone is shallow or lacks one of the files,
    /// or the history is too long to search, so that there may be others. Returns an error if git cannot read the
    /// history.
    pub fn commit_bringing(
        &self,
        to: Digest,
        name: &str,
        text: &str,
    ) -> Result<Option<Digest>, Error> {
        if !self.refs.boundary()?.is_empty() {
            return Ok(None);
        }
        let mut found = None;
        let mut is_only = true;
        let mut left = MAX_WALK;
        let everywhere = [RepoPath::root()];
        self.walk_between(to, None, |commit| {
            left -= 1;
            let changed = self.changed_by(&commit, &everywhere)?;
            for path in changed.iter().filter(|path| path.name() == name) {
                let mut has = |commit: &GitCommit<'_>| -> Result<bool, Error> {
                    let Some(blob) = self.blob_of(commit, path)? else {
                        return Ok(false);
                    };
                    let bytes = self.objects.blob(blob)?;
                    is_only &= bytes.is_some();
                    Ok(bytes.is_some_and(|bytes| String::from_utf8_lossy(&bytes).contains(text)))
                };
                let mut had = false;
                for parent in self.objects.parents(&commit)? {
                    had |= has(&parent)?;
                }
                match (had, has(&commit)?) {
                    (false, true) => is_only &= found.replace(digest(commit.id())).is_none(),
                    (true, false) => is_only = false,
                    _ => {}
                }
            }
            Ok(is_only && left > 0)
        })?;
        Ok(found.filter(|_| is_only && left > 0))
    }

    /// The newest commit for which `is_meant` is true, among `from` and its ancestors. Skips commits older
    /// than `since`. Returns an error if git cannot read the history.
    pub fn ancestor(
        &self,
        from: &[Digest],
        since: Option<Timestamp>,
        mut is_meant: impl FnMut(&TreeSource<'s>) -> Result<bool, Error>,
    ) -> Result<Option<Digest>, Error> {
        for id in self.walk_from(from, &[])? {
            // A shallow clone ends here.
            let Some(commit) = self.objects.commit_if_held(id?)? else {
                break;
            };
            if since.is_some_and(|since| commit.time().seconds() < since.seconds()) {
                continue;
            }
            let id = digest(commit.id());
            if is_meant(&self.objects.source_at(id))? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The object at a path in a commit.
    pub(super) fn blob_of(
        &self,
        commit: &GitCommit<'_>,
        path: &RepoPath,
    ) -> Result<Option<Digest>, Error> {
        Ok(self
            .objects
            .object_below(commit.tree_id(), path.as_str().split('/'))?
            .map(|(id, _)| id))
    }

    /// Visits the history of HEAD, newest first, until `visit` returns false.
    fn walk(&self, visit: impl FnMut(GitCommit<'_>) -> Result<bool, Error>) -> Result<(), Error> {
        match self.refs.head()?.commit {
            Some(head) => self.walk_between(head, None, visit),
            None => Ok(()),
        }
    }

    /// Visits `from` and its ancestors until `visit` returns false, in the order of their dates: other orders take
    /// reading all of them first.
    fn walk_by_time(
        &self,
        from: Digest,
        mut visit: impl FnMut(GitCommit<'_>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        for id in self.walk_from(&[from], &[])? {
            // A shallow clone ends here.
            let Some(commit) = self.objects.commit_if_held(id?)? else {
                break;
            };
            if !visit(commit)? {
                break;
            }
        }
        Ok(())
    }

    /// Like [`Self::walk`], for commits reachable from `from` and not from `until`.
    pub(super) fn walk_between(
        &self,
        from: Digest,
        until: Option<Digest>,
        mut visit: impl FnMut(GitCommit<'_>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        for id in self.sorted_walk(&[from], until.as_slice(), WalkOrder::ByDate)? {
            // A shallow clone ends here.
            let Some(commit) = self.objects.commit_if_held(id)? else {
                break;
            };
            if !visit(commit)? {
                break;
            }
        }
        Ok(())
    }
}

/// The deepest directory that contains all these paths.
fn common(paths: &[RepoPath]) -> RepoPath {
    let mut found = paths
        .first()
        .and_then(RepoPath::parent)
        .unwrap_or_else(RepoPath::root);
    while !paths.iter().all(|path| path.below(&found).is_some()) {
        let Some(above) = found.parent() else { break };
        found = above;
    }
    found
}

/// The top-level directories that contain these paths.
fn tops(paths: &[RepoPath]) -> Vec<RepoPath> {
    let tops: BTreeSet<RepoPath> = paths.iter().map(top).collect();
    tops.into_iter().collect()
}

/// The top-level directory that contains a path.
pub(super) fn top(path: &RepoPath) -> RepoPath {
    match path.as_str().split_once('/') {
        Some((first, _)) => RepoPath::new(first).unwrap_or_else(|_| RepoPath::root()),
        None => RepoPath::root(),
    }
}
