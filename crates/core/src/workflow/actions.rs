//! Compiles actions, questions and limits.

use super::compile::{KnownNames, clamp, is_reserved};
use super::place::bad_path;
use super::raw::{RawAction, RawAsk, RawImport, RawLimits, Text};
use super::rule::RuleCompiler;
use super::{Action, Ask, Guard, ImportValue, Limits, StateImport, Times, Types};
use crate::Spanned;
use orch_base::pointer::child;
use orch_base::{ActionName, ArtifactName, Code, Diagnostic, Period};

/// What the expressions of `[state.import]` read.
const ORIGINAL: &str = "original";

impl RuleCompiler<'_, '_> {
    pub(super) fn action(&mut self, raw: &RawAction, known: &KnownNames<'_>) -> Option<Action> {
        if let Some(prompt) = &raw.prompt {
            self.compiler.agent(prompt);
        }
        self.writable(&raw.writes, known.phase_key);
        self.pointers(&raw.show);
        for path in &raw.outputs {
            let fault = bad_path(&path.value).or_else(|| {
                let is_glob = path.value.contains(['*', '?', '[', '{']);
                is_glob.then_some("must name a single file, without wildcards")
            });
            if let Some(reason) = fault {
                let message = format!("`outputs` {reason}");
                self.compiler
                    .problem(&path.span, Diagnostic::error(Code::WorkflowValue, message));
            }
        }
        let times = Times {
            soft: self.period("soft_timeout", raw.soft.as_ref()),
            hard: self.period("timeout", raw.hard.as_ref()),
            idle: self.period("idle_timeout", raw.idle.as_ref()),
        };
        if let (Some(soft), Some(hard), Some(text)) = (times.soft, times.hard, &raw.soft)
            && soft >= hard
        {
            let message = format!("`soft_timeout` must be shorter than `timeout`, which is {hard}");
            self.compiler
                .problem(&text.span, Diagnostic::error(Code::WorkflowValue, message));
        }
        let when = raw
            .when
            .as_ref()
            .map_or_else(Guard::always, |text| self.condition(text, known));
        let ensures = raw
            .ensures
            .as_ref()
            .map_or_else(Guard::always, |text| self.condition(text, known));
        Some(Action {
            name: self
                .compiler
                .name(&raw.name, |text| ActionName::new(text))?,
            title: raw.title.as_ref().map(|title| title.value.clone()),
            prompt: raw.prompt.as_ref().map(|prompt| prompt.value.clone()),
            when,
            ensures,
            writes: values_of(&raw.writes),
            show: values_of(&raw.show),
            outputs: values_of(&raw.outputs),
            executor: raw.executor.as_ref().map(|executor| executor.value.clone()),
            times,
            retries: raw.retries.as_ref().map(|count| clamp(count.value)),
        })
    }

    pub(super) fn question(&mut self, raw: &RawAsk, known: &KnownNames<'_>) -> Option<Ask> {
        let Some(title) = &raw.title else {
            let message = format!("question `{}` has no `title`", raw.name.value);
            self.compiler.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowMissingKey, message),
            );
            return None;
        };
        self.writable(&raw.writes, known.phase_key);
        if raw.writes.is_empty() {
            let message = format!(
                "question `{}` has no `writes`, so its answer would be lost",
                raw.name.value
            );
            self.compiler.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowMissingKey, message),
            );
        }
        let writes = values_of(&raw.writes);
        for (pointer, _) in raw.options.iter().chain(&raw.default) {
            if !super::action::is_within(&pointer.value, &writes) {
                let message = format!(
                    "`{}` is not among the `writes` of the question",
                    pointer.value
                );
                self.compiler.problem(
                    &pointer.span,
                    Diagnostic::error(Code::WorkflowValue, message),
                );
            }
        }
        // Only rules refer to questions, so the name of a question is a label.
        self.compiler
            .name(&raw.name, |text| ArtifactName::new(text))?;
        Some(Ask {
            name: raw.name.value.clone(),
            title: title.value.clone(),
            options: self.values(&raw.options, known),
            default: self.values(&raw.default, known),
            set: self.values(&raw.set, known),
            writes,
        })
    }

    pub(super) fn limits(&mut self, raw: &RawLimits) -> Limits {
        let default = Limits::default();
        Limits {
            turns: count_or(&raw.turns, default.turns),
            failures: count_or(&raw.failures, default.failures),
            errors: count_or(&raw.errors, default.errors),
            cost: raw.cost.as_ref().map(|cost| cost.value),
            time: self.period("time", raw.time.as_ref()),
            backoff: self
                .period("backoff", raw.backoff.as_ref())
                .unwrap_or(default.backoff),
        }
    }

    pub(super) fn windows(
        &mut self,
        raw: &[(Text, Spanned<i64>)],
        known: &KnownNames<'_>,
    ) -> Vec<(String, usize)> {
        let pointers: Vec<Text> = raw.iter().map(|(pointer, _)| pointer.clone()).collect();
        self.writable(&pointers, known.phase_key);
        let mut windows = Vec::new();
        for (pointer, kept) in raw {
            let kept = usize::try_from(kept.value).unwrap_or(usize::MAX);
            windows.push((pointer.value.clone(), kept));
        }
        windows
    }

    /// A guard: checks its names, and that it yields true or false.
    pub(super) fn condition(&mut self, text: &Text, known: &KnownNames<'_>) -> Guard {
        self.compiler.guard(text, |compiler, guard| {
            compiler.check_names(text, guard, known.artifacts, known.defines);
            if !guard.types().meets(Types::BOOL) {
                let message = "the guard does not yield true or false";
                let hint = "compare the value, for example with `== 0`";
                compiler.problem(
                    &text.span,
                    Diagnostic::error(Code::GuardNotBoolean, message).hint(hint),
                );
            }
        })
    }

    /// Places in the state, and the expressions that yield their values.
    pub(super) fn values(
        &mut self,
        raw: &[(Text, Text)],
        known: &KnownNames<'_>,
    ) -> Vec<(String, Guard)> {
        let mut values = Vec::new();
        for (pointer, text) in raw {
            if self.writable(std::slice::from_ref(pointer), known.phase_key) {
                let guard = self
                    .compiler
                    .named_guard(text, known.artifacts, known.defines);
                values.push((pointer.value.clone(), guard));
            }
        }
        values
    }

    /// The map from the state of an older tool.
    pub(super) fn import(&mut self, raw: &RawImport, phase_key: &str) -> Option<StateImport> {
        if raw.known_by.is_empty() {
            let message =
                "`[state.import]` has no `known_by`, so it would take every state for the original";
            let hint = "name JSON pointers that only the states of the older tool have";
            self.compiler.problem(
                &raw.span,
                Diagnostic::error(Code::WorkflowMissingKey, message).hint(hint),
            );
        }
        self.pointers(&raw.known_by);
        self.pointers(raw.phase.as_slice());
        let mut defines: Vec<(String, Guard)> = Vec::new();
        for (name, text) in &raw.defines {
            let guard = self.import_value(text, &defines);
            defines.push((name.value.clone(), guard));
        }
        let mut data = Vec::new();
        for (place, text) in &raw.data {
            self.writable(std::slice::from_ref(place), phase_key);
            let value = if text.value.starts_with('/') {
                ImportValue::Copy(text.value.clone())
            } else {
                ImportValue::Computed(self.import_value(text, &defines))
            };
            data.push((place.value.clone(), value));
        }
        let phase = raw
            .phase
            .as_ref()
            .map_or_else(|| child("", phase_key), |phase| phase.value.clone());
        Some(StateImport {
            known_by: values_of(&raw.known_by),
            phase,
            defines,
            data,
        })
    }

    /// An expression over the original and the earlier definitions.
    fn import_value(&mut self, text: &Text, defines: &[(String, Guard)]) -> Guard {
        let mut known = vec![ORIGINAL];
        known.extend(defines.iter().map(|(name, _)| name.as_str()));
        self.compiler.guard(text, |compiler, guard| {
            compiler.roots(text, guard, &known);
        })
    }

    /// Whether each is a JSON pointer to something that does not belong to `orch`.
    fn writable(&mut self, pointers: &[Text], phase_key: &str) -> bool {
        let mut all = self.pointers(pointers);
        for pointer in pointers {
            if pointer
                .value
                .split('/')
                .nth(1)
                .is_some_and(|key| is_reserved(key, phase_key))
            {
                let message = format!("`{}` is reserved for orch and cannot be set", pointer.value);
                self.compiler.problem(
                    &pointer.span,
                    Diagnostic::error(Code::WorkflowValue, message),
                );
                all = false;
            }
        }
        all
    }

    /// Whether each is a non-empty JSON pointer.
    pub(super) fn pointers(&mut self, pointers: &[Text]) -> bool {
        let mut all = true;
        for pointer in pointers
            .iter()
            .filter(|pointer| !pointer.value.starts_with('/'))
        {
            let message = format!(
                "`{}` is not a JSON pointer; it starts with `/`",
                pointer.value
            );
            self.compiler.problem(
                &pointer.span,
                Diagnostic::error(Code::WorkflowValue, message),
            );
            all = false;
        }
        all
    }

    fn period(&mut self, key: &str, text: Option<&Text>) -> Option<Period> {
        let text = text?;
        let period = Period::parse(&text.value).filter(|period| period.milliseconds() > 0);
        if period.is_none() {
            let message = format!("`{key}` is not a duration");
            let hint = "write whole numbers with units, for example \"90s\", \"30m\" or \"1h30m\"";
            self.compiler.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(hint),
            );
        }
        period
    }
}

/// The number that a document gives, otherwise the default.
fn count_or(given: &Option<Spanned<i64>>, default: u32) -> u32 {
    given.as_ref().map_or(default, |count| clamp(count.value))
}

fn values_of(texts: &[Text]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone()).collect()
}
