//! Verifications in a document: `verifies` of a phase, `same_as` of an artifact, and `verified.NAME` in guards.

use super::compile::Compiler;
use super::guard::{Guard, spelled};
use super::place::{heading, in_guard};
use super::raw::Text;
use super::{AFTER, CHILDREN, Document, Rule, VERIFIED, Workflow};
use orch_base::{Code, Diagnostic, VerificationName, nearest};
use std::collections::BTreeSet;

/// The members of a verification in a guard, apart from `base`.
const MEMBERS: [&str; 12] = [
    "defined", "present", "passed", "fresh", "exit", "tests", "failures", "failed", "new", "known",
    "lost", "flaky",
];
/// The member that is the run with protected tests.
const BASE: &str = "base";

impl Compiler<'_> {
    /// The name of a verification. Reports one that is not valid, or that means a run with protected tests: those belong
    /// to another one.
    pub(super) fn verification(&mut self, text: &Text) -> Option<VerificationName> {
        let name = self.name(text, |text| VerificationName::new(text))?;
        if let Some((own, _)) = text.value.split_once('@') {
            let message = format!(
                "`{}` is part of `{own}`, which runs it where protected tests are set",
                text.value
            );
            let hint = format!("name `{own}`");
            self.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowName, message).hint(hint),
            );
            return None;
        }
        Some(name)
    }

    /// Checks what a guard reads of verifications.
    pub(super) fn verified_names(&mut self, text: &Text, chain: &[String]) {
        let Some(name) = chain.get(1) else {
            let at = self.inner(text, VERIFIED);
            let message = "`verified` has the results of all verifications; name one of them";
            let hint = "for example `verified.tests.passed`";
            self.problem(
                &at.span,
                Diagnostic::error(Code::GuardUnknownName, message).hint(hint),
            );
            return;
        };
        if VerificationName::new(name).is_err() {
            let at = self.inner(text, name);
            let message = format!("`{name}` cannot be the name of a verification");
            self.problem(&at.span, Diagnostic::error(Code::GuardUnknownName, message));
            return;
        }
        let with_base: Vec<&str> = MEMBERS.into_iter().chain([BASE]).collect();
        let of_verification = &chain[1..];
        self.member(text, of_verification, &with_base);
        if of_verification.get(1).is_some_and(|member| member == BASE) {
            self.member(text, &of_verification[1..], &MEMBERS);
        }
    }
}

impl Workflow {
    /// Whether an artifact or a named expression has this name.
    #[must_use]
    pub(crate) fn has_own(&self, name: &str) -> bool {
        self.artifacts
            .iter()
            .any(|artifact| artifact.name.as_str() == name)
            || self.defines.iter().any(|(define, _)| define == name)
    }

    /// Whether a phase verifies this.
    #[must_use]
    pub fn verifies(&self, name: &VerificationName) -> bool {
        self.phases
            .iter()
            .any(|phase| phase.verifies.contains(name))
    }

    /// Whether its decisions may depend on the result of a verification. Reads no guard of a phase that verifies it.
    #[must_use]
    pub fn depends_on_verification(&self, name: &VerificationName) -> bool {
        self.verifies(name) || (!self.has_own(VERIFIED) && self.guards().any(reads_verified))
    }

    /// Whether one of its expressions reads the tasks that a task waits for.
    #[must_use]
    pub fn reads_after(&self) -> bool {
        self.reads_name(AFTER)
    }

    /// Whether one of its expressions reads the tasks that are part of a task.
    #[must_use]
    pub fn reads_children(&self) -> bool {
        self.reads_name(CHILDREN)
    }

    fn reads_name(&self, name: &str) -> bool {
        // Where the text does not speak of it, nothing is parsed.
        let is_spoken_of =
            |guard: &Guard| guard.source().contains(name) && guard.mentions(name) > 0;
        !self.has_own(name) && self.guards().any(is_spoken_of)
    }

    /// The expressions of rules, definitions and phases.
    fn guards(&self) -> impl Iterator<Item = &Guard> {
        let whens = self.rules.iter().map(|rule| &rule.when);
        let set = self.rules.iter().flat_map(|rule| &rule.set);
        let named = set.chain(&self.defines).map(|(_, guard)| guard);
        let actions = self
            .actions
            .iter()
            .flat_map(|action| [&action.when, &action.ensures]);
        let shown = self
            .phases
            .iter()
            .flat_map(|phase| phase.substate.iter().chain(&phase.remarks));
        whens.chain(named).chain(actions).chain(shown)
    }
}

/// Whether the text of an expression speaks of verifications. Asking that parses nothing.
fn reads_verified(guard: &Guard) -> bool {
    guard.source().contains(VERIFIED)
}

/// Artifacts that say the same as a verification which no phase that makes them runs.
pub(super) fn never_verified(document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for artifact in &workflow.artifacts {
        let Some(name) = &artifact.same_as else {
            continue;
        };
        let is_run = workflow
            .producers(&artifact.name)
            .any(|phase| phase.verifies.contains(name));
        if is_run {
            continue;
        }
        let message = format!(
            "`{}` is the same as the verification `{name}`, and no phase that produces it verifies `{name}`",
            artifact.name
        );
        let hint = format!("add verifies = [\"{name}\"] to the phase");
        let place = heading(document, &format!("[artifact.{}]", artifact.name));
        findings.push(
            Diagnostic::warning(Code::WorkflowVerification, message)
                .at(place)
                .hint(hint),
        );
    }
    findings
}

/// Verifications of a workflow that the settings lack, though they define others; and rules that read one which neither
/// a phase runs nor the settings define.
#[must_use]
pub fn check_verifications(
    document: &Document,
    workflow: &Workflow,
    defined: &BTreeSet<&VerificationName>,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for phase in &workflow.phases {
        for name in &phase.verifies {
            if defined.is_empty() || defined.contains(name) {
                continue;
            }
            let message = format!(
                "phase `{}` verifies `{name}`, and orch.toml has no `[verify.{name}]`",
                phase.id
            );
            let place = heading(document, &format!("[phase.{}]", phase.id));
            findings.push(unknown(message, name, defined).at(place));
        }
    }
    if workflow.has_own(VERIFIED) {
        return findings;
    }
    for rule in &workflow.rules {
        findings.extend(unknown_in_rule(document, workflow, rule, defined));
    }
    findings
}

/// The first verification in the guard of a rule that nobody runs.
fn unknown_in_rule(
    document: &Document,
    workflow: &Workflow,
    rule: &Rule,
    defined: &BTreeSet<&VerificationName>,
) -> Option<Diagnostic> {
    for chain in workflow.reads(&rule.when) {
        let [root, name, ..] = chain else { continue };
        if root != VERIFIED {
            continue;
        }
        let Ok(name) = VerificationName::new(name) else {
            continue;
        };
        if workflow.verifies(&name) || defined.contains(&name) {
            continue;
        }
        let message = format!(
            "rule `{}` reads `{}`, but no phase verifies `{name}` and orch.toml does not define it",
            rule.id,
            spelled(chain)
        );
        let place = in_guard(document, rule, &spelled(chain));
        return Some(unknown(message, &name, defined).at(place));
    }
    None
}

fn unknown(
    message: String,
    name: &VerificationName,
    defined: &BTreeSet<&VerificationName>,
) -> Diagnostic {
    let known = defined.iter().map(|name| name.as_str());
    let hint = match nearest(name.as_str(), known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("add [verify.{name}] to orch.toml, with a `command`"),
    };
    Diagnostic::warning(Code::WorkflowVerification, message).hint(hint)
}
