//! What a run does next: perform, answer, give up, or end. Pure, so that every way to the end can be
//! tried without a process.
//!
//! Nothing here is ever given back: turns, cost, time and failures only grow, and what was performed
//! once on the same ground is not performed on it again.

use super::data::put_back;
use super::{Decision, Facts, Mode, PatchOp, State, Verdict, at, data_of, offers, patch};
use crate::base::{ActionName, Digest, Period, RuleId};
use crate::workflow::{Owner, Workflow};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a run has used and seen so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spent {
    /// How often an executor was started, or a question answered by its default.
    pub turns: u32,
    /// What results have reported as their cost.
    pub cost: f64,
    /// How long it has taken.
    pub time: Period,
    /// Failures in a row, of each action or agent.
    pub failures: BTreeMap<String, u32>,
    /// What was performed, and on which ground.
    pub seen: Vec<(String, Digest)>,
}

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// How often an executor may be started.
    pub turns: u32,
    /// How long it may take.
    pub time: Option<Period>,
    /// What it may cost.
    pub cost: Option<f64>,
}

/// Something that an executor performs.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The name of the action, or of the agent of a phase.
    pub name: String,
    /// The action; `None` where the agent of a phase works and its files say what came of it.
    pub action: Option<ActionName>,
    /// The rule that asks for it.
    pub rule: Option<RuleId>,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// How long to wait before it.
    pub wait: Period,
    /// What it is performed on.
    pub ground: Digest,
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Transitions are due.
    Apply,
    /// An executor is started.
    Perform(Work),
    /// An action has failed too often: that is recorded.
    GiveUp(Work),
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

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The task is in a terminal phase.
    Completed,
    /// The task is in a terminal phase that is no success.
    Failed,
    /// Somebody else has to act; the commands are among the options.
    Waiting,
    /// The same would be done again on the same ground.
    Stalled,
    /// A limit is reached.
    Exhausted,
    /// It was paused.
    Paused,
    /// It was stopped.
    Stopped,
    /// The task cannot be judged.
    Error,
}

/// Decides what comes next. `has_executor` says whether the settings name one for an agent.
#[must_use]
pub fn next(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    decision: &Decision,
    (spent, budget, mode): (&Spent, &Budget, Mode),
    has_executor: &dyn Fn(&str) -> bool,
) -> Next {
    let end = |ending, reason: &str| Next::End(ending, reason.to_owned());
    let phase = decision.phase.as_ref().and_then(|id| workflow.phase(id));
    let (name, action) = match &decision.verdict {
        Verdict::Transition(due) if !due.by_human => return Next::Apply,
        Verdict::Done { .. } if phase.is_some_and(|phase| !phase.success) => {
            return end(Ending::Failed, &decision.reason);
        }
        Verdict::Done { .. } => return end(Ending::Completed, &decision.reason),
        Verdict::Error { .. } | Verdict::Livelock { .. } => return end(Ending::Error, &decision.reason),
        Verdict::Run(action) => (action.to_string(), Some(action.clone())),
        Verdict::Wait { owner, .. } => {
            if let Some(answer) = by_default(workflow, state, facts, decision, mode) {
                return answer_or_wait(workflow, state, facts, answer, spent, budget, &decision.reason);
            }
            let agent = phase.and_then(|phase| phase.agent.as_ref());
            let works = |agent: &&String| match owner {
                Owner::Agent => true,
                Owner::Process => has_executor(agent),
                _ => false,
            };
            match agent.filter(works) {
                Some(agent) => (agent.clone(), None),
                None => return end(Ending::Waiting, &decision.reason),
            }
        }
        Verdict::Transition(_)
        | Verdict::Choose(_)
        | Verdict::Handover { .. }
        | Verdict::Inconsistent { .. } => {
            return end(Ending::Waiting, &decision.reason);
        }
    };
    let ground = ground(workflow, state, facts, decision.rule.as_ref());
    let failures = spent.failures.get(&name).copied().unwrap_or_default();
    let limits = &workflow.limits;
    let of_workflow = action.as_ref().and_then(|action| workflow.action(action));
    let tries = of_workflow.map_or(limits.failures, |action| action.tries(limits));
    let attempt = failures.saturating_add(1);
    let rule = decision.rule.clone();
    let wait = limits.wait_before(attempt);
    let work = Work { name, action, rule, attempt, wait, ground };
    if failures >= tries {
        return match work.action {
            Some(_) => Next::GiveUp(work),
            None => {
                Next::End(Ending::Failed, format!("`{}` has failed {failures} times in a row", work.name))
            }
        };
    }
    if work.action.is_some() && state.run.errors >= limits.errors && !workflow.heeds_errors() {
        let reason = format!("{} actions were given up, and no rule says what then", state.run.errors);
        return Next::End(Ending::Exhausted, reason);
    }
    // What a person picks may be picked again; the rules may not go on as if something had happened.
    let picked = work.action.is_some() && state.run.chosen == work.action;
    if !picked && failures == 0 && spent.seen.contains(&(work.name.clone(), ground)) {
        let reason = format!(
            "`{}` was performed on exactly this ground before; nothing has come of it that a rule looks at",
            work.name
        );
        return Next::End(Ending::Stalled, reason);
    }
    match reached(spent, budget) {
        Some(reason) => Next::End(Ending::Exhausted, reason),
        None => Next::Perform(work),
    }
}

/// Which limit is reached, in words.
fn reached(spent: &Spent, budget: &Budget) -> Option<String> {
    if spent.turns >= budget.turns {
        return Some(format!("all {} turns of the run are used", budget.turns));
    }
    if let Some(time) = budget.time.filter(|time| spent.time >= *time) {
        return Some(format!("the run has taken the {time} that it may take"));
    }
    let cost = budget.cost.filter(|cost| spent.cost >= *cost)?;
    Some(format!("the run has cost {:.2} of the {cost:.2} that it may cost", spent.cost))
}

/// The question that is asked, with its default answer, where nobody is to be asked.
fn by_default(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    decision: &Decision,
    mode: Mode,
) -> Option<(String, Vec<PatchOp>)> {
    let rule = workflow.rules.iter().find(|rule| decision.rule.as_ref() == Some(&rule.id))?;
    let ask = workflow.ask(rule.ask.as_deref()?)?;
    if mode == Mode::Interactive || ask.default.is_empty() {
        return None;
    }
    let values = offers(workflow, state, facts, &ask.default);
    let updates: Map<String, Value> = values.into_iter().collect();
    // A default that cannot be computed is none.
    let patch = patch(&updates).ok().filter(|patch| patch.len() == ask.default.len())?;
    Some((ask.name.clone(), patch))
}

fn answer_or_wait(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    (ask, patch): (String, Vec<PatchOp>),
    spent: &Spent,
    budget: &Budget,
    reason: &str,
) -> Next {
    let ground = ground(workflow, state, facts, None);
    if spent.seen.contains(&(ask.clone(), ground)) {
        return Next::End(Ending::Waiting, format!("{reason}; the answer by default has not helped"));
    }
    match reached(spent, budget) {
        Some(reason) => Next::End(Ending::Exhausted, reason),
        None => Next::Answer { ask, patch, ground },
    }
}

/// What a decision rests on, as far as work can change it: the phase and its attempt, the state's data
/// and the files.
///
/// Numbers that the bookkeeping of the deciding `run` rule sets are left out: that it counts its turns
/// is no progress.
#[must_use]
pub fn ground(workflow: &Workflow, state: &State, facts: &Facts, rule: Option<&RuleId>) -> Digest {
    let mut own = data_of(workflow, state);
    let rule = workflow.rules.iter().find(|known| Some(&known.id) == rule);
    for (pointer, _) in rule.iter().flat_map(|rule| &rule.set) {
        if at(&own, pointer).is_some_and(Value::is_number) {
            put_back(&mut own, pointer, None);
        }
    }
    let phase = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
    let attempt = workflow.phase_named(phase).map_or(0, |phase| state.attempt(&phase.id));
    let mut text = format!("{phase} {attempt}\n");
    canonical(&Value::Object(own), &mut text);
    for file in facts.artifacts.values().flatten() {
        let digest = file.digest.map(|digest| digest.to_string()).unwrap_or_default();
        text.push_str(&format!("\n{} {digest}", file.path));
    }
    Digest::of_blob(text.as_bytes())
}

/// A value with its keys in order, so that the same data has the same text.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for key in keys {
                out.push_str(&format!("{key:?}:"));
                canonical(&members[key], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

impl Spent {
    /// An executor was started.
    pub fn begin(&mut self) {
        self.turns = self.turns.saturating_add(1);
    }

    /// Something has cost so much. A sum beyond all numbers could not be written down.
    pub fn charge(&mut self, cost: f64) {
        self.cost = (self.cost + cost).min(f64::MAX);
    }

    /// It has done its work.
    pub fn succeed(&mut self, work: &Work, cost: f64) {
        self.charge(cost);
        self.failures.remove(&work.name);
        self.see(&work.name, work.ground);
    }

    /// It has failed.
    pub fn fail(&mut self, work: &Work, cost: f64) {
        self.charge(cost);
        let failures = self.failures.entry(work.name.clone()).or_default();
        *failures = failures.saturating_add(1);
    }

    /// That it was given up is recorded; another phase may try it anew.
    pub fn give_up(&mut self, work: &Work) {
        self.failures.remove(&work.name);
    }

    /// Something was done on a ground.
    pub fn see(&mut self, name: &str, ground: Digest) {
        let pair = (name.to_owned(), ground);
        if !self.seen.contains(&pair) {
            self.seen.push(pair);
        }
    }
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Failed,
        Self::Waiting,
        Self::Stalled,
        Self::Exhausted,
        Self::Paused,
        Self::Stopped,
        Self::Error,
    ];

    /// The ending as records and JSON spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Stalled => "stalled",
            Self::Exhausted => "exhausted",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Error => "error",
        }
    }

    /// The ending with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == name)
    }
}
