//! Code as it would be with the changes of other commits: what a rebase or a squash does, computed again.

use super::{CodePart, Error, Store, digest};
use crate::base::{Digest, RepoPath};
use crate::workflow::TreePart;
use git2::{ObjectType, Oid, Repository, Tree};

impl Store {
    /// The digest of a part of the commit `onto` with the changes that lead from one commit to another;
    /// `None` if they conflict. Returns an error if git cannot read a tree. Writes nothing to the repository.
    pub fn code_moved(
        &self,
        onto: Digest,
        [from, to]: [Digest; 2],
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        // Merging writes objects. Those of this object of the repository stay in memory.
        let repo = Repository::open(self.repo.path())?;
        let objects = repo.odb()?;
        let _in_memory = objects.add_new_mempack_backend(1000)?;
        let part = |commit: Digest| -> Result<Tree<'_>, Error> {
            let whole = repo.find_commit(self.oid(commit)?)?.tree()?;
            let empty = || Ok::<_, Error>(repo.treebuilder(None)?.write()?);
            let part = part_of(&repo, &whole, &RepoPath::root(), code)?.map_or_else(empty, Ok)?;
            Ok(repo.find_tree(part)?)
        };
        let mut merged = repo.merge_trees(&part(from)?, &part(onto)?, &part(to)?, None)?;
        if merged.has_conflicts() {
            return Ok(None);
        }
        Ok(Some(digest(merged.write_tree_to(&repo)?)))
    }
}

/// Writes a tree of what belongs to a part; `None` if nothing does.
fn part_of(
    repo: &Repository,
    tree: &Tree<'_>,
    at: &RepoPath,
    code: &CodePart<'_>,
) -> Result<Option<Oid>, Error> {
    let mut kept = repo.treebuilder(None)?;
    for entry in tree {
        let is_tree = entry.kind() == Some(ObjectType::Tree);
        let name = String::from_utf8_lossy(entry.name_bytes());
        let path = at.join(&name).unwrap_or_else(|_| at.clone());
        let id = match (code.part)(&path, is_tree) {
            TreePart::Whole => Some(entry.id()),
            TreePart::Within if is_tree => part_of(repo, &repo.find_tree(entry.id())?, &path, code)?,
            TreePart::Within | TreePart::None => None,
        };
        if let Some(id) = id {
            kept.insert(entry.name_bytes(), id, entry.filemode_raw())?;
        }
    }
    if kept.is_empty() { Ok(None) } else { Ok(Some(kept.write()?)) }
}
