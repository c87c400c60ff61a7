//! One of two versions of a workflow whose guards are compared: what it asks about, in the names of the present one.

use super::super::guard::{Test, ValueQuestion};
use super::super::renames::{Renames, words};
use super::super::{Guard, Workflow};

/// A version of a workflow, and how the present one names what it asks about.
pub(super) struct Version<'w> {
    pub(super) workflow: &'w Workflow,
    pub(super) renames: Renames,
    /// Names that mean something else in the present version: named expressions, and facts of artifacts.
    others: Vec<String>,
}

impl<'w> Version<'w> {
    /// The present version, or the only one.
    pub(super) fn only(workflow: &'w Workflow) -> Self {
        Self {
            workflow,
            renames: Renames::default(),
            others: Vec::new(),
        }
    }

    /// The version before.
    pub(super) fn former(workflow: &'w Workflow, now: &Workflow) -> Self {
        let renames = Renames::between(workflow, now);
        let mut others = Vec::new();
        let same = |one: &Guard, other: Option<&(String, Guard)>| {
            let one = renames.expression(one.text());
            other.is_some_and(|(_, other)| one == other.text())
        };
        for (name, guard) in &workflow.defines {
            let own = now.defines.iter().find(|(own, _)| own == name);
            if !same(guard, own) {
                others.push(name.clone());
            }
        }
        for artifact in &workflow.artifacts {
            let own = now.artifact_named(artifact.name.as_str());
            for (fact, guard) in &artifact.facts {
                let facts = own.iter().flat_map(|own| &own.facts);
                if !same(guard, facts.clone().find(|(own, _)| own == fact)) {
                    others.push(format!("{}.{fact}", artifact.name));
                }
            }
        }
        Self {
            workflow,
            renames,
            others,
        }
    }

    /// What a question is about, in the names of the present version. What means something else there has a name of its
    /// own.
    pub(super) fn subject(&self, question: &ValueQuestion) -> String {
        let subject = self.renames.expression(&question.subject);
        let mut others = self.others.iter();
        if others.any(|other| mentions(&question.subject, other)) {
            format!("{subject} as it was")
        } else {
            subject
        }
    }

    /// What is asked, in the names of the present version.
    pub(super) fn test(&self, question: &ValueQuestion) -> Test {
        match &question.test {
            Test::IsText(text) if question.subject == "phase" => {
                Test::IsText(self.renames.name(text).to_owned())
            }
            test => test.clone(),
        }
    }
}

/// Whether an expression mentions a name, which may be one below another.
fn mentions(expression: &str, name: &str) -> bool {
    if !expression.contains(name) {
        return false;
    }
    let all: Vec<&str> = words(expression).collect();
    let name: Vec<&str> = words(name).collect();
    let mut at = all.windows(name.len()).enumerate();
    at.any(|(at, found)| {
        let is_field = at > 0 && all[at - 1].ends_with('.');
        found == name && !is_field
    })
}
