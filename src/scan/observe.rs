//! Observing one task: every file that matches a declared artifact, read once, parsed, validated.

use super::read::{ReadResult, read};
use super::{Content, Entry, EntryKind, Matcher, Schemas, Source, ValidationCache};
use crate::base::{ArtifactName, Code, Diagnostic, Digest, Error, Place, RepoPath, TaskId};
use crate::decide::{Facts, FileFact};
use crate::record::{STATE_FILE, TRANSCRIPT_FILE};
use crate::workflow::{Artifact, Workflow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much is read at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The largest file that is read, in bytes.
    pub bytes: u64,
    /// How many bytes at the end of a log are enough; a shorter one is read whole.
    pub log_end: u64,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { bytes: 8 << 20, log_end: u64::MAX }
    }
}

/// Everything observed of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What guards will see of it.
    pub facts: Facts,
    /// The file that holds the state, if there is one.
    pub state: Option<StateFile>,
    /// The transcript.
    pub log: ObservedLog,
    /// Every readable file that matches a declared artifact, valid or not, as it was judged.
    pub files: Vec<ObservedFile>,
    /// What is there where an artifact that transitions commit belongs, and could not be read.
    pub unread: Vec<RepoPath>,
    /// Directories of the task that are repositories of their own.
    pub nested: Vec<RepoPath>,
}

/// What was read of a task's `transcript.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedLog {
    /// There is none.
    Missing,
    /// It is there and cannot be read.
    Unreadable,
    /// All of it.
    Whole(Vec<u8>),
    /// Its end, because no more was needed.
    End(LogEnd),
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// How many bytes the log has.
    pub length: u64,
    /// The last of them.
    pub bytes: Vec<u8>,
    /// The blob that HEAD holds of it, where as much was compared as can be without reading both.
    pub held: Option<Digest>,
}

impl ObservedLog {
    /// A log that was read as any other file.
    pub(crate) fn of(content: Content) -> Self {
        match content {
            Content::Bytes(bytes) => Self::Whole(bytes),
            Content::Missing => Self::Missing,
            Content::TooLarge(_) | Content::Unreadable(_) | Content::Absent => Self::Unreadable,
        }
    }

    /// Whether there is one.
    #[must_use]
    pub fn is_there(&self) -> bool {
        *self != Self::Missing
    }

    /// All its bytes, where they were read.
    #[must_use]
    pub fn whole(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Its end, where no more was read.
    #[must_use]
    pub fn end(&self) -> Option<&LogEnd> {
        match self {
            Self::End(end) => Some(end),
            _ => None,
        }
    }
}

/// The bytes of `state.json`, and what keeps them from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    /// The bytes; empty where they cannot be read.
    pub bytes: Vec<u8>,
    /// Why they cannot be read.
    pub problems: Vec<Diagnostic>,
}

/// One file as it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    /// Where it lies.
    pub path: RepoPath,
    /// Its bytes, read once.
    pub bytes: Vec<u8>,
    /// The blob id that `git add` would store.
    pub digest: Digest,
    /// Whether it may be executed.
    pub executable: bool,
    /// Whether transitions commit it.
    pub commit: bool,
}

/// Observes a task. The error means that the source itself cannot be read.
#[expect(
    clippy::too_many_arguments,
    reason = "each is another thing, and bundling them would only rename the list"
)]
pub fn observe(
    source: &dyn Source,
    workflow: &Workflow,
    matcher: &Matcher,
    schemas: &Schemas,
    validations: &ValidationCache,
    task: &TaskId,
    directory: &RepoPath,
    limits: &ReadLimits,
) -> Result<Observed, Error> {
    let mut observer = Observer { source, workflow, schemas, validations, directory, limits };
    let mut observed = Observed {
        facts: Facts {
            task: task.clone(),
            directory: directory.clone(),
            artifacts: workflow
                .artifacts
                .iter()
                .map(|artifact| (artifact.name.clone(), Vec::new()))
                .collect(),
            diagnostics: Vec::new(),
        },
        state: None,
        log: ObservedLog::Missing,
        files: Vec::new(),
        unread: Vec::new(),
        nested: Vec::new(),
    };
    for entry in source.list(directory)? {
        observer.take(matcher, &entry, &mut observed)?;
    }
    for files in observed.facts.artifacts.values_mut() {
        files.sort_by(|a, b| (a.pattern, &a.path).cmp(&(b.pattern, &b.path)));
    }
    Ok(observed)
}

struct Observer<'a> {
    source: &'a dyn Source,
    workflow: &'a Workflow,
    schemas: &'a Schemas,
    validations: &'a ValidationCache,
    directory: &'a RepoPath,
    limits: &'a ReadLimits,
}

/// What one entry gave.
enum Got {
    Bytes(Vec<u8>),
    Nothing,
    Problem(Diagnostic),
}

impl Observer<'_> {
    fn take(&mut self, matcher: &Matcher, entry: &Entry, observed: &mut Observed) -> Result<(), Error> {
        if entry.kind == EntryKind::NotUtf8 {
            let message = "a name here is not UTF-8, so no artifact can be read from it";
            let place = Place { path: entry.path.clone(), ..Place::default() };
            observed
                .facts
                .diagnostics
                .push(Diagnostic::warning(Code::PathNotUtf8, message).at(place).hint("rename it"));
            return Ok(());
        }
        let Ok(path) = RepoPath::new(&entry.path) else { return Ok(()) };
        if entry.kind == EntryKind::Repository {
            let message = "it is a repository of its own; nothing in it can be evidence here";
            let hint = "move it out of the task, or remove its .git";
            let diagnostic =
                Diagnostic::warning(Code::RepositoryInsideTask, message).at(Place::file(&path)).hint(hint);
            observed.facts.diagnostics.push(diagnostic);
            observed.nested.push(path);
            return Ok(());
        }
        let Some(below) = path.below(self.directory) else { return Ok(()) };
        match below {
            STATE_FILE => {
                observed.state = match self.get(&path, entry)? {
                    Got::Bytes(bytes) => Some(StateFile { bytes, problems: Vec::new() }),
                    Got::Problem(problem) => Some(StateFile { bytes: Vec::new(), problems: vec![problem] }),
                    Got::Nothing => None,
                };
                return Ok(());
            }
            TRANSCRIPT_FILE => {
                observed.log = self.source.read_log(&path, self.limits.log_end)?;
                return Ok(());
            }
            _ => {}
        }
        let owners: Vec<(usize, usize)> = matcher.artifacts_of(below).collect();
        if owners.is_empty() {
            if let EntryKind::Unreadable(why) = &entry.kind {
                // It may be a directory that holds artifacts.
                observed.unread.push(path.clone());
                let diagnostic = Diagnostic::warning(Code::Unreadable, format!("it cannot be read: {why}"));
                observed.facts.diagnostics.push(diagnostic.at(Place::file(&path)));
            }
            return Ok(());
        }
        self.artifact(&path, below.to_owned(), &owners, entry, observed)
    }

    fn artifact(
        &self,
        path: &RepoPath,
        below: String,
        owners: &[(usize, usize)],
        entry: &Entry,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let artifacts = &self.workflow.artifacts;
        let owned =
            owners.iter().filter_map(|(artifact, pattern)| Some((artifacts.get(*artifact)?, *pattern)));
        match self.get(path, entry)? {
            Got::Nothing => {}
            Got::Problem(problem) => {
                let commit = owned.clone().any(|(artifact, _)| artifact.commit);
                if commit && entry.kind != EntryKind::Directory {
                    observed.unread.push(path.clone());
                }
                for (artifact, pattern) in owned {
                    // A directory that a wildcard happens to match is no artifact gone wrong.
                    if entry.kind == EntryKind::Directory && artifact.is_glob() {
                        continue;
                    }
                    let fact = FileFact {
                        pattern,
                        is_tree: false,
                        path: below.clone(),
                        digest: None,
                        data: None,
                        problems: vec![problem.clone()],
                    };
                    push(&mut observed.facts.artifacts, &artifact.name, fact);
                }
            }
            Got::Bytes(bytes) => {
                let digest = self.source.digest(path, &bytes)?;
                let mut commit = false;
                for (artifact, pattern) in owned {
                    commit |= artifact.commit;
                    let (data, problems) = self.judge(artifact, path, &bytes);
                    let (path, digest) = (below.clone(), Some(digest));
                    let fact = FileFact { pattern, is_tree: false, path, digest, data, problems };
                    push(&mut observed.facts.artifacts, &artifact.name, fact);
                }
                let executable = entry.executable;
                observed.files.push(ObservedFile { path: path.clone(), bytes, digest, executable, commit });
            }
        }
        Ok(())
    }

    /// Reads and validates bytes; a content that a schema is known to accept needs no schema.
    fn judge(
        &self,
        artifact: &Artifact,
        path: &RepoPath,
        bytes: &[u8],
    ) -> (Option<Arc<serde_json::Value>>, Vec<Diagnostic>) {
        let ReadResult { data, mut problems } = read(artifact.format, path, bytes);
        let Some(data) = data else { return (None, problems) };
        // The bytes as read, not as git stores them: a filter may stand between the two.
        let content = Digest::of_blob(bytes);
        if let Some(schema) = &artifact.schema
            && !self.validations.is_valid(content, schema.digest, artifact.format)
        {
            let found = self.schemas.validate(schema, &data, path, artifact.format, bytes);
            if found.is_empty() {
                self.validations.note_valid(content, schema.digest, artifact.format);
            }
            problems.extend(found);
        }
        let valid = !problems.iter().any(Diagnostic::is_error);
        (valid.then(|| Arc::new(data)), problems)
    }

    fn get(&self, path: &RepoPath, entry: &Entry) -> Result<Got, Error> {
        let problem = |code, message: String, hint: &str| {
            Got::Problem(Diagnostic::error(code, message).at(Place::file(path)).hint(hint))
        };
        Ok(match &entry.kind {
            EntryKind::File => match self.source.read(path, self.limits.bytes)? {
                Content::Bytes(bytes) => Got::Bytes(bytes),
                Content::Missing => Got::Nothing,
                Content::TooLarge(size) => problem(
                    Code::TooLarge,
                    format!("it has {size} bytes; at most {} are read", self.limits.bytes),
                    "make it smaller, or raise `limit_bytes` in orch.toml",
                ),
                Content::Absent => problem(
                    Code::NotInClone,
                    "its bytes are not in this clone".to_owned(),
                    "git fetch --refetch",
                ),
                Content::Unreadable(why) => {
                    problem(Code::Unreadable, format!("it cannot be read: {why}"), "chmod +r it")
                }
            },
            EntryKind::Symlink => problem(
                Code::Symlink,
                "it is a symbolic link; git stores the link, not what it leads to".to_owned(),
                "put the file itself there",
            ),
            EntryKind::Directory => problem(
                Code::IsADirectory,
                "it is a directory where a file belongs".to_owned(),
                "remove the directory and write the file",
            ),
            EntryKind::Special => problem(
                Code::NotAFile,
                "it is a pipe, a device or a socket where a file belongs".to_owned(),
                "remove it and write the file",
            ),
            EntryKind::Unreadable(why) => {
                problem(Code::Unreadable, format!("it cannot be read: {why}"), "chmod +r it")
            }
            EntryKind::NotUtf8 | EntryKind::Repository => Got::Nothing,
        })
    }
}

fn push(artifacts: &mut BTreeMap<ArtifactName, Vec<FileFact>>, name: &ArtifactName, fact: FileFact) {
    artifacts.entry(name.clone()).or_default().push(fact);
}
