//! What a run has used and seen, and what it may use.

use crate::base::{Digest, Period};
use std::collections::BTreeMap;
use std::fmt;

/// What a run has used and seen so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// How often an executor was started, or a question answered by its default.
    pub turns: u32,
    /// What results have reported as their cost.
    pub cost: f64,
    /// How long it has taken.
    pub time: Period,
    /// Failures in a row, of each action or agent.
    pub failures: BTreeMap<Worker, u32>,
    /// What was done, and on which ground.
    pub seen: Vec<(Worker, Digest)>,
}

/// Who or what is counted: an action, an agent and a question may have one name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Worker {
    /// An action.
    Action(String),
    /// The agent of a phase.
    Agent(String),
    /// A question that is answered by its default.
    Question(String),
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

impl Usage {
    /// An executor is started, or a question answered.
    pub(super) fn begin(&mut self) {
        self.turns = self.turns.saturating_add(1);
    }

    /// Nobody could be started.
    pub(super) fn take_back(&mut self) {
        self.turns = self.turns.saturating_sub(1);
    }

    /// A result has reported its cost; the sum stays a number that can be written down.
    pub(super) fn pay(&mut self, cost: f64) {
        self.cost = (self.cost + cost).min(f64::MAX);
    }

    /// A try has failed.
    pub(super) fn fail(&mut self, worker: Worker) {
        let failures = self.failures.entry(worker).or_default();
        *failures = failures.saturating_add(1);
    }

    /// Failures do not count any more: the work is done, or that it was given up is recorded, and another
    /// phase may try it anew.
    pub(super) fn forgive(&mut self, worker: &Worker) {
        self.failures.remove(worker);
    }

    /// Something was done on a ground.
    pub(super) fn see(&mut self, worker: Worker, fingerprint: Digest) {
        let pair = (worker, fingerprint);
        if !self.seen.contains(&pair) {
            self.seen.push(pair);
        }
    }

    /// How often something has failed in a row.
    #[must_use]
    pub fn failures_of(&self, worker: &Worker) -> u32 {
        self.failures.get(worker).copied().unwrap_or_default()
    }

    /// Which limit is reached, in words.
    #[must_use]
    pub fn reached(&self, budget: &Budget) -> Option<String> {
        if self.turns >= budget.turns {
            return Some(format!("all {} turns of the run are used", budget.turns));
        }
        if budget.rest(self.time) == Some(Period::default()) {
            let time = budget.time.unwrap_or_default();
            return Some(format!("the run has taken the {time} that it may take"));
        }
        let cost = budget.cost.filter(|cost| self.cost >= *cost)?;
        Some(format!("the run has cost {:.2} of the {cost:.2} that it may cost", self.cost))
    }
}

impl Budget {
    /// How much time is left after some of it; `None` where it is not limited.
    #[must_use]
    pub fn rest(&self, taken: Period) -> Option<Period> {
        let left = |time: Period| time.milliseconds().saturating_sub(taken.milliseconds());
        self.time.map(|time| Period::from_milliseconds(left(time)))
    }
}

impl Worker {
    /// The doer that [`Worker`] prints as this text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let name = name.to_owned();
        match kind {
            "action" => Some(Self::Action(name)),
            "agent" => Some(Self::Agent(name)),
            "question" => Some(Self::Question(name)),
            _ => None,
        }
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(name) => write!(f, "action:{name}"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::Question(name) => write!(f, "question:{name}"),
        }
    }
}
