//! A loaded workflow: its document, its problems, and its compiled form.

use super::Error;
use orch_base::{Code, Diagnostic, Hint, WorkflowName};
use orch_core::workflow::{Document, System, Workflow};
use orch_read::Matcher;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A workflow document, its problems, and its compiled form.
pub struct Loaded {
    /// The Markdown document.
    pub document: Document,
    /// The compiled workflow, or the path patterns of the artifacts that can be read in a document with errors: its
    /// tasks are still tasks.
    pub compiled: Result<Arc<UsableWorkflow>, Matcher>,
    /// All problems of the document.
    pub problems: Vec<Diagnostic>,
}

/// A workflow without errors, ready to evaluate tasks.
pub struct UsableWorkflow {
    /// The compiled phases, artifacts, rules and guards.
    pub workflow: Workflow,
    /// The compiled path patterns of its artifacts.
    pub matcher: Matcher,
}

/// The workflows loaded so far, by name.
pub(crate) type WorkflowCache = Mutex<BTreeMap<String, Arc<Loaded>>>;

impl Loaded {
    /// The workflow, unless its document has errors.
    #[must_use]
    pub fn workflow(&self) -> Option<&Workflow> {
        self.compiled
            .as_ref()
            .ok()
            .map(|compiled| &compiled.workflow)
    }

    /// The compiled path patterns of its artifacts; of a document with errors, those that can be read.
    #[must_use]
    pub fn matcher(&self) -> &Matcher {
        match &self.compiled {
            Ok(compiled) => &compiled.matcher,
            Err(matcher) => matcher,
        }
    }

    /// The compiled workflow. Returns an error with the first problem if the document has errors.
    pub fn usable(&self) -> Result<&Arc<UsableWorkflow>, Error> {
        self.compiled.as_ref().map_err(|_| self.faulty())
    }

    /// The error for a workflow whose document has errors.
    pub(crate) fn faulty(&self) -> Error {
        let name = &self.document.name;
        let first = self.problems.iter().find(|problem| problem.is_error());
        let message = match first {
            Some(first) => format!("workflow `{name}` has errors: {}", first.message),
            None => format!("cannot use workflow `{name}`"),
        };
        let mut faulty = Diagnostic::error(Code::WorkflowFaulty, message)
            .hint(Hint::run(&["orch", "workflow", "check", name]));
        faulty.place = first.and_then(|first| first.place.clone());
        faulty.into()
    }
}

/// The names of all workflows among these texts, sorted.
pub(crate) fn names(system: &System) -> Vec<String> {
    let stems = system.names("workflows", ".md");
    stems
        .filter(|name| WorkflowName::new(name).is_ok())
        .map(str::to_owned)
        .collect()
}
