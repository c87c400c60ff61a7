//! How committed code came from code that was judged: plain values, read from git once, supplied from outside.
//!
//! Other tasks change the same tree. So an approval is not held to the tree that was judged, but to the change of the
//! task: to the files that its own commits touch, and to the paths that the workflow says its plan names.

use crate::verification::FoundBy;
use orch_base::{ArtifactName, Digest, RepoPath};
use serde::{Deserialize, Serialize};

/// What was observed of committed code, beside the code itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeFacts {
    /// The commit that tells the commits of the task from those of others; `None` if that was not asked.
    pub base: Option<CodeBase>,
    /// How the present code came from each other code that was judged.
    pub since: Vec<CodeSince>,
}

/// The commit with which the commits of a task begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeBase {
    /// The commit; `None` if it was found by the creation of the task, and not looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Digest>,
    /// The digest of the code in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Digest>,
    /// How it was found.
    pub by: FoundBy,
}

/// How the present code of an artifact came from code that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSince {
    /// The artifact that is code.
    pub artifact: ArtifactName,
    /// The digest of the code that was judged.
    pub judged: Digest,
    /// What git tells about it.
    pub history: Result<CodeHistory, UnknownCode>,
}

/// Why nobody can tell here how the present code came from code that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownCode {
    /// No commit here has that code, or makes the same change.
    NotHere,
    /// The clone is shallow, and its history ends before the task begins.
    Shallow,
    /// Too many commits would have to be searched.
    TooFar,
    /// The settings name a base branch that is not here.
    NoBase(String),
}

/// The change of a task, and what came after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeHistory {
    /// The files that the commits of the task touch, up to the code that was judged.
    pub files: Vec<RepoPath>,
    /// The commits since then that changed the code, newest first: those of the task, and some of others.
    pub later: Vec<ChangeCommit>,
    /// The files that are not as they were in the code that was judged.
    pub moved: Vec<MovedFile>,
}

/// A commit that changed code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeCommit {
    /// The id of the commit.
    pub id: Digest,
    /// The first line of its message.
    pub subject: String,
    /// The files of the code that it changes; of a merge, those that are as in none of its parents.
    pub files: Vec<RepoPath>,
    /// Whether it is of the task: the base of the branch does not contain it, or without such a base it names the task.
    pub is_own: bool,
}

/// A file that is not as it was in the code that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedFile {
    /// The path of the file from the root of the repository.
    pub path: RepoPath,
    /// Whether it is not as in the base of the branch either, so that the branch made it what it is.
    pub is_own: bool,
    /// Whether it is as it was before the change of the task.
    pub is_undone: bool,
}

impl CodeFacts {
    /// How the present code came from code that was judged; `None` if that was not asked.
    pub(super) fn since(&self, artifact: &ArtifactName, judged: Digest) -> Option<&CodeSince> {
        self.since
            .iter()
            .find(|since| since.artifact == *artifact && since.judged == judged)
    }
}
