//! A verdict that a person has written whole, in place of one that an order drafts.

use super::evaluation::SeenTask;
use super::order::{current, refused};
use super::ruling::Rulings;
use super::{Facts, Ruled, Stamp, State};
use crate::workflow::{Artifact, Format, Owner, Phase, Workflow};
use orch_base::{Code, Error, Hint};
use serde_json::Value;

/// A verdict that a person has written.
#[derive(Debug, Clone, Copy)]
pub struct WrittenVerdict<'a> {
    /// The name of the artifact.
    pub artifact: &'a str,
    /// The text of its file.
    pub text: &'a str,
}

/// The verdict that a phase asks for and that one person writes; `None` if it asks for none, or for those of several.
#[must_use]
pub fn asked_verdict<'w>(workflow: &'w Workflow, phase: &Phase) -> Option<&'w Artifact> {
    if phase.approvals.is_some() {
        return None;
    }
    let produced = phase
        .produces
        .iter()
        .filter_map(|name| workflow.artifact(name));
    let mut verdicts = produced.filter(|artifact| {
        let is_owed = phase.owner == Owner::Human && !phase.optional.contains(&artifact.name);
        // JSON is YAML, too.
        let is_json = matches!(artifact.format, Format::Json | Format::Yaml);
        is_json && (is_owed || artifact.is_verdict())
    });
    verdicts.next()
}

/// The transition that a written verdict makes due, with the person and the time in `stamp`, and its file. Returns
/// [`Code::NothingToApply`] if it moves nothing, and an error if the text is not JSON, the phase asks for no such verdict or
/// the state names no phase. Whether the schema accepts it is not checked here.
pub fn rule_by(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    verdict: WrittenVerdict<'_>,
    stamp: &Stamp,
) -> Result<Ruled, Error> {
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let seen = SeenTask::of(workflow, state, facts, phase);
    seen.evaluation().rulings().written(verdict, stamp)
}

impl Rulings<'_> {
    fn written(&self, verdict: WrittenVerdict<'_>, stamp: &Stamp) -> Result<Ruled, Error> {
        let phase = self.evaluation.phase;
        let task = self.evaluation.facts.task.as_str();
        let asked = asked_verdict(self.evaluation.workflow, phase)
            .filter(|artifact| artifact.name.as_str() == verdict.artifact);
        let Some(artifact) = asked else {
            let message = format!("`{}` asks for no verdict `{}`", phase.id, verdict.artifact);
            let hint = Hint::run(&["orch", "suggest", task]);
            return Err(refused(Code::NothingToApply, message, hint));
        };
        let value: Value = serde_json::from_str(verdict.text).map_err(|error| {
            Error::new(Code::JsonSyntax, format!("the verdict is no JSON: {error}"))
        })?;
        let draft = self.with_text(artifact, value, verdict.text.to_owned(), stamp);
        let due = self.on(&draft, |on| {
            on.due().filter(|due| on.rulings().is_persons(due))
        });
        let Some(transition) = due else {
            let decision = self.on(&draft, |on| on.decide_alone(Vec::new()));
            let message = format!("the verdict moves nothing: {}", decision.reason);
            let hint = Hint::run(&["orch", "explain", task]);
            return Err(refused(Code::NothingToApply, message, hint));
        };
        // A verdict that lies there already, byte for byte, needs not be written.
        let (draft, written) = match self.holds(&draft) {
            true => (None, draft.facts),
            false => (Some(draft), None),
        };
        Ok(Ruled {
            transition,
            draft,
            written,
        })
    }
}
