//! Deadlines in a document: `[deadline.NAME]`, and `lapsed.NAME` in guards.

use super::Workflow;
use super::raw::{RawDeadline, RawPhase, Text};
use super::rule::RuleCompiler;
use orch_base::{Code, Diagnostic, Period, PhaseId, Timestamp};

/// The name under which guards see which deadlines have passed.
pub const LAPSED: &str = "lapsed";

/// How long a task may be in a phase until its rules see that the time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    /// The name, which guards use: `lapsed.NAME`.
    pub name: String,
    /// The phase.
    pub phase: PhaseId,
    /// How long after the phase was entered the deadline passes; each attempt begins anew.
    pub after: Period,
}

impl Deadline {
    /// When it passes in an attempt that began at a time: in whole seconds, rounded up.
    #[must_use]
    pub fn ends(&self, entered: Timestamp) -> Timestamp {
        let seconds = self.after.milliseconds().div_ceil(1_000);
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Timestamp::from_seconds(entered.seconds().saturating_add(seconds))
    }
}

impl Workflow {
    /// The deadline with this name.
    #[must_use]
    pub fn deadline(&self, name: &str) -> Option<&Deadline> {
        self.deadlines.iter().find(|deadline| deadline.name == name)
    }

    /// The deadlines of a phase, in document order.
    pub fn deadlines_of<'a>(&'a self, phase: &'a PhaseId) -> impl Iterator<Item = &'a Deadline> {
        self.deadlines
            .iter()
            .filter(move |deadline| deadline.phase == *phase)
    }
}

impl RuleCompiler<'_, '_> {
    /// The deadlines of a document. Reports those of phases in which no task waits, and times that cannot be read.
    pub(super) fn deadlines(&mut self, raw: &[RawDeadline], phases: &[RawPhase]) -> Vec<Deadline> {
        let mut found = Vec::new();
        for deadline in raw {
            let name = self
                .compiler
                .name(&deadline.name, |text| PhaseId::new(text));
            let phase = self.deadline_phase(deadline, phases);
            let after = self.deadline_time(deadline);
            if let (Some(name), Some(phase), Some(after)) = (name, phase, after) {
                found.push(Deadline {
                    name: name.to_string(),
                    phase,
                    after,
                });
            }
        }
        found
    }

    /// The phase of a deadline: the one that it names, or else the one with its own name.
    fn deadline_phase(&mut self, raw: &RawDeadline, phases: &[RawPhase]) -> Option<PhaseId> {
        let text = raw.phase.as_ref().unwrap_or(&raw.name);
        let Some(phase) = phases.iter().find(|phase| phase.name.value == text.value) else {
            let known = phases.iter().map(|phase| phase.name.value.as_str());
            match &raw.phase {
                Some(text) => {
                    self.compiler
                        .unknown(text, Code::WorkflowUnknownPhase, "phase", known)
                }
                None => self.phase_not_named(&raw.name, known.collect()),
            }
            return None;
        };
        if phase.terminal {
            let message = format!("`{}` is terminal, so no task waits there", text.value);
            let hint = "name a phase that rules leave";
            self.compiler.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(hint),
            );
        }
        PhaseId::new(&text.value).ok()
    }

    /// Reports a deadline that names no phase, and is not named as one.
    fn phase_not_named(&mut self, name: &Text, phases: Vec<&str>) {
        let message = format!(
            "deadline `{}` names no phase, and no phase has its name",
            name.value
        );
        let near = orch_base::nearest(&name.value, phases.iter().copied());
        let hint = match near {
            Some(near) => format!("did you mean `[deadline.{near}]`? or say phase = \"{near}\""),
            None => format!("add phase = \"…\": one of {}", phases.join(", ")),
        };
        self.compiler.problem(
            &name.span,
            Diagnostic::error(Code::WorkflowUnknownPhase, message).hint(hint),
        );
    }

    fn deadline_time(&mut self, raw: &RawDeadline) -> Option<Period> {
        let Some(text) = &raw.after else {
            let message = format!("deadline `{}` has no `after`", raw.name.value);
            let hint =
                "say how long after the phase was entered it passes, such as after = \"48h\"";
            self.compiler.problem(
                &raw.name.span,
                Diagnostic::error(Code::WorkflowMissingKey, message).hint(hint),
            );
            return None;
        };
        let period = Period::parse(&text.value);
        let long_enough = period.filter(|period| *period >= Period::from_seconds(1));
        if long_enough.is_none() {
            let message = match period {
                Some(_) => "`after` is at least one second".to_owned(),
                None => format!("`after` is not a time: `{}`", text.value),
            };
            let hint = "write hours, minutes and seconds, such as `48h`, `30m` or `1h30m`";
            self.compiler.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(hint),
            );
        }
        long_enough
    }

    /// Checks what a guard reads of deadlines. Returns whether the root of the path means them.
    pub(super) fn lapsed_names(&mut self, text: &Text, chain: &[String]) -> bool {
        if chain[0] != LAPSED || self.compiler.deadlines.is_empty() {
            return false;
        }
        let names = self.compiler.deadlines.clone();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match chain.get(1) {
            Some(_) => self.compiler.member(text, chain, &names),
            None => {
                let at = self.compiler.inner(text, LAPSED);
                let message = "`lapsed` has all deadlines; name one of them";
                let hint = format!("for example `lapsed.{}`", names[0]);
                self.compiler.problem(
                    &at.span,
                    Diagnostic::error(Code::GuardUnknownName, message).hint(hint),
                );
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Document, System, check, compile};

    fn document(deadlines: &str, guard: &str) -> Document {
        let text = format!(
            "```toml orch
[artifact.verdict]
path = 'verdict.json'
[phase.review]
produces = ['verdict']
[phase.late]
produces = ['verdict']
[phase.done]
terminal = true
[[rule]]
id = 'late'
from = 'review'
when = \"{guard}\"
to = 'late'
because = 'nobody came'
[[rule]]
id = 'done'
from = ['review', 'late']
when = 'verdict.ready'
to = 'done'
because = 'it is done'
{deadlines}
```"
        );
        Document::new("w", "w.md", text)
    }

    #[test]
    fn what_is_wrong_with_a_deadline_is_told_where_it_stands() {
        let own = "[deadline.review]\nafter = '48h'";
        for (deadlines, guard, code, words) in [
            (
                "[deadline.revew]\nafter = '48h'",
                "verdict.present",
                Code::WorkflowUnknownPhase,
                "did you mean `[deadline.review]`",
            ),
            (
                "[deadline.a]\nafter = '48h'\nphase = 'revew'",
                "verdict.present",
                Code::WorkflowUnknownPhase,
                "did you mean `review`",
            ),
            (
                "[deadline.done]\nafter = '48h'",
                "verdict.present",
                Code::WorkflowValue,
                "name a phase that rules leave",
            ),
            (
                "[deadline.review]\nafter = '2 days'",
                "verdict.present",
                Code::WorkflowValue,
                "`48h`",
            ),
            (
                "[deadline.review]\nafter = '10ms'",
                "verdict.present",
                Code::WorkflowValue,
                "`48h`",
            ),
            (
                "[deadline.review]",
                "verdict.present",
                Code::WorkflowMissingKey,
                "after = \"48h\"",
            ),
            (
                "[deadline.review]\nafter = '48h'\nfrom = 'x'",
                "verdict.present",
                Code::WorkflowUnknownKey,
                "",
            ),
            (
                own,
                "lapsed.revew",
                Code::GuardUnknownName,
                "did you mean `review`",
            ),
            (own, "lapsed", Code::GuardUnknownName, "`lapsed.review`"),
            (
                "",
                "lapsed.review",
                Code::GuardUnknownName,
                "add `[deadline.PHASE]`",
            ),
            (own, "lapsed.review == 'yes'", Code::GuardType, ""),
        ] {
            let document = document(deadlines, guard);
            let (workflow, mut found) = compile(&document, &System::empty());
            found.extend(
                workflow
                    .iter()
                    .flat_map(|workflow| check(&document, workflow)),
            );
            let [only] = found.as_slice() else {
                panic!("{deadlines} {guard}: {found:#?}");
            };
            let hint = only
                .hint
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                only.code == code && hint.contains(words),
                "{deadlines} {guard}: {only:#?}"
            );
            let line = only
                .place
                .as_ref()
                .and_then(|place| place.line)
                .expect("a line");
            assert_eq!(line > 20, guard == "verdict.present", "{only:#?}");
        }
        for (deadlines, guard) in [
            (own, "lapsed.review"),
            (own, "lapsed.review && !verdict.present"),
            (
                "[deadline.slow]\nphase = 'review'\nafter = '1h30m'",
                "lapsed.slow",
            ),
            // A name of the document's own comes first.
            (
                "[define]\nlapsed = 'verdict.present'\n[deadline.review]\nafter = '48h'",
                "lapsed",
            ),
        ] {
            let document = document(deadlines, guard);
            let (workflow, found) = compile(&document, &System::empty());
            let workflow = workflow.unwrap_or_else(|| panic!("{deadlines} {guard}: {found:#?}"));
            let found = check(&document, &workflow);
            assert_eq!(found, [], "{deadlines} {guard}");
        }
    }
}
