//! Versions of workflow documents, as somebody names two of them to compare: in the work tree, in a commit, or in a file.

use super::loaded::Loaded;
use super::setting::{InSource, Settings};
use super::workflows::compiled;
use super::{Error, Reader, Workspace};
use orch_base::{Code, Diagnostic, Hint, RepoPath, nearest};
use orch_core::workflow::{Document, DocumentVersion, System, Workflow};
use orch_files::io_error;
use orch_git::Store;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A version of a workflow document.
#[derive(Clone)]
pub struct WorkflowVersion {
    /// Where it is: a path, after the revision and a colon if it is in a commit.
    pub label: String,
    /// The document, and what was compiled of it.
    pub loaded: Arc<Loaded>,
    /// The texts around it.
    system: System,
}

/// What there is of a workflow.
pub enum VersionPair {
    /// Two versions.
    Both {
        /// The former one.
        former: WorkflowVersion,
        /// The present one.
        now: WorkflowVersion,
    },
    /// Only a former version.
    Removed(WorkflowVersion),
    /// Only a present version.
    Added(WorkflowVersion),
}

/// What somebody names.
enum MeantVersions {
    /// One document.
    One(WorkflowVersion),
    /// All documents of a revision, or of the work tree.
    All(AllVersions),
}

/// The documents of a revision, or of the work tree.
struct AllVersions {
    /// What stands before a path: the revision and a colon.
    before: String,
    settings: Arc<Settings>,
}

impl WorkflowVersion {
    /// The name of the workflow.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.loaded.document.name
    }

    /// The document and the workflow. Returns an error if the document has errors.
    pub fn usable(&self) -> Result<DocumentVersion<'_>, Error> {
        Ok(DocumentVersion {
            document: &self.loaded.document,
            workflow: &self.loaded.usable()?.workflow,
        })
    }

    fn workflow(&self) -> Option<&Workflow> {
        self.loaded.workflow()
    }
}

impl VersionPair {
    /// The former version.
    #[must_use]
    pub fn former(&self) -> Option<&WorkflowVersion> {
        match self {
            Self::Both { former, .. } | Self::Removed(former) => Some(former),
            Self::Added(_) => None,
        }
    }

    /// The present version.
    #[must_use]
    pub fn now(&self) -> Option<&WorkflowVersion> {
        match self {
            Self::Both { now, .. } | Self::Added(now) => Some(now),
            Self::Removed(_) => None,
        }
    }

    fn is_same(&self) -> bool {
        let digest = |version: Option<&WorkflowVersion>| Some(version?.workflow()?.digest);
        let former = digest(self.former());
        former.is_some() && former == digest(self.now())
    }
}

impl AllVersions {
    /// The document of this name; `None` if there is none.
    fn version(&self, name: &str) -> Option<WorkflowVersion> {
        let loaded = self.settings.workflow(name).ok()?;
        let path = self.settings.path_of_workflow(&loaded.document.name);
        Some(WorkflowVersion {
            label: format!("{}{path}", self.before),
            loaded,
            system: self.settings.system.clone(),
        })
    }

    /// The document of this name. Returns an error if there is none.
    fn demanded(&self, name: &str) -> Result<WorkflowVersion, Error> {
        self.version(name).ok_or_else(|| {
            let where_to = self.before.trim_end_matches(':');
            let message = format!("there is no workflow `{name}` in {where_to}");
            let names = self.settings.workflow_names();
            let hint = format!("the workflows there are {}", names.join(", "));
            Error::new(Code::WorkflowMissing, message).with_hint(hint)
        })
    }
}

impl Workspace {
    /// The versions that two names mean, in pairs: a name is that of a workflow in the work tree, a file, the revision and
    /// the path of a file in it as `COMMIT:PATH`, or a revision, with all its documents.
    ///
    /// Without the second name, the first is compared with the work tree; if it is the name of a workflow, that of HEAD is.
    /// Of all documents, those are left out that are the same machine. Paths are relative to `start`. Returns an error if a
    /// name means nothing, or what it means cannot be read.
    pub fn versions(
        &self,
        start: &Path,
        former: &str,
        now: Option<&str>,
    ) -> Result<Vec<VersionPair>, Error> {
        let own = || {
            MeantVersions::All(AllVersions {
                before: String::new(),
                settings: Arc::clone(&self.reader.settings),
            })
        };
        let is_own = |name: &str| {
            let names = self.settings().workflow_names();
            names.iter().any(|own| own == name)
        };
        let reader = &self.reader;
        let finder = VersionFinder { reader, start };
        let [former, now] = match now {
            None if is_own(former) => [finder.revision("HEAD")?, finder.named(former)?],
            None => [finder.named(former)?, own()],
            Some(now) => [finder.named(former)?, finder.named(now)?],
        };
        let one = |former, now| vec![VersionPair::Both { former, now }];
        Ok(match (former, now) {
            (MeantVersions::One(former), MeantVersions::One(now)) => one(former, now),
            (MeantVersions::One(former), MeantVersions::All(all)) => {
                let now = all.demanded(former.name())?;
                one(former, now)
            }
            (MeantVersions::All(all), MeantVersions::One(now)) => {
                one(all.demanded(now.name())?, now)
            }
            (MeantVersions::All(former), MeantVersions::All(now)) => pairs(&former, &now),
        })
    }

    /// The same workspace, in which these versions decide: the former ones or the present ones of pairs.
    #[must_use]
    pub fn by_versions(mut self, pairs: &[VersionPair], is_former: bool) -> Self {
        let own = &self.reader.settings;
        let mut system = own.system.clone();
        for pair in pairs {
            let version = if is_former { pair.former() } else { pair.now() };
            let Some(version) = version else { continue };
            let around = version.system.iter();
            for (path, text) in around.filter(|(path, _)| !path.starts_with("workflows/")) {
                system.insert(path, text);
            }
            for name in names_of(pair, own) {
                system.insert(
                    format!("workflows/{name}.md"),
                    version.loaded.document.text.as_str(),
                );
            }
        }
        self.reader.settings = Arc::new(own.with_system(system));
        self.known = None;
        self
    }
}

/// The names under which tasks of a workspace follow one of two versions: their own, and those of documents that are the
/// same machine.
#[must_use]
pub fn names_of(pair: &VersionPair, settings: &Settings) -> BTreeSet<String> {
    let versions = [pair.former(), pair.now()].into_iter().flatten();
    let mut names = BTreeSet::new();
    let mut digests = Vec::new();
    for version in versions {
        names.insert(version.name().to_owned());
        digests.extend(version.workflow().map(|workflow| workflow.digest));
    }
    for name in settings.workflow_names() {
        let loaded = settings.workflow(&name).ok();
        let own = loaded.as_ref().and_then(|loaded| loaded.workflow());
        if own.is_some_and(|own| digests.contains(&own.digest)) {
            names.insert(name);
        }
    }
    names
}

/// The documents of two sides in pairs, without those that are the same machine. One that has an alias now is that which had
/// this name.
fn pairs(former: &AllVersions, now: &AllVersions) -> Vec<VersionPair> {
    let has = |all: &AllVersions, name: &str| all.settings.system.workflow(name).is_some();
    let mut found = Vec::new();
    for name in former.settings.workflow_names() {
        found.extend(match (former.version(&name), now.version(&name)) {
            (Some(former), Some(now)) => Some(VersionPair::Both { former, now }),
            (former, now) => former
                .map(VersionPair::Removed)
                .or(now.map(VersionPair::Added)),
        });
    }
    for name in now.settings.workflow_names() {
        let is_paired = |pair: &VersionPair| pair.now().is_some_and(|own| own.name() == name);
        if !has(former, &name) && !found.iter().any(is_paired) {
            found.extend(now.version(&name).map(VersionPair::Added));
        }
    }
    found.retain(|pair| !pair.is_same());
    found
}

/// Finds what names of versions mean.
#[derive(Clone, Copy)]
struct VersionFinder<'w> {
    reader: &'w Reader,
    /// The directory that paths are relative to.
    start: &'w Path,
}

impl VersionFinder<'_> {
    fn named(self, name: &str) -> Result<MeantVersions, Error> {
        if let Some((revision, path)) = name.split_once(':')
            && !path.starts_with(['/', '^'])
        {
            return self.in_commit(revision, path);
        }
        let is_own = self.reader.settings.system.workflow(name).is_some();
        if is_own {
            let path = self.reader.settings.path_of_workflow(name);
            return Ok(MeantVersions::One(WorkflowVersion {
                label: path,
                loaded: self.reader.settings.workflow(name)?,
                system: self.reader.settings.system.clone(),
            }));
        }
        let file = self.start.join(name);
        if file.is_file() {
            let text = std::fs::read_to_string(&file).map_err(|source| io_error(&file, source))?;
            return Ok(version(name, name, &text, &self.reader.settings.system));
        }
        if self.reader.store.is_none() || name.ends_with(".md") {
            return Err(self.unknown_version(name).into());
        }
        self.revision(name).map_err(|error| match error.code() {
            Code::UnknownRevision => self.unknown_version(name).into(),
            _ => error,
        })
    }

    /// All documents of a revision.
    fn revision(self, revision: &str) -> Result<MeantVersions, Error> {
        let store = self.reader.repository_or_refuse()?;
        Ok(MeantVersions::All(AllVersions {
            before: format!("{revision}:"),
            settings: settings_at(store, revision)?.into(),
        }))
    }

    fn in_commit(self, revision: &str, path: &str) -> Result<MeantVersions, Error> {
        let store = self.reader.repository_or_refuse()?;
        let settings = settings_at(store, revision)?;
        if settings.system.workflow(path).is_some() {
            let all = AllVersions {
                before: format!("{revision}:"),
                settings: settings.into(),
            };
            return Ok(MeantVersions::One(all.demanded(path)?));
        }
        let commit = store.refs().resolve(revision)?;
        let source = store.objects().source_at(Some(commit));
        let missing = || {
            let message = format!("there is no file `{path}` in {revision}");
            let hint = Hint::from("the files there: ").command(&[
                "git",
                "ls-tree",
                "-r",
                "--name-only",
                revision,
            ]);
            Error::new(Code::WorkflowMissing, message).with_hint(hint)
        };
        let place = RepoPath::new(path).map_err(|_| missing())?;
        let blob = source.blob_at(&place)?;
        let bytes = match blob {
            Some(blob) => store.objects().blob(blob)?,
            None => None,
        };
        let bytes = bytes.ok_or_else(missing)?;
        let text = String::from_utf8_lossy(&bytes);
        let label = format!("{revision}:{path}");
        Ok(version(path, &label, &text, &settings.system))
    }

    fn unknown_version(self, name: &str) -> Diagnostic {
        let message = format!("`{name}` is no workflow, no file and no revision");
        let names = self.reader.settings.workflow_names();
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean the workflow `{near}`?"),
            None => format!("the workflows are {}", names.join(", ")),
        };
        Diagnostic::error(Code::WorkflowMissing, message).hint(hint)
    }
}

/// The document of a file.
fn version(path: &str, label: &str, text: &str, system: &System) -> MeantVersions {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".md").unwrap_or(name);
    let document = Document::new(name, label, orch_base::with_line_feeds(text));
    MeantVersions::One(WorkflowVersion {
        label: label.to_owned(),
        loaded: Arc::new(compiled(document, system)),
        system: system.clone(),
    })
}

/// The settings in a revision. Returns an error if there is no such revision, or it cannot be read.
fn settings_at(store: &Store, revision: &str) -> Result<Settings, Error> {
    let commit = store.refs().resolve(revision)?;
    let source = store.objects().source_at(Some(commit));
    Settings::read(&InSource(&source), store.objects().format()).in_full()
}
