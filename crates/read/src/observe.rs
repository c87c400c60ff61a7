//! Observes one task: reads every file that matches a declared artifact once, parses and validates it.

use super::read::{ReadResult, memory_limit, memory_of, memory_of_all, read_by};
use super::{Matcher, Schemas, ValidationCache};
use orch_base::{
    ArtifactName, Code, Diagnostic, Digest, Error, Hint, Patterns, Place, RepoPath, TaskId,
    TaskPlace,
};
use orch_core::decide::{
    CodeFacts, Facts, FileFact, Inputs, OtherTasks, OwnFile, RecordVersion, ResultFile,
    VerifiedFact, named_pattern,
};
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use orch_core::verification::{RULES, result_of};
use orch_core::workflow::{Artifact, Format, Guard, Workflow, repository_name};
use orch_files::{Content, Entry, EntryKind, ObservedLog, Source};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much of a task is read, and by the rules of which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The largest file that is read, in bytes.
    pub bytes: u64,
    /// How many bytes of the end of a log are read. A shorter log is read whole.
    pub log_end: u64,
    /// By whose rules artifacts are read.
    pub version: RecordVersion,
}

/// How the file begins that Git LFS commits in the place of another.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            bytes: 8 << 20,
            log_end: u64::MAX,
            version: RecordVersion::CURRENT,
        }
    }
}

/// What was observed of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The facts that guards see.
    pub facts: Facts,
    /// The file with the state, if there is one.
    pub state: Option<StateFile>,
    /// The transcript.
    pub log: ObservedLog,
    /// Every readable file that matches a declared artifact, valid or not, as it was evaluated.
    pub files: Vec<ObservedFile>,
    /// Unreadable files at the paths of artifacts that transitions commit.
    pub unread: Vec<RepoPath>,
    /// Directories of the task that are repositories of their own.
    pub nested: Vec<RepoPath>,
}

/// The bytes of `state.json`, or the problems with reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    /// The bytes; empty if they cannot be read.
    pub bytes: Vec<u8>,
    /// Why the bytes cannot be read.
    pub problems: Vec<Diagnostic>,
}

/// One file as it was evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedFile {
    /// The path of the file.
    pub path: RepoPath,
    /// The bytes, read once.
    pub bytes: Vec<u8>,
    /// The blob id that `git add` would store.
    pub digest: Digest,
    /// Whether the file is executable.
    pub executable: bool,
    /// Whether transitions commit the file.
    pub commit: bool,
}

/// A file of the repository outside of tasks, as it is in the commit that a decision rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFile {
    /// The artifact.
    pub artifact: ArtifactName,
    /// The index of the pattern of the artifact that the file matches.
    pub pattern: usize,
    /// Where it is.
    pub path: RepoPath,
    /// What it contains.
    pub content: Content,
}

/// Observes a task. `repository` are the files of the repository that its artifacts consist of. Returns an error if the source itself cannot be read.
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
    place: &TaskPlace,
    repository: &[RepositoryFile],
    limits: &ReadLimits,
) -> Result<Observed, Error> {
    let has_reports = workflow
        .artifacts
        .iter()
        .any(|artifact| artifact.format.is_report() && artifact.is_glob());
    let mut observer = Observer {
        source,
        workflow,
        schemas,
        validations,
        place,
        limits,
        has_reports,
        memory: Cell::new(0),
    };
    let mut observed = Observed {
        facts: Facts {
            code: CodeFacts::default(),
            version: RecordVersion::CURRENT,
            task: task.clone(),
            place: place.clone(),
            artifacts: workflow
                .artifacts
                .iter()
                .map(|artifact| (artifact.name.clone(), Vec::new()))
                .collect(),
            diagnostics: Vec::new(),
            inputs: Inputs::default(),
            missing: Vec::new(),
            verified: BTreeMap::new(),
            own_file: OwnFile::AsRecorded,
            others: OtherTasks::default(),
        },
        state: None,
        log: ObservedLog::Missing,
        files: Vec::new(),
        unread: Vec::new(),
        nested: Vec::new(),
    };
    let entries = source.list_task(place)?;
    for entry in &entries {
        observer.take(matcher, entry, &mut observed)?;
    }
    for file in repository {
        observer.take_of_repository(file, &mut observed);
    }
    for (index, artifact) in workflow.artifacts.iter().enumerate() {
        if let Some(guard) = &artifact.named_by {
            let named = observer.named(artifact, guard, &mut observed);
            observer.take_named(matcher, (index, named.as_ref()), &entries, &mut observed)?;
        }
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
    place: &'a TaskPlace,
    limits: &'a ReadLimits,
    /// Whether the workflow reads the reports of a directory.
    has_reports: bool,
    /// How many bytes of memory the values that were read may take.
    memory: Cell<u64>,
}

/// How many reports that nothing reads are named.
const MAX_BELOW: usize = 5;

/// The result of reading one entry.
enum Got {
    Bytes(Vec<u8>),
    Nothing,
    Problem(Diagnostic),
}

impl Observer<'_> {
    fn take(
        &mut self,
        matcher: &Matcher,
        entry: &Entry,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        if entry.kind == EntryKind::NotUtf8 {
            let message = "the name is not UTF-8, so the file cannot be an artifact";
            let place = Place {
                path: entry.path.clone(),
                ..Place::default()
            };
            observed.facts.diagnostics.push(
                Diagnostic::warning(Code::PathNotUtf8, message)
                    .at(place)
                    .hint("rename the file"),
            );
            return Ok(());
        }
        let Ok(path) = RepoPath::new(&entry.path) else {
            return Ok(());
        };
        if entry.kind == EntryKind::Repository {
            let message = "the directory is a repository of its own; its files cannot be evidence of this task";
            let hint = "move it out of the task, or remove its .git";
            let diagnostic = Diagnostic::warning(Code::RepositoryInsideTask, message)
                .at(Place::file(&path))
                .hint(hint);
            observed.facts.diagnostics.push(diagnostic);
            observed.nested.push(path);
            return Ok(());
        }
        let Some(below) = self.place.name(&path) else {
            return Ok(());
        };
        match below {
            STATE_FILE => {
                observed.state = match self.get(&path, entry)? {
                    Got::Bytes(bytes) => Some(StateFile {
                        bytes,
                        problems: Vec::new(),
                    }),
                    Got::Problem(problem) => Some(StateFile {
                        bytes: Vec::new(),
                        problems: vec![problem],
                    }),
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
        if let Some(name) = result_of(below) {
            // Who looks at the task reads it, if it is one of a verification that it knows.
            let fact = VerifiedFact {
                code: None,
                rules: RULES,
                file: ResultFile::Missing,
            };
            observed.facts.verified.insert(name, fact);
            return Ok(());
        }
        let mut owners: Vec<(usize, usize)> = matcher.artifacts_of(below).collect();
        let is_owned = !owners.is_empty();
        // Which of their files count, other files say.
        owners.retain(|(artifact, _)| self.artifact_at(*artifact).is_some_and(is_plain));
        if owners.is_empty() && is_owned {
            return Ok(());
        }
        if owners.is_empty() {
            if self.has_reports && entry.kind == EntryKind::File {
                self.note_below(matcher, &path, below, observed);
            }
            if self.workflow.keeps_approval(below)
                && let Got::Bytes(bytes) = self.get(&path, entry)?
            {
                let digest = self.source.digest(&path, &bytes)?;
                let executable = entry.executable;
                observed.files.push(ObservedFile {
                    path,
                    bytes,
                    digest,
                    executable,
                    commit: true,
                });
            }
            return Ok(());
        }
        self.artifact(&path, below.to_owned(), &owners, entry, observed)
    }

    fn artifact_at(&self, index: usize) -> Option<&Artifact> {
        self.workflow.artifacts.get(index)
    }

    /// Reads a file of the repository as a file of its artifact.
    fn take_of_repository(&self, file: &RepositoryFile, observed: &mut Observed) {
        let Some(artifact) = self.workflow.artifact(&file.artifact) else {
            return;
        };
        let (digest, data, problems) = match self.of_content(&file.path, file.content.clone()) {
            Got::Nothing => return,
            Got::Problem(problem) => (None, None, vec![problem]),
            Got::Bytes(bytes) => {
                let digest = self.source.format().blob(&bytes);
                let (data, problems) = self.read_and_validate(artifact, &file.path, &bytes);
                (Some(digest), data, problems)
            }
        };
        let fact = FileFact {
            writers: Vec::new(),
            pattern: file.pattern,
            is_tree: false,
            path: repository_name(file.path.as_str()),
            digest,
            data,
            problems,
        };
        push(&mut observed.facts.artifacts, &artifact.name, fact);
    }

    /// The files that other files name as those of an artifact; `None` if they name none.
    fn named(
        &self,
        artifact: &Artifact,
        guard: &Guard,
        observed: &mut Observed,
    ) -> Option<Patterns> {
        let found = named_pattern(self.workflow, guard, &observed.facts.artifacts);
        let refused = match found {
            Ok(None) => return None,
            Ok(Some(text)) => match Patterns::new([text.as_str()]) {
                Ok(patterns) => return Some(patterns),
                Err(error) => format!("`{text}` is no path: {error}"),
            },
            Err(why) => why.to_string(),
        };
        let message = format!(
            "which files are `{}` cannot be told, so `{}` counts: {refused}",
            artifact.name,
            artifact.paths.first().map_or("", String::as_str)
        );
        observed
            .facts
            .diagnostics
            .push(Diagnostic::error(Code::GuardError, message).at(guard_place(self.workflow)));
        None
    }

    /// Reads the files of an artifact that others name, or of its first path if they name none.
    fn take_named(
        &self,
        matcher: &Matcher,
        (index, named): (usize, Option<&Patterns>),
        entries: &[Entry],
        observed: &mut Observed,
    ) -> Result<(), Error> {
        for entry in entries {
            let Ok(path) = RepoPath::new(&entry.path) else {
                continue;
            };
            let Some(below) = self.place.name(&path) else {
                continue;
            };
            let mut owners = matcher.artifacts_of(below);
            let Some((_, pattern)) = owners.find(|(artifact, _)| *artifact == index) else {
                continue;
            };
            let is_meant = match named {
                Some(named) => named.matches(below),
                None => pattern == 0,
            };
            if !is_meant {
                continue;
            }
            // One that is also another artifact was read already, and may have changed since.
            let known = observed.files.iter().position(|file| file.path == path);
            match known {
                None => self.artifact(&path, below.to_owned(), &[(index, 0)], entry, observed)?,
                Some(known) => {
                    let file = observed.files.remove(known);
                    let bytes = Got::Bytes(file.bytes);
                    let owners = [(index, 0)];
                    self.read_as(&path, below.to_owned(), &owners, (entry, bytes), observed)?;
                    if let Some(again) = observed.files.last_mut() {
                        again.commit |= file.commit;
                    }
                }
            }
        }
        Ok(())
    }

    /// Names a report that lies below the directory whose reports are read.
    fn note_below(&self, matcher: &Matcher, path: &RepoPath, name: &str, observed: &mut Observed) {
        let mut above = matcher.artifacts_above(name);
        let declared = above.find_map(|(artifact, pattern)| {
            let artifact = self.workflow.artifacts.get(artifact)?;
            let pattern = artifact.paths.get(pattern)?;
            let is_read = artifact.format.is_report() && artifact.is_glob();
            is_read.then_some((artifact, pattern))
        });
        let Some((artifact, pattern)) = declared else {
            return;
        };
        let found = &mut observed.facts.diagnostics;
        if found
            .iter()
            .filter(|finding| finding.code == Code::ArtifactBelow)
            .count()
            >= MAX_BELOW
        {
            return;
        }
        let message = format!(
            "`{name}` does not count: `{}` is read from `{pattern}`, and the file is in a directory below",
            artifact.name
        );
        let hint = "let the test runner write its reports to the directory itself";
        found.push(
            Diagnostic::note(Code::ArtifactBelow, message)
                .at(Place::file(path))
                .hint(hint),
        );
    }

    fn artifact(
        &self,
        path: &RepoPath,
        below: String,
        owners: &[(usize, usize)],
        entry: &Entry,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let got = self.get(path, entry)?;
        self.read_as(path, below, owners, (entry, got), observed)
    }

    /// Adds what was got of an entry to its artifacts.
    fn read_as(
        &self,
        path: &RepoPath,
        below: String,
        owners: &[(usize, usize)],
        (entry, got): (&Entry, Got),
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let artifacts = &self.workflow.artifacts;
        let owned = owners
            .iter()
            .filter_map(|(artifact, pattern)| Some((artifacts.get(*artifact)?, *pattern)));
        match got {
            Got::Nothing => {}
            Got::Problem(problem) => {
                let commit = owned.clone().any(|(artifact, _)| artifact.commit);
                if commit && entry.kind != EntryKind::Directory {
                    observed.unread.push(path.clone());
                }
                for (artifact, pattern) in owned {
                    // A directory that matches a wildcard by chance is not a broken artifact.
                    if entry.kind == EntryKind::Directory && artifact.is_glob() {
                        continue;
                    }
                    let fact = FileFact {
                        writers: Vec::new(),
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
                    let (data, problems) = self.read_and_validate(artifact, path, &bytes);
                    let path = below.clone();
                    let digest = Some(digest);
                    let writers = Vec::new();
                    let fact = FileFact {
                        pattern,
                        is_tree: false,
                        path,
                        digest,
                        data,
                        problems,
                        writers,
                    };
                    push(&mut observed.facts.artifacts, &artifact.name, fact);
                }
                let executable = entry.executable;
                observed.files.push(ObservedFile {
                    path: path.clone(),
                    bytes,
                    digest,
                    executable,
                    commit,
                });
            }
        }
        Ok(())
    }

    /// Parses and validates bytes. Skips validation of content that the schema is known to accept.
    fn read_and_validate(
        &self,
        artifact: &Artifact,
        path: &RepoPath,
        bytes: &[u8],
    ) -> (Option<Arc<serde_json::Value>>, Vec<Diagnostic>) {
        if let Some(problem) = self.too_dense(artifact.format, path, bytes) {
            return (None, vec![problem]);
        }
        let ReadResult { data, mut problems } =
            read_by(self.limits.version, artifact.format, path, bytes);
        let Some(mut data) = data else {
            return (None, problems);
        };
        // The bytes as read, not as git stores them: a filter may change them.
        let content = self.source.format().blob(bytes);
        let is_latest = self.limits.version == RecordVersion::CURRENT;
        if let Some(schema) = &artifact.schema
            && !(is_latest
                && self
                    .validations
                    .is_valid(content, schema.digest, artifact.format))
        {
            let found = self
                .schemas
                .validate(schema, &data, path, artifact.format, bytes);
            if found.is_empty() && is_latest {
                self.validations
                    .note_valid(content, schema.digest, artifact.format);
            }
            problems.extend(found);
        }
        let valid = !problems.iter().any(Diagnostic::is_error);
        if let Some(schema) = artifact.schema.as_ref().filter(|_| valid && is_latest) {
            schema.make_whole(&mut data);
        }
        (valid.then(|| Arc::new(data)), problems)
    }

    /// The problem of a file whose values would take too much memory.
    fn too_dense(&self, format: Format, path: &RepoPath, bytes: &[u8]) -> Option<Diagnostic> {
        let memory = memory_of(format, bytes);
        let limit = memory_limit(self.limits.bytes);
        let sum = self.memory.get().saturating_add(memory);
        let most = memory_of_all(self.limits.bytes);
        let message = if memory > limit {
            format!(
                "the file contains so many values that reading it would take {} MiB of memory; the limit is {} MiB",
                memory >> 20,
                limit >> 20
            )
        } else if sum > most {
            format!(
                "the files of the task together contain so many values that reading this one too would take {} MiB of memory; the limit is {} MiB",
                sum >> 20,
                most >> 20
            )
        } else {
            self.memory.set(sum);
            return None;
        };
        Some(
            Diagnostic::error(Code::TooLarge, message)
                .at(Place::file(path))
                .hint(SMALLER),
        )
    }

    fn get(&self, path: &RepoPath, entry: &Entry) -> Result<Got, Error> {
        let (code, message, hint): (Code, String, Hint) = match &entry.kind {
            EntryKind::File => {
                let content = self.source.read(path, self.limits.bytes)?;
                return Ok(self.of_content(path, content));
            }
            EntryKind::Symlink => (
                Code::Symlink,
                "the path is a symbolic link; git stores the link, not its target".to_owned(),
                "replace the link with the file".into(),
            ),
            EntryKind::Directory => (
                Code::IsADirectory,
                "the path is a directory, not a file".to_owned(),
                "remove the directory and write the file".into(),
            ),
            EntryKind::Special => (
                Code::NotAFile,
                "the path is a pipe, a device or a socket, not a file".to_owned(),
                "remove it and write the file".into(),
            ),
            EntryKind::NotUtf8 | EntryKind::Repository => return Ok(Got::Nothing),
        };
        let problem = Diagnostic::error(code, message).at(Place::file(path));
        Ok(Got::Problem(problem.hint(hint)))
    }

    /// The bytes of a regular file, or why there are none.
    fn of_content(&self, path: &RepoPath, content: Content) -> Got {
        let (code, message, hint): (Code, String, Hint) = match content {
            Content::Bytes(bytes) if bytes.starts_with(LFS_POINTER) => (
                Code::NotInClone,
                "the file is a pointer of Git LFS, and its content is not here".to_owned(),
                Hint::run(&["git", "lfs", "pull"]),
            ),
            Content::Bytes(bytes) => return Got::Bytes(bytes),
            Content::Missing => return Got::Nothing,
            Content::TooLarge(size) => (
                Code::TooLarge,
                format!(
                    "the file has {size} bytes; the limit is {} bytes",
                    self.limits.bytes
                ),
                SMALLER.into(),
            ),
            Content::Absent => (
                Code::NotInClone,
                "the content of the file is not in this clone".to_owned(),
                Hint::run(&["git", "fetch", "--refetch", "--no-filter"]),
            ),
            Content::Unreadable(why) => (
                Code::NotAFile,
                format!("the file cannot be read: {why}"),
                "remove it and write the file".into(),
            ),
        };
        let problem = Diagnostic::error(code, message).at(Place::file(path));
        Got::Problem(problem.hint(hint))
    }
}

/// Whether the paths of an artifact alone say which files are its own.
fn is_plain(artifact: &Artifact) -> bool {
    artifact.named_by.is_none()
}

/// The place of a workflow's document.
fn guard_place(workflow: &Workflow) -> Place {
    Place {
        path: workflow.path.clone(),
        ..Place::default()
    }
}

/// What to do about a file that is too large.
const SMALLER: &str = "make the file smaller, or raise `limit_bytes` in orch.toml";

fn push(
    artifacts: &mut BTreeMap<ArtifactName, Vec<FileFact>>,
    name: &ArtifactName,
    fact: FileFact,
) {
    artifacts.entry(name.clone()).or_default().push(fact);
}
