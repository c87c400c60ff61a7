//! What each commit changes in comparison with its parents.
//!
//! A process that follows a branch, such as the watch, asks the same commits again and again about different paths.
//! Comparing two large directories is expensive, so the store keeps what it has found recently.

use super::changes::{differ, is_file};
use super::recent::Recent;
use super::{Error, History, TreeSource, digest};
use git2::{Commit as GitCommit, Oid};
use orch_base::{Digest, RepoPath};
use std::cell::RefCell;
use std::sync::Arc;

/// A file that a commit has not in common with one of its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDifference {
    pub path: RepoPath,
    /// The parent; `None` in a commit without one, and at the end of a shallow clone.
    pub parent: Option<Digest>,
    /// The content in the parent; `None` if there is no file.
    pub before: Option<Digest>,
    /// The content in the commit, likewise.
    pub after: Option<Digest>,
}

/// All differences between a commit and its parents below a directory.
#[derive(Debug)]
pub(super) struct CommitDifference {
    /// Sorted by path.
    pub files: Vec<FileDifference>,
    /// The commits with which it was compared; `None` for the empty tree.
    compared: Vec<Option<Digest>>,
}

/// The key under which a difference is cached: the commit and the directory.
type DifferenceKey = (Oid, RepoPath);

/// How many bytes of differences of commits a generation of the cache holds.
const RECENT_DIFFERENCES: usize = 8 << 20;

/// The differences that were found recently.
pub(super) struct Differences(RefCell<Recent<DifferenceKey, Arc<CommitDifference>>>);

impl Default for Differences {
    fn default() -> Self {
        Self(Recent::at_most(RECENT_DIFFERENCES).into())
    }
}

impl Differences {
    /// Keeps less: in a walk through a whole history few are asked for again.
    pub(super) fn prepare_for_history(&self) {
        self.0.replace(Recent::at_most(RECENT_DIFFERENCES / 8));
    }
}

impl CommitDifference {
    /// The differences of each file that differs from every parent, as in git's simplified history of a path.
    pub(super) fn changed(&self) -> impl Iterator<Item = &[FileDifference]> {
        let of_path = self.files.chunk_by(|one, other| one.path == other.path);
        of_path.filter(|differences| differences.len() == self.compared.len())
    }

    /// The files below a directory that differ from those of a commit; `None` if it was not compared with that.
    fn changed_from(&self, parent: Option<Digest>, directory: &RepoPath) -> Option<Vec<RepoPath>> {
        let is_meant =
            |file: &&FileDifference| file.parent == parent && file.path.below(directory).is_some();
        let files = || {
            self.files
                .iter()
                .filter(is_meant)
                .map(|file| file.path.clone())
                .collect()
        };
        self.compared.contains(&parent).then(files)
    }

    fn size(&self) -> usize {
        let files = self
            .files
            .iter()
            .map(|file| size_of::<FileDifference>() + file.path.as_str().len());
        size_of::<Self>() + files.sum::<usize>()
    }
}

impl History<'_> {
    /// The files below a directory that differ between a commit and one of its parents, if all differences between them
    /// were found recently.
    pub(super) fn known_changes(
        &self,
        before: &TreeSource<'_>,
        after: &TreeSource<'_>,
        directory: &RepoPath,
    ) -> Option<Vec<RepoPath>> {
        let commit = self.objects.oid(after.commit()?).ok()?;
        let known = self
            .differences
            .0
            .borrow_mut()
            .get(&(commit, RepoPath::root()))?;
        known.changed_from(before.commit(), directory)
    }

    /// What a commit changes below a directory; cached. The first comparison costs what the commit changed and the
    /// entries of the directories on the way. Returns an error if git cannot read a tree.
    pub(super) fn difference(
        &self,
        commit: &GitCommit<'_>,
        directory: &RepoPath,
    ) -> Result<Arc<CommitDifference>, Error> {
        let key = (commit.id(), directory.clone());
        if let Some(known) = self.differences.0.borrow_mut().get(&key) {
            return Ok(known);
        }
        let (mut files, compared) = self.compare(commit, directory)?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let found = Arc::new(CommitDifference { files, compared });
        self.differences
            .0
            .borrow_mut()
            .put(key, Arc::clone(&found), found.size());
        Ok(found)
    }

    /// The files that differ, and the commits with which this one was compared.
    fn compare(
        &self,
        commit: &GitCommit<'_>,
        directory: &RepoPath,
    ) -> Result<(Vec<FileDifference>, Vec<Option<Digest>>), Error> {
        let mut files = Vec::new();
        let after = self.objects.source_at(digest(commit.id()));
        let mut compare = |parent: Option<Digest>, before: &TreeSource<'_>| {
            let trees = (
                before.directory_at(directory)?,
                after.directory_at(directory)?,
            );
            differ(
                (before, trees.0),
                (&after, trees.1),
                directory,
                &mut |path, [old, new]| {
                    let blob =
                        |held: Option<_>| held.filter(|_| is_file(held)).map(|(id, ..)| digest(id));
                    files.push(FileDifference {
                        path,
                        parent,
                        before: blob(old),
                        after: blob(new),
                    });
                },
            )
        };
        let mut compared = Vec::new();
        for parent in commit.parent_ids().map(digest) {
            // At the end of a shallow clone, parents are missing.
            if self.objects.has(parent)? {
                compared.push(Some(parent));
            }
        }
        if compared.is_empty() {
            compared.push(None);
        }
        compared
            .iter()
            .try_for_each(|parent| compare(*parent, &self.objects.source_at(*parent)))?;
        Ok((files, compared))
    }
}
