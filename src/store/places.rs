//! Where else the repository has files: its other work trees, and its branches.

use super::environment::allow_reftable;
use super::sources::TREE;
use super::{Error, Store, digest};
use crate::base::Digest;
use git2::{ObjectType, Repository};
use std::path::PathBuf;

/// A branch and its newest commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// The full name: `refs/heads/…`, or `refs/remotes/…` for a remote-tracking branch.
    pub name: String,
    /// The commit.
    pub commit: Digest,
}

/// An entry of a directory in a commit: its name, and the id of its tree; `None` for what is no directory.
pub(crate) type TreeChild = (String, Option<Digest>);

impl Store {
    /// All local branches, then all remote-tracking branches, each sorted by name. Branches that have the name
    /// of another one, such as `origin/HEAD`, are left out. Returns an error if git cannot list them.
    pub fn branches(&self) -> Result<Vec<BranchTip>, Error> {
        let mut all = Vec::new();
        for prefix in ["refs/heads/", "refs/remotes/"] {
            let tips = self.tips(prefix)?.into_iter();
            let mut tips: Vec<BranchTip> =
                tips.map(|(name, commit)| BranchTip { name, commit: digest(commit) }).collect();
            tips.retain(|tip| prefix == "refs/heads/" || !tip.name.ends_with("/HEAD"));
            tips.sort_by(|a, b| a.name.cmp(&b.name));
            all.extend(tips);
        }
        Ok(all)
    }

    /// The roots of the other work trees of the repository, sorted, without those that no longer exist. Returns
    /// an error if git cannot list them.
    pub fn other_work_trees(&self) -> Result<Vec<PathBuf>, Error> {
        let mut roots = Vec::new();
        for name in self.repo.worktrees()?.iter().flatten().flatten() {
            roots.push(self.repo.find_worktree(name)?.path().to_owned());
        }
        if self.repo.is_worktree() {
            allow_reftable();
            let main = Repository::open(self.repo.commondir()).ok();
            roots.extend(main.and_then(|main| main.workdir().map(PathBuf::from)));
        }
        let mut roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        roots.retain(|root| *root != self.root);
        roots.sort();
        Ok(roots)
    }

    /// The entries of a tree, in its order; without names that are not UTF-8. Returns an error if git cannot read
    /// it.
    pub(crate) fn tree_children(&self, tree: Digest) -> Result<Vec<TreeChild>, Error> {
        let tree = self.repo.find_tree(self.oid(tree)?)?;
        let child = |entry: git2::TreeEntry<'_>| {
            let is_directory = entry.kind() == Some(ObjectType::Tree);
            Some((entry.name().ok()?.to_owned(), is_directory.then(|| digest(entry.id()))))
        };
        Ok(tree.iter().filter_map(child).collect())
    }
}

/// The tree of a directory, given what [`TreeSource::object`](super::TreeSource::object) found at its path.
pub(crate) fn tree_id(object: Option<(Digest, u32)>) -> Option<Digest> {
    object.filter(|(_, mode)| *mode == TREE).map(|(tree, _)| tree)
}
