//! The observed facts about a task's artifacts: plain values, read once, supplied from outside.
//!
//! Freshness and change are not among them; [`super::derive()`] derives them from these values and the state.

use super::{CodeFacts, FileWriter, HistoryEntry, Inputs, OtherTasks, RecordVersion};
use crate::verification::VerificationResult;
use crate::workflow::{Artifact, Phase};
use orch_base::{
    ArtifactName, Code, Diagnostic, Digest, RepoPath, TaskId, TaskPlace, VerificationName,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was observed of one task in one source (work directory, index or commit).
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The version of the rules of recording by which they are judged: the current one, or for a recorded step that of its
    /// event.
    pub version: RecordVersion,
    /// The id of the task.
    pub task: TaskId,
    /// Where its files are.
    pub place: TaskPlace,
    /// For every artifact of the workflow, the files that match one of its paths, and its tree if it has one.
    pub artifacts: BTreeMap<ArtifactName, Vec<FileFact>>,
    /// How committed code came from code that was judged.
    pub code: CodeFacts,
    /// Findings about the task as a whole.
    pub diagnostics: Vec<Diagnostic>,
    /// What the settings ask of decisions, as they stand in the commit that a step rests on.
    pub inputs: Inputs,
    /// The files that the workflow requires and that are not in the work tree. Empty where the files come from the
    /// index or a commit: a history in which they come later, or get another name, stays what it is.
    pub missing: Vec<RepoPath>,
    /// What is known of each verification that the settings define and the workflow asks for, or of which there is a result.
    pub verified: BTreeMap<VerificationName, VerifiedFact>,
    /// What happened to the file that the task is, if it is one. In the facts of a recorded step, nothing.
    pub own_file: OwnFile,
    /// What was observed of the tasks to which it is related.
    pub others: OtherTasks,
}

/// What was observed of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedFact {
    /// The digest of the committed code under the paths of its table; `None` without a table, and where there is no
    /// repository.
    pub code: Option<Digest>,
    /// The number of the rules by which a result counts: the present ones, or for a recorded step those of the last result.
    pub rules: u32,
    /// The file with its result.
    pub file: ResultFile,
}

/// The file with the result of a verification.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultFile {
    /// There is none.
    Missing,
    /// It is a result.
    Result {
        /// Its blob id.
        digest: Digest,
        /// What it says.
        result: Arc<VerificationResult>,
    },
    /// It is something else.
    Unusable {
        /// Its blob id; `None` if the bytes cannot be read.
        digest: Option<Digest>,
        /// Why it is no result, in words.
        why: String,
    },
}

/// What happened to the file that a task is, since its record last saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OwnFile {
    /// It is in its place, or its place is unknown; or the task is a directory.
    #[default]
    AsRecorded,
    /// It was moved to where no task is, with its path there; `None` in the archive.
    Gone(Option<RepoPath>),
    /// A new task has its place and its id.
    Another {
        /// The name of the file of the new task.
        present: String,
        /// Where the file is that the record is about.
        recorded: RepoPath,
    },
}

/// A file that matches a path of an artifact, or the part of a commit's tree that takes its place.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFact {
    /// The index of the artifact's path that the file matches; if it matches several, the first.
    pub pattern: usize,
    /// Whether this is a tree and not a file.
    pub is_tree: bool,
    /// The name of the file within the task, see [`TaskPlace::name`]; for a tree, the name that stands for it.
    pub path: String,
    /// The blob id that `git add` would store; `None` if the bytes cannot be read. For a tree, the id of a
    /// git tree of these parts alone.
    pub digest: Option<Digest>,
    /// The parsed value, if the file parses and matches its schema.
    pub data: Option<Arc<Value>>,
    /// What is wrong with the file; any error makes it invalid.
    pub problems: Vec<Diagnostic>,
    /// Who wrote the current bytes, as far as known: all whom their commit names, or who made commits of code.
    pub writers: Vec<FileWriter>,
}

/// The codes for a task whose `state.json` is not the fold of its log.
pub const STALE_STATE: [Code; 3] = [Code::StateFolded, Code::StateEdited, Code::StateLayout];

fn is_of_stale_state(found: &Diagnostic) -> bool {
    STALE_STATE.contains(&found.code)
}

impl Facts {
    /// The facts of a task of which no file was read.
    #[must_use]
    pub fn of_no_files(task: TaskId) -> Self {
        let place = TaskPlace::of_directory(RepoPath::root());
        Self {
            version: RecordVersion::CURRENT,
            task,
            place,
            artifacts: BTreeMap::new(),
            code: CodeFacts::default(),
            diagnostics: Vec::new(),
            inputs: Inputs::default(),
            missing: Vec::new(),
            verified: BTreeMap::new(),
            own_file: OwnFile::AsRecorded,
            others: OtherTasks::default(),
        }
    }

    /// The path that stands for the task: that of its file if it is one, or else of its directory.
    #[must_use]
    pub fn shown(&self) -> RepoPath {
        self.place.shown(
            self.artifacts
                .values()
                .flatten()
                .map(|file| file.path.as_str()),
        )
    }

    /// The facts after a step was recorded: nothing has been committed since, and the state is the fold of
    /// the log.
    #[must_use]
    pub fn after_a_step(&self) -> Cow<'_, Self> {
        let has_commits = self
            .artifacts
            .values()
            .flatten()
            .any(|file| file.is_tree && file.data.is_some());
        if !has_commits && !self.diagnostics.iter().any(is_of_stale_state) {
            return Cow::Borrowed(self);
        }
        let mut facts = self.clone();
        facts.diagnostics.retain(|found| !is_of_stale_state(found));
        for tree in facts
            .artifacts
            .values_mut()
            .flatten()
            .filter(|file| file.is_tree)
        {
            tree.data = Some(Arc::new(FileFact::no_commits()));
            tree.problems.clear();
        }
        Cow::Owned(facts)
    }

    /// The same facts as a step saw them: by the version of the rules that recorded it, with the writers and the other
    /// tasks that it noted.
    /// Its digest of the settings is taken on trust; the first version knew none.
    #[must_use]
    pub fn as_noted(&self, entry: &HistoryEntry) -> Cow<'_, Self> {
        let version = entry.version;
        let noted = &entry.files;
        let has_writers = self
            .artifacts
            .values()
            .flatten()
            .any(|file| !file.writers.is_empty());
        let is_same = self.version == version && self.inputs.digest == entry.inputs;
        let others = OtherTasks::of(entry);
        if is_same && noted.is_empty() && !has_writers && self.others == others {
            return Cow::Borrowed(self);
        }
        let mut facts = self.clone();
        facts.version = version;
        if version == RecordVersion::First {
            facts.inputs = Inputs::default();
        }
        facts.inputs.digest = entry.inputs;
        facts.others = others;
        for (artifact, files) in &mut facts.artifacts {
            let noted = noted.get(artifact).map(Vec::as_slice).unwrap_or_default();
            for file in files {
                let same = noted
                    .iter()
                    .find(|one| one.path == file.path && Some(one.digest) == file.digest);
                file.writers = match same {
                    Some(one) => one.writer.iter().chain(&one.writers).cloned().collect(),
                    None => Vec::new(),
                };
            }
        }
        Cow::Owned(facts)
    }

    /// Whether the settings define a verification, and there is code that it can judge.
    #[must_use]
    pub fn defines(&self, name: &VerificationName) -> bool {
        let fact = self.verified.get(name);
        self.inputs.verify.contains_key(name) && fact.is_some_and(|fact| fact.code.is_some())
    }

    /// The verification that `orch` runs in a phase in place of the files of an artifact.
    pub(super) fn replaces<'w>(
        &self,
        artifact: &'w Artifact,
        phase: &Phase,
    ) -> Option<&'w VerificationName> {
        let name = artifact.same_as.as_ref()?;
        let is_verified = phase.verifies.contains(name) && self.defines(name);
        is_verified.then_some(name)
    }

    /// The digest of an artifact's tree, if it has one and there is a repository.
    pub(super) fn tree_digest(&self, artifact: &ArtifactName) -> Option<Digest> {
        self.artifacts
            .get(artifact)?
            .iter()
            .find(|file| file.is_tree)?
            .digest
    }
}

impl FileFact {
    /// The data of a tree without commits.
    #[must_use]
    pub fn no_commits() -> Value {
        json!({"commits": [], "files": [], "confirmed": false})
    }

    /// Whether the file parses and matches its schema.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.data.is_some() && !self.problems.iter().any(Diagnostic::is_error)
    }
}
