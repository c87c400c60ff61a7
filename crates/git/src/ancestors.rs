//! The history of a branch that moves forward, for whoever asks again and again whether it has something.

use super::{Error, History, digest};
use orch_base::Digest;
use std::collections::{HashSet, VecDeque};

/// How many commits are read at most when a branch is followed.
const MOST: usize = 10_000;

/// A commit and what it has behind it, as far as it is remembered.
#[derive(Debug, Default)]
pub struct Ancestors {
    tip: Option<Digest>,
    known: HashSet<Digest>,
    /// Whether commits are left out, the oldest ones.
    is_cut: bool,
}

impl Ancestors {
    /// Follows the branch to a commit. Returns an error if git cannot read the history.
    pub fn follow(&mut self, history: History<'_>, to: Digest) -> Result<(), Error> {
        let from = self.tip.replace(to);
        if from == Some(to) {
            return Ok(());
        }
        if self.add(history, to, from)? {
            return Ok(());
        }
        // It was moved elsewhere: nothing that is remembered counts.
        self.known.clear();
        self.is_cut = false;
        self.add(history, to, None).map(drop)
    }

    /// Remembers a commit and what is behind it. Returns whether another one is behind it, too.
    fn add(
        &mut self,
        history: History<'_>,
        to: Digest,
        behind: Option<Digest>,
    ) -> Result<bool, Error> {
        let objects = history.objects;
        let most = self.known.len() + MOST;
        let mut is_behind = behind.is_none();
        let mut next = VecDeque::from([to]);
        while let Some(id) = next.pop_front() {
            is_behind |= behind == Some(id);
            if !self.known.insert(id) {
                continue;
            }
            if self.known.len() > most {
                self.is_cut = true;
                break;
            }
            // At the end of a shallow clone, parents are missing.
            if let Some(commit) = objects.commit_if_held(objects.oid(id)?)? {
                next.extend(commit.parent_ids().map(digest));
            }
        }
        Ok(is_behind)
    }

    /// Whether the branch has a commit where it was followed to. Returns an error if git cannot read the history.
    pub fn contain(&self, history: History<'_>, commit: Digest) -> Result<bool, Error> {
        if self.known.contains(&commit) {
            return Ok(true);
        }
        match self.tip {
            Some(tip) if self.is_cut => history.is_ancestor(commit, tip),
            _ => Ok(false),
        }
    }
}
