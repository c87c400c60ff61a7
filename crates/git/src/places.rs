//! Where else the repository has files: its other work trees, and its branches.

use super::environment::prepare_library;
use super::listing::{ListingEntry, TREE};
use super::{Error, Store, digest};
use crate::error::libgit2;
use git2::Repository;
use orch_base::Digest;
use orch_files::io_error;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A branch and its newest commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// The full name: `refs/heads/…`, or `refs/remotes/…` for a remote-tracking branch.
    pub name: String,
    /// The commit.
    pub commit: Digest,
}

/// An entry of a directory in a commit: its name, and the id of its tree; `None` for anything but a directory.
pub type TreeChild = (String, Option<Digest>);

/// The name of a work tree or a branch, and why it cannot be read.
pub type UnreadPlace = (String, Error);

impl Store {
    /// All local branches, then all remote-tracking branches, each sorted by name, and those that lead to no
    /// commit. Remote-tracking branches with the name `HEAD`, such as `origin/HEAD`, are left out: they stand for
    /// another one. Returns an error if git cannot list them.
    pub fn branches(&self) -> Result<(Vec<BranchTip>, Vec<UnreadPlace>), Error> {
        let (mut all, mut unread) = (Vec::new(), Vec::new());
        for prefix in ["refs/heads/", "refs/remotes/"] {
            let mut tips = self.each_tip(prefix)?;
            tips.retain(|(name, _)| prefix == "refs/heads/" || !name.ends_with("/HEAD"));
            tips.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (name, commit) in tips {
                match commit {
                    Ok(commit) => all.push(BranchTip {
                        name,
                        commit: digest(commit),
                    }),
                    Err(error) => unread.push((name, error)),
                }
            }
        }
        Ok((all, unread))
    }

    /// The roots of the other work trees of the repository, sorted, without those that no longer exist, and the
    /// entries that cannot be read. Returns an error if git cannot list them.
    pub fn other_work_trees(&self) -> Result<(Vec<PathBuf>, Vec<UnreadPlace>), Error> {
        let mut found: Vec<(String, Result<PathBuf, Error>)> = Vec::new();
        for name in self
            .objects
            .repo
            .worktrees()
            .map_err(libgit2)?
            .iter()
            .flatten()
            .flatten()
        {
            let root = self
                .objects
                .repo
                .find_worktree(name)
                .map(|one| one.path().to_owned());
            found.push((name.to_owned(), root.map_err(libgit2)));
        }
        if self.objects.repo.is_worktree() {
            prepare_library();
            let directory = self.objects.repo.commondir();
            match Repository::open(directory) {
                // A bare repository has no work tree of its own.
                Ok(main) => found.extend(
                    main.workdir()
                        .map(|root| (root.display().to_string(), Ok(root.into()))),
                ),
                Err(error) => found.push((directory.display().to_string(), Err(libgit2(error)))),
            }
        }
        let (mut roots, mut unread) = (Vec::new(), Vec::new());
        for (name, root) in found {
            let root = root.map(|root| (root.canonicalize(), root));
            match root {
                Ok((Ok(root), _)) => roots.push(root),
                Ok((Err(gone), _)) if gone.kind() == ErrorKind::NotFound => {}
                Ok((Err(source), root)) => unread.push((name, io_error(&root, source))),
                Err(error) => unread.push((name, error)),
            }
        }
        roots.retain(|root| *root != self.root);
        roots.sort();
        Ok((roots, unread))
    }

    /// The entries of a tree, in its order; without names that are not UTF-8. Returns an error if git cannot read
    /// it.
    pub fn tree_children(&self, tree: Digest) -> Result<Vec<TreeChild>, Error> {
        let tree = self.objects.listing(self.objects.oid(tree)?)?;
        let child = |entry: ListingEntry<'_>| {
            Some((
                entry.text()?.to_owned(),
                entry.is_tree().then(|| digest(entry.id)),
            ))
        };
        Ok(tree.iter().filter_map(child).collect())
    }
}

/// The tree of a directory, given what [`TreeSource::object`](super::TreeSource::object) found at its path.
pub fn tree_id(object: Option<(Digest, u32)>) -> Option<Digest> {
    object
        .filter(|(_, mode)| *mode == TREE)
        .map(|(tree, _)| tree)
}
