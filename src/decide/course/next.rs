//! What a run does next: perform, answer, give up, or end.

use super::{Budget, Doer, Ending, Footing, Spent};
use crate::base::{ActionName, Digest, Period, RuleId};
use crate::decide::{Decision, Facts, Mode, PatchOp, State, Verdict, offers, patch};
use crate::workflow::{Owner, Workflow};
use serde_json::{Map, Value};

/// A task as it was judged.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The workflow that judged it.
    pub workflow: &'a Workflow,
    /// Its recorded state.
    pub state: &'a State,
    /// What was observed of it.
    pub facts: &'a Facts,
    /// What the rules say.
    pub decision: &'a Decision,
    /// Whether the settings name an executor for an agent.
    pub has_executor: &'a dyn Fn(&str) -> bool,
}

/// Something that an executor performs.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What it is.
    pub job: Job,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// How long to wait before it.
    pub wait: Period,
    /// How long is waited before the try after it; `None` where it is the last one.
    pub again: Option<Period>,
    /// What it is begun on.
    pub footing: Footing,
}

/// What an executor is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// An action that a rule asks for; its result changes the state.
    Action {
        /// The action.
        action: ActionName,
        /// The rule.
        rule: RuleId,
    },
    /// The agent of a phase; its files say what came of it.
    Agent(String),
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Transitions are due.
    Apply,
    /// An executor is started.
    Perform(Work),
    /// An action has failed too often: that is recorded.
    GiveUp {
        /// The action.
        action: ActionName,
        /// The rule that asks for it.
        rule: RuleId,
        /// How often it has failed.
        failures: u32,
    },
    /// A question is answered by its default.
    Answer {
        /// The name of the question.
        ask: String,
        /// The answer.
        patch: Vec<PatchOp>,
        /// What it is given on.
        ground: Digest,
    },
    /// The run is over.
    End(Ending, String),
}

impl Work {
    /// The name of the action, or of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.job {
            Job::Action { action, .. } => action.as_str(),
            Job::Agent(name) => name,
        }
    }

    /// The action, where it is one.
    #[must_use]
    pub fn action(&self) -> Option<&ActionName> {
        match &self.job {
            Job::Action { action, .. } => Some(action),
            Job::Agent(_) => None,
        }
    }

    /// Who is counted for it.
    #[must_use]
    pub fn doer(&self) -> Doer {
        match &self.job {
            Job::Action { action, .. } => Doer::Action(action.to_string()),
            Job::Agent(name) => Doer::Agent(name.clone()),
        }
    }
}

/// Decides what comes next.
#[must_use]
pub fn next(case: &Case<'_>, spent: &Spent, budget: &Budget, mode: Mode) -> Next {
    let decision = case.decision;
    let end = |ending, reason: &str| Next::End(ending, reason.to_owned());
    let phase = decision.phase.as_ref().and_then(|id| case.workflow.phase(id));
    match &decision.verdict {
        Verdict::Transition(due) if !due.by_human => Next::Apply,
        Verdict::Done { .. } if phase.is_some_and(|phase| !phase.success) => {
            end(Ending::Failed, &decision.reason)
        }
        Verdict::Done { .. } => end(Ending::Completed, &decision.reason),
        Verdict::Error { .. } | Verdict::Livelock { .. } => end(Ending::Error, &decision.reason),
        Verdict::Run(action) => match &decision.rule {
            Some(rule) => act(case, spent, budget, action, rule),
            None => end(Ending::Error, &decision.reason),
        },
        Verdict::Wait { owner, .. } => {
            if let Some((ask, patch)) = by_default(case, mode) {
                return answer_or_wait(case, spent, budget, ask, patch);
            }
            let works = |agent: &&String| match owner {
                Owner::Agent => true,
                Owner::Process => (case.has_executor)(agent),
                _ => false,
            };
            match phase.and_then(|phase| phase.agent.as_ref()).filter(works) {
                Some(agent) => work(case, spent, budget, Job::Agent(agent.clone())),
                None => end(Ending::Waiting, &decision.reason),
            }
        }
        Verdict::Transition(_)
        | Verdict::Choose(_)
        | Verdict::Handover { .. }
        | Verdict::Inconsistent { .. } => end(Ending::Waiting, &decision.reason),
    }
}

/// An action is tried, given up, or not even begun.
fn act(case: &Case<'_>, spent: &Spent, budget: &Budget, action: &ActionName, rule: &RuleId) -> Next {
    let (workflow, state) = (case.workflow, case.state);
    let failures = spent.failures_of(&Doer::Action(action.to_string()));
    if failures >= tries(workflow, Some(action)) {
        return Next::GiveUp { action: action.clone(), rule: rule.clone(), failures };
    }
    if state.run.errors >= workflow.limits.errors && !workflow.heeds_errors() {
        let reason = format!("{} actions were given up, and no rule says what then", state.run.errors);
        return Next::End(Ending::Exhausted, reason);
    }
    work(case, spent, budget, Job::Action { action: action.clone(), rule: rule.clone() })
}

/// Work is performed, unless it was done on the same ground, or a limit is reached.
fn work(case: &Case<'_>, spent: &Spent, budget: &Budget, job: Job) -> Next {
    let (workflow, state) = (case.workflow, case.state);
    let action = match &job {
        Job::Action { action, .. } => Some(action.clone()),
        Job::Agent(_) => None,
    };
    let of = (case.decision.rule.as_ref(), action.as_ref());
    let footing = Footing::of(workflow, state, case.facts, of);
    let mut work = Work { job, attempt: 1, wait: Period::default(), again: None, footing };
    let (doer, tries) = (work.doer(), tries(workflow, action.as_ref()));
    let failures = spent.failures_of(&doer);
    if failures >= tries {
        let reason =
            format!("`{}` has failed {failures} times in a row; {}", work.name(), case.decision.reason);
        return Next::End(Ending::Failed, reason);
    }
    work.attempt = failures.saturating_add(1);
    work.wait = workflow.limits.wait_before(work.attempt);
    let following = work.attempt.saturating_add(1);
    work.again = (work.attempt < tries).then(|| workflow.limits.wait_before(following));
    // What a person picks may be picked again; the rules may not go on as if something had happened.
    let picked = action.is_some() && state.run.chosen == action;
    if !picked && failures == 0 && spent.seen.contains(&(doer, work.footing.ground)) {
        let reason = format!(
            "`{}` was performed on exactly this ground before; nothing has come of it that a rule looks at",
            work.name()
        );
        return Next::End(Ending::Stalled, reason);
    }
    match spent.reached(budget) {
        Some(reason) => Next::End(Ending::Exhausted, reason),
        None => Next::Perform(work),
    }
}

/// How often an action, or an agent, is tried in all.
fn tries(workflow: &Workflow, action: Option<&ActionName>) -> u32 {
    let limits = &workflow.limits;
    let action = action.and_then(|action| workflow.action(action));
    action.map_or(limits.failures, |action| action.tries(limits)).max(1)
}

/// The question that is asked, with its default answer, where nobody is to be asked.
fn by_default(case: &Case<'_>, mode: Mode) -> Option<(String, Vec<PatchOp>)> {
    let rule = case.workflow.rules.iter().find(|rule| case.decision.rule.as_ref() == Some(&rule.id))?;
    let ask = case.workflow.ask(rule.ask.as_deref()?)?;
    if mode == Mode::Interactive || ask.default.is_empty() {
        return None;
    }
    let values = offers(case.workflow, case.state, case.facts, &ask.default);
    let updates: Map<String, Value> = values.into_iter().collect();
    // A default that cannot be computed is none.
    let patch = patch(&updates).ok().filter(|patch| patch.len() == ask.default.len())?;
    Some((ask.name.clone(), patch))
}

fn answer_or_wait(case: &Case<'_>, spent: &Spent, budget: &Budget, ask: String, patch: Vec<PatchOp>) -> Next {
    let ground = super::ground(case.workflow, case.state, case.facts, None);
    if spent.seen.contains(&(Doer::Question(ask.clone()), ground)) {
        let reason = format!("{}; the answer by default has not helped", case.decision.reason);
        return Next::End(Ending::Waiting, reason);
    }
    match spent.reached(budget) {
        Some(reason) => Next::End(Ending::Exhausted, reason),
        None => Next::Answer { ask, patch, ground },
    }
}
