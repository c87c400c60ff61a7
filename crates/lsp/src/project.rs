//! One repository: what a file of it is, and what is wrong with a text of it, saved or not.

use crate::text::{LinedText, uri_of};
use orch_base::{Diagnostic, Error, RepoPath};
use orch_core::config;
use orch_core::workflow::{
    CheckMemo, Document, System, Workflow, check_cases, check_fast, check_untyped, compile_with,
};
use orch_engine::survey::{Purpose, TaskRef, Workspace};
use orch_git::Environment;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A repository, or a directory with tasks.
pub struct Project {
    /// Its root.
    pub root: PathBuf,
    /// What was read of it last.
    pub workspace: Workspace,
    environment: Environment,
    documents: BTreeMap<String, KnownDocument>,
    /// The task that was opened last, whose values are shown.
    pub task: Option<TaskRef>,
}

/// What is known of a workflow document.
#[derive(Default)]
struct KnownDocument {
    memo: CheckMemo,
    /// The last version without errors, for questions about a version that has some.
    workflow: Option<Workflow>,
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    /// The document of the workflow with this name.
    Workflow(String),
    /// `orch.toml`.
    Settings,
    /// The schema with this name.
    Schema(String),
    /// Something else, which may belong to a task.
    Other,
}

/// A workflow document as it is in the editor.
pub struct OpenDocument<'p> {
    /// The document.
    pub document: Document,
    /// The workflow: of this version, or else of the last one without errors.
    pub workflow: Option<&'p Workflow>,
    /// The texts that it names.
    pub system: System,
    /// What is known of its guards.
    pub memo: &'p mut CheckMemo,
}

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckDepth {
    /// What takes a moment: all but the cases of the rules, and, after a change of a schema, a fact or a named expression,
    /// the types of guards.
    Fast,
    /// Everything.
    Whole,
}

impl Project {
    /// Opens the repository around a file; outside one, the directory with `orch.toml` above it. Returns `None` if there is
    /// neither.
    pub fn around(path: &Path, environment: &Environment) -> Result<Option<Self>, Error> {
        let above = path.ancestors().skip(1);
        let mut existing = above.filter(|directory| directory.is_dir());
        let Some(start) = existing.next() else {
            return Ok(None);
        };
        let is_one = start
            .ancestors()
            .any(|above| above.join(".git").exists() || above.join(config::FILE).is_file());
        if !is_one {
            return Ok(None);
        }
        let workspace = Workspace::open_for(Purpose::Look, start, environment.clone(), None)?;
        Ok(Some(Self {
            root: workspace.reader().root().to_owned(),
            workspace,
            environment: environment.clone(),
            documents: BTreeMap::new(),
            task: None,
        }))
    }

    /// Reads the settings again. Returns an error if that fails; then those before stay.
    pub fn reload(&mut self) -> Result<(), Error> {
        let environment = self.environment.clone();
        self.workspace = Workspace::open_for(Purpose::Look, &self.root, environment, None)?;
        Ok(())
    }

    /// The path of a file within the repository.
    pub fn inside(&self, path: &Path) -> Option<RepoPath> {
        let relative = path.strip_prefix(&self.root).ok()?;
        RepoPath::new(relative.to_str()?).ok()
    }

    /// What a file is.
    pub fn kind(&self, path: &RepoPath) -> FileKind {
        let path = path.as_str();
        if path == config::FILE {
            return FileKind::Settings;
        }
        let system = self.workspace.settings().config().system.as_str();
        let below = path
            .strip_prefix(system)
            .and_then(|path| path.strip_prefix('/'));
        let named = |folder: &str, suffix: &str| {
            let name = below?.strip_prefix(folder)?.strip_suffix(suffix)?;
            (!name.contains('/')).then(|| name.to_owned())
        };
        if let Some(name) = named("workflows/", ".md") {
            FileKind::Workflow(name)
        } else if let Some(name) = named("schemas/", ".schema.json") {
            FileKind::Schema(name)
        } else {
            FileKind::Other
        }
    }

    /// The path of a text that workflows name, if the repository has a file for it.
    pub fn file_of(&self, path: &str) -> Option<String> {
        let system = self.workspace.settings().config().system.as_str();
        let file = self.root.join(system).join(path);
        file.is_file().then(|| uri_of(&file))
    }

    /// The texts of the repository, with those of open buffers in the place of saved ones.
    fn system(&self, buffers: &[(RepoPath, &str)]) -> System {
        let settings = self.workspace.settings();
        let mut system = settings.system().clone();
        let directory = settings.config().system.as_str();
        for (path, text) in buffers {
            let below = path.as_str().strip_prefix(directory);
            if let Some(path) = below.and_then(|path| path.strip_prefix('/')) {
                system.insert(path, *text);
            }
        }
        system
    }

    /// A workflow document, for questions about its names.
    pub fn document(
        &mut self,
        name: &str,
        path: &RepoPath,
        text: &str,
        buffers: &[(RepoPath, &str)],
    ) -> OpenDocument<'_> {
        let system = self.system(buffers);
        let document = Document::new(name, path.as_str(), text);
        let known = self.documents.entry(name.to_owned()).or_default();
        if let (Some(workflow), _) = compile_with(&document, &system, &mut known.memo) {
            known.workflow = Some(workflow);
        }
        OpenDocument {
            document,
            workflow: known.workflow.as_ref(),
            system,
            memo: &mut known.memo,
        }
    }

    /// What is wrong with a text.
    pub fn findings(
        &mut self,
        path: &RepoPath,
        text: &str,
        buffers: &[(RepoPath, &str)],
        depth: CheckDepth,
    ) -> Vec<Diagnostic> {
        match self.kind(path) {
            FileKind::Workflow(name) => self.of_workflow(&name, path, text, buffers, depth),
            FileKind::Settings => {
                let (_, mut findings) = config::parse(text, config::FILE);
                let names = self.workspace.settings().workflow_names();
                let unknown = config::unknown_workflows(text, config::FILE, &names);
                findings.extend(unknown.into_iter().map(|unknown| unknown.finding));
                findings
            }
            FileKind::Schema(_) => orch_read::lint(path.as_str(), text),
            FileKind::Other => self.of_artifact(path, text).unwrap_or_default(),
        }
    }

    fn of_workflow(
        &mut self,
        name: &str,
        path: &RepoPath,
        text: &str,
        buffers: &[(RepoPath, &str)],
        depth: CheckDepth,
    ) -> Vec<Diagnostic> {
        let system = self.system(buffers);
        let document = Document::new(name, path.as_str(), text);
        let known = self.documents.entry(name.to_owned()).or_default();
        let (workflow, mut findings) = compile_with(&document, &system, &mut known.memo);
        let Some(workflow) = workflow else {
            return findings;
        };
        let memo = &mut known.memo;
        let of_check = if depth == CheckDepth::Fast && memo.has_other_types(&workflow) {
            check_untyped(&document, &workflow)
        } else {
            check_fast(&document, &workflow, memo)
        };
        if depth == CheckDepth::Whole {
            findings.extend(check_cases(&document, &workflow, &of_check));
        }
        findings.extend(of_check);
        let settings = self.workspace.settings();
        findings.extend(settings.check_around(&document, &workflow));
        known.workflow = Some(workflow);
        findings
    }

    /// What is wrong with a file of a task; `None` if it is none.
    fn of_artifact(&mut self, path: &RepoPath, text: &str) -> Option<Vec<Diagnostic>> {
        let task = self.workspace.finder().task_of_path(path).ok()??;
        let settings = self.workspace.settings();
        let loaded = settings.workflow(task.workflow.as_str()).ok()?;
        let workflow = loaded.workflow()?;
        let directory = task.directory().as_str();
        let below = path.as_str().strip_prefix(directory)?.strip_prefix('/')?;
        let mut findings = Vec::new();
        for (index, _) in loaded.matcher().artifacts_of(below) {
            let artifact = &workflow.artifacts[index];
            let read = orch_read::read(artifact.format, path, text.as_bytes());
            findings.extend(read.problems);
            if let (Some(data), Some(schema)) = (&read.data, &artifact.schema) {
                let schemas = settings.schemas();
                let bytes = text.as_bytes();
                findings.extend(schemas.validate(schema, data, path, artifact.format, bytes));
            }
        }
        self.task = Some(task);
        Some(findings)
    }
}

/// A finding as the protocol has it.
pub fn diagnostic(finding: &Diagnostic, text: &LinedText) -> serde_json::Value {
    let severity = match finding.severity {
        orch_base::Severity::Error => 1,
        orch_base::Severity::Warning => 2,
        orch_base::Severity::Note => 4,
    };
    let bytes = finding
        .place
        .as_ref()
        .map_or(0..0, |place| text.bytes_of(place));
    let mut message = finding.message.clone();
    let hint = finding.hint.as_ref().map(ToString::to_string);
    if let Some(hint) = &hint {
        message.push('\n');
        message.push_str(hint);
    }
    serde_json::json!({
        "range": text.range(&bytes),
        "severity": severity,
        "code": finding.code.as_str(),
        "source": "orch",
        "message": message,
        "data": {"hint": hint},
    })
}
