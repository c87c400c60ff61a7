//! The files that commits remove. The cost depends on the commits walked and on the directories asked about.

use super::history::MAX_WALK;
use super::{Error, History, digest};
use git2::Commit as GitCommit;
use orch_base::{Digest, RepoPath};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A file that a commit removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// The commit that removes it.
    pub commit: Digest,
    /// The path of the file.
    pub path: RepoPath,
    /// Its contents in a parent of the commit.
    pub blob: Digest,
    /// The files of this name that the commit adds; it may only move this one.
    pub added: Vec<Digest>,
}

/// The newest removals of some files, as seen from a HEAD.
#[derive(Debug)]
pub(super) struct KnownRemovals {
    head: Digest,
    /// What was asked, as a digest.
    question: Digest,
    commits: Arc<BTreeMap<RepoPath, Digest>>,
}

/// The commits that remove files.
#[derive(Clone, Copy)]
pub struct Removals<'s> {
    pub(super) history: History<'s>,
    pub(super) removed: &'s RefCell<Option<KnownRemovals>>,
}

impl Removals<'_> {
    /// The files of this name below some directories that `from` and its ancestors remove, newest first. Returns an
    /// error if git cannot read the history.
    pub fn all(&self, from: Digest, below: &[RepoPath], name: &str) -> Result<Vec<Removal>, Error> {
        self.find(from, None, (below, name), usize::MAX)
    }

    /// The files of this name that `to` and its ancestors remove and that `from` and its ancestors do not, newest
    /// first. Returns an error if git cannot read the history.
    pub fn since(&self, from: Digest, to: Digest, name: &str) -> Result<Vec<Removal>, Error> {
        self.find(to, Some(from), (&[RepoPath::root()], name), usize::MAX)
    }

    /// Sorts removals as [`Self::all`] returns them. Returns an error if git cannot read the history.
    pub fn sort(&self, from: Digest, removals: &mut [Removal]) -> Result<(), Error> {
        if removals.len() > 1 {
            let mut places = HashMap::new();
            self.history.walk_between(from, None, |commit| {
                places.insert(digest(commit.id()), places.len());
                Ok(true)
            })?;
            removals.sort_by_key(|removal| places.get(&removal.commit).copied());
        }
        Ok(())
    }

    /// For each file of this name below some directories whose newest removal before `head` counts, the commit that
    /// removes it. `question` says what else `counts` depends on. Returns an error if git cannot read the history.
    ///
    /// Of a long history only the newest commits are walked, once for a store.
    pub fn newest(
        &self,
        head: Digest,
        (below, name): (&[RepoPath], &str),
        question: &str,
        counts: impl Fn(&Removal) -> Result<bool, Error>,
    ) -> Result<Arc<BTreeMap<RepoPath, Digest>>, Error> {
        let question = Digest::of_blob(format!("{name} {below:?} {question}").as_bytes());
        let is_known = |known: &KnownRemovals| known.head == head && known.question == question;
        if let Some(known) = self
            .removed
            .borrow()
            .as_ref()
            .filter(|known| is_known(known))
        {
            return Ok(Arc::clone(&known.commits));
        }
        let mut newest = BTreeMap::new();
        for removal in self.find(head, None, (below, name), MAX_WALK)? {
            if let Entry::Vacant(entry) = newest.entry(removal.path.clone()) {
                entry.insert(counts(&removal)?.then_some(removal.commit));
            }
        }
        let commits: BTreeMap<_, _> = newest
            .into_iter()
            .filter_map(|(path, commit)| Some((path, commit?)))
            .collect();
        let known = KnownRemovals {
            head,
            question,
            commits: Arc::new(commits),
        };
        let commits = Arc::clone(&known.commits);
        self.removed.replace(Some(known));
        Ok(commits)
    }

    /// The same as [`Self::all`], without the history of `until`, and of at most this many commits.
    fn find(
        &self,
        from: Digest,
        until: Option<Digest>,
        (below, name): (&[RepoPath], &str),
        mut left: usize,
    ) -> Result<Vec<Removal>, Error> {
        let mut found = Vec::new();
        self.history.walk_between(from, until, |commit| {
            left -= 1;
            found.extend(self.removed_by(&commit, below, name)?);
            Ok(left > 0)
        })?;
        Ok(found)
    }

    /// The files of this name below some directories that a commit removes. Returns an error if git cannot read it.
    pub fn of_commit(
        &self,
        commit: Digest,
        below: &[RepoPath],
        name: &str,
    ) -> Result<Vec<Removal>, Error> {
        self.removed_by(
            &self
                .history
                .objects
                .held_commit(self.history.objects.oid(commit)?)?,
            below,
            name,
        )
    }

    fn removed_by(
        &self,
        commit: &GitCommit<'_>,
        below: &[RepoPath],
        name: &str,
    ) -> Result<Vec<Removal>, Error> {
        let mut removed = Vec::new();
        let mut added = Vec::new();
        let mut seen = BTreeSet::new();
        for directory in below {
            let difference = self.history.difference(commit, directory)?;
            let named = difference
                .changed()
                .filter(|changed| changed[0].path.name() == name);
            // One directory may be below another.
            for changed in named.filter(|changed| seen.insert(changed[0].path.clone())) {
                let before = || {
                    changed
                        .iter()
                        .filter_map(|one| Some((one.path.clone(), one.before?)))
                };
                match changed[0].after {
                    Some(here) if before().next().is_none() => added.push(here),
                    Some(_) => {}
                    None => removed.extend(before()),
                }
            }
        }
        let commit = digest(commit.id());
        let removal = |(path, blob)| Removal {
            commit,
            path,
            blob,
            added: added.clone(),
        };
        Ok(removed.into_iter().map(removal).collect())
    }
}
