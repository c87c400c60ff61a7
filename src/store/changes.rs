//! What changed between two trees, or between a tree and the index; and which commits there are.

use super::sources::TREE;
use super::{Error, IndexSource, StagedFile, Store, TreeSource, digest, oid};
use crate::base::{Digest, RepoPath, Timestamp};
use git2::{ObjectType, Oid, Sort, Tree, TreeEntry};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
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
    pub(super) fn boundary(&self) -> Vec<Digest> {
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
            return Err(super::error::unknown_revision(&object.to_string()));
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
                Some((id, TREE)) => Ok(Some(oid(id)?)),
                _ => Ok(None),
            }
        };
        let mut found = Vec::new();
        differ((before, tree(before)?), (after, tree(after)?), directory, &mut found)?;
        Ok(found)
    }

    /// The files below a directory that the index holds otherwise than a commit.
    pub fn staged_changes(
        &self,
        head: &TreeSource<'_>,
        index: &IndexSource<'_>,
        directory: &RepoPath,
    ) -> Result<Vec<RepoPath>, Error> {
        let tree = head.object(directory)?.filter(|(_, mode)| *mode == TREE).map(|(tree, _)| tree);
        let mut found = Vec::new();
        self.differ_staged(tree, index, directory, &mut found)?;
        found.retain(|path| index.unmerged().binary_search(path).is_err());
        found.sort();
        Ok(found)
    }

    fn differ_staged(
        &self,
        before: Option<Digest>,
        index: &IndexSource<'_>,
        directory: &RepoPath,
        found: &mut Vec<RepoPath>,
    ) -> Result<(), Error> {
        if before.is_some() && index.tree(directory) == before {
            return Ok(());
        }
        let tree = before.map(|tree| self.repo.find_tree(oid(tree)?).map_err(Error::from)).transpose()?;
        // Most directories are the same, and are known to be by their names alone.
        let is_same = |entry: &TreeEntry<'_>| {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            let name = entry.name().ok().filter(|_| is_tree);
            name.is_some_and(|name| index.holds_tree(directory, name, digest(entry.id())))
        };
        let mut before = entries(tree.iter().flat_map(Tree::iter).filter(|entry| !is_same(entry)));
        let differs = |name: &str| {
            let entry = tree.as_ref().and_then(|tree| tree.get_name(name));
            !entry.is_some_and(|entry| is_same(&entry))
        };
        let after = index.directly_in(directory).into_iter();
        let mut after: BTreeMap<String, Option<StagedFile>> =
            after.filter(|(name, file)| file.is_some() || differs(name)).collect();
        // A submodule is no file, on either side.
        before.retain(|_, (_, mode, _)| *mode != SUBMODULE);
        after.retain(|_, file| file.as_ref().is_none_or(|file| i32::try_from(file.mode) != Ok(SUBMODULE)));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let Ok(path) = directory.join(name) else { continue };
            let (old, new) = (before.get(name), after.get(name));
            let subtree = old.filter(|(.., is_tree)| *is_tree).map(|(id, ..)| digest(*id));
            if subtree.is_some() || new == Some(&None) {
                self.differ_staged(subtree, index, &path, found)?;
            }
            let blob = old.filter(|(.., is_tree)| !is_tree).map(|(id, mode, _)| (digest(*id), *mode));
            let file = new.and_then(Option::as_ref);
            if blob != file.map(|file| (file.blob, i32::try_from(file.mode).unwrap_or_default())) {
                found.push(path);
            }
        }
        Ok(())
    }
}

/// The mode of a submodule, as git writes it.
const SUBMODULE: i32 = 0o160_000;

/// The files in which two directories differ, each of its own commit.
pub(super) fn differ(
    (one, before): (&TreeSource<'_>, Option<Oid>),
    (other, after): (&TreeSource<'_>, Option<Oid>),
    directory: &RepoPath,
    found: &mut Vec<RepoPath>,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    for (name, [old, new]) in unlike_names((one, before), (other, after))? {
        let Ok(path) = directory.join(&name) else { continue };
        if old == new {
            continue;
        }
        differ((one, subtree(old)), (other, subtree(new)), &path, found)?;
        if is_file(old) || is_file(new) {
            found.push(path);
        }
    }
    Ok(())
}

/// What two directories hold differently, each of its own commit: by name what either holds there.
pub(super) fn unlike_names(
    (one, before): (&TreeSource<'_>, Option<Oid>),
    (other, after): (&TreeSource<'_>, Option<Oid>),
) -> Result<BTreeMap<String, [Option<TreeObject>; 2]>, Error> {
    let before = before.map(|id| one.directory(id)).transpose()?;
    let after = after.map(|id| other.directory(id)).transpose()?;
    let (before, after) = unlike(before.as_ref(), after.as_ref());
    let mut names: BTreeMap<String, [Option<TreeObject>; 2]> = BTreeMap::new();
    for (side, held) in [entries(before), entries(after)].into_iter().enumerate() {
        for (name, held) in held {
            names.entry(name).or_default()[side] = Some(held);
        }
    }
    Ok(names)
}

/// What stands under a name in a tree: its id, its mode, and whether it is a tree itself.
pub(super) type TreeObject = (Oid, i32, bool);

/// The id of what is held, if it is a tree.
pub(super) fn subtree(held: Option<TreeObject>) -> Option<Oid> {
    held.filter(|(.., is_tree)| *is_tree).map(|(id, ..)| id)
}

/// Whether something is held, and is no tree.
pub(super) fn is_file(held: Option<TreeObject>) -> bool {
    held.is_some_and(|(.., is_tree)| !is_tree)
}

/// The entries of two trees that are not the same in both. Both are in one order, so that what is the
/// same is passed over without a look at its name.
fn unlike<'t>(
    before: Option<&'t Tree<'_>>,
    after: Option<&'t Tree<'_>>,
) -> (Vec<TreeEntry<'t>>, Vec<TreeEntry<'t>>) {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut before = before.into_iter().flat_map(Tree::iter).peekable();
    let mut after = after.into_iter().flat_map(Tree::iter).peekable();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return (old, new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.cmp(other),
        };
        let one = if order.is_le() { before.next() } else { None };
        let other = if order.is_ge() { after.next() } else { None };
        let same = one.as_ref().zip(other.as_ref());
        if !same.is_some_and(|(one, other)| one.id() == other.id() && one.filemode() == other.filemode()) {
            old.extend(one);
            new.extend(other);
        }
    }
}

/// Entries of a tree by name: object, mode, and whether it is a tree itself.
fn entries<'t>(entries: impl IntoIterator<Item = TreeEntry<'t>>) -> BTreeMap<String, TreeObject> {
    entries
        .into_iter()
        .filter_map(|entry| {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            Some((entry.name().ok()?.to_owned(), (entry.id(), entry.filemode(), is_tree)))
        })
        .collect()
}
