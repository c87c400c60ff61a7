//! The settings: the configuration, and the workflows, schemas and agent instructions.

use super::loaded::{WorkflowCache, names};
use orch_base::{
    Class, Code, Diagnostic, Digest, Error, Hint, ObjectFormat, Reason, RepoPath, WorkflowName,
    with_line_feeds,
};
use orch_core::config::{self, Commit as CommitMode, Config, UnknownWorkflow};
use orch_core::decide::{Require, State};
use orch_core::workflow::{System, Workflow};
use orch_files::{Content, Source, open_linked, read_up_to};
use orch_git::{Store, WorkTree};
use orch_read::{ReadLimits, Schemas};
use rustix::io::Errno;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

/// How many bytes `orch.toml`, a workflow document, a schema and an agent text may have, each.
const MAX_BYTES: u64 = 4 << 20;

/// The settings in one source: the work tree, the index, or a commit.
pub struct Settings {
    pub(crate) config: Config,
    /// The text of `orch.toml`.
    text: String,
    pub(crate) system: System,
    /// Whether the repository has its own texts.
    pub(crate) has_own_texts: bool,
    pub(crate) schemas: Schemas,
    pub(crate) workflows: WorkflowCache,
    /// The findings about `orch.toml` and the system directory.
    pub(crate) findings: Vec<Diagnostic>,
    /// The workflows that `orch.toml` names but that do not exist; their findings are also in `findings`.
    pub(crate) unknown_workflows: Vec<UnknownWorkflow>,
    digest: OnceLock<Digest>,
}

/// Why a text cannot be read.
pub(crate) struct UnreadText {
    why: Reason,
    /// The code of the failure, if it is one of the machine, which says nothing about the text.
    fault: Option<Code>,
    /// What to do about it.
    hint: Option<Hint>,
}

impl UnreadText {
    /// The finding about a text at a path: with the code of the failure, or with this one for what the user can mend there.
    fn finding(self, usual: Code, path: impl Display) -> Diagnostic {
        let message = format!("cannot read {path}: {}", self.why);
        Diagnostic {
            hint: self.hint,
            ..Diagnostic::error(self.fault.unwrap_or(usual), message)
        }
    }
}

impl From<Reason> for UnreadText {
    fn from(why: Reason) -> Self {
        Self {
            why,
            fault: None,
            hint: None,
        }
    }
}

impl From<Error> for UnreadText {
    fn from(error: Error) -> Self {
        let fault = (error.class() == Class::Fault).then(|| error.code());
        Self {
            why: error.message().into(),
            fault,
            hint: error.hint().cloned(),
        }
    }
}

impl From<io::Error> for UnreadText {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
        let is_at_the_path = matches!(
            error.kind(),
            IsADirectory | NotADirectory | NotFound | PermissionDenied
        ) || error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        Self {
            why: error.to_string().into(),
            fault: (!is_at_the_path).then_some(Code::Io),
            hint: None,
        }
    }
}

/// A source of texts.
pub(crate) trait Texts {
    /// The text of a file; `None` if it does not exist. Returns an error if it cannot be read.
    fn text(&self, path: &RepoPath) -> Result<Option<String>, UnreadText>;

    /// Whether a file is known to contain exactly this text, without reading it.
    fn holds(&self, _path: &RepoPath, _text: &str) -> bool {
        false
    }

    /// Whether a path is a link that leads out of the repository. Returns an error if that is unknown.
    fn leads_out(&self, _path: &RepoPath) -> Result<bool, UnreadText> {
        Ok(false)
    }

    fn names(&self, directory: &RepoPath) -> Result<Vec<String>, UnreadText>;
}

impl Settings {
    /// Reads the settings for a repository with ids of this format. A faulty part falls back to its default and
    /// becomes a finding.
    pub(crate) fn read(texts: &dyn Texts, format: ObjectFormat) -> Self {
        let ConfigText {
            text,
            config,
            mut findings,
        } = ConfigText::read(texts);
        let (system, has_own_texts) = overlay(texts, &config.system, &mut findings);
        let system = system.in_format(format);
        let unknown_workflows = config::unknown_workflows(&text, config::FILE, &names(&system));
        findings.extend(
            unknown_workflows
                .iter()
                .map(|unknown| unknown.finding.clone()),
        );
        Self {
            config,
            text,
            system,
            has_own_texts,
            schemas: Schemas::default(),
            workflows: WorkflowCache::default(),
            findings,
            unknown_workflows,
            digest: OnceLock::new(),
        }
    }

    /// The same configuration with other workflows, schemas and agent instructions.
    pub(crate) fn with_system(&self, system: System) -> Self {
        Self {
            config: self.config.clone(),
            text: self.text.clone(),
            system,
            has_own_texts: true,
            schemas: Schemas::default(),
            workflows: WorkflowCache::default(),
            findings: self.findings.clone(),
            unknown_workflows: self.unknown_workflows.clone(),
            digest: OnceLock::new(),
        }
    }

    /// The configuration: `orch.toml` over the defaults.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The schemas, each compiled once.
    #[must_use]
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// The effective workflows, schemas and agent instructions: the built-in ones, overridden by the
    /// repository's own.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The findings about `orch.toml` and the system directory.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The same, without those about a workflow that `orch.toml` names but that is still to be made.
    pub fn findings_before(&self, made: &WorkflowName) -> impl Iterator<Item = &Diagnostic> {
        let is_awaited = move |finding: &Diagnostic| {
            let mut unknown = self.unknown_workflows.iter();
            unknown.any(|unknown| unknown.name == *made && unknown.finding == *finding)
        };
        self.findings
            .iter()
            .filter(move |finding| !is_awaited(finding))
    }

    /// The value of `$schema` in a state.
    pub(crate) fn state_schema(&self) -> String {
        format!("{}/schemas/state.schema.json", self.config.system)
    }

    /// Whether steps of a task that are due together become a single commit.
    pub(crate) fn batches(&self) -> bool {
        self.config.git.commit == CommitMode::Batch
    }

    /// Whether a commit may contain steps of several tasks.
    pub(crate) fn joins_tasks(&self) -> bool {
        self.batches() && self.config.git.batch_seconds > 0
    }

    /// The text of `orch.toml`; empty if there is none.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the repository has settings of its own, or texts.
    pub(crate) fn is_own(&self) -> bool {
        !self.text.is_empty() || self.has_own_texts
    }

    /// Whether the text of `orch.toml` is that of a blob.
    pub(super) fn is_text(&self, blob: Digest) -> bool {
        !self.text.is_empty() && blob == blob.format().blob(self.text.as_bytes())
    }

    /// The digest of all texts of these settings, and of what could not be read.
    pub(crate) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| self.digest_of_texts())
    }

    fn digest_of_texts(&self) -> Digest {
        let texts = self
            .system
            .iter()
            .flat_map(|(path, text)| [path, "\0", text, "\0"]);
        let mut whole: String = [self.text.as_str(), "\0"]
            .into_iter()
            .chain(texts)
            .collect();
        self.findings
            .iter()
            .for_each(|finding| whole.push_str(&format!("{finding}\0")));
        whole.push_str(&format!("{:?}{}", self.system.format(), self.has_own_texts));
        Digest::of_blob(whole.as_bytes())
    }

    /// Whether these settings come from the same texts, and the same could not be read.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
            && self.has_own_texts == other.has_own_texts
            && self.system.format() == other.system.format()
            && self.findings == other.findings
            && self.system.iter().eq(other.system.iter())
    }

    /// The files whose texts differ from those of other settings, sorted.
    pub(super) fn changed_files(&self, other: &Self) -> Vec<RepoPath> {
        let before = self.texts();
        let after = other.texts();
        let all: BTreeSet<&RepoPath> = before.keys().chain(after.keys()).collect();
        all.into_iter()
            .filter(|path| before.get(*path) != after.get(*path))
            .cloned()
            .collect()
    }

    fn texts(&self) -> BTreeMap<RepoPath, &str> {
        let directory = &self.config.system;
        let system = self
            .system
            .iter()
            .filter_map(|(path, text)| Some((directory.join(path).ok()?, text)));
        system
            .chain(
                RepoPath::new(config::FILE)
                    .ok()
                    .map(|path| (path, self.text.as_str())),
            )
            .collect()
    }

    /// These settings, as evidence. Returns an error if the machine failed to read a part of them, so that the
    /// defaults stand in its place.
    pub(crate) fn in_full(self) -> Result<Self, Error> {
        match self
            .findings
            .iter()
            .find(|finding| finding.code.class() == Class::Fault)
        {
            Some(finding) => Err(finding.clone().into()),
            None => Ok(self),
        }
    }

    /// Why the state schema rejects the workflow's own data, if it does.
    pub(crate) fn refused_data(&self, workflow: &Workflow, state: &State) -> Option<String> {
        let schema = workflow.state.schema.as_ref()?;
        let own = Value::Object(state.extra.clone());
        let problem = self.schemas.refuses(schema, &own).into_iter().next()?;
        let place = if problem.pointer.is_empty() {
            "the state".to_owned()
        } else {
            problem.pointer
        };
        Some(format!(
            "schema `{}` rejects {place}: {}",
            schema.name, problem.message
        ))
    }

    /// The directories with all tasks.
    pub(super) fn bases(&self) -> Vec<RepoPath> {
        self.config.roots.bases().cloned().collect()
    }

    pub(crate) fn limits(&self) -> ReadLimits {
        ReadLimits {
            bytes: self.config.limit_bytes,
            ..ReadLimits::default()
        }
    }
}

/// What to do about a fault of the settings in HEAD.
pub(super) const CORRECT_HEAD: &str = "correct orch.toml and commit it";

/// The settings that HEAD holds.
pub(super) struct HeadSettings {
    /// What they say.
    pub config: Config,
    /// What is wrong with them: the first error, in words, because whoever reads it sees another file in the work tree.
    pub fault: Option<String>,
}

impl HeadSettings {
    /// Reads the settings at HEAD; `None` if they are invalid there and the work tree holds the same file. Returns an error
    /// on an I/O failure.
    pub(super) fn read(store: &Store, head: &dyn Source) -> Result<Option<Self>, Error> {
        let ConfigText {
            config, findings, ..
        } = ConfigText::read(&InSource(head));
        let Some(fault) = findings.iter().find(|finding| finding.is_error()) else {
            return Ok(Some(Self {
                config,
                fault: None,
            }));
        };
        if fault.code.class() == Class::Fault {
            return Err(fault.clone().into());
        }
        if store.filters().is_as_in_head(config::FILE) {
            return Ok(None);
        }
        let place = fault
            .place
            .as_ref()
            .map_or_else(|| config::FILE.to_owned(), ToString::to_string);
        let fault = Some(format!("{place} in HEAD: {}", fault.message));
        Ok(Some(Self { config, fault }))
    }
}

/// `orch.toml` in one source.
struct ConfigText {
    /// Its text; empty if there is none.
    text: String,
    /// What it says.
    config: Config,
    /// What is wrong with it.
    findings: Vec<Diagnostic>,
}

impl ConfigText {
    /// Reads `orch.toml`. What cannot be read at all is as one that requires everything.
    fn read(texts: &dyn Texts) -> Self {
        let text = match RepoPath::new(config::FILE).map(|path| texts.text(&path)) {
            Ok(Ok(text)) => text.unwrap_or_default(),
            Ok(Err(error)) => {
                let config = Config {
                    require: Require::EVERYTHING,
                    ..Config::default()
                };
                let findings = vec![error.finding(Code::ConfigUnreadable, config::FILE)];
                return Self {
                    text: String::new(),
                    config,
                    findings,
                };
            }
            Err(_) => String::new(),
        };
        let (config, findings) = config::parse(&text, config::FILE);
        Self {
            text,
            config,
            findings,
        }
    }
}

/// The built-in texts, overridden by every workflow, schema and agent text of the repository.
fn overlay(
    texts: &dyn Texts,
    directory: &RepoPath,
    findings: &mut Vec<Diagnostic>,
) -> (System, bool) {
    let mut system = System::shipped();
    let mut any = false;
    for (folder, suffix) in [
        ("workflows", ".md"),
        ("schemas", ".schema.json"),
        ("agents", ".md"),
    ] {
        let Ok(folder_path) = directory.join(folder) else {
            continue;
        };
        let unreadable =
            |path: &RepoPath, error: UnreadText| error.finding(Code::SystemUnreadable, path);
        let mut names = texts.names(&folder_path).unwrap_or_else(|error| {
            findings.push(unreadable(&folder_path, error));
            Vec::new()
        });
        names.retain(|name| name.ends_with(suffix));
        names.sort_unstable();
        for name in names {
            let Ok(path) = folder_path.join(&name) else {
                continue;
            };
            let below = format!("{folder}/{name}");
            if system
                .text(&below)
                .is_some_and(|shipped| texts.holds(&path, shipped))
            {
                any = true;
                continue;
            }
            // Instructions go to a program, so a link must not feed it other files of the user.
            let is_outside = if folder == "agents" {
                texts.leads_out(&path)
            } else {
                Ok(false)
            };
            let outside =
                || Err(Reason::from("it is a link that leads out of the repository").into());
            match is_outside.and_then(|is_outside| {
                if is_outside {
                    outside()
                } else {
                    texts.text(&path)
                }
            }) {
                Ok(Some(text)) => {
                    any = true;
                    // A checkout may have converted line endings, but every clone must compute the same
                    // digest.
                    system.insert(below, with_line_feeds(&text).into_owned());
                }
                Ok(None) => {}
                Err(error) => findings.push(unreadable(&path, error)),
            }
        }
    }
    (system, any)
}

/// The texts in the work tree. Unlike evidence, they may be symbolic links.
pub(crate) struct OnDisk<'a>(pub &'a Path);

impl Texts for OnDisk<'_> {
    fn leads_out(&self, path: &RepoPath) -> Result<bool, UnreadText> {
        let is_link = |step: &RepoPath| -> io::Result<bool> {
            Ok(step.under(self.0).symlink_metadata()?.is_symlink())
        };
        let mut steps = std::iter::successors(Some(path.clone()), RepoPath::parent);
        let has_link = steps.try_fold(false, |found, step| {
            Ok::<_, io::Error>(found || is_link(&step)?)
        })?;
        Ok(has_link
            && !path
                .under(self.0)
                .canonicalize()?
                .starts_with(self.0.canonicalize()?))
    }

    fn text(&self, path: &RepoPath) -> Result<Option<String>, UnreadText> {
        // Opening a named pipe would block forever.
        let file = match open_linked(&path.under(self.0)) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(Reason::from("it is not a regular file").into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        utf8(read_up_to(&file, MAX_BYTES)?.ok_or_else(too_large)?)
    }

    fn names(&self, directory: &RepoPath) -> Result<Vec<String>, UnreadText> {
        let entries = match std::fs::read_dir(directory.under(self.0)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let name = |entry: io::Result<std::fs::DirEntry>| Ok(entry?.file_name());
        let names: io::Result<Vec<_>> = entries.map(name).collect();
        Ok(names?
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .collect())
    }
}

/// The texts in a sparse work tree, including those that are not checked out.
pub(crate) struct Sparse<'a>(pub &'a Path, pub WorkTree<'a>);

impl Texts for Sparse<'_> {
    fn leads_out(&self, path: &RepoPath) -> Result<bool, UnreadText> {
        match path.under(self.0).symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            _ => OnDisk(self.0).leads_out(path),
        }
    }

    fn text(&self, path: &RepoPath) -> Result<Option<String>, UnreadText> {
        match OnDisk(self.0).text(path)? {
            None => InSource(&self.1)
                .text(path)
                .map_err(|UnreadText { why, fault, hint }| {
                    let directory = path.parent().unwrap_or_else(RepoPath::root);
                    let why = format!(
                        "{why}, and it is not checked out; run git sparse-checkout add {directory}"
                    );
                    UnreadText {
                        why: why.into(),
                        fault,
                        hint,
                    }
                }),
            found => Ok(found),
        }
    }

    fn names(&self, directory: &RepoPath) -> Result<Vec<String>, UnreadText> {
        let mut names = OnDisk(self.0).names(directory)?;
        for entry in self.1.list(directory)? {
            let below = RepoPath::new(&entry.path).ok();
            names.extend(
                below
                    .as_ref()
                    .and_then(|path| path.below(directory))
                    .map(str::to_owned),
            );
        }
        names.retain(|name| !name.contains('/'));
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

/// The texts in a commit or in the index.
pub(crate) struct InSource<'a>(pub &'a dyn Source);

impl Texts for InSource<'_> {
    fn text(&self, path: &RepoPath) -> Result<Option<String>, UnreadText> {
        match self.0.read(path, MAX_BYTES) {
            Ok(Content::Bytes(bytes)) => utf8(bytes),
            Ok(Content::Missing) => Ok(None),
            Ok(Content::Unreadable(why)) => Err(Reason::from(why).into()),
            Ok(Content::Absent) => Err(UnreadText {
                why: "the content of the file is not in this clone".into(),
                fault: None,
                hint: Some(Hint::run(&["git", "fetch", "--refetch", "--no-filter"])),
            }),
            Ok(Content::TooLarge(_)) => Err(too_large()),
            Err(error) => Err(error.into()),
        }
    }

    fn holds(&self, path: &RepoPath, text: &str) -> bool {
        self.0
            .blob_id(path)
            .is_some_and(|blob| blob == blob.format().blob(text.as_bytes()))
    }

    fn names(&self, directory: &RepoPath) -> Result<Vec<String>, UnreadText> {
        let children = self.0.children(directory)?.unwrap_or_default();
        Ok(children
            .into_iter()
            .filter(|child| !child.is_directory)
            .map(|child| child.name)
            .collect())
    }
}

fn too_large() -> UnreadText {
    Reason::from(format!("it is larger than {} MiB", MAX_BYTES >> 20)).into()
}

fn utf8(bytes: Vec<u8>) -> Result<Option<String>, UnreadText> {
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|error| Reason::from(error.to_string()).into())
}
