//! What the rules say of a placed task, and where that is not what a test expects.

use super::PlacedTask;
use crate::Spanned;
use crate::decide::{
    Decision, Duty, DutyKind, Recorded, State, Transition, Tried, duty, evaluate, signalled,
};
use crate::workflow::{DocumentTest, Owner, Signal, TestExpectation, Workflow};
use orch_base::{PhaseId, RuleId};

/// What the rules say of a task that is only tried.
#[derive(Debug, Clone)]
pub struct TrialVerdict {
    /// The decision.
    pub decision: Decision,
    /// Who has to act, and where that leads.
    pub duty: Duty,
    /// The step of the rule that responds to a control request, if one is given and a rule does.
    pub signalled: Option<Transition>,
}

/// Something that is not as a test expects.
#[derive(Debug, Clone)]
pub struct TestMismatch<'t> {
    /// What was expected, with its place.
    pub expected: &'t Spanned<String>,
    /// What it is about: `rule`, `phase`, `reason`, `who`, `outcome` or `findings`.
    pub about: &'static str,
    /// What is so.
    pub seen: String,
}

/// Evaluates a placed task, with the control request that is given, if one is.
#[must_use]
pub fn judge(workflow: &Workflow, placed: &PlacedTask, on: Option<Signal>) -> TrialVerdict {
    let recorded = placed.recorded();
    let decision = evaluate(workflow, &recorded, &placed.facts);
    let duty = duty(workflow, &decision, None);
    let step = match (on, &recorded) {
        (Some(signal), Recorded::Known(state)) => respond(workflow, state, placed, signal),
        _ => None,
    };
    TrialVerdict {
        decision,
        duty,
        signalled: step,
    }
}

fn respond(
    workflow: &Workflow,
    state: &State,
    placed: &PlacedTask,
    signal: Signal,
) -> Option<Transition> {
    signalled(workflow, state, &placed.facts, signal)?.ok()
}

impl TrialVerdict {
    /// The rule that decides.
    #[must_use]
    pub fn rule(&self) -> Option<&RuleId> {
        match &self.signalled {
            Some(step) => step.rule.as_ref(),
            None => self.decision.rule.as_ref(),
        }
    }

    /// Where the rules lead, or else the phase in which the task is.
    #[must_use]
    pub fn phase(&self) -> Option<&PhaseId> {
        match &self.signalled {
            Some(step) => Some(&step.to),
            None => self.duty.phase.as_ref().or(self.decision.phase.as_ref()),
        }
    }

    /// Where the deciding rule leads, if it moves the task.
    #[must_use]
    pub fn target(&self) -> Option<&PhaseId> {
        let step = self.signalled.as_ref().or(self.decision.transition());
        step.map(|step| &step.to)
    }

    /// Why, in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        match &self.signalled {
            Some(step) => &step.reason,
            None => &self.decision.reason,
        }
    }

    /// Who has to act. After a control request, `orch` takes the step.
    #[must_use]
    pub fn who(&self) -> Owner {
        if self.signalled.is_some() {
            Owner::Orch
        } else {
            self.duty.owner
        }
    }

    /// What the decision is.
    #[must_use]
    pub fn outcome(&self) -> DutyKind {
        if self.signalled.is_some() {
            DutyKind::Transition
        } else {
            self.duty.kind
        }
    }

    /// What came of trying a rule; `None` if it does not apply to the phase.
    #[must_use]
    pub fn tried(&self, rule: &str) -> Option<&Tried> {
        let mut tried = self.decision.tried.iter();
        tried.find(|tried| tried.rule.as_str() == rule)
    }

    /// What is not as a test expects.
    #[must_use]
    pub fn mismatches<'t>(&self, test: &'t DocumentTest) -> Vec<TestMismatch<'t>> {
        let TestExpectation {
            phase,
            rule,
            reason,
            who,
            outcome,
            findings,
        } = &test.expect;
        let named = |id: Option<&str>| id.unwrap_or("none").to_owned();
        let seen_rule = named(self.rule().map(RuleId::as_str));
        let seen_phase = named(self.phase().map(PhaseId::as_str));
        let mut found = Vec::new();
        for (about, expected, seen) in [
            ("rule", rule, seen_rule),
            ("phase", phase, seen_phase),
            ("who", who, self.who().as_str().to_owned()),
            ("outcome", outcome, self.outcome().as_str().to_owned()),
        ] {
            if let Some(expected) = expected.as_ref().filter(|one| one.value != seen) {
                found.push(TestMismatch {
                    expected,
                    about,
                    seen,
                });
            }
        }
        if let Some(expected) = reason
            && !self.reason().contains(&expected.value)
        {
            found.push(TestMismatch {
                expected,
                about: "reason",
                seen: self.reason().to_owned(),
            });
        }
        let codes: Vec<&str> = self
            .decision
            .diagnostics
            .iter()
            .map(|one| one.code.as_str())
            .collect();
        for expected in findings {
            if !codes.contains(&expected.value.as_str()) {
                let seen = if codes.is_empty() {
                    "none".to_owned()
                } else {
                    codes.join(", ")
                };
                found.push(TestMismatch {
                    expected,
                    about: "findings",
                    seen,
                });
            }
        }
        found
    }
}
