//! Builds a suggestion from a decision.

use super::wire::{
    CommandView, EvidenceView, Expected, Finding, Possible, Suggestion, in_repository,
};
use super::{DutyView, Subject, TaskView};
use orch_base::{ArtifactName, Diagnostic, RepoPath, TaskId, WorkflowName};
use orch_core::decide::{Decision, Do, ExpectState, Expectation, Verdict};
use orch_core::workflow::{Format, Owner, Phase, TreeScope, first_example};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl Suggestion {
    /// The suggestion for a task, with everything that its recipient needs.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let decision = subject.decision;
        Self {
            task: TaskView::of(subject),
            duty: DutyView::of(subject),
            way: decision.way.clone(),
            waits_for: waits_for(decision),
            rule: decision.rule.as_ref().map(ToString::to_string),
            agent: phase(subject).and_then(|phase| phase.agent.clone()),
            action: action(subject).map(str::to_owned),
            instructions: instructions_path(subject),
            sent_back: super::issue::sent_back(subject),
            inputs: super::issue::inputs(subject),
            remarks: super::issue::remarks(decision),
            expects: expects(subject),
            options: decision.options.iter().map(CommandView::of).collect(),
            question: super::question::question(subject),
            moves: decision.moves.iter().map(Possible::of).collect(),
            evidence: EvidenceView::rows(&decision.evidence, subject.place),
            waived: decision.waived.iter().map(ToString::to_string).collect(),
            diagnostics: decision.diagnostics.iter().map(Finding::of).collect(),
        }
    }
}

impl Suggestion {
    /// The suggestion for a task that could not be evaluated, for the reason in this finding.
    #[must_use]
    pub fn unread(
        id: &TaskId,
        path: &RepoPath,
        workflow: &WorkflowName,
        finding: &Diagnostic,
    ) -> Self {
        Self {
            task: TaskView::unread(id, path, workflow),
            duty: DutyView::unread(&finding.message),
            way: Vec::new(),
            waits_for: None,
            rule: None,
            agent: None,
            action: None,
            instructions: None,
            sent_back: None,
            inputs: Vec::new(),
            remarks: Vec::new(),
            expects: Vec::new(),
            options: Vec::new(),
            question: None,
            moves: Vec::new(),
            evidence: Vec::new(),
            waived: Vec::new(),
            diagnostics: vec![Finding::of(finding)],
        }
    }
}

impl Suggestion {
    /// Whether the first file that is expected is missing, and `orch draft` can make one.
    #[must_use]
    pub fn can_be_drafted(&self) -> bool {
        let first = self
            .expects
            .iter()
            .find(|expected| expected.state == ExpectState::Missing);
        let is_made = first.is_some_and(|expected| {
            expected.owner.is_none() && expected.schema.is_some() && expected.example.is_some()
        });
        self.duty.r#do == Do::Write && is_made
    }
}

impl Possible {
    fn of(known: &orch_core::decide::Move) -> Self {
        Self {
            to: known.to.to_string(),
            rule: known.rule.to_string(),
            allowed: known.allowed,
            unmet: known.unmet.clone(),
        }
    }
}

/// What a rule waits for; `None` if no rule fired, because then the expectations say more.
fn waits_for(decision: &Decision) -> Option<String> {
    match &decision.verdict {
        Verdict::Wait { what, .. } if decision.rule.is_some() => Some(what.clone()),
        _ => None,
    }
}

/// The current phase of the task.
pub(super) fn phase<'a>(subject: &Subject<'a>) -> Option<&'a Phase> {
    subject.workflow.phase(subject.decision.phase.as_ref()?)
}

/// The action that is due.
pub(super) fn action<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    match &subject.decision.verdict {
        Verdict::Run(action) => Some(action.as_str()),
        _ => None,
    }
}

/// The name of the instructions: the prompt of the action that is due, otherwise the agent of the phase.
pub(super) fn instructions<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    let due = action(subject).and_then(|name| {
        subject
            .workflow
            .actions
            .iter()
            .find(|action| action.name.as_str() == name)?
            .prompt
            .as_deref()
    });
    due.or_else(|| phase(subject)?.agent.as_deref())
}

fn instructions_path(subject: &Subject<'_>) -> Option<String> {
    let directory = subject.system_dir?.trim_end_matches('/');
    Some(format!("{directory}/agents/{}.md", instructions(subject)?))
}

/// The files that are expected: those that somebody writes, then the results of verifications.
fn expects(subject: &Subject<'_>) -> Vec<Expected> {
    let decision = subject.decision;
    let written = decision
        .expects
        .iter()
        .map(|expected| expectation(subject, expected));
    let run = decision.verifications.iter().map(|due| Expected {
        artifact: due.name.to_string(),
        owner: Some(Owner::Process),
        path: in_repository(subject.place, &due.path()),
        tree: Vec::new(),
        format: Format::Json,
        schema: None,
        state: if due.was_run {
            ExpectState::Stale
        } else {
            ExpectState::Missing
        },
        because: format!("it {}", due.because),
        example: None,
        of: BTreeMap::new(),
        problems: Vec::new(),
    });
    written.chain(run).collect()
}

pub(super) fn expectation(subject: &Subject<'_>, expected: &Expectation) -> Expected {
    let of: BTreeMap<String, String> = expected
        .of
        .iter()
        .map(|(name, digest)| (name.to_string(), digest.to_string()))
        .collect();
    Expected {
        artifact: expected.artifact.to_string(),
        owner: None,
        path: in_repository(subject.place, &expected.path),
        tree: scope(subject, &expected.artifact)
            .map(|scope| scope.texts().to_vec())
            .unwrap_or_default(),
        format: expected.format,
        schema: expected.schema.clone(),
        state: expected.state,
        because: expected.because.clone(),
        example: example(subject, expected, &of).or_else(|| {
            subject
                .workflow
                .artifact(&expected.artifact)?
                .example_for(&subject.decision.task, subject.title)
                .map(Value::String)
        }),
        of,
        problems: expected.problems.iter().map(Finding::of).collect(),
    }
}

/// The part of the repository that an artifact may consist of as committed code.
pub(super) fn scope<'a>(subject: &Subject<'a>, artifact: &ArtifactName) -> Option<&'a TreeScope> {
    subject.workflow.artifact(artifact)?.tree.as_ref()
}

/// The text of the schema for an expected artifact.
pub(super) fn schema_text<'a>(subject: &Subject<'a>, expected: &Expectation) -> Option<&'a str> {
    let declared = subject
        .workflow
        .artifact(&expected.artifact)?
        .schema
        .as_ref();
    declared
        .map(|schema| &*schema.text)
        .or_else(|| subject.system.schema(expected.schema.as_deref()?))
}

/// The first example of the schema for an expected artifact. No value is invented but `of`.
fn example(
    subject: &Subject<'_>,
    expected: &Expectation,
    of: &BTreeMap<String, String>,
) -> Option<Value> {
    let declared = subject
        .workflow
        .artifact(&expected.artifact)?
        .schema
        .as_ref();
    let example = match declared {
        Some(schema) => schema.example()?.clone(),
        None => first_example(schema_text(subject, expected)?)?,
    };
    Some(with_digests(example, of))
}

/// An example of a verdict, with `of` replaced by the present digests.
fn with_digests(mut example: Value, of: &BTreeMap<String, String>) -> Value {
    if let Some(judged) = example
        .as_object_mut()
        .and_then(|object| object.get_mut("of"))
    {
        let entries: Map<String, Value> = of
            .iter()
            .map(|(name, digest)| (name.clone(), Value::from(digest.as_str())))
            .collect();
        *judged = Value::Object(entries);
    }
    example
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_come_from_the_schema_and_judge_the_present() {
        let of = BTreeMap::from([("patch".to_owned(), "abc".to_owned())]);
        let example = |schema: &str| Some(with_digests(first_example(schema)?, &of));
        let schema = r#"{"examples": [{"ok": true, "of": {"patch": "old"}}, {"ok": false}]}"#;
        assert_eq!(
            example(schema),
            Some(serde_json::json!({"ok": true, "of": {"patch": "abc"}}))
        );
        assert_eq!(
            example(r#"{"examples": [{"ok": true}]}"#),
            Some(serde_json::json!({"ok": true})),
            "an `of` is replaced, never added"
        );
        assert_eq!(example(r#"{"examples": []}"#), None);
        assert_eq!(example(r#"{"type": "object"}"#), None);
        let twice = r#"{"examples": [1], "examples": [{"ok": true}]}"#;
        assert_eq!(
            example(twice),
            Some(serde_json::json!({"ok": true})),
            "the last one counts"
        );
        assert_eq!(example("no json"), None);
    }
}
