//! Compiling one rule: where it starts, what it asks, what it yields.

use super::compile::{Compiler, is_reserved};
use super::raw::{RawRule, Text};
use super::{Action, Artifact, Guard, Outcome, Phase, Rule, ValueKind};
use crate::base::{ActionName, Diagnostic, PhaseId, RuleId};
use std::ops::Range;

/// What a rule may refer to.
pub(super) struct Known<'a> {
    pub phases: &'a [Phase],
    pub artifacts: &'a [Artifact],
    pub defines: &'a [(String, Guard)],
    pub actions: &'a [Action],
}

impl Compiler<'_> {
    pub(super) fn rule(&mut self, raw: &RawRule, known: &Known<'_>, phase_key: &str) -> Option<Rule> {
        let Known { phases, artifacts, defines, actions } = *known;
        let head = raw.span.start..raw.span.start + "[[rule]]".len().min(raw.span.len());
        let id = self
            .required(raw.id.as_ref(), &head, "id")
            .and_then(|id| self.name(&id, |text| RuleId::new(text)));
        let because = self.required(raw.because.as_ref(), &head, "because");
        let from = self.from(raw, &head, phases);
        let when = match &raw.when {
            Some(text) => {
                let guard = self.guard(text);
                self.check_names(text, &guard, artifacts, defines);
                if guard.kind() == ValueKind::Other {
                    let message = "the guard does not yield true or false";
                    let hint = "compare the value with something, for example `== 0`";
                    let diagnostic = Diagnostic::error("guard-not-boolean", message).hint(hint);
                    self.problem(&text.span, diagnostic);
                }
                guard
            }
            None => Guard::always(),
        };
        let by_human = match raw.by.as_ref().map(|by| (by, by.value.as_str())) {
            None => false,
            Some((_, "human")) => true,
            Some((text, _)) => {
                self.unknown(text, "workflow-value", "value of `by`", ["human"].into_iter());
                false
            }
        };
        let outcome = self.outcome(raw, &head, phases, actions);
        let mut set = Vec::new();
        for (pointer, text) in &raw.set {
            if !pointer.value.starts_with('/') {
                let message = format!("`{}` is not a JSON pointer; it starts with `/`", pointer.value);
                self.problem(&pointer.span, Diagnostic::error("workflow-value", message));
            } else if pointer.value.split('/').nth(1).is_some_and(|key| is_reserved(key, phase_key)) {
                let message = format!("`{}` belongs to orch and cannot be set", pointer.value);
                self.problem(&pointer.span, Diagnostic::error("workflow-value", message));
            } else {
                let guard = self.guard(text);
                self.check_names(text, &guard, artifacts, defines);
                set.push((pointer.value.clone(), guard));
            }
        }
        if let Some((pointer, _)) = raw.set.first().filter(|_| raw.to.is_none() && raw.run.is_none()) {
            let message = "`set` goes with `to` or `run` only";
            self.problem(&pointer.span, Diagnostic::error("workflow-outcome", message));
        }
        Some(Rule {
            id: id?,
            from,
            when,
            outcome: outcome?,
            because: because?.value,
            set,
            by_human,
            place: self.place(&head),
        })
    }

    fn required(&mut self, text: Option<&Text>, head: &Range<usize>, key: &str) -> Option<Text> {
        let present = text.filter(|text| !text.value.trim().is_empty());
        if present.is_none() {
            let (span, fault) = match text {
                Some(blank) => (&blank.span, "is empty"),
                None => (head, "is missing"),
            };
            let message = format!("`{key}` of the rule {fault}");
            self.problem(span, Diagnostic::error("workflow-missing-key", message));
        }
        present.cloned()
    }

    fn from(&mut self, raw: &RawRule, head: &Range<usize>, phases: &[Phase]) -> Vec<PhaseId> {
        let mut from = Vec::new();
        for text in &raw.from {
            if text.value == "*" {
                from.extend(phases.iter().filter(|phase| !phase.terminal).map(|phase| phase.id.clone()));
            } else if let Some(id) = self.phase_id(text, phases) {
                if phases.iter().any(|phase| phase.id == id && phase.terminal) {
                    let message = format!("`{id}` is terminal, so no rule can start from it");
                    self.problem(&text.span, Diagnostic::error("workflow-value", message));
                }
                from.push(id);
            }
        }
        if raw.from.is_empty() {
            self.problem(head, Diagnostic::error("workflow-missing-key", "the rule has no `from`"));
        }
        from.sort_by_key(|id| phases.iter().position(|phase| phase.id == *id));
        from.dedup();
        from
    }

    fn outcome(
        &mut self,
        raw: &RawRule,
        head: &Range<usize>,
        phases: &[Phase],
        actions: &[Action],
    ) -> Option<Outcome> {
        let given = [raw.to.is_some(), raw.run.is_some(), raw.wait.is_some(), raw.choose.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            let message = "a rule has exactly one of `to`, `run`, `wait` and `choose`";
            self.problem(head, Diagnostic::error("workflow-outcome", message));
            return None;
        }
        if let Some(to) = &raw.to {
            return self.phase_id(to, phases).map(Outcome::To);
        }
        if let Some(run) = &raw.run {
            return self.action_name(run, actions).map(Outcome::Run);
        }
        if let Some(wait) = &raw.wait {
            if wait.value.trim().is_empty() {
                let message = "`wait` does not say for what";
                self.problem(&wait.span, Diagnostic::error("workflow-value", message));
            }
            return Some(Outcome::Wait(wait.value.clone()));
        }
        let choices = raw.choose.as_deref().unwrap_or_default();
        if choices.is_empty() {
            let message = "`choose` names no action";
            self.problem(head, Diagnostic::error("workflow-value", message));
        }
        Some(Outcome::Choose(choices.iter().filter_map(|text| self.action_name(text, actions)).collect()))
    }

    fn action_name(&mut self, text: &Text, actions: &[Action]) -> Option<ActionName> {
        let found = actions
            .iter()
            .find(|action| action.name.as_str() == text.value)
            .map(|action| action.name.clone());
        if found.is_none() {
            let known = actions.iter().map(|action| action.name.as_str());
            self.unknown(text, "workflow-unknown-action", "action", known);
        }
        found
    }
}
