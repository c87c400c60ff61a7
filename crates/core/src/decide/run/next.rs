//! The next step of a run: perform, answer, give up, or end.

use super::{Budget, Ending, FailureCause, Job, Precondition, Usage};
use crate::decide::{Decision, Facts, Mode, PatchOp, RunTurn, State, Verdict, duty, offers, patch};
use crate::workflow::{Owner, Phase, Workflow};
use orch_base::{ActionName, Digest, Period, RuleId, VerificationName};
use serde_json::{Map, Value};

/// A task as evaluated.
#[derive(Clone, Copy)]
pub struct EvaluatedTask<'a> {
    /// The workflow that decided.
    pub workflow: &'a Workflow,
    /// The recorded state.
    pub state: &'a State,
    /// The observed facts.
    pub facts: &'a Facts,
    /// The decision for this state and these facts.
    pub decision: &'a Decision,
    /// Whether an executor is configured for an agent.
    pub has_executor: &'a dyn Fn(&str) -> bool,
}

/// Work for an executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// What kind of work it is.
    pub kind: WorkKind,
    /// The number of the try, from 1.
    pub attempt: u32,
    /// How long to wait before this try.
    pub wait: Period,
    /// How long to wait before the next try; `None` if this is the last one.
    pub again: Option<Period>,
    /// What the work starts from.
    pub precondition: Precondition,
}

/// What an executor is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkKind {
    /// An action that a rule runs; its result changes the state.
    Action {
        /// The name of the action.
        action: ActionName,
        /// The rule that runs it.
        rule: RuleId,
    },
    /// The agent of a phase; its files are its result.
    Agent(String),
}

/// An action that failed too often.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedAction {
    pub action: ActionName,
    /// The rule that runs it.
    pub rule: RuleId,
    /// How often it failed in a row.
    pub failures: u32,
    /// Why it failed last, if that is known.
    pub cause: Option<FailureCause>,
}

/// The default answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultAnswer {
    /// The name of the question.
    pub ask: String,
    /// The changes that the answer makes.
    pub patch: Vec<PatchOp>,
    /// The fingerprint of the task when the question was asked.
    pub fingerprint: Digest,
}

/// The next step of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Apply the transitions that are due.
    Apply,
    /// Start an executor.
    Perform(Work),
    /// Run verifications, and record what they give.
    Verify(Vec<VerificationName>),
    /// Record that an action failed too often.
    GiveUp(FailedAction),
    /// Answer a question by its default.
    Answer(DefaultAnswer),
    /// End the run, with the reason.
    End(Ending, String),
}

impl Work {
    /// The name of the action, or of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            WorkKind::Action { action, .. } => action.as_str(),
            WorkKind::Agent(name) => name,
        }
    }

    /// The action; `None` for the work of an agent.
    #[must_use]
    pub fn action(&self) -> Option<&ActionName> {
        match &self.kind {
            WorkKind::Action { action, .. } => Some(action),
            WorkKind::Agent(_) => None,
        }
    }

    /// The job whose turns and failures are counted.
    #[must_use]
    pub fn job(&self) -> Job {
        match &self.kind {
            WorkKind::Action { action, .. } => Job::Action(action.to_string()),
            WorkKind::Agent(name) => Job::Agent(name.clone()),
        }
    }
}

/// Decides the next step.
#[must_use]
pub fn next(case: &EvaluatedTask<'_>, usage: &Usage, budget: &Budget, mode: Mode) -> NextStep {
    let decision = case.decision;

    match duty(case.workflow, decision, None).turn {
        RunTurn::Apply => NextStep::Apply,
        RunTurn::End(ending) => NextStep::End(ending, decision.reason.clone()),
        RunTurn::Act => match (&decision.verdict, &decision.rule) {
            (Verdict::Run(action), Some(rule)) => act(case, usage, budget, action, rule),
            _ => NextStep::End(Ending::Error, decision.reason.clone()),
        },
        RunTurn::Work(owner) => {
            let due = decision.verifications.iter();
            let due = due.filter(|due| due.attempt.is_none());
            let due: Vec<VerificationName> = due.map(|due| due.name.clone()).collect();
            if !due.is_empty() {
                return NextStep::Verify(due);
            }
            if let Some((ask, patch)) = by_default(case, mode) {
                return answer_or_wait(case, usage, budget, ask, patch);
            }
            let phase = decision
                .phase
                .as_ref()
                .and_then(|id| case.workflow.phase(id));
            let agent = phase.and_then(|phase| phase.agent.as_ref());
            let agent = agent.filter(|agent| match owner {
                Owner::Agent => true,
                Owner::Process => (case.has_executor)(agent),
                Owner::Human | Owner::Orch | Owner::None => false,
            });
            match agent {
                Some(agent) => work(case, usage, budget, WorkKind::Agent(agent.clone())),
                None => NextStep::End(Ending::Waiting, unworked(case, owner, phase)),
            }
        }
    }
}

/// Why nobody is started: what the decision waits for, and the key that is missing if an agent has to work.
fn unworked(case: &EvaluatedTask<'_>, owner: Owner, phase: Option<&Phase>) -> String {
    let reason = &case.decision.reason;
    match phase {
        Some(phase) if owner == Owner::Agent && phase.agent.is_none() => format!(
            "{reason}; `[phase.{}]` in {} has no `agent`, so a run starts nobody for it",
            phase.id, case.workflow.path
        ),
        _ => reason.clone(),
    }
}

/// Tries an action, gives it up, or does not start it.
fn act(
    case: &EvaluatedTask<'_>,
    usage: &Usage,
    budget: &Budget,
    action: &ActionName,
    rule: &RuleId,
) -> NextStep {
    let workflow = case.workflow;
    let state = case.state;
    let job = Job::Action(action.to_string());
    let failures = usage.failures_of(&job);
    if usage.is_given_up(&job, tries(workflow, Some(action))) {
        let cause = usage.causes.get(&job).cloned();
        return NextStep::GiveUp(FailedAction {
            action: action.clone(),
            rule: rule.clone(),
            failures,
            cause,
        });
    }
    if state.run.errors >= workflow.limits.errors && !workflow.handles_errors() {
        let reason = format!(
            "{} actions were given up, and no rule handles this",
            state.run.errors
        );
        return NextStep::End(Ending::Exhausted, reason);
    }
    work(
        case,
        usage,
        budget,
        WorkKind::Action {
            action: action.clone(),
            rule: rule.clone(),
        },
    )
}

/// Performs work, unless it was done on the same fingerprint or a limit is reached.
fn work(case: &EvaluatedTask<'_>, usage: &Usage, budget: &Budget, kind: WorkKind) -> NextStep {
    let workflow = case.workflow;
    let state = case.state;
    let action = match &kind {
        WorkKind::Action { action, .. } => Some(action.clone()),
        WorkKind::Agent(_) => None,
    };
    let rule = case.decision.rule.as_ref();
    let precondition = Precondition::of(workflow, state, case.facts, rule, action.as_ref());
    let mut work = Work {
        kind,
        attempt: 1,
        wait: Period::default(),
        again: None,
        precondition,
    };
    let job = work.job();
    let tries = tries(workflow, action.as_ref());
    let failures = usage.failures_of(&job);
    if usage.is_given_up(&job, tries) {
        let times = in_a_row(failures);
        let reason = format!(
            "`{}` has failed {times}; {}",
            work.name(),
            case.decision.reason
        );
        let failure = usage.last_failure(&job);
        let words = usage.last_words(&job);
        let reason = format!("{reason}{failure}{words}");
        return NextStep::End(Ending::Failed, reason);
    }
    work.attempt = failures.saturating_add(1);
    work.wait = workflow.limits.wait_before(work.attempt);
    let following = work.attempt.saturating_add(1);
    work.again = (work.attempt < tries).then(|| workflow.limits.wait_before(following));
    // A person may pick the same action again, but the rules must not repeat it without progress.
    let picked = action.is_some() && state.run.chosen == action;
    if !picked
        && failures == 0
        && usage
            .seen
            .contains(&(job.clone(), work.precondition.fingerprint))
    {
        let reason = format!(
            "`{}` already ran on this exact input and changed nothing that a rule reads{}",
            work.name(),
            usage.last_words(&job)
        );
        return NextStep::End(Ending::Stalled, reason);
    }
    match usage.reached(budget) {
        Some(reason) => NextStep::End(Ending::Exhausted, reason),
        None => NextStep::Perform(work),
    }
}

/// How often work failed, in words.
pub(super) fn in_a_row(failures: u32) -> String {
    if failures == 1 {
        "once".to_owned()
    } else {
        format!("{failures} times in a row")
    }
}

/// How many tries an action or an agent has in all.
fn tries(workflow: &Workflow, action: Option<&ActionName>) -> u32 {
    let limits = &workflow.limits;
    let action = action.and_then(|action| workflow.action(action));
    action
        .map_or(limits.failures, |action| action.tries(limits))
        .max(1)
}

/// The question that is asked, with its default answer, if the run does not ask people.
fn by_default(case: &EvaluatedTask<'_>, mode: Mode) -> Option<(String, Vec<PatchOp>)> {
    let rule = case
        .workflow
        .rules
        .iter()
        .find(|rule| case.decision.rule.as_ref() == Some(&rule.id))?;
    let ask = case.workflow.ask(rule.ask.as_deref()?)?;
    if mode == Mode::Interactive || ask.default.is_empty() {
        return None;
    }
    let values = offers(case.workflow, case.state, case.facts, &ask.default);
    let updates: Map<String, Value> = values.into_iter().collect();
    // A default that cannot be computed counts as missing.
    let patch = patch(&updates)
        .ok()
        .filter(|patch| patch.len() == ask.default.len())?;
    Some((ask.name.clone(), patch))
}

fn answer_or_wait(
    case: &EvaluatedTask<'_>,
    usage: &Usage,
    budget: &Budget,
    ask: String,
    patch: Vec<PatchOp>,
) -> NextStep {
    let fingerprint = super::fingerprint(case.workflow, case.state, case.facts, None);
    if usage
        .seen
        .contains(&(Job::Question(ask.clone()), fingerprint))
    {
        let reason = format!(
            "{}; the default answer changed nothing",
            case.decision.reason
        );
        return NextStep::End(Ending::Waiting, reason);
    }
    match usage.reached(budget) {
        Some(reason) => NextStep::End(Ending::Exhausted, reason),
        None => NextStep::Answer(DefaultAnswer {
            ask,
            patch,
            fingerprint,
        }),
    }
}
