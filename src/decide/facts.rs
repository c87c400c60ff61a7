//! What was observed of a task's artifacts: plain values, read once, given from outside.
//!
//! Freshness and change are not here: they follow from these values and the state, and are derived
//! in [`super::derive`].

use crate::base::{ArtifactName, Diagnostic, Digest, RepoPath, TaskId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything observed of one task in one source (work directory, index or commit).
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The task.
    pub task: TaskId,
    /// Its directory in the repository.
    pub directory: RepoPath,
    /// For every artifact of the workflow, the files that match one of its paths.
    pub artifacts: BTreeMap<ArtifactName, Vec<FileFact>>,
    /// Findings about the task as a whole.
    pub diagnostics: Vec<Diagnostic>,
}

/// One file that matches a path of an artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFact {
    /// Which of the artifact's paths it matches, counted from 0; a file matches only its first.
    pub pattern: usize,
    /// Its path below the task directory.
    pub path: String,
    /// The blob id that `git add` would store; `None` where the bytes cannot be read.
    pub digest: Option<Digest>,
    /// The parsed value, if it parses and its schema accepts it.
    pub data: Option<Arc<Value>>,
    /// What is wrong with it; any error makes it invalid.
    pub problems: Vec<Diagnostic>,
}

impl FileFact {
    /// Whether it parses and its schema accepts it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.data.is_some() && !self.problems.iter().any(Diagnostic::is_error)
    }
}
