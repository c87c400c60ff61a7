//! What is worth telling of the cases of a workflow.

use super::super::place::heading;
use super::super::{Document, Outcome, Phase, Rule, Workflow};
use super::{PhaseCases, RuleCase, looked_at, must_not_overlap};
use orch_base::{Code, Diagnostic, PhaseId};

/// How many values of a case a message shows.
const MOST_SHOWN: usize = 8;

/// Findings about rules that never decide, overlaps inside a group, gaps, and ways that lead nowhere.
pub(in crate::workflow) fn case_findings(
    document: &Document,
    workflow: &Workflow,
) -> Vec<Diagnostic> {
    let phases = looked_at(workflow, must_not_overlap);
    let mut findings = Vec::new();
    for rule in &workflow.rules {
        findings.extend(never_decides(rule, &phases));
    }
    for of in &phases {
        let place = heading(document, &format!("[phase.{}]", of.phase));
        for overlap in &of.overlaps {
            let group = overlap.second.group.as_deref().unwrap_or_default();
            let message = format!(
                "rules `{}` and `{}` of group `{group}` both hold in phase `{}`{}",
                overlap.first.id,
                overlap.second.id,
                of.phase,
                overlap.case.as_example(),
            );
            let warning = Diagnostic::warning(Code::WorkflowOverlap, message);
            findings.push(warning.at(overlap.second.place.clone()));
        }
        if let Some(case) = &of.gap {
            let message = format!(
                "phase `{}` is done, and no rule says what is next{}",
                of.phase,
                case.as_example()
            );
            findings.push(Diagnostic::note(Code::WorkflowGap, message).at(place));
        }
        for (rule, case) in &of.unspent {
            let message = format!(
                "rule `{}` sends back from `{}`, and rules lead here again although nothing was written{}",
                rule.id,
                of.phase,
                case.as_example()
            );
            let warning = Diagnostic::warning(Code::WorkflowLivelock, message);
            findings.push(warning.at(rule.place.clone()));
        }
    }
    for endless in endless_phases(workflow, &phases) {
        let place = heading(document, &format!("[phase.{}]", endless.phase));
        let hint = "add a rule that leads to an end, or set `terminal = true`";
        let warning = Diagnostic::warning(Code::WorkflowDeadEnd, endless.lacks);
        findings.push(warning.at(place).hint(hint));
    }
    findings
}

impl RuleCase {
    /// The case as the end of a sentence.
    fn as_example(&self) -> String {
        let Self(values) = self;
        match values.len() {
            0 => String::new(),
            1..=MOST_SHOWN => format!(": {}", values.join(", ")),
            _ => format!(": {}, …", values[..MOST_SHOWN].join(", ")),
        }
    }
}

/// A rule that decides in none of its phases. Whoever writes `false` knows that.
fn never_decides(rule: &Rule, phases: &[PhaseCases<'_>]) -> Option<Diagnostic> {
    if rule.when.text() == "false" {
        return None;
    }
    let mut by = Vec::new();
    let mut is_impossible = false;
    for from in &rule.from {
        let of = phases.iter().find(|of| of.phase == from)?;
        let is_it = |other: &Rule| other.id == rule.id;
        let covered = of.covered.iter().find(|(covered, _)| is_it(covered));
        if of.impossible.iter().any(|other| is_it(other)) {
            is_impossible = true;
        } else {
            by.push(covered?.1);
        }
    }
    let message = match by.as_slice() {
        [] if is_impossible => format!("rule `{}` never fires: its guard is never true", rule.id),
        [Some(first), ..] if by.iter().all(Option::is_some) => format!(
            "rule `{}` never fires: `{}` on line {} fires first in all its cases",
            rule.id,
            first.id,
            first.place.line.unwrap_or_default()
        ),
        _ => format!(
            "rule `{}` never fires: in all its cases one of the rules before it does",
            rule.id
        ),
    };
    Some(Diagnostic::warning(Code::WorkflowCoveredRule, message).at(rule.place.clone()))
}

/// A phase that can be entered and left, and from which rules lead to no end, or, from the initial one, to no good end.
#[derive(Debug)]
pub struct EndlessPhase<'w> {
    /// The phase.
    pub phase: &'w PhaseId,
    /// What it lacks, in words.
    pub lacks: String,
}

/// The phases from which no end is reached. What nothing leaves or leads to is a finding of its own.
#[must_use]
pub fn endless_phases<'w>(
    workflow: &'w Workflow,
    phases: &[PhaseCases<'_>],
) -> Vec<EndlessPhase<'w>> {
    let ends = leading(workflow, phases, |phase| phase.terminal);
    let good_ends = leading(workflow, phases, Phase::is_good_end);
    let reachable = workflow.reachable(&workflow.initial);
    let mut found = Vec::new();
    for Phase { id, .. } in &workflow.phases {
        let is_initial = *id == workflow.initial;
        if !workflow.is_left(id) || !(is_initial || reachable.contains(id)) {
            continue;
        }
        let lacks = if !ends.is_empty() && !ends.contains(&id) {
            format!("from phase `{id}` rules lead only in circles, to no end")
        } else if is_initial && !good_ends.is_empty() && !good_ends.contains(&id) {
            format!("from phase `{id}` no rule leads to a good end")
        } else {
            continue;
        };
        found.push(EndlessPhase { phase: id, lacks });
    }
    found
}

/// The phases like this, and those from which rules that can hold lead to one.
fn leading<'w>(
    workflow: &'w Workflow,
    phases: &[PhaseCases<'_>],
    is_end: impl Fn(&Phase) -> bool,
) -> Vec<&'w PhaseId> {
    let ends = workflow.phases.iter().filter(|phase| is_end(phase));
    let mut leading: Vec<&PhaseId> = ends.map(|phase| &phase.id).collect();
    loop {
        let before = leading.len();
        for phase in &workflow.phases {
            let is_new = !phase.terminal && !leading.contains(&&phase.id);
            if is_new && leads_to(workflow, phase, &leading, phases) {
                leading.push(&phase.id);
            }
        }
        if leading.len() == before {
            return leading;
        }
    }
}

/// Whether a rule that can hold leads from a phase to one of these.
fn leads_to(
    workflow: &Workflow,
    phase: &Phase,
    ends: &[&PhaseId],
    phases: &[PhaseCases<'_>],
) -> bool {
    let of = phases.iter().find(|of| *of.phase == phase.id);
    workflow.rules_from(&phase.id).any(|rule| {
        let is_possible = of.is_none_or(|of| {
            let mut impossible = of.impossible.iter();
            !impossible.any(|other| other.id == rule.id)
        });
        is_possible && matches!(&rule.outcome, Outcome::To(to) if ends.contains(&to))
    })
}
