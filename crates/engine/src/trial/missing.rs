//! What the tests of a document do not cover, and a test for each of it that a case was found for.

use super::search::is_decided;
use super::{CaseFound, TestRun, TrialWorkflow, WantedCase};
use orch_base::{PhaseId, RuleId};
use orch_core::trial::Edge;
use orch_core::workflow::{Outcome, PhaseCases, Rule, cases};

/// A rule or an edge that no test covers.
#[derive(Debug)]
pub struct MissingCase {
    /// The rule.
    pub rule: RuleId,
    /// The phase in which it decides.
    pub phase: PhaseId,
    /// The edge, if the rule is covered elsewhere.
    pub edge: Option<Edge>,
    /// A case, or why there is none, in words.
    pub found: Result<CaseFound, String>,
}

impl MissingCase {
    /// The test for it, with a name; `None` if there is no case.
    #[must_use]
    pub fn test_text(&self) -> Option<String> {
        let found = self.found.as_ref().ok()?;
        Some(found.test_text(&self.name()))
    }

    /// What the test is called.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.edge {
            Some(edge) => format!("{} in {}", self.rule, edge.from),
            None => self.rule.to_string(),
        }
    }
}

impl TrialWorkflow<'_> {
    /// A case for each rule and each edge that is not covered.
    #[must_use]
    pub fn missing(&self, run: &TestRun) -> Vec<MissingCase> {
        let workflow = self.workflow;
        let phases = cases(workflow);
        let mut coverage = run.coverage.clone();
        let mut found = Vec::new();
        let is_unreachable = |id: &RuleId| {
            let mut known = run.unreachable.iter();
            known.any(|(rule, _)| rule == id.as_str())
        };
        for rule in workflow
            .rules
            .iter()
            .filter(|rule| !is_unreachable(&rule.id))
        {
            let to = match &rule.outcome {
                Outcome::To(to) => Some(to),
                _ => None,
            };
            let mut why = None;
            for phase in &rule.from {
                let edge = to.map(|to| Edge {
                    from: phase.clone(),
                    to: to.clone(),
                });
                let is_seen = coverage.rules.contains(&rule.id);
                let is_edge_seen = edge
                    .as_ref()
                    .is_none_or(|edge| coverage.edges.contains(edge));
                if is_seen && is_edge_seen {
                    continue;
                }
                match self.find(WantedCase::Decides { phase, rule }) {
                    Some(case) if is_decided(&case.verdict) => {
                        coverage.note(&rule.id, phase, case.verdict.target());
                        found.push(MissingCase {
                            rule: rule.id.clone(),
                            phase: phase.clone(),
                            edge: edge.filter(|_| is_seen),
                            found: Ok(case),
                        });
                    }
                    _ => why = why.or(Some((phase, edge))),
                }
            }
            if let Some((phase, edge)) = why {
                let is_open = !coverage.rules.contains(&rule.id)
                    || edge
                        .as_ref()
                        .is_some_and(|edge| !coverage.edges.contains(edge));
                if is_open {
                    found.push(MissingCase {
                        rule: rule.id.clone(),
                        phase: phase.clone(),
                        edge: edge.filter(|_| coverage.rules.contains(&rule.id)),
                        found: Err(unreachable(&phases, rule)),
                    });
                }
            }
        }
        found
    }
}

/// Why no case of a rule was found.
fn unreachable(phases: &[PhaseCases<'_>], rule: &Rule) -> String {
    for of in phases {
        if of.impossible.iter().any(|one| one.id == rule.id) {
            return "its guard is never true".to_owned();
        }
        if let Some((_, by)) = of.covered.iter().find(|(one, _)| one.id == rule.id) {
            return match by {
                Some(by) => format!("`{}` always decides before it", by.id),
                None => "in all its cases a rule before it decides".to_owned(),
            };
        }
    }
    "no case was found: give one by hand".to_owned()
}
