//! Likely mistakes in a compiled workflow: unreachable phases, rules that never fire, guards whose types do not fit.
//!
//! These are warnings: the workflow runs, but hardly as its author intended.

use super::cases::case_findings;
use super::diagram::block;
use super::document_tests::check_tests;
use super::fact_types::check_types;
use super::guard::spelled;
use super::memo::CheckMemo;
use super::place::{advised, heading, in_guard};
use super::verifies::never_verified;
use super::{Artifact, Document, LAPSED, Outcome, Rule, Workflow};
use orch_base::{Code, Diagnostic, Hint, PhaseId};

/// Every finding about a compiled workflow and its document.
#[must_use]
pub fn check(document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
    let mut findings = check_fast(document, workflow, &mut CheckMemo::default());
    findings.extend(check_cases(document, workflow, &findings));
    Diagnostic::in_order(findings)
}

/// The findings about the cases of its rules, beside these others: what holds together, and what nothing covers.
#[must_use]
pub fn check_cases(
    document: &Document,
    workflow: &Workflow,
    others: &[Diagnostic],
) -> Vec<Diagnostic> {
    // What a guard asks is only clear once its types fit.
    if others.iter().any(|found| TYPES.contains(&found.code)) {
        return Vec::new();
    }
    let findings = case_findings(document, workflow);
    findings.into_iter().map(advised).collect()
}

/// Every finding but those about cases, with what is known of earlier versions of the document.
#[must_use]
pub fn check_fast(
    document: &Document,
    workflow: &Workflow,
    memo: &mut CheckMemo,
) -> Vec<Diagnostic> {
    let mut findings = check_untyped(document, workflow);
    let of_types = check_types(document, workflow, &mut memo.types);
    findings.extend(of_types.into_iter().map(advised));
    Diagnostic::in_order(findings)
}

/// Every finding but those about cases and types.
#[must_use]
pub fn check_untyped(document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    phases(document, workflow, &mut findings);
    for (index, rule) in workflow.rules.iter().enumerate() {
        changed_too_late(workflow, index, rule, &mut findings);
        findings.extend(lapsed_elsewhere(document, workflow, rule));
    }
    same_paths(document, workflow, &mut findings);
    unproduced(document, workflow, &mut findings);
    actions(document, workflow, &mut findings);
    stale_diagram(document, workflow, &mut findings);
    findings.extend(never_verified(document, workflow));
    findings.extend(check_tests(document, workflow));
    Diagnostic::in_order(findings.into_iter().map(advised).collect())
}

/// The codes of guards whose types do not fit.
const TYPES: [Code; 4] = [
    Code::GuardConstant,
    Code::GuardField,
    Code::GuardMayFail,
    Code::GuardType,
];

fn phases(document: &Document, workflow: &Workflow, findings: &mut Vec<Diagnostic>) {
    let reachable = workflow.reachable(&workflow.initial);
    for phase in &workflow.phases {
        let place = heading(document, &format!("[phase.{}]", phase.id));
        if phase.id != workflow.initial && !reachable.contains(&phase.id) {
            let message = format!("no rule leads to phase `{}`", phase.id);
            findings.push(
                Diagnostic::warning(Code::WorkflowUnreachablePhase, message).at(place.clone()),
            );
        }
        if !phase.terminal && !phase.success {
            let message = format!(
                "`success` of phase `{}` says nothing: it is not terminal",
                phase.id
            );
            let warning = Diagnostic::warning(Code::WorkflowValue, message);
            findings.push(
                warning
                    .at(place.clone())
                    .hint("set `terminal = true`, or remove it"),
            );
        }
        for name in workflow.unmade_needs(phase) {
            let message = format!(
                "phase `{}` needs `{name}`, which no phase before it produces",
                phase.id
            );
            let hint = format!(
                "name `{name}` under `produces` of an earlier phase, or under `reads` here"
            );
            let warning = Diagnostic::warning(Code::WorkflowUnmadeNeed, message);
            findings.push(warning.at(place.clone()).hint(hint));
        }
        if !phase.terminal && !workflow.is_left(&phase.id) {
            let message = format!("no rule leaves phase `{}`, which is not terminal", phase.id);
            let hint = "add a rule, or set `terminal = true`";
            findings.push(
                Diagnostic::warning(Code::WorkflowDeadEnd, message)
                    .at(place)
                    .hint(hint),
            );
        }
    }
}

/// Whether a rule reads `.changed` of an artifact.
fn asks_changed(workflow: &Workflow, rule: &Rule) -> bool {
    let read = workflow.reads(&rule.when);
    read.iter()
        .any(|chain| chain.get(1).is_some_and(|member| member == "changed"))
}

/// A rule on `.changed` that sends back is useless after a rule that moves on regardless.
fn changed_too_late(
    workflow: &Workflow,
    index: usize,
    rule: &Rule,
    findings: &mut Vec<Diagnostic>,
) {
    if !asks_changed(workflow, rule)
        || !rule
            .from
            .iter()
            .any(|from| sends_back(workflow, rule, from))
    {
        return;
    }
    let earlier = workflow.rules[..index].iter().find(|earlier| {
        !asks_changed(workflow, earlier)
            && earlier
                .from
                .iter()
                .any(|from| rule.from.contains(from) && moves_on(workflow, earlier, from))
    });
    if let Some(earlier) = earlier {
        let message = format!(
            "rule `{}` reads `.changed`, but `{}` on line {} may move on before it",
            rule.id,
            earlier.id,
            earlier.place.line.unwrap_or_default()
        );
        let hint = "put rules on `.changed` before rules on verdicts";
        findings.push(
            Diagnostic::warning(Code::WorkflowChangedLate, message)
                .at(rule.place.clone())
                .hint(hint),
        );
    }
}

fn sends_back(workflow: &Workflow, rule: &Rule, from: &PhaseId) -> bool {
    matches!(&rule.outcome, Outcome::To(to) if workflow.position(to) <= workflow.position(from))
}

fn moves_on(workflow: &Workflow, rule: &Rule, from: &PhaseId) -> bool {
    matches!(&rule.outcome, Outcome::To(to) if workflow.position(to) > workflow.position(from))
}

/// A rule that reads a deadline of another phase: there it is always false.
fn lapsed_elsewhere(document: &Document, workflow: &Workflow, rule: &Rule) -> Option<Diagnostic> {
    for chain in workflow.reads(&rule.when) {
        let [root, name, ..] = chain else { continue };
        let deadline = workflow.deadline(name).filter(|_| root == LAPSED);
        let Some(deadline) = deadline.filter(|one| !rule.from.contains(&one.phase)) else {
            continue;
        };
        let message = format!(
            "`{LAPSED}.{name}` is always false in rule `{}`: it is a deadline of phase `{}`",
            rule.id, deadline.phase
        );
        let hint = "read it in a rule of its phase, or give this phase a deadline";
        let place = in_guard(document, rule, &spelled(chain));
        let warning = Diagnostic::warning(Code::GuardConstant, message);
        return Some(warning.at(place).hint(hint));
    }
    None
}

/// Artifacts that are the same file.
fn same_paths(document: &Document, workflow: &Workflow, findings: &mut Vec<Diagnostic>) {
    for (at, artifact) in workflow.artifacts.iter().enumerate() {
        let mut before = workflow.artifacts[..at].iter();
        let is_same = |other: &&Artifact| {
            let mut paths = other.paths.iter();
            paths.any(|path| artifact.paths.contains(path))
        };
        let Some(other) = before.find(is_same) else {
            continue;
        };
        let message = format!(
            "artifacts `{}` and `{}` are the same file",
            other.name, artifact.name
        );
        let place = heading(document, &format!("[artifact.{}]", artifact.name));
        let warning = Diagnostic::warning(Code::WorkflowDuplicate, message);
        findings.push(warning.at(place).hint("give each its own path"));
    }
}

/// An artifact that no phase produces is never used up, so an old one would count forever.
fn unproduced(document: &Document, workflow: &Workflow, findings: &mut Vec<Diagnostic>) {
    for artifact in &workflow.artifacts {
        let is_shown = workflow
            .phases
            .iter()
            .any(|phase| phase.reads.contains(&artifact.name));
        let is_work = artifact.repository.is_none();
        if is_work && !is_shown && workflow.producers(&artifact.name).next().is_none() {
            let message = format!(
                "no phase produces artifact `{}`, so it is never used up",
                artifact.name
            );
            let place = heading(document, &format!("[artifact.{}]", artifact.name));
            findings.push(Diagnostic::warning(Code::WorkflowUnproduced, message).at(place));
        }
    }
}

/// Actions and questions that no rule names, and actions whose repeated failure no rule handles.
fn actions(document: &Document, workflow: &Workflow, findings: &mut Vec<Diagnostic>) {
    for action in &workflow.actions {
        let named = workflow
            .rules
            .iter()
            .any(|rule| rule.outcome.actions().contains(&action.name));
        if !named {
            let message = format!("no rule runs action `{}` or offers it", action.name);
            let place = heading(document, &format!("[action.{}]", action.name));
            findings.push(Diagnostic::warning(Code::WorkflowUnusedAction, message).at(place));
        }
    }
    for ask in &workflow.asks {
        if !workflow
            .rules
            .iter()
            .any(|rule| rule.ask.as_ref() == Some(&ask.name))
        {
            let message = format!("no rule asks question `{}`", ask.name);
            let place = heading(document, &format!("[ask.{}]", ask.name));
            findings.push(Diagnostic::warning(Code::WorkflowUnusedAsk, message).at(place));
        }
    }
    if workflow.has_actions() && !workflow.handles_errors() {
        let message =
            "no rule reads `run.errors`, so actions that keep failing end the run, not the task";
        let hint = "add a first rule `when = \"run.errors >= run.max_errors\"` that leads to a terminal phase";
        let place = document.place(0, 0);
        findings.push(
            Diagnostic::warning(Code::WorkflowNoAbort, message)
                .at(place)
                .hint(hint),
        );
    }
}

fn stale_diagram(document: &Document, workflow: &Workflow, findings: &mut Vec<Diagnostic>) {
    let Some(range) = &document.diagram else {
        return;
    };
    if document.text[range.clone()].trim() != block(workflow).trim() {
        let place = document.place(range.start, 0);
        let hint = Hint::run(&["orch", "workflow", "fmt", workflow.name.as_str()]);
        let message = "the diagram does not match the rules";
        findings.push(
            Diagnostic::warning(Code::WorkflowDiagram, message)
                .at(place)
                .hint(hint),
        );
    }
}
