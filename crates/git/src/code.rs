//! Committed code as evidence: a part of a commit's tree, and the commits that changed it.
//!
//! The digest of a part is the id that git would give to a tree of this part alone, so equal code has the
//! same digest in every clone.

use super::changes::{TreeObject, differ, is_file, subtree, unlike_names};
use super::exact_change::with_exact_change;
use super::writers::made_by;
use super::{Error, History, Objects, TreeSource, digest, trailers};
use crate::error::libgit2;
use git2::{Commit as GitCommit, ObjectType, Oid, Tree};
use orch_base::{Digest, RepoPath, trailer};
use orch_core::decide::FileWriter;
use orch_core::workflow::TreePart;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// The maximum number of commits that are searched.
const MOST_COMMITS: usize = 1000;
/// The maximum number of files that are listed.
const MOST_FILES: usize = 1000;

/// Cached results by the name of the part.
pub(super) type Parts = RefCell<HashMap<String, KnownCode>>;

/// Cached results for one part.
#[derive(Default)]
pub(super) struct KnownCode {
    /// The digest of the part, by the id of the whole tree.
    digests: HashMap<Digest, Digest>,
    /// For each visited commit, its description if it changed the part.
    commits: HashMap<Digest, Option<CodeCommit>>,
}

/// How much of a path belongs to a part; the flag says whether the path is a directory.
pub type PartOf<'a> = Box<dyn Fn(&RepoPath, bool) -> TreePart + 'a>;

/// A part of the tree of any commit.
pub struct CodePart<'a> {
    /// A name that identifies the part; cache key.
    pub name: String,
    /// How much of a path belongs to the part.
    pub part: PartOf<'a>,
}

/// Where a list of code changes starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// At the newest commit that changed this file, which is included.
    Changed(RepoPath),
    /// After the newest commit in which the code had one of these digests.
    Was(Vec<Digest>),
}

/// The changes of a part since a start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Since {
    /// The commits that changed it, and empty commits that name a task, newest first; at most 1,000 commits are
    /// searched.
    pub commits: Vec<CodeCommit>,
    /// The files that differ, in path order; at most 1,000.
    pub files: Vec<RepoPath>,
}

/// A commit that changed the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeCommit {
    /// The commit id.
    pub id: Digest,
    /// The first line of the message.
    pub subject: String,
    /// The task ids in its `Orch-Task` trailers.
    pub tasks: Vec<String>,
    /// Who made it, as it says itself.
    pub writers: Vec<FileWriter>,
}

/// The parts of commits that are code, and the commits that change them.
#[derive(Clone, Copy)]
pub struct CodeParts<'s> {
    pub(super) objects: &'s Objects,
    pub(super) history: History<'s>,
    /// Cached results about parts of trees.
    pub(super) parts: &'s Parts,
}

impl CodeParts<'_> {
    /// The digest of this part in a commit; that of the empty tree without a commit. Returns an error if git
    /// cannot read a tree.
    pub fn code_digest(
        &self,
        commit: Option<Digest>,
        code: &CodePart<'_>,
    ) -> Result<Digest, Error> {
        match commit {
            Some(commit) => self.digest_of_part(self.objects.tree_of(commit)?, code),
            None => Ok(self.objects.format.tree(&[])),
        }
    }

    /// Whether a commit or one of its ancestors has this digest of a part; `false` if so many commits would have to be
    /// searched that none is found. Returns an error if git cannot read the history.
    pub fn had_code(
        &self,
        head: Digest,
        digest: Digest,
        code: &CodePart<'_>,
    ) -> Result<bool, Error> {
        let found = self.find(head, |commit| {
            Ok(self.digest_of_part(commit.tree_id(), code)? == digest)
        })?;
        Ok(found.is_some())
    }

    /// The changes of a part from `start` to `head`; `None` if the history of this clone does not reach back
    /// to the start. Returns an error if git cannot read the history.
    pub fn code_since(
        &self,
        head: Digest,
        start: &Start,
        code: &CodePart<'_>,
    ) -> Result<Option<Since>, Error> {
        let boundary = self.history.refs.boundary()?;
        let begun = match start {
            Start::Changed(path) => self.last_change_of(head, path)?,
            Start::Was(digests) => self.find(head, |commit| {
                Ok(digests.contains(&self.digest_of_part(commit.tree_id(), code)?))
            })?,
        };
        let is_known = begun.map_or(boundary.is_empty(), |begun| !boundary.contains(&begun));
        if !is_known {
            return Ok(None);
        }
        let begun = begun
            .map(|begun| self.objects.find_commit(self.objects.oid(begun)?))
            .transpose()?;
        let hidden: Vec<Digest> = match (&begun, start) {
            (Some(commit), Start::Changed(_)) => commit.parent_ids().map(digest).collect(),
            (Some(commit), Start::Was(_)) => vec![digest(commit.id())],
            (None, _) => Vec::new(),
        };
        let walk = self.history.walk_from(&[head], &hidden)?;
        let mut since = Since {
            commits: Vec::new(),
            files: Vec::new(),
        };
        let mut oldest = None;
        for id in walk.take(MOST_COMMITS) {
            let id = id?;
            if boundary.contains(&digest(id)) {
                return Ok(None);
            }
            if let Some(commit) = self.code_commit(id, code)? {
                since.commits.push(commit);
                oldest = Some(id);
            }
        }
        let first = match (begun, start) {
            (Some(commit), Start::Was(_)) => Some(commit),
            (Some(commit), _) => self.objects.parents(&commit)?.into_iter().next(),
            (None, _) => match oldest {
                Some(oldest) => self
                    .objects
                    .parents(&self.objects.find_commit(oldest)?)?
                    .into_iter()
                    .next(),
                None => None,
            },
        };
        if !since.commits.is_empty() {
            let before = match first {
                Some(commit) => self.objects.source_at(digest(commit.id())),
                None => self.objects.source_at(None),
            };
            let after = self.objects.source_at(head);
            let one = before.tree()?;
            let other = after.tree()?;
            changed_in_part(
                (&before, one),
                (&after, other),
                &RepoPath::root(),
                code,
                &mut since.files,
            )?;
            since.files.sort();
            since.files.truncate(MOST_FILES);
        }
        Ok(Some(since))
    }

    /// The newest commit reachable from `from` for which `is_meant` is true, among the first 10,000.
    pub(super) fn find(
        &self,
        from: Digest,
        mut is_meant: impl FnMut(&GitCommit<'_>) -> Result<bool, Error>,
    ) -> Result<Option<Digest>, Error> {
        // Any other order than the default would require reading the whole history first.
        let walk = self.history.walk_from(&[from], &[])?;
        for id in walk.take(10 * MOST_COMMITS) {
            // A shallow clone ends here.
            let Some(commit) = self.objects.commit_if_held(id?)? else {
                break;
            };
            if is_meant(&commit)? {
                return Ok(Some(digest(commit.id())));
            }
        }
        Ok(None)
    }

    /// The newest commit that changed a path. The clocks of machines differ, so a commit that is found by its date may be
    /// older than others.
    pub(super) fn last_change_of(
        &self,
        head: Digest,
        path: &RepoPath,
    ) -> Result<Option<Digest>, Error> {
        let mut newest = self.find(head, |commit| self.is_changed_by(commit, path))?;
        while let Some(known) = newest {
            let mut later = None;
            for id in self
                .history
                .walk_from(&[head], &[known])?
                .take(10 * MOST_COMMITS)
            {
                let Some(commit) = self.objects.commit_if_held(id?)? else {
                    break;
                };
                if self.is_changed_by(&commit, path)? {
                    later = Some(digest(commit.id()));
                    break;
                }
            }
            if later.is_none() {
                break;
            }
            newest = later;
        }
        Ok(newest)
    }

    /// Whether one of the commits that the second has and the first lacks concerns one of these parts: it changed the
    /// part, or changed nothing and names a task. Returns an error if git cannot read the history.
    pub fn concerns_code(
        &self,
        [before, after]: [Digest; 2],
        code: &[CodePart<'_>],
    ) -> Result<bool, Error> {
        let mut concerns = false;
        self.history.walk_between(after, Some(before), |commit| {
            concerns = self.concerns_any(commit.id(), code)?;
            Ok(!concerns)
        })?;
        Ok(concerns)
    }

    /// Whether a commit concerns one of these parts.
    fn concerns_any(&self, commit: Oid, code: &[CodePart<'_>]) -> Result<bool, Error> {
        for part in code {
            if self.code_commit(commit, part)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The only parent of a commit that makes no difference to what rests on these parts: the commit concerns none of
    /// them, and it is a step that `orch` recorded, or leaves the directories with all tasks, `bases`, as they were.
    /// `None` for any other commit. Returns an error if git cannot read it.
    pub fn quiet_parent(
        &self,
        commit: Digest,
        code: &[CodePart<'_>],
        bases: &[RepoPath],
    ) -> Result<Option<Digest>, Error> {
        let Some(read) = self.objects.commit_if_held(self.objects.oid(commit)?)? else {
            return Ok(None);
        };
        let parents: Vec<Digest> = read.parent_ids().map(digest).collect();
        let [parent] = parents[..] else {
            return Ok(None);
        };
        if !self.objects.has(parent)? || self.concerns_any(read.id(), code)? {
            return Ok(None);
        }
        let before = self.objects.source_at(parent);
        let after = self.objects.source_at(commit);
        let message = String::from_utf8_lossy(read.message_bytes());
        let is_step = trailers(&message)
            .iter()
            .any(|(token, _)| token == trailer::TO);
        for directory in bases.iter().filter(|_| !is_step) {
            if before.directory_at(directory)? != after.directory_at(directory)? {
                return Ok(None);
            }
        }
        Ok(Some(parent))
    }

    /// The description of a commit if it changed this part, or changed nothing at all and names a task; otherwise `None`.
    /// Cached.
    pub(super) fn code_commit(
        &self,
        id: Oid,
        code: &CodePart<'_>,
    ) -> Result<Option<CodeCommit>, Error> {
        let known = self
            .parts
            .borrow()
            .get(&code.name)
            .and_then(|known| known.commits.get(&digest(id)).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let commit = self.objects.find_commit(id)?;
        let described = if self.changes_part(&commit, code)? {
            Some(CodeCommit::of(&commit))
        } else if self.is_empty(&commit)? {
            Some(CodeCommit::of(&commit)).filter(|named| !named.tasks.is_empty())
        } else {
            None
        };
        self.parts
            .borrow_mut()
            .entry(code.name.clone())
            .or_default()
            .commits
            .insert(digest(id), described.clone());
        Ok(described)
    }

    /// Whether a commit changes nothing: its only parent has the same tree.
    fn is_empty(&self, commit: &GitCommit<'_>) -> Result<bool, Error> {
        match commit.parent_count() {
            1 => Ok(self
                .objects
                .held_commit(commit.parent_id(0).map_err(libgit2)?)?
                .tree_id()
                == commit.tree_id()),
            _ => Ok(false),
        }
    }

    /// Whether a file differs from that in every parent.
    pub(super) fn is_changed_by(
        &self,
        commit: &GitCommit<'_>,
        path: &RepoPath,
    ) -> Result<bool, Error> {
        let own = self.history.blob_of(commit, path)?;
        let parents = self.objects.parents(commit)?;
        if parents.is_empty() {
            return Ok(own.is_some());
        }
        for parent in parents {
            if self.history.blob_of(&parent, path)? == own {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether this part differs from that in every parent.
    fn changes_part(&self, commit: &GitCommit<'_>, code: &CodePart<'_>) -> Result<bool, Error> {
        let own = self.digest_of_part(commit.tree_id(), code)?;
        if commit.parent_count() == 0 {
            return Ok(own != self.objects.format.tree(&[]));
        }
        for parent in self.objects.parents(commit)? {
            if self.digest_of_part(parent.tree_id(), code)? == own {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn digest_of_part(&self, tree: Oid, code: &CodePart<'_>) -> Result<Digest, Error> {
        let known = self
            .parts
            .borrow()
            .get(&code.name)
            .and_then(|known| known.digests.get(&digest(tree)).copied());
        if let Some(known) = known {
            return Ok(known);
        }
        let part = self.part_of(&self.objects.tree_with_id(tree)?, &RepoPath::root(), code)?;
        let found = part.unwrap_or_else(|| self.objects.format.tree(&[]));
        self.parts
            .borrow_mut()
            .entry(code.name.clone())
            .or_default()
            .digests
            .insert(digest(tree), found);
        Ok(found)
    }

    /// The id of a tree of what belongs to this part; `None` if nothing does, because git stores no empty
    /// directories. Descends only into directories that belong partly.
    fn part_of(
        &self,
        tree: &Tree<'_>,
        at: &RepoPath,
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        let mut kept = Vec::new();
        for entry in tree {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            // A name that is not UTF-8 cannot appear in a pattern.
            let name = String::from_utf8_lossy(entry.name_bytes());
            let path = at.join(&name).unwrap_or_else(|_| at.clone());
            if let Some(id) = self.id_in_part((entry.id(), is_tree), &path, code)? {
                put_entry(&mut kept, entry.filemode_raw(), entry.name_bytes(), id);
            }
        }
        Ok((!kept.is_empty()).then(|| self.objects.format.tree(&kept)))
    }

    /// The id of an entry of a tree, reduced to this part; `None` if nothing of it belongs to the part.
    fn id_in_part(
        &self,
        (id, is_tree): (Oid, bool),
        path: &RepoPath,
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        match (code.part)(path, is_tree) {
            TreePart::Whole => Ok(Some(digest(id))),
            TreePart::Within if is_tree => {
                self.part_of(&self.objects.tree_with_id(id)?, path, code)
            }
            TreePart::Within | TreePart::None => Ok(None),
        }
    }

    /// The digest that this part of the commit `onto` would have with the change that leads from one commit to
    /// another: the files that differ between these two are as in the second. `None` if one of these files is
    /// not the same in `onto` as in the first, and the change of its lines does not fit there exactly. No commit stands for an empty tree. Returns an error if git
    /// cannot read an object. No attribute and no setting of git has a part in it.
    pub fn code_with_change(
        &self,
        onto: Option<Digest>,
        [from, to]: [Option<Digest>; 2],
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        self.code_with_changes_of(onto, [from, to], code, None)
    }

    /// The same with the changes of some files alone, those for which `only` is true.
    pub fn code_with_changes_of(
        &self,
        onto: Option<Digest>,
        [from, to]: [Option<Digest>; 2],
        code: &CodePart<'_>,
        only: Option<OnlyFiles<'_>>,
    ) -> Result<Option<Digest>, Error> {
        let tree = |commit: Option<Digest>| -> Result<Option<Oid>, Error> {
            commit
                .map(|commit| self.objects.tree_of(commit))
                .transpose()
        };
        let trees = [tree(onto)?, tree(from)?, tree(to)?];
        let content = self.with_change(trees, &RepoPath::root(), code, only)?;
        Ok(content.map(|content| self.objects.format.tree(&content)))
    }

    /// The content of the tree in [`Self::code_with_change`], for a directory of the three commits.
    fn with_change(
        &self,
        trees: [Option<Oid>; 3],
        at: &RepoPath,
        code: &CodePart<'_>,
        only: Option<OnlyFiles<'_>>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut names: BTreeMap<Vec<u8>, [Option<TreeObject>; 3]> = BTreeMap::new();
        for (side, tree) in trees.into_iter().enumerate() {
            let Some(tree) = tree else { continue };
            for entry in &self.objects.tree_with_id(tree)? {
                let is_tree = entry.kind() == Some(ObjectType::Tree);
                let held = (entry.id(), entry.filemode_raw(), is_tree);
                names.entry(entry.name_bytes().to_vec()).or_default()[side] = Some(held);
            }
        }
        let mut kept = Vec::new();
        for (name, sides) in names {
            let path = at
                .join(&String::from_utf8_lossy(&name))
                .unwrap_or_else(|_| at.clone());
            let mut parts = [None; 3];
            for (part, held) in parts.iter_mut().zip(sides) {
                let Some((id, mode, is_tree)) = held else {
                    continue;
                };
                *part = self
                    .id_in_part((id, is_tree), &path, code)?
                    .map(|id| (id, mode, is_tree));
            }
            let [onto, from, to] = parts;
            let are_trees = parts.iter().flatten().all(|(.., is_tree)| *is_tree);
            let is_left_out = !are_trees && only.is_some_and(|only| !only(&path));
            let chosen = if from == to || is_left_out {
                onto
            } else if onto == from && (only.is_none() || !are_trees) {
                to
            } else if are_trees {
                let below = sides.map(subtree);
                let Some(content) = self.with_change(below, &path, code, only)? else {
                    return Ok(None);
                };
                (!content.is_empty()).then(|| (self.objects.format.tree(&content), DIRECTORY, true))
            } else {
                let Some(file) = self.file_with_change(parts)? else {
                    return Ok(None);
                };
                Some(file)
            };
            kept.extend(chosen.map(|(id, mode, is_tree)| (name, is_tree, mode, id)));
        }
        // git sorts a directory as if its name ended with a slash.
        kept.sort_by_cached_key(|(name, is_tree, ..)| {
            [name.as_slice(), if *is_tree { b"/" } else { b"" }].concat()
        });
        let mut content = Vec::new();
        for (name, _, mode, id) in kept {
            put_entry(&mut content, mode, &name, id);
        }
        Ok(Some(content))
    }

    /// A file with the change that leads from its second version to the third put on the first one; `None` if one of
    /// them is no regular file, or the change does not fit exactly.
    fn file_with_change(
        &self,
        parts: [Option<(Digest, i32, bool)>; 3],
    ) -> Result<Option<(Digest, i32, bool)>, Error> {
        let [
            Some((onto, mode, _)),
            Some((from, old_mode, _)),
            Some((to, new_mode, _)),
        ] = parts
        else {
            return Ok(None);
        };
        let is_file = [mode, old_mode, new_mode]
            .iter()
            .all(|mode| FILES.contains(mode));
        if !is_file || mode != old_mode {
            return Ok(None);
        }
        let [onto, from, to] = [
            self.objects.blob(onto)?,
            self.objects.blob(from)?,
            self.objects.blob(to)?,
        ];
        let (Some(onto), Some(from), Some(to)) = (onto, from, to) else {
            return Ok(None);
        };
        let made = with_exact_change(&onto, &from, &to);
        Ok(made.map(|made| (self.objects.format.blob(&made), new_mode, false)))
    }
}

/// Whether the change of a file is meant.
pub type OnlyFiles<'a> = &'a dyn Fn(&RepoPath) -> bool;

/// The file modes of regular files.
const FILES: [i32; 2] = [0o100_644, 0o100_755];
/// The file mode of a directory.
const DIRECTORY: i32 = 0o040_000;

/// Adds an entry to the content of a tree.
fn put_entry(content: &mut Vec<u8>, mode: i32, name: &[u8], id: Digest) {
    content.extend(format!("{mode:o} ").into_bytes());
    content.extend(name);
    content.push(0);
    content.extend(id.as_bytes());
}

/// Collects the files of this part that differ between two directories, given as tree ids in two commits.
pub(super) fn changed_in_part(
    (one, before): (&TreeSource<'_>, Option<Oid>),
    (other, after): (&TreeSource<'_>, Option<Oid>),
    at: &RepoPath,
    code: &CodePart<'_>,
    found: &mut Vec<RepoPath>,
) -> Result<(), Error> {
    for ((name, _), sides) in unlike_names((one, before), (other, after))? {
        let Ok(path) = at.join(&name) else { continue };
        let [old, new] = sides.map(subtree);
        match (code.part)(&path, old.or(new).is_some()) {
            TreePart::None => {}
            TreePart::Within => changed_in_part((one, old), (other, new), &path, code, found)?,
            TreePart::Whole => {
                differ((one, old), (other, new), &path, &mut |path, _| {
                    found.push(path)
                })?;
                if sides.into_iter().any(is_file) {
                    found.push(path);
                }
            }
        }
    }
    Ok(())
}

impl CodeCommit {
    pub(super) fn of(commit: &GitCommit<'_>) -> Self {
        let message = String::from_utf8_lossy(commit.message_bytes());
        Self {
            id: digest(commit.id()),
            subject: String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default())
                .into_owned(),
            tasks: trailer::named_tasks(&trailers(&message)),
            writers: made_by(commit),
        }
    }
}
