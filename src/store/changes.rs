//! What changed between two trees, or between a tree and the index; and which commits there are.

use super::{Error, IndexSource, Store, TreeSource, digest, oid};
use crate::base::{Digest, RepoPath, Timestamp};
use git2::{ObjectType, Oid, Sort, Tree};
use std::collections::BTreeMap;
use std::fs;

/// The commits of a range: those that `to` reaches and `from` does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Where it ends.
    pub to: Digest,
    /// Where it begins, that commit apart; everything from the first commit on without one.
    pub from: Option<Digest>,
}

/// A commit as an audit walks over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visited {
    /// Its id.
    pub id: Digest,
    /// Its parents; none of the first commit, and none where a shallow clone ends.
    pub parents: Vec<Digest>,
    /// Whether its parents are not in this clone.
    pub is_boundary: bool,
    /// When it was authored.
    pub at: Timestamp,
    /// Who authored it.
    pub author: String,
    /// Its message.
    pub message: String,
}

/// What is known where a push goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownRefs<'a> {
    /// Here, as a server has it: every ref but the one that is pushed.
    AllBut(&'a str),
    /// There: what was last seen of remotes.
    Remotes,
}

impl Store {
    /// The range that a text means: `A..B`, or everything that `REV` reaches.
    pub fn range(&self, text: &str) -> Result<Range, Error> {
        match text.split_once("..") {
            Some((from, to)) => {
                let end = |name: &str| self.resolve(if name.is_empty() { "HEAD" } else { name });
                Ok(Range { from: Some(end(from)?), to: end(to.trim_start_matches('.'))? })
            }
            None => Ok(Range { from: None, to: self.resolve(text)? }),
        }
    }

    /// The commits of a range, parents before their children.
    pub fn commits(&self, range: &Range) -> Result<Vec<Visited>, Error> {
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(oid(range.to)?)?;
        if let Some(from) = range.from {
            walk.hide(oid(from)?)?;
        }
        let boundary = self.boundary();
        walk.map(|id| self.visited(id?, &boundary)).collect()
    }

    /// One commit.
    pub fn visit(&self, commit: Digest) -> Result<Visited, Error> {
        self.visited(oid(commit)?, &self.boundary())
    }

    /// Whether this clone has an object.
    #[must_use]
    pub fn has(&self, object: Digest) -> bool {
        oid(object).is_ok_and(|id| self.repo.odb().is_ok_and(|odb| odb.exists(id)))
    }

    /// The commits whose parents a shallow clone does not have.
    fn boundary(&self) -> Vec<Digest> {
        let listed = fs::read_to_string(self.repo.commondir().join("shallow")).unwrap_or_default();
        listed.lines().filter_map(Digest::parse).collect()
    }

    /// Commits that a push brings: those that `to` reaches and nothing that is known there does.
    pub fn commits_new_to(&self, to: Digest, known: KnownRefs<'_>) -> Result<Vec<Visited>, Error> {
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(oid(to)?)?;
        match known {
            KnownRefs::Remotes => walk.hide_glob("refs/remotes/*")?,
            KnownRefs::AllBut(pushed) => {
                for reference in self.repo.references()? {
                    let reference = reference?;
                    let Ok(commit) = reference.peel_to_commit() else { continue };
                    // After the push the ref is there already, and hides nothing.
                    let is_pushed = reference.name() == Ok(pushed) || commit.id() == oid(to)?;
                    if !is_pushed {
                        walk.hide(commit.id())?;
                    }
                }
            }
        }
        walk.map(|id| self.visited(id?, &[])).collect()
    }

    /// The commit that an object is, or that a tag of it names; `None` of anything else.
    pub fn commit_of(&self, object: Digest) -> Result<Option<Digest>, Error> {
        let Ok(found) = self.repo.find_object(oid(object)?, None) else {
            return Err(Error::Revision { revision: object.to_string() });
        };
        Ok(found.peel(ObjectType::Commit).ok().map(|commit| digest(commit.id())))
    }

    /// The commits that a merge going on brings in.
    pub fn merge_heads(&self) -> Result<Vec<Digest>, Error> {
        let listed = fs::read_to_string(self.repo.path().join("MERGE_HEAD")).unwrap_or_default();
        Ok(listed.lines().filter_map(Digest::parse).filter(|commit| self.has(*commit)).collect())
    }

    fn visited(&self, id: Oid, boundary: &[Digest]) -> Result<Visited, Error> {
        let commit = self.repo.find_commit(id)?;
        let is_boundary = boundary.contains(&digest(id));
        Ok(Visited {
            id: digest(id),
            parents: if is_boundary { Vec::new() } else { commit.parent_ids().map(digest).collect() },
            is_boundary,
            at: Timestamp::from_seconds(commit.author().when().seconds()),
            author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
            message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
        })
    }

    /// The files below a directory that two commits hold differently. Costs what differs.
    pub fn changed(
        &self,
        before: &TreeSource<'_>,
        after: &TreeSource<'_>,
        directory: &RepoPath,
    ) -> Result<Vec<RepoPath>, Error> {
        let tree = |source: &TreeSource<'_>| -> Result<Option<Oid>, Error> {
            match source.object(directory)? {
                Some((id, 0o040_000)) => Ok(Some(oid(id)?)),
                _ => Ok(None),
            }
        };
        let mut found = Vec::new();
        self.differ(tree(before)?, tree(after)?, directory, &mut found)?;
        Ok(found)
    }

    fn differ(
        &self,
        before: Option<Oid>,
        after: Option<Oid>,
        directory: &RepoPath,
        found: &mut Vec<RepoPath>,
    ) -> Result<(), Error> {
        if before == after {
            return Ok(());
        }
        let tree = |id: Option<Oid>| id.map(|id| self.repo.find_tree(id)).transpose();
        let (before, after) = (entries(tree(before)?.as_ref()), entries(tree(after)?.as_ref()));
        let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (old, new) = (before.get(name), after.get(name));
            let Ok(path) = directory.join(name) else { continue };
            if old == new {
                continue;
            }
            let subtree =
                |entry: Option<&(Oid, i32, bool)>| entry.filter(|entry| entry.2).map(|entry| entry.0);
            self.differ(subtree(old), subtree(new), &path, found)?;
            if [old, new].into_iter().flatten().any(|(.., is_tree)| !is_tree) {
                found.push(path);
            }
        }
        Ok(())
    }

    /// The files below a directory that the index holds otherwise than a commit.
    pub fn staged_changes(
        &self,
        head: &TreeSource<'_>,
        index: &IndexSource<'_>,
        directory: &RepoPath,
    ) -> Result<Vec<RepoPath>, Error> {
        let mut before: BTreeMap<RepoPath, (Digest, u32)> = BTreeMap::new();
        if let Some(tree) = head.tree()? {
            let files = self.files_in(tree, directory)?;
            before.extend(
                files
                    .into_iter()
                    .map(|(path, blob, mode)| (path, (blob, u32::try_from(mode).unwrap_or_default()))),
            );
        }
        let mut found = Vec::new();
        // A submodule is no file, on either side.
        for file in index.below(directory).iter().filter(|file| file.mode != 0o160_000) {
            if before.remove(&file.path) != Some((file.blob, file.mode)) {
                found.push(file.path.clone());
            }
        }
        let unmerged = |path: &RepoPath| index.unmerged().binary_search(path).is_ok();
        found.extend(before.into_keys().filter(|path| !unmerged(path)));
        found.sort();
        Ok(found)
    }
}

/// The entries of a tree by name: object, mode, and whether it is a tree itself.
fn entries(tree: Option<&Tree<'_>>) -> BTreeMap<String, (Oid, i32, bool)> {
    let entries = tree.into_iter().flat_map(Tree::iter);
    entries
        .filter_map(|entry| {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            Some((entry.name().ok()?.to_owned(), (entry.id(), entry.filemode(), is_tree)))
        })
        .collect()
}
