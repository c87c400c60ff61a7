//! Committed code: the part of a commit's tree that is evidence, and the commits that changed it.
//!
//! A part is known by the ids of a few objects. Its digest is the id that git itself would give to a
//! tree of this part alone, so that equal code has equal digests in every clone.

use super::changes::{differ, is_file, subtree, unlike_names};
use super::tree::entry_at;
use super::{Error, Store, TreeSource, digest, oid, trailers};
use crate::base::{Digest, RepoPath};
use crate::workflow::TreePart;
use git2::{Commit as GitCommit, ObjectType, Oid, Tree};
use std::cell::RefCell;
use std::collections::HashMap;

/// How many commits are looked through at most.
const MOST_COMMITS: usize = 1000;
/// How many files are told at most.
const MOST_FILES: usize = 1000;

/// What was computed of parts, by their names.
pub(super) type Parts = RefCell<HashMap<String, KnownCode>>;

/// What was computed of one part.
#[derive(Default)]
pub(super) struct KnownCode {
    /// Its digest in whole trees.
    digests: HashMap<Oid, Digest>,
    /// The commits that were looked at, and what is told of those that changed it.
    commits: HashMap<Oid, Option<CodeCommit>>,
}

/// A part of every commit's tree.
pub struct CodePart<'a> {
    /// What tells this part from any other.
    pub name: String,
    /// How much of what lies at a path belongs to it; the flag says that it is a directory.
    pub part: &'a dyn Fn(&RepoPath, bool) -> TreePart,
}

/// From where on commits are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// The newest commit that changed this file, itself included.
    Changed(RepoPath),
    /// The newest commit in which the code was one of these.
    Was(Vec<Digest>),
}

/// What happened to code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Since {
    /// The commits that changed it, newest first.
    pub commits: Vec<CodeCommit>,
    /// The files that are not what they were, in path order.
    pub files: Vec<RepoPath>,
}

/// A commit that changed code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeCommit {
    /// Its id.
    pub id: Digest,
    /// The first line of its message.
    pub subject: String,
    /// The tasks that its trailers `Orch-Task` name.
    pub tasks: Vec<String>,
}

impl Store {
    /// The id that git would give to a tree of this part of what a commit holds; no commit holds
    /// nothing.
    pub fn code_digest(&self, commit: Option<Digest>, code: &CodePart<'_>) -> Result<Digest, Error> {
        match commit {
            Some(commit) => self.digest_of_part(self.repo.find_commit(oid(commit)?)?.tree_id(), code),
            None => Ok(tree_id(&[])),
        }
    }

    /// What happened to code up to a commit since it began; `None` where this clone does not reach back
    /// so far. `may_note` allows to keep notes of what was found.
    pub fn code_since(
        &self,
        head: Digest,
        start: &Start,
        code: &CodePart<'_>,
        may_note: bool,
    ) -> Result<Option<Since>, Error> {
        let boundary = self.boundary();
        let begun = match start {
            Start::Changed(path) if may_note => self.last_changes(std::slice::from_ref(path))?.remove(0),
            Start::Changed(path) => self.find(head, |commit| self.is_changed_by(commit, path))?,
            Start::Was(digests) => {
                self.find(head, |commit| Ok(digests.contains(&self.digest_of_part(commit.tree_id(), code)?)))?
            }
        };
        let is_known = begun.map_or(boundary.is_empty(), |begun| !boundary.contains(&begun));
        if !is_known {
            return Ok(None);
        }
        let begun = begun.map(|begun| Ok::<_, Error>(self.repo.find_commit(oid(begun)?)?)).transpose()?;
        let mut walk = self.repo.revwalk()?;
        walk.push(oid(head)?)?;
        if let Some(commit) = &begun {
            match start {
                Start::Changed(_) => commit.parent_ids().try_for_each(|parent| walk.hide(parent))?,
                Start::Was(_) => walk.hide(commit.id())?,
            }
        }
        let mut since = Since { commits: Vec::new(), files: Vec::new() };
        let mut oldest = None;
        for id in walk.take(MOST_COMMITS) {
            let id = id?;
            if boundary.contains(&digest(id)) {
                return Ok(None);
            }
            if let Some(commit) = self.told_of(id, code)? {
                since.commits.push(commit);
                oldest = Some(id);
            }
        }
        let before = match (begun, start) {
            (Some(commit), Start::Was(_)) => Some(commit),
            (Some(commit), _) => commit.parent(0).ok(),
            (None, _) => oldest.and_then(|oldest| self.repo.find_commit(oldest).ok()?.parent(0).ok()),
        };
        if !since.commits.is_empty() {
            let before = match before {
                Some(commit) => self.tree_source(digest(commit.id())),
                None => self.empty_source(),
            };
            let after = self.tree_source(head);
            let tree = |source: &TreeSource<'_>| Ok::<_, Error>(source.tree()?.map(Tree::id));
            let (one, other) = (tree(&before)?, tree(&after)?);
            changed_in_part((&before, one), (&after, other), &RepoPath::root(), code, &mut since.files)?;
            since.files.sort();
            since.files.truncate(MOST_FILES);
        }
        Ok(Some(since))
    }

    /// The newest commit that is meant, among those that another reaches; not all of history is searched.
    fn find(
        &self,
        from: Digest,
        mut is_meant: impl FnMut(&GitCommit<'_>) -> Result<bool, Error>,
    ) -> Result<Option<Digest>, Error> {
        // Any order but the one that walks have by themselves would need all of history first.
        let mut walk = self.repo.revwalk()?;
        walk.push(oid(from)?)?;
        for id in walk.take(10 * MOST_COMMITS) {
            // A shallow clone ends where its history does.
            let Ok(commit) = self.repo.find_commit(id?) else { break };
            if is_meant(&commit)? {
                return Ok(Some(digest(commit.id())));
            }
        }
        Ok(None)
    }

    /// What is told of a commit that changed this part; `None` of any other.
    fn told_of(&self, id: Oid, code: &CodePart<'_>) -> Result<Option<CodeCommit>, Error> {
        let known = self.parts.borrow().get(&code.name).and_then(|known| known.commits.get(&id).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let commit = self.repo.find_commit(id)?;
        let told = self.changes_part(&commit, code)?.then(|| CodeCommit::of(&commit));
        self.parts.borrow_mut().entry(code.name.clone()).or_default().commits.insert(id, told.clone());
        Ok(told)
    }

    /// Whether a file is not what it was in any parent.
    fn is_changed_by(&self, commit: &GitCommit<'_>, path: &RepoPath) -> Result<bool, Error> {
        let blob = |commit: &GitCommit<'_>| -> Result<Option<Oid>, Error> {
            Ok(entry_at(&commit.tree()?, path)?.map(|entry| entry.id()))
        };
        let own = blob(commit)?;
        let mut parents = commit.parents().peekable();
        if parents.peek().is_none() {
            return Ok(own.is_some());
        }
        for parent in parents {
            if blob(&parent)? == own {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether this part is not what it was in any parent.
    fn changes_part(&self, commit: &GitCommit<'_>, code: &CodePart<'_>) -> Result<bool, Error> {
        let own = self.digest_of_part(commit.tree_id(), code)?;
        if commit.parent_count() == 0 {
            return Ok(own != tree_id(&[]));
        }
        for parent in commit.parents() {
            if self.digest_of_part(parent.tree_id(), code)? == own {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn digest_of_part(&self, tree: Oid, code: &CodePart<'_>) -> Result<Digest, Error> {
        let known = self.parts.borrow().get(&code.name).and_then(|known| known.digests.get(&tree).copied());
        if let Some(known) = known {
            return Ok(known);
        }
        let part = self.part_of(&self.repo.find_tree(tree)?, &RepoPath::root(), code)?;
        let found = part.unwrap_or_else(|| tree_id(&[]));
        self.parts.borrow_mut().entry(code.name.clone()).or_default().digests.insert(tree, found);
        Ok(found)
    }

    /// The id of the tree of what belongs to this part; `None` where nothing does, since git knows no
    /// empty directories. Goes down only where a directory belongs to it in part.
    fn part_of(&self, tree: &Tree<'_>, at: &RepoPath, code: &CodePart<'_>) -> Result<Option<Digest>, Error> {
        let mut kept = Vec::new();
        for entry in tree {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            // A name that is not UTF-8 is no place that anybody could have written down.
            let name = String::from_utf8_lossy(entry.name_bytes());
            let path = at.join(&name).unwrap_or_else(|_| at.clone());
            let id = match (code.part)(&path, is_tree) {
                TreePart::None => None,
                TreePart::Whole => Some(digest(entry.id())),
                TreePart::Within if is_tree => {
                    self.part_of(&self.repo.find_tree(entry.id())?, &path, code)?
                }
                TreePart::Within => None,
            };
            if let Some(id) = id {
                kept.extend(format!("{:o} ", entry.filemode_raw()).into_bytes());
                kept.extend(entry.name_bytes());
                kept.push(0);
                kept.extend(id.as_bytes());
            }
        }
        Ok((!kept.is_empty()).then(|| tree_id(&kept)))
    }
}

/// The files of this part in which two directories differ, each of its own commit. Costs what differs.
fn changed_in_part(
    (one, before): (&TreeSource<'_>, Option<Oid>),
    (other, after): (&TreeSource<'_>, Option<Oid>),
    at: &RepoPath,
    code: &CodePart<'_>,
    found: &mut Vec<RepoPath>,
) -> Result<(), Error> {
    for (name, sides) in unlike_names((one, before), (other, after))? {
        let Ok(path) = at.join(&name) else { continue };
        let [old, new] = sides.map(subtree);
        match (code.part)(&path, old.or(new).is_some()) {
            TreePart::None => {}
            TreePart::Within => changed_in_part((one, old), (other, new), &path, code, found)?,
            TreePart::Whole => {
                differ((one, old), (other, new), &path, found)?;
                if sides.into_iter().any(is_file) {
                    found.push(path);
                }
            }
        }
    }
    Ok(())
}

impl CodeCommit {
    fn of(commit: &GitCommit<'_>) -> Self {
        let message = String::from_utf8_lossy(commit.message_bytes());
        let named = trailers(&message).into_iter().filter(|(key, _)| key.eq_ignore_ascii_case("Orch-Task"));
        Self {
            id: digest(commit.id()),
            subject: String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned(),
            tasks: named.map(|(_, task)| task.trim().to_owned()).collect(),
        }
    }
}

/// The id that git gives to a tree of these bytes.
fn tree_id(bytes: &[u8]) -> Digest {
    Digest::of_parts([format!("tree {}\0", bytes.len()).as_bytes(), bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_the_empty_tree_of_git() {
        assert_eq!(tree_id(&[]).to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    }
}
