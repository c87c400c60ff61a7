//! An approval with what it takes along: the transitions that are due before it and after it, and, on the way to a named
//! phase, every verdict that is asked for and the results of verifications.
//!
//! Nothing goes back here, and nothing stays half done: on the way to a named phase, all of it is decided or none.

use super::evaluate::yielded;
use super::order::{current, named_phase, refused};
use super::ruling::what_to_do;
use super::{
    Detail, DetailStep, Direction, Draft, Facts, Recorded, ResultFile, RulingOrder, Stamp, State,
    Step, Transition, VerifiedFact, apply, detailed, direction, evaluate, rule_on,
};
use crate::verification::{RULES, Verification, VerificationResult};
use crate::workflow::{Phase, Workflow};
use orch_base::{Code, Error, Hint, PhaseId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A result of a verification that is recorded on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct FreshResult {
    /// What its event says.
    pub verification: Verification,
    /// What its file says.
    pub result: Arc<VerificationResult>,
}

impl FreshResult {
    /// What the event says that follows this state: also which tests ran again whose loss was confirmed.
    #[must_use]
    pub fn after(&self, state: &State) -> Verification {
        let confirmed = state.run.confirmed_lost.get(&self.verification.name);
        let confirmed = confirmed.map(Vec::as_slice).unwrap_or_default();
        let ran: BTreeSet<&String> = self.result.tests.ran().collect();
        let returned = confirmed.iter().filter(|test| ran.contains(test));
        Verification {
            returned: returned.cloned().collect(),
            ..self.verification.clone()
        }
    }

    /// Puts the file with the result among the facts.
    pub fn note(&self, facts: &mut Facts) {
        let name = self.verification.name.clone();
        let fact = facts.verified.entry(name).or_insert_with(|| VerifiedFact {
            code: None,
            rules: RULES,
            file: ResultFile::Missing,
        });
        fact.file = ResultFile::Result {
            digest: self.verification.result.digest,
            result: Arc::clone(&self.result),
        };
    }
}

/// What a person approves, and how far.
#[derive(Clone, Copy)]
pub struct ApprovalPlan<'a> {
    /// The approval.
    pub order: RulingOrder<'a>,
    /// The phase up to which every verdict is approved; `None` for the next one alone.
    pub until: Option<&'a str>,
    /// What verifications gave that are due on the way.
    pub results: &'a [FreshResult],
    /// Who runs verifications, and when these results are recorded.
    pub ran_by: &'a Stamp,
}

/// The steps of an approval.
#[derive(Debug, Default)]
pub struct ApprovedWay {
    /// The steps in order.
    pub steps: Vec<Step>,
    /// The verdicts that have to be written first.
    pub drafts: Vec<Draft>,
}

/// The steps by which a person approves, with the person and the time in `stamp`. Returns [`Code::NothingToApply`] if
/// nothing waits for an approval, or if the way to the named phase is not open.
pub fn approve(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    plan: &ApprovalPlan<'_>,
    stamp: &Stamp,
) -> Result<ApprovedWay, Error> {
    let until = match plan.until {
        Some(name) => Some(&named_phase(workflow, name)?.id),
        None => None,
    };
    let mut approving = ApprovalWalk {
        workflow,
        order: plan.order,
        until,
        stamp,
        state: state.under_own_names(workflow).into_owned(),
        facts: facts.clone(),
        results: plan.results,
        ran_by: plan.ran_by,
        is_said: false,
        way: ApprovedWay::default(),
    };
    approving.refuse_target()?;
    let mut first_refusal = None;
    while !approving.is_there()? {
        let before = approving.way.steps.len();
        let refusal = approving.go_on()?;
        if approving.way.steps.len() == before {
            return match until {
                None if approving.is_said => Ok(approving.way),
                None => Err(first_refusal.or(refusal).unwrap_or_else(Error::moved)),
                Some(until) => Err(approving.closed(until)),
            };
        }
        first_refusal = first_refusal.or(refusal);
    }
    Ok(approving.way)
}

struct ApprovalWalk<'a> {
    workflow: &'a Workflow,
    order: RulingOrder<'a>,
    until: Option<&'a PhaseId>,
    stamp: &'a Stamp,
    /// The state after the steps so far, and the facts that the next one sees.
    state: State,
    facts: Facts,
    /// The results that are still to be recorded.
    results: &'a [FreshResult],
    ran_by: &'a Stamp,
    /// Whether a verdict was approved.
    is_said: bool,
    way: ApprovedWay,
}

impl<'a> ApprovalWalk<'a> {
    fn phase(&self) -> Result<&'a Phase, Error> {
        current(self.workflow, &self.state)
    }

    /// Returns an error if the phase that was named does not lie ahead.
    fn refuse_target(&self) -> Result<(), Error> {
        let Some(until) = self.until else {
            return Ok(());
        };
        let phase = &self.phase()?.id;
        if direction(self.workflow, Some(phase), Some(until)) == Direction::Advance {
            return Ok(());
        }
        let message = format!("the task is in `{phase}`, and `{until}` is not a later phase");
        let explain = Hint::run(&["orch", "explain", self.facts.task.as_str()]);
        Err(refused(Code::NothingToApply, message, explain))
    }

    /// Whether the phase that was named is reached, or the task is finished.
    fn is_there(&self) -> Result<bool, Error> {
        let phase = self.phase()?;
        let is_reached = self.until.is_some_and(|until| {
            self.workflow.position(&phase.id) >= self.workflow.position(until)
        });
        Ok(is_reached || phase.terminal && !self.way.steps.is_empty())
    }

    /// Takes the next step, if there is one. Returns why nothing waits for an approval in this phase, if so.
    fn go_on(&mut self) -> Result<Option<Error>, Error> {
        if self.record_results()? {
            return Ok(None);
        }
        let state = Recorded::Known(Box::new(self.state.clone()));
        let due = yielded(self.workflow, &state, &self.facts);
        if let Some((due, false)) = &due {
            if self.only_renews(due)? {
                self.take(due.clone());
                return Ok(None);
            }
            if self.until.is_some() && !self.order.overrides && !self.leads_on(due) {
                return Err(self.sent_back(due));
            }
        }
        let wants_verdict = self.until.is_some() || !self.is_said;
        let refusal = if wants_verdict {
            match self.ruled()? {
                Ok(()) => return Ok(None),
                Err(refusal) => Some(refusal),
            }
        } else {
            None
        };
        if let Some((due, false)) = due
            && !due.by_human
            && self.leads_on(&due)
        {
            self.take(due);
        }
        Ok(refusal)
    }

    /// Takes the verdict of the phase, if one is asked for and it leads on; otherwise says why not. Returns an error if it
    /// is asked for and closed.
    fn ruled(&mut self) -> Result<Result<(), Error>, Error> {
        let ruled = rule_on(
            self.workflow,
            &self.state,
            &self.facts,
            self.order,
            self.stamp,
        );
        let ruled = match ruled {
            Ok(ruled) => ruled,
            Err(error) if error.code() == Code::NothingToApply => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        let facts = match &ruled.draft {
            Some(draft) => draft.facts.clone(),
            None => ruled.written,
        };
        if let Some(facts) = facts {
            self.facts = facts;
        }
        self.way.drafts.extend(ruled.draft);
        self.take(ruled.transition);
        self.is_said = true;
        Ok(Ok(()))
    }

    /// Records the results that the phase waits for.
    fn record_results(&mut self) -> Result<bool, Error> {
        let phase = self.phase()?;
        let is_wanted = |fresh: &FreshResult| {
            phase
                .verifies
                .iter()
                .any(|name| name.as_str() == fresh.verification.name.table())
        };
        if !self.results.iter().any(is_wanted) {
            return Ok(false);
        }
        // Those of one run belong together, and all of them are facts before the first is recorded.
        for fresh in self.results {
            fresh.note(&mut self.facts);
        }
        for fresh in std::mem::take(&mut self.results) {
            let step = DetailStep {
                detail: Detail::Verify(fresh.after(&self.state)),
                at: self.ran_by.at,
                to: None,
                former: None,
                why: None,
            };
            let transition = detailed(self.workflow, &self.state, &self.facts.task, step)
                .map_err(|why| Error::new(Code::StateInvalid, why))?;
            self.take_by(transition, self.ran_by);
        }
        Ok(true)
    }

    /// Whether a step enters its phase again, because what is judged there has changed, and there is no verdict yet.
    fn only_renews(&self, due: &Transition) -> Result<bool, Error> {
        let phase = self.phase()?;
        let has_output = phase.produces.iter().any(|name| {
            let files = self.facts.artifacts.get(name);
            files.is_some_and(|files| !files.is_empty())
        });
        Ok(due.to == phase.id && !due.by_human && !has_output)
    }

    /// Why nothing is approved on the way where the rules send the task back.
    fn sent_back(&self, due: &Transition) -> Error {
        let from = due.from.as_ref().map_or("?", |from| from.as_str());
        let message = format!(
            "nothing was approved, because the rules send the task back from `{from}` to `{}`: {}",
            due.to, due.reason
        );
        let task = self.facts.task.as_str();
        let hint = Hint::run(&["orch", "show", task])
            .text("; to approve this phase all the same: ")
            .command(&["orch", "approve", task]);
        refused(Code::NothingToApply, message, hint)
    }

    fn leads_on(&self, due: &Transition) -> bool {
        direction(self.workflow, due.from.as_ref(), Some(&due.to)) == Direction::Advance
    }

    fn take(&mut self, transition: Transition) {
        self.take_by(transition, self.stamp);
    }

    fn take_by(&mut self, transition: Transition, stamp: &Stamp) {
        self.state = apply(self.workflow, &self.state, &self.facts, &transition, stamp);
        self.facts = self.facts.after_a_step().into_owned();
        self.way.steps.push(Step {
            transition,
            state: self.state.clone(),
        });
    }

    /// Why the way to the phase that was named is not open.
    fn closed(&self, until: &PhaseId) -> Error {
        let state = Recorded::Known(Box::new(self.state.clone()));
        let decision = evaluate(self.workflow, &state, &self.facts);
        let here = decision.phase.as_ref().map_or("?", |phase| phase.as_str());
        let message = format!(
            "nothing was approved, because the way to `{until}` is not open: in `{here}`, {}",
            decision.reason
        );
        let task = self.facts.task.as_str();
        let hint = if self.is_said {
            Hint::from("approve what is there: ").command(&["orch", "approve", task])
        } else {
            what_to_do(&decision, task)
        };
        refused(Code::NothingToApply, message, hint)
    }
}
