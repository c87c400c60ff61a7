//! A workflow as it was loaded: its document, what is wrong with it, and what can be judged by.

use super::Error;
use crate::base::{Code, Diagnostic, WorkflowName, shell_word};
use crate::scan::Matcher;
use crate::workflow::{Document, System, Workflow};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A workflow, what is wrong with it, and its globs compiled.
pub struct Loaded {
    /// The document.
    pub document: Document,
    /// The workflow, if its document has no error.
    pub compiled: Option<Arc<UsableWorkflow>>,
    /// Every problem of the document.
    pub problems: Vec<Diagnostic>,
}

/// A workflow without errors, ready to judge by.
pub struct UsableWorkflow {
    /// The workflow.
    pub workflow: Workflow,
    /// Its artifact paths, ready to match.
    pub matcher: Matcher,
}

/// Workflows by name, as far as they were asked for.
pub(crate) type WorkflowCache = RefCell<BTreeMap<String, Arc<Loaded>>>;

impl Loaded {
    /// The workflow, if its document has no error.
    #[must_use]
    pub fn workflow(&self) -> Option<&Workflow> {
        self.compiled.as_ref().map(|compiled| &compiled.workflow)
    }

    /// Its artifact paths, ready to match.
    #[must_use]
    pub fn matcher(&self) -> Option<&Matcher> {
        self.compiled.as_ref().map(|compiled| &compiled.matcher)
    }

    /// The workflow; the error says what is wrong with its document.
    pub(crate) fn usable(&self) -> Result<&Arc<UsableWorkflow>, Error> {
        self.compiled.as_ref().ok_or_else(|| self.faulty())
    }

    /// The error for a workflow whose document has errors.
    pub(crate) fn faulty(&self) -> Error {
        let name = &self.document.name;
        let first = self.problems.iter().find(|problem| problem.is_error());
        let message = match first {
            Some(first) => format!("workflow `{name}` has errors: {first}"),
            None => format!("workflow `{name}` cannot be used"),
        };
        Diagnostic::error(Code::WorkflowFaulty, message)
            .hint(format!("orch workflow check {}", shell_word(name)))
            .into()
    }
}

/// The names of all workflows among these texts, in order.
pub(crate) fn names(system: &System) -> Vec<String> {
    let stems = system.names("workflows", ".md");
    stems.filter(|name| WorkflowName::new(name).is_ok()).map(str::to_owned).collect()
}
