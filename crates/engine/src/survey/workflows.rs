//! Loads workflows by name and compiles each once.

use super::loaded::{Loaded, UsableWorkflow, names};
use super::setting::{InSource, Settings};
use super::{Error, Reader, Sight};
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath, locked, nearest};
use orch_core::workflow::{
    Document, System, Workflow, artifact_paths, check, check_verifications, compile,
};
use orch_files::io_error;
use orch_git::durable;
use orch_read::Matcher;
use std::sync::Arc;

impl Settings {
    /// Loads a workflow by name. Returns an error if there is none.
    pub fn workflow(&self, name: &str) -> Result<Arc<Loaded>, Error> {
        let mut workflows = locked(&self.workflows);
        if let Some(loaded) = workflows.get(name) {
            return Ok(Arc::clone(loaded));
        }
        let Some(text) = self.system.workflow(name) else {
            drop(workflows);
            let renamed = self
                .renamed_workflow(name)
                .ok_or_else(|| self.unknown_workflow(name))?;
            locked(&self.workflows).insert(name.to_owned(), Arc::clone(&renamed));
            return Ok(renamed);
        };
        let document = Document::new(name, self.path_of_workflow(name), text);
        let loaded = Arc::new(compiled(document, &self.system));
        workflows.insert(name.to_owned(), Arc::clone(&loaded));
        Ok(loaded)
    }

    /// The workflow that has this name among its aliases.
    fn renamed_workflow(&self, alias: &str) -> Option<Arc<Loaded>> {
        // A document without the word need not be compiled.
        let may_be = |name: &String| {
            self.system
                .workflow(name)
                .is_some_and(|text| text.contains(alias))
        };
        let documents = self.workflow_names().into_iter().filter(may_be);
        let mut loaded = documents.filter_map(|name| self.workflow(&name).ok());
        loaded.find(|loaded| {
            loaded
                .workflow()
                .is_some_and(|workflow| workflow.is_named(alias))
        })
    }

    /// The names of all workflows, sorted.
    #[must_use]
    pub fn workflow_names(&self) -> Vec<String> {
        names(&self.system)
    }

    /// The path of a workflow's document in the repository, whether or not it exists.
    #[must_use]
    pub fn path_of_workflow(&self, name: &str) -> String {
        format!("{}/workflows/{name}.md", self.config.system)
    }

    fn unknown_workflow(&self, name: &str) -> Diagnostic {
        let names = self.workflow_names();
        let hint = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the workflows are {}", names.join(", ")),
        };
        Diagnostic::error(
            Code::WorkflowMissing,
            format!("there is no workflow `{name}`"),
        )
        .hint(hint)
    }
}

/// A document with what is compiled of it, among these texts.
pub(super) fn compiled(document: Document, system: &System) -> Loaded {
    let (workflow, problems) = compile(&document, system);
    let compiled = match workflow {
        Some(workflow) => {
            let matcher = Matcher::new(&workflow);
            Ok(Arc::new(UsableWorkflow { workflow, matcher }))
        }
        None => Err(Matcher::of_paths(&artifact_paths(&document))),
    };
    Loaded {
        document,
        compiled,
        problems,
    }
}

impl Settings {
    /// All problems of a workflow, including the warnings of the checks. Returns an error if there is no such
    /// workflow.
    pub fn check_workflow(&self, name: &str) -> Result<Vec<Diagnostic>, Error> {
        let loaded = self.workflow(name)?;
        let mut problems = loaded.problems.clone();
        if let Some(workflow) = loaded.workflow() {
            problems.extend(check(&loaded.document, workflow));
            problems.extend(self.check_around(&loaded.document, workflow));
        }
        Ok(problems)
    }

    /// What is wrong between a workflow and what it names: verifications, schemas, the defaults of its state and the
    /// names of other workflows.
    #[must_use]
    pub fn check_around(&self, document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
        let defined = self.config.verify.keys().collect();
        let mut problems = check_verifications(document, workflow, &defined);
        let schemas = workflow
            .artifacts
            .iter()
            .filter_map(|artifact| artifact.schema.as_ref());
        let mut seen = Vec::new();
        for schema in schemas.chain(&workflow.state.schema) {
            if !seen.contains(&schema.name) {
                let path = format!("{}/schemas/{}.schema.json", self.config.system, schema.name);
                problems.extend(self.schemas.lint(schema, &path));
                seen.push(schema.name.clone());
            }
        }
        problems.extend(self.refused_defaults(document, workflow));
        problems.extend(self.shared_aliases(document, workflow));
        problems
    }

    /// The aliases that another document has as well, so that they name two workflows.
    fn shared_aliases(&self, document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let others = self
            .workflow_names()
            .into_iter()
            .filter(|name| *name != workflow.name.as_str());
        let others: Vec<Arc<Loaded>> = others
            .filter_map(|name| self.workflow(&name).ok())
            .collect();
        for alias in &workflow.aliases {
            let mut compiled = others.iter().filter_map(|other| other.workflow());
            let Some(other) = compiled.find(|other| other.aliases.contains(alias)) else {
                continue;
            };
            let message = format!("`{alias}` is an alias of workflow `{}` too", other.name);
            let offset = document.text.find(alias.as_str()).unwrap_or_default();
            let place = Place::at(&document.path, &document.text, offset, alias.len());
            found.push(Diagnostic::error(Code::WorkflowDuplicate, message).at(place));
        }
        found
    }

    /// What the state schema rejects of the defaults of a new task.
    fn refused_defaults(&self, document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
        let Some(schema) = &workflow.state.schema else {
            return Vec::new();
        };
        let defaults = serde_json::Value::Object(workflow.state.defaults.clone());
        let refused = self.schemas.refuses(schema, &defaults);
        let at = |pointer: &str| {
            document.place_of_default(pointer.split('/').nth(1).unwrap_or_default())
        };
        let finding = |problem: orch_read::Problem| {
            let message = format!("the state schema rejects the defaults: {}", problem.message);
            let hint = problem
                .hint
                .unwrap_or_else(|| "correct [state.defaults] or the schema".to_owned());
            Diagnostic::error(Code::StateDefaults, message)
                .at(at(&problem.pointer))
                .hint(hint)
        };
        refused.into_iter().map(finding).collect()
    }
}

impl Reader {
    /// A warning about the workflow of a task whose document HEAD does not contain as it is: an audit reads the document
    /// in the parent of a step, and cannot verify steps by another one. `None` even if the document is part of `orch`,
    /// or if nothing is committed. Returns an error if the document or a commit cannot be read.
    pub fn uncommitted_workflow(&self, sight: &Sight) -> Result<Option<Diagnostic>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.commits()) else {
            return Ok(None);
        };
        let Some(head) = sight.head_commit() else {
            return Ok(None);
        };
        let Ok(path) = RepoPath::new(
            self.settings
                .path_of_workflow(sight.workflow().name.as_str()),
        ) else {
            return Ok(None);
        };
        let held = store.objects().source_at(Some(head)).blob_at(&path)?;
        // An audit reads what was compiled, whatever the ends of the lines are in the file here.
        if held == Some(sight.workflow().document_digest) {
            return Ok(None);
        }
        let source = store.objects().source_at(Some(head));
        let committed = Settings::read(&InSource(&source), store.objects().format());
        let committed = committed.workflow(sight.workflow().name.as_str()).ok();
        let committed = committed.as_ref().and_then(|loaded| loaded.workflow());
        if held.is_some() && committed.is_some_and(|one| one.digest == sight.workflow().digest) {
            return Ok(None);
        }
        let place = path.under(&self.root);
        let document = durable::read_if_there(&place).map_err(|source| io_error(&place, source))?;
        let Some(document) = document else {
            return Ok(None);
        };
        // A filter of git may store other bytes.
        if held == Some(store.filters().digest(&path, &document)?) {
            return Ok(None);
        }
        let message =
            format!("{path} is not committed as it is, so an audit cannot verify this step");
        let hint = Hint::from("commit it before the next step: ")
            .command(&["git", "add", path.as_str()])
            .and(&["git", "commit", "--", path.as_str()]);
        Ok(Some(
            Diagnostic::warning(Code::Unverifiable, message)
                .at(Place::file(&path))
                .hint(hint),
        ))
    }
}
