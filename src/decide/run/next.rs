//! What a run does next: perform, answer, give up, or end.

use super::{Budget, Ending, Precondition, Usage, Worker};
use crate::base::{ActionName, Digest, Period, RuleId};
use crate::decide::{Decision, Facts, Mode, PatchOp, RunTurn, State, Verdict, duty, offers, patch};
use crate::workflow::{Owner, Workflow};
use serde_json::{Map, Value};

/// A task as it was judged.
#[derive(Clone, Copy)]
pub struct JudgedTask<'a> {
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
    pub precondition: Precondition,
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

/// An action that has failed too often.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedAction {
    /// The action.
    pub action: ActionName,
    /// The rule that asks for it.
    pub rule: RuleId,
    /// How often it has failed.
    pub failures: u32,
}

/// A question that is answered by its default.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultAnswer {
    /// The name of the question.
    pub ask: String,
    /// The answer.
    pub patch: Vec<PatchOp>,
    /// What it is given on.
    pub fingerprint: Digest,
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Transitions are due.
    Apply,
    /// An executor is started.
    Perform(Work),
    /// An action has failed too often: that is recorded.
    GiveUp(FailedAction),
    /// A question is answered by its default.
    Answer(DefaultAnswer),
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
    pub fn worker(&self) -> Worker {
        match &self.job {
            Job::Action { action, .. } => Worker::Action(action.to_string()),
            Job::Agent(name) => Worker::Agent(name.clone()),
        }
    }
}

/// Decides what comes next.
#[must_use]
pub fn next(case: &JudgedTask<'_>, usage: &Usage, budget: &Budget, mode: Mode) -> NextStep {
    let decision = case.decision;
    let end = |ending| NextStep::End(ending, decision.reason.clone());
    match duty(case.workflow, decision, None).turn {
        RunTurn::Apply => NextStep::Apply,
        RunTurn::End(ending) => end(ending),
        RunTurn::Act => match (&decision.verdict, &decision.rule) {
            (Verdict::Run(action), Some(rule)) => act(case, usage, budget, action, rule),
            _ => end(Ending::Error),
        },
        RunTurn::Work(owner) => {
            if let Some((ask, patch)) = by_default(case, mode) {
                return answer_or_wait(case, usage, budget, ask, patch);
            }
            let works = |agent: &&String| match owner {
                Owner::Agent => true,
                Owner::Process => (case.has_executor)(agent),
                Owner::Human | Owner::Orch | Owner::None => false,
            };
            let phase = decision.phase.as_ref().and_then(|id| case.workflow.phase(id));
            match phase.and_then(|phase| phase.agent.as_ref()).filter(works) {
                Some(agent) => work(case, usage, budget, Job::Agent(agent.clone())),
                None => end(Ending::Waiting),
            }
        }
    }
}

/// An action is tried, given up, or not even begun.
fn act(
    case: &JudgedTask<'_>,
    usage: &Usage,
    budget: &Budget,
    action: &ActionName,
    rule: &RuleId,
) -> NextStep {
    let (workflow, state) = (case.workflow, case.state);
    let failures = usage.failures_of(&Worker::Action(action.to_string()));
    if failures >= tries(workflow, Some(action)) {
        return NextStep::GiveUp(FailedAction { action: action.clone(), rule: rule.clone(), failures });
    }
    if state.run.errors >= workflow.limits.errors && !workflow.heeds_errors() {
        let reason = format!("{} actions were given up, and no rule says what then", state.run.errors);
        return NextStep::End(Ending::Exhausted, reason);
    }
    work(case, usage, budget, Job::Action { action: action.clone(), rule: rule.clone() })
}

/// Work is performed, unless it was done on the same ground, or a limit is reached.
fn work(case: &JudgedTask<'_>, usage: &Usage, budget: &Budget, job: Job) -> NextStep {
    let (workflow, state) = (case.workflow, case.state);
    let action = match &job {
        Job::Action { action, .. } => Some(action.clone()),
        Job::Agent(_) => None,
    };
    let of = (case.decision.rule.as_ref(), action.as_ref());
    let precondition = Precondition::of(workflow, state, case.facts, of);
    let mut work = Work { job, attempt: 1, wait: Period::default(), again: None, precondition };
    let (worker, tries) = (work.worker(), tries(workflow, action.as_ref()));
    let failures = usage.failures_of(&worker);
    if failures >= tries {
        let reason =
            format!("`{}` has failed {failures} times in a row; {}", work.name(), case.decision.reason);
        return NextStep::End(Ending::Failed, reason);
    }
    work.attempt = failures.saturating_add(1);
    work.wait = workflow.limits.wait_before(work.attempt);
    let following = work.attempt.saturating_add(1);
    work.again = (work.attempt < tries).then(|| workflow.limits.wait_before(following));
    // What a person picks may be picked again; the rules may not go on as if something had happened.
    let picked = action.is_some() && state.run.chosen == action;
    if !picked && failures == 0 && usage.seen.contains(&(worker, work.precondition.fingerprint)) {
        let reason = format!(
            "`{}` was performed on exactly this fingerprint before; nothing has come of it that a rule looks at",
            work.name()
        );
        return NextStep::End(Ending::Stalled, reason);
    }
    match usage.reached(budget) {
        Some(reason) => NextStep::End(Ending::Exhausted, reason),
        None => NextStep::Perform(work),
    }
}

/// How often an action, or an agent, is tried in all.
fn tries(workflow: &Workflow, action: Option<&ActionName>) -> u32 {
    let limits = &workflow.limits;
    let action = action.and_then(|action| workflow.action(action));
    action.map_or(limits.failures, |action| action.tries(limits)).max(1)
}

/// The question that is asked, with its default answer, where nobody is to be asked.
fn by_default(case: &JudgedTask<'_>, mode: Mode) -> Option<(String, Vec<PatchOp>)> {
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

fn answer_or_wait(
    case: &JudgedTask<'_>,
    usage: &Usage,
    budget: &Budget,
    ask: String,
    patch: Vec<PatchOp>,
) -> NextStep {
    let fingerprint = super::fingerprint(case.workflow, case.state, case.facts, None);
    if usage.seen.contains(&(Worker::Question(ask.clone()), fingerprint)) {
        let reason = format!("{}; the answer by default has not helped", case.decision.reason);
        return NextStep::End(Ending::Waiting, reason);
    }
    match usage.reached(budget) {
        Some(reason) => NextStep::End(Ending::Exhausted, reason),
        None => NextStep::Answer(DefaultAnswer { ask, patch, fingerprint }),
    }
}
