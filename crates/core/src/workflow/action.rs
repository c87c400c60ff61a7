//! The actions of a workflow: who performs them, what they may change, and when to stop.

use super::Guard;
use orch_base::pointer::is_at_or_below;
use orch_base::{ActionName, Period, words};

/// A unit of work that an executor performs.
#[derive(Debug, Clone)]
pub struct Action {
    /// The name, which rules refer to.
    pub name: ActionName,
    /// A title for people.
    pub title: Option<String>,
    /// The prompt file: `system/agents/<prompt>.md`.
    pub prompt: Option<String>,
    /// The condition for choosing the action; it must still hold when the action starts.
    pub when: Guard,
    /// The condition that holds after success, evaluated on the state with the result in it.
    pub ensures: Guard,
    /// JSON pointers into the state that the result may change, including everything below them.
    pub writes: Vec<String>,
    /// JSON pointers into the state that the prompt shows in addition to those of the workflow.
    pub show: Vec<String>,
    /// Files, relative to the task directory, that exist after success.
    pub outputs: Vec<String>,
    /// The name of its executor in the settings; `None` means `default`.
    pub executor: Option<String>,
    /// The time limits of one try.
    pub times: Times,
    /// How often a failed try is repeated; `None` means the limits of the workflow.
    pub retries: Option<u32>,
}

/// The time limits of one try of an executor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// After this time the executor gets SIGTERM.
    pub soft: Option<Period>,
    /// After this time the executor is killed.
    pub hard: Option<Period>,
    /// An executor without any output for this long counts as hanging and is ended.
    pub idle: Option<Period>,
}

/// A question to a person; its answer goes into the state.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The name, which rules refer to.
    pub name: String,
    /// The question.
    pub title: String,
    /// JSON pointers into the state that the answer may set, including everything below them.
    pub writes: Vec<String>,
    /// The options: JSON pointers, and expressions that yield the list of choices.
    pub options: Vec<(String, Guard)>,
    /// The default answer: JSON pointers, and expressions.
    pub default: Vec<(String, Guard)>,
    /// Bookkeeping that goes with the answer: JSON pointers into the state, and their new values.
    pub set: Vec<(String, Guard)>,
}

/// The limits of a run, whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The number of turns of one run.
    pub turns: u32,
    /// How long one run may take.
    pub time: Option<Period>,
    /// The largest cost of one run, as far as executors report costs.
    pub cost: Option<f64>,
    /// The number of failures in a row after which an action is given up.
    pub failures: u32,
    /// The number of given-up actions after which the task is given up: what guards see as `run.max_errors`.
    pub errors: u32,
    /// The wait before the second try; it doubles with each further try.
    pub backoff: Period,
}

words! {
    /// A start or a control request that a rule may respond to.
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
        Self {
            turns: 50,
            time: None,
            cost: None,
            failures: 3,
            errors: 3,
            backoff: Period::from_seconds(2),
        }
    }
}

impl Limits {
    /// The wait before a try, which is counted from 1; at most five minutes.
    #[must_use]
    pub fn wait_before(&self, attempt: u32) -> Period {
        let doubled = 1_u64
            .checked_shl(attempt.saturating_sub(2))
            .unwrap_or(u64::MAX);
        match attempt {
            0 | 1 => Period::from_milliseconds(0),
            _ => self.backoff.times(doubled).min(Period::from_seconds(300)),
        }
    }
}

impl Action {
    /// How many tries the action has in all before it is given up.
    #[must_use]
    pub fn tries(&self, limits: &Limits) -> u32 {
        self.retries
            .map_or(limits.failures, |retries| retries.saturating_add(1))
            .max(1)
    }
}

impl Times {
    /// These limits, with those of `other` where these are unset.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            soft: self.soft.or(other.soft),
            hard: self.hard.or(other.hard),
            idle: self.idle.or(other.idle),
        }
    }
}

/// Whether a JSON pointer is one of these, or below one of them.
#[must_use]
pub fn is_within(pointer: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|above| is_at_or_below(pointer, above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_doubles_up_to_a_bound() {
        let limits = Limits::default();
        let waits: Vec<u64> = [1, 2, 3, 4, 40, 99]
            .map(|attempt| limits.wait_before(attempt).milliseconds())
            .to_vec();
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
