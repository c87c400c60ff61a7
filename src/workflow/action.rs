//! What a workflow says about its actions: who performs them, what they may change, when to stop.

use super::Guard;
use crate::base::{ActionName, Period, words};

/// A unit of work that an executor performs.
#[derive(Debug, Clone)]
pub struct Action {
    /// Its name.
    pub name: ActionName,
    /// A line for people.
    pub title: Option<String>,
    /// The prompt file: `system/agents/<prompt>.md`.
    pub prompt: Option<String>,
    /// What must hold for it to be chosen, and still when it starts.
    pub when: Guard,
    /// What holds when it has done its work, seen on the state with its result in it.
    pub ensures: Guard,
    /// JSON pointers into the state: what its result may change, each with everything below it.
    pub writes: Vec<String>,
    /// JSON pointers into the state that its prompt shows beside those of the workflow.
    pub show: Vec<String>,
    /// Files below the task directory that are there when it has succeeded.
    pub outputs: Vec<String>,
    /// The name of its executor in the settings; else the one for all.
    pub executor: Option<String>,
    /// How long one try may take.
    pub times: Times,
    /// How often it is tried again after a failure; else what the limits say.
    pub retries: Option<u32>,
}

/// How long one try of an executor may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// After this it is asked to end.
    pub soft: Option<Period>,
    /// After this it is ended.
    pub hard: Option<Period>,
    /// Without any output for so long it is taken for hanging, and ended.
    pub idle: Option<Period>,
}

/// A question to a person, whose answer goes into the state.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Its name.
    pub name: String,
    /// The question.
    pub title: String,
    /// JSON pointers into the state: what the answer may set, each with everything below it.
    pub writes: Vec<String>,
    /// What may be answered: JSON pointer, and an expression that yields the list of choices.
    pub options: Vec<(String, Guard)>,
    /// What is answered where nobody is to be asked: JSON pointer, and an expression.
    pub default: Vec<(String, Guard)>,
    /// Bookkeeping that goes with the answer: JSON pointer into the state, and its new value.
    pub set: Vec<(String, Guard)>,
}

/// When a run has to end, whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Actions performed in one run.
    pub turns: u32,
    /// How long one run may take.
    pub time: Option<Period>,
    /// What one run may cost, as far as executors report it.
    pub cost: Option<f64>,
    /// Failures of an action in a row, after which it is skipped.
    pub failures: u32,
    /// Skipped actions of a task, after which it is given up: what guards see as `run.max_errors`.
    pub errors: u32,
    /// How long to wait before the second try; before each further one twice as long.
    pub backoff: Period,
}

words! {
    /// An order of a person that a rule may answer to.
    pub enum Signal {
        /// `orch run`.
        Start = "start",
        /// `orch pause`.
        Pause = "pause",
        /// `orch resume`.
        Resume = "resume",
        /// `orch stop`.
        Stop = "stop",
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { turns: 50, time: None, cost: None, failures: 3, errors: 3, backoff: Period::from_seconds(2) }
    }
}

impl Limits {
    /// How long to wait before a try, which is counted from 1; at most five minutes.
    #[must_use]
    pub fn wait_before(&self, attempt: u32) -> Period {
        let doubled = 1_u64.checked_shl(attempt.saturating_sub(2)).unwrap_or(u64::MAX);
        match attempt {
            0 | 1 => Period::from_milliseconds(0),
            _ => self.backoff.times(doubled).min(Period::from_seconds(300)),
        }
    }
}

impl Action {
    /// How often it is tried in all before it is skipped.
    #[must_use]
    pub fn tries(&self, limits: &Limits) -> u32 {
        self.retries.map_or(limits.failures, |retries| retries.saturating_add(1)).max(1)
    }
}

impl Times {
    /// These, and for what they leave open those.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            soft: self.soft.or(other.soft),
            hard: self.hard.or(other.hard),
            idle: self.idle.or(other.idle),
        }
    }
}

/// Whether a JSON pointer is one of these, or leads into one of them.
#[must_use]
pub fn is_within(pointer: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|above| {
        pointer.strip_prefix(above.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_doubles_up_to_a_bound() {
        let limits = Limits::default();
        let waits: Vec<u64> =
            [1, 2, 3, 4, 40, 99].map(|attempt| limits.wait_before(attempt).milliseconds()).to_vec();
        assert_eq!(waits, [0, 2_000, 4_000, 8_000, 300_000, 300_000]);
    }

    #[test]
    fn a_pointer_is_within_itself_and_what_is_above() {
        let allowed = ["/diagnosis".to_owned(), "/issues/0".to_owned()];
        for (pointer, expected) in [
            ("/diagnosis", true),
            ("/diagnosis/context", true),
            ("/diagnoses", false),
            ("/issues", false),
            ("/issues/0/id", true),
        ] {
            assert_eq!(is_within(pointer, &allowed), expected, "{pointer}");
        }
    }
}
