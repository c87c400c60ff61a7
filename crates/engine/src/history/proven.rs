//! Histories that an audit has accepted, so that a later one replays only the commits that are newer.
//!
//! A commit determines all of its ancestors, and the verdict on a change depends on nothing but its commit and the
//! ancestors of that, with four exceptions. What a removed record had used up is kept here. Changes that are
//! unverifiable or acknowledged, and those that rest on a signature, are replayed again, because what they lack may
//! have arrived, and what they rest on may be trusted no longer. Settings that change later can make earlier steps
//! unverifiable, so the whole history is replayed then. And so it is if anything was unlike any of this.
//!
//! The file is in the git directory, which no clone brings along. What is damaged, or made by another build of `orch`,
//! is not believed.

use super::replay::Audited;
use crate::survey::Error;
use orch_base::Digest;
use orch_core::decide::Standing;
use orch_git::{Removal, Store, Visited};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// The version of its format.
const VERSION: u32 = 1;
/// How many histories are kept: those of as many branches.
const MOST_HISTORIES: usize = 8;
/// How many commits may be replayed again each time.
const MOST_OPEN: usize = 10_000;

/// A history of which every change was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenHistory {
    /// The newest commit.
    pub commit: Digest,
    /// How many commits it has, with that one.
    pub commits: usize,
    /// How many changes of records are in them.
    pub changes: usize,
    /// The commits that are replayed again, parents before their children.
    pub(super) open: Vec<OpenCommit>,
    /// The removed records that had used something up.
    pub(super) removals: Vec<Removal>,
}

/// A commit whose verdicts depend on more than its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenCommit {
    pub commit: Digest,
    pub verdicts: Digest,
}

/// The contents of the file, after the line with their digest.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptHistories {
    version: u32,
    program: Digest,
    histories: Vec<ProvenHistory>,
}

/// The histories that this build of `orch` has accepted in this clone, those that were audited last first.
#[derive(Debug, Clone)]
pub struct ProvenHistories {
    program: Digest,
    histories: Vec<ProvenHistory>,
    /// Why there are none.
    why: &'static str,
}

impl ProvenHistories {
    /// None, because of `why`. `program` identifies this build of `orch`.
    #[must_use]
    pub fn none(program: Digest, why: &'static str) -> Self {
        Self {
            program,
            histories: Vec::new(),
            why,
        }
    }

    /// What the file contains, if this build has written it and nothing of it has changed since.
    #[must_use]
    pub fn parse(program: Digest, bytes: &[u8]) -> Self {
        let kept = || {
            let (digest, rest) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
            let is_whole = Digest::parse(digest) == Some(Digest::of_blob(rest.as_bytes()));
            is_whole
                .then(|| serde_json::from_str::<KeptHistories>(rest).ok())
                .flatten()
        };
        match kept() {
            None => Self::none(program, "what an earlier audit kept is damaged"),
            Some(kept) if kept.version != VERSION || kept.program != program => {
                Self::none(program, "another build of orch made the earlier audit")
            }
            Some(kept) => Self {
                histories: kept.histories,
                ..Self::none(program, "")
            },
        }
    }

    /// The contents of the file with one more history, which takes the place of those that it contains.
    #[must_use]
    pub fn with(&self, proven: &ProvenHistory, replaced: Option<Digest>) -> String {
        let is_kept = |other: &&ProvenHistory| {
            other.commit != proven.commit && Some(other.commit) != replaced
        };
        let others = self.histories.iter().filter(is_kept).cloned();
        let histories = std::iter::once(proven.clone())
            .chain(others)
            .take(MOST_HISTORIES)
            .collect();
        let kept = KeptHistories {
            version: VERSION,
            program: self.program,
            histories,
        };
        let text = serde_json::to_string(&kept).unwrap_or_default();
        format!("{}\n{text}", Digest::of_blob(text.as_bytes()))
    }

    /// The longest of them that the history of `to` contains, or why there is none.
    pub(super) fn before(&self, store: &Store, to: Digest) -> Result<&ProvenHistory, String> {
        // A commit that no longer exists is in no history.
        let is_in = |known: &&ProvenHistory| {
            known.commit == to
                || store
                    .history()
                    .is_ancestor(known.commit, to)
                    .unwrap_or(false)
        };
        let longest = self
            .histories
            .iter()
            .filter(is_in)
            .max_by_key(|known| known.commits);
        longest.ok_or_else(|| match self.histories.first() {
            None => self.why.to_owned(),
            Some(last) => {
                let last = last.commit.short();
                let to = to.short();
                format!("{last}, which was audited last, is not in the history of {to}")
            }
        })
    }
}

/// Why a history here does not determine the verdicts on it; `None` if it does. Returns an error if git cannot be read.
pub(super) fn unsteady(store: &Store) -> Result<Option<&'static str>, Error> {
    Ok(if store.refs().is_shallow()? {
        Some("this clone is shallow")
    } else if store.refs().has_grafts()? {
        Some("git has grafts or replacements of commits here")
    } else {
        None
    })
}

/// Those of these commits with verdicts that depend on more than their history; `None` if they are too many. A verdict
/// belongs to the commit whose replay has found it.
pub(super) fn open_commits<'c>(
    commits: impl Iterator<Item = &'c Arc<Visited>>,
    changes: &[Audited],
) -> Option<Vec<OpenCommit>> {
    let is_open = |change: &&Audited| {
        change.is_by_signature || change.proof.standing >= Standing::Unverifiable
    };
    let found: HashSet<Digest> = changes
        .iter()
        .filter(is_open)
        .map(|change| change.found_in)
        .collect();
    let open = commits.filter(|commit| found.contains(&commit.id));
    let open: Vec<OpenCommit> = open
        .map(|commit| OpenCommit {
            commit: commit.id,
            verdicts: verdicts_of(commit.id, changes),
        })
        .collect();
    (open.len() <= MOST_OPEN).then_some(open)
}

/// The digest of the verdicts that the replay of a commit has found.
pub(super) fn verdicts_of(commit: Digest, changes: &[Audited]) -> Digest {
    let of_commit = changes.iter().filter(|change| change.found_in == commit);
    let text: String = of_commit
        .map(|change| {
            format!(
                "{} {} {:?}\n",
                change.commit.id,
                change.task.directory(),
                change.proof
            )
        })
        .collect();
    Digest::of_blob(text.as_bytes())
}
