//! The paths that a plan names, as the workflow says by `names`.

use super::evaluation::{Evaluation, SeenTask};
use super::order::current;
use super::scope::TaskScope;
use super::verified::TaskVerifications;
use super::{Facts, Recorded};
use crate::workflow::{VERIFIED, Workflow};
use orch_base::{Patterns, RepoPath};
use serde_json::Value;

/// Paths, directories and globs that a plan names.
#[derive(Debug, Clone, Default)]
pub struct PlannedPaths {
    texts: Vec<String>,
    globs: Vec<Patterns>,
}

impl PlannedPaths {
    /// The paths in a list of texts; `None` if the value is another one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let items = value.as_array()?.iter();
        let texts = items
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()?;
        let globs = texts
            .iter()
            .filter_map(|text| Patterns::new([text]).ok())
            .collect();
        Some(Self { texts, globs })
    }

    /// The paths and globs as the plan names them.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether a file is among them. A directory names everything below it.
    #[must_use]
    pub fn name(&self, file: &RepoPath) -> bool {
        let is_named = self.texts.iter().any(|text| {
            !text.is_empty()
                && RepoPath::new(text)
                    .is_ok_and(|named| file == &named || file.below(&named).is_some())
        });
        is_named || self.globs.iter().any(|glob| glob.matches(file.as_str()))
    }
}

/// The paths that the plan of a task names; none if its workflow does not say which, or its record cannot be used.
#[must_use]
pub fn planned_paths(workflow: &Workflow, recorded: &Recorded, facts: &Facts) -> PlannedPaths {
    let (Some(_), Recorded::Known(state)) = (&workflow.names, recorded) else {
        return PlannedPaths::default();
    };
    let state = &*state.under_own_names(workflow);
    let Ok(phase) = current(workflow, state) else {
        return PlannedPaths::default();
    };
    named(&SeenTask::of(workflow, state, facts, phase).evaluation())
}

/// What `names` of the workflow yields for a task; nothing if the workflow has no such expression.
fn named(evaluation: &Evaluation<'_>) -> PlannedPaths {
    let Evaluation {
        workflow,
        state,
        facts,
        phase,
        seen,
    } = *evaluation;
    let Some(names) = &workflow.names else {
        return PlannedPaths::default();
    };
    let attempt = state.attempt(&phase.id).max(1);
    let scope = TaskScope::new(workflow, seen, state, &phase.id, attempt, facts);
    names
        .value(&scope)
        .ok()
        .and_then(|value| PlannedPaths::of(&value))
        .unwrap_or_default()
}

impl<'a> Evaluation<'a> {
    /// The verifications of the task.
    pub(super) fn verifications(&self) -> TaskVerifications<'a> {
        TaskVerifications::of(self, named_by_plan)
    }
}

/// What the plan names. An expression that reads verifications cannot account for what they have lost.
fn named_by_plan(evaluation: &Evaluation<'_>) -> Vec<String> {
    let workflow = evaluation.workflow;
    let reads_verifications = workflow.names.as_ref().is_some_and(|names| {
        let mut read = workflow.reads(names).into_iter();
        read.any(|chain| chain[0] == VERIFIED)
    });
    if reads_verifications {
        return Vec::new();
    }
    named(evaluation).texts
}
