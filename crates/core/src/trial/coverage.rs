//! Which rules and edges of a workflow were seen.

use crate::workflow::{Workflow, arrows};
use orch_base::{PhaseId, RuleId};
use std::collections::BTreeSet;

/// A pair of phases that a rule connects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The phase that is left.
    pub from: PhaseId,
    /// The phase that is entered.
    pub to: PhaseId,
}

/// The rules that decided, and the edges along which they led.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleCoverage {
    /// The rules.
    pub rules: BTreeSet<RuleId>,
    /// The edges.
    pub edges: BTreeSet<Edge>,
}

impl RuleCoverage {
    /// Notes that a rule decided in a phase, and where it led, if anywhere.
    pub fn note(&mut self, rule: &RuleId, from: &PhaseId, to: Option<&PhaseId>) {
        self.rules.insert(rule.clone());
        if let Some(to) = to {
            self.edges.insert(Edge {
                from: from.clone(),
                to: to.clone(),
            });
        }
    }

    /// All rules and edges of a workflow.
    #[must_use]
    pub fn of_all(workflow: &Workflow) -> Self {
        let edges = arrows(workflow).into_iter().map(|(from, to, _)| Edge {
            from: from.clone(),
            to: to.clone(),
        });
        Self {
            rules: workflow.rules.iter().map(|rule| rule.id.clone()).collect(),
            edges: edges.collect(),
        }
    }

    /// What of a workflow was not seen: rules in document order, and edges in that of their phases.
    #[must_use]
    pub fn missing(&self, workflow: &Workflow) -> (Vec<RuleId>, Vec<Edge>) {
        let rules = workflow.rules.iter().map(|rule| &rule.id);
        let rules = rules.filter(|rule| !self.rules.contains(*rule)).cloned();
        let edges = arrows(workflow).into_iter().map(|(from, to, _)| Edge {
            from: from.clone(),
            to: to.clone(),
        });
        let edges = edges.filter(|edge| !self.edges.contains(edge));
        (rules.collect(), edges.collect())
    }
}
