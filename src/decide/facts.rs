//! What was observed of a task's artifacts: plain values, read once, given from outside.
//!
//! Freshness and change are not here: they follow from these values and the state, and are derived
//! in [`super::derive`].

use crate::base::{ArtifactName, Code, Diagnostic, Digest, RepoPath, TaskId};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything observed of one task in one source (work directory, index or commit).
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The task.
    pub task: TaskId,
    /// Its directory in the repository.
    pub directory: RepoPath,
    /// For every artifact of the workflow, the files that match one of its paths, and the tree that it
    /// may be instead.
    pub artifacts: BTreeMap<ArtifactName, Vec<FileFact>>,
    /// Findings about the task as a whole.
    pub diagnostics: Vec<Diagnostic>,
}

/// One file that matches a path of an artifact, or the part of a commit's tree that it may be.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFact {
    /// Which of the artifact's paths it matches, counted from 0; a file matches only its first.
    pub pattern: usize,
    /// Whether it is no file but a tree.
    pub is_tree: bool,
    /// Its path below the task directory; of a tree, the name that stands for it.
    pub path: String,
    /// The blob id that `git add` would store; `None` where the bytes cannot be read. Of a tree, the id
    /// that git would give to a tree of these parts alone.
    pub digest: Option<Digest>,
    /// The parsed value, if it parses and its schema accepts it.
    pub data: Option<Arc<Value>>,
    /// What is wrong with it; any error makes it invalid.
    pub problems: Vec<Diagnostic>,
}

/// What is said of a task whose `state.json` does not hold what its log folds to.
pub const STALE_STATE: [Code; 2] = [Code::StateFolded, Code::StateEdited];

impl Facts {
    /// The same facts once a step has been recorded: since then nothing has been committed, and the state is
    /// written as the log has it.
    #[must_use]
    pub fn after_a_step(&self) -> Cow<'_, Self> {
        let is_stale = |found: &Diagnostic| STALE_STATE.contains(&found.code);
        let has_commits = self.artifacts.values().flatten().any(|file| file.is_tree && file.data.is_some());
        if !has_commits && !self.diagnostics.iter().any(is_stale) {
            return Cow::Borrowed(self);
        }
        let mut facts = self.clone();
        facts.diagnostics.retain(|found| !is_stale(found));
        for tree in facts.artifacts.values_mut().flatten().filter(|file| file.is_tree) {
            tree.data = Some(Arc::new(FileFact::no_commits()));
            tree.problems.clear();
        }
        Cow::Owned(facts)
    }

    /// The digest of the tree that an artifact may be, where there is a repository.
    pub(super) fn tree_digest(&self, artifact: &ArtifactName) -> Option<Digest> {
        self.artifacts.get(artifact)?.iter().find(|file| file.is_tree)?.digest
    }
}

impl FileFact {
    /// The data of a tree to which nothing was committed.
    #[must_use]
    pub fn no_commits() -> Value {
        json!({"commits": [], "files": [], "confirmed": false})
    }

    /// Whether it parses and its schema accepts it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.data.is_some() && !self.problems.iter().any(Diagnostic::is_error)
    }
}
