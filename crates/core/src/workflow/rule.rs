//! Compiles one rule: its phases, its guard and its outcome.

use super::action::is_within;
use super::compile::{Compiler, KnownNames};
use super::raw::{RawRule, Text};
use super::{Action, Ask, Guard, Outcome, Phase, Rule, Signal};
use orch_base::{ActionName, Code, Diagnostic, PhaseId, RuleId};
use std::ops::Range;

/// Compiles rules, and what they do.
pub(super) struct RuleCompiler<'c, 'd> {
    pub(super) compiler: &'c mut Compiler<'d>,
}

impl<'d> Compiler<'d> {
    /// Compiles rules, and what they do.
    pub(super) fn rules(&mut self) -> RuleCompiler<'_, 'd> {
        RuleCompiler { compiler: self }
    }
}

impl RuleCompiler<'_, '_> {
    pub(super) fn rule(
        &mut self,
        raw: &RawRule,
        known: &KnownNames<'_>,
        actions: &[Action],
        asks: &[Ask],
    ) -> Option<Rule> {
        let phases = known.phases;
        let head = raw.span.start..raw.span.start + "[[rule]]".len().min(raw.span.len());
        let id = self
            .required(raw.id.as_ref(), &head, "id")
            .and_then(|id| self.compiler.name(&id, |text| RuleId::new(text)));
        let because = self.required(raw.because.as_ref(), &head, "because");
        let from = self.from(raw, &head, phases);
        let when = raw
            .when
            .as_ref()
            .map_or_else(Guard::always, |text| self.condition(text, known));
        let by_human = match raw.by.as_ref().map(|by| (by, by.value.as_str())) {
            None => false,
            Some((_, "human")) => true,
            Some((text, _)) => {
                self.compiler.unknown(
                    text,
                    Code::WorkflowValue,
                    "value of `by`",
                    ["human"].into_iter(),
                );
                false
            }
        };
        let outcome = self.outcome(raw, &head, phases, actions);
        let set = self.values(&raw.set, known);
        if let Some(Outcome::Run(name)) = &outcome {
            self.one_writer(raw, actions.iter().find(|action| action.name == *name));
        }
        let on = self.signal(raw);
        let ask = self.asked(raw, asks);
        if let Some((pointer, _)) = raw
            .set
            .first()
            .filter(|_| raw.to.is_none() && raw.run.is_none())
        {
            let message = "`set` is allowed only with `to` or `run`";
            self.compiler.problem(
                &pointer.span,
                Diagnostic::error(Code::WorkflowOutcome, message),
            );
        }
        Some(Rule {
            id: id?,
            from,
            when,
            outcome: outcome?,
            group: raw.group.as_ref().map(|group| group.value.clone()),
            because: because?.value,
            set,
            by_human,
            on,
            ask,
            place: self.compiler.place(&head),
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
            self.compiler
                .problem(span, Diagnostic::error(Code::WorkflowMissingKey, message));
        }
        present.cloned()
    }

    fn from(&mut self, raw: &RawRule, head: &Range<usize>, phases: &[Phase]) -> Vec<PhaseId> {
        let mut from = Vec::new();
        for text in &raw.from {
            if text.value == "*" {
                from.extend(
                    phases
                        .iter()
                        .filter(|phase| !phase.terminal)
                        .map(|phase| phase.id.clone()),
                );
            } else if let Some(id) = self.compiler.phase_id(text, phases) {
                if phases.iter().any(|phase| phase.id == id && phase.terminal) {
                    let message = format!("`{id}` is terminal, so no rule can start from it");
                    self.compiler
                        .problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
                }
                from.push(id);
            }
        }
        if raw.from.is_empty() {
            self.compiler.problem(
                head,
                Diagnostic::error(Code::WorkflowMissingKey, "the rule has no `from`"),
            );
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
        let given = [
            raw.to.is_some(),
            raw.run.is_some(),
            raw.wait.is_some(),
            raw.choose.is_some(),
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            let message = "a rule needs exactly one of `to`, `run`, `wait` and `choose`";
            self.compiler
                .problem(head, Diagnostic::error(Code::WorkflowOutcome, message));
            return None;
        }
        if let Some(to) = &raw.to {
            return self.compiler.phase_id(to, phases).map(Outcome::To);
        }
        if let Some(run) = &raw.run {
            return self.action_name(run, actions).map(Outcome::Run);
        }
        if let Some(wait) = &raw.wait {
            if wait.value.trim().is_empty() {
                let message = "`wait` is empty; say what the task waits for";
                self.compiler
                    .problem(&wait.span, Diagnostic::error(Code::WorkflowValue, message));
            }
            return Some(Outcome::Wait(wait.value.clone()));
        }
        let choices = raw.choose.as_deref().unwrap_or_default();
        if choices.is_empty() {
            let message = "`choose` names no action";
            self.compiler
                .problem(head, Diagnostic::error(Code::WorkflowValue, message));
        }
        Some(Outcome::Choose(
            choices
                .iter()
                .filter_map(|text| self.action_name(text, actions))
                .collect(),
        ))
    }

    /// Ensures that rules and the results of actions set different things; otherwise the source of a value
    /// would be ambiguous.
    fn one_writer(&mut self, raw: &RawRule, action: Option<&Action>) {
        let Some(action) = action else { return };
        for (pointer, _) in &raw.set {
            let overlaps = is_within(&pointer.value, &action.writes)
                || action
                    .writes
                    .iter()
                    .any(|write| is_within(write, std::slice::from_ref(&pointer.value)));
            if overlaps {
                let message = format!(
                    "the result of `{}` may write `{}` too",
                    action.name, pointer.value
                );
                let diagnostic = Diagnostic::error(Code::WorkflowValue, message)
                    .hint("let either the rule or the action write it");
                self.compiler.problem(&pointer.span, diagnostic);
            }
        }
    }

    /// The order that a rule responds to; only a rule with `to` can.
    fn signal(&mut self, raw: &RawRule) -> Option<Signal> {
        let text = raw.on.as_ref()?;
        if raw.to.is_none() {
            let message = "`on` is allowed only with `to`";
            self.compiler.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowOutcome, message),
            );
        }
        let signal = Signal::named(&text.value);
        if signal.is_none() {
            let known = Signal::ALL.into_iter().map(Signal::as_str);
            self.compiler
                .unknown(text, Code::WorkflowValue, "value of `on`", known);
        }
        signal
    }

    fn asked(&mut self, raw: &RawRule, asks: &[Ask]) -> Option<String> {
        let text = raw.ask.as_ref()?;
        if raw.wait.is_none() {
            let message = "`ask` is allowed only with `wait`";
            self.compiler.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowOutcome, message),
            );
        }
        if !asks.iter().any(|ask| ask.name == text.value) {
            let known = asks.iter().map(|ask| ask.name.as_str());
            self.compiler
                .unknown(text, Code::WorkflowUnknownAsk, "question", known);
        }
        Some(text.value.clone())
    }

    fn action_name(&mut self, text: &Text, actions: &[Action]) -> Option<ActionName> {
        let found = actions
            .iter()
            .find(|action| action.name.as_str() == text.value)
            .map(|action| action.name.clone());
        if found.is_none() {
            let known = actions.iter().map(|action| action.name.as_str());
            self.compiler
                .unknown(text, Code::WorkflowUnknownAction, "action", known);
        }
        found
    }
}
