//! The usage and the budget of a run.

use super::FailureCause;
use orch_base::{Digest, Period};
use std::collections::BTreeMap;
use std::fmt;

/// What a run has consumed and seen so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// The number of turns: starts of executors and default answers.
    pub turns: u32,
    /// The sum of the costs that results and agent programs reported.
    pub cost: f64,
    /// The last cost that was reported of each conversation with an agent program, by its id.
    pub conversations: BTreeMap<String, f64>,
    /// How many turns were killed before they could report their costs.
    pub unpriced: u32,
    /// How long the run has taken.
    pub time: Period,
    /// Failures in a row, by job.
    pub failures: BTreeMap<Job, u32>,
    /// Why the last of these failures happened, by job.
    pub causes: BTreeMap<Job, FailureCause>,
    /// What each job said last, and what it was not allowed to do.
    pub said: BTreeMap<Job, String>,
    /// The work that was done, by job and fingerprint.
    pub seen: Vec<(Job, Digest)>,
}

/// Whose turns and failures are counted. Actions, agents and questions have separate names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    /// The executors of an action, by its name.
    Action(String),
    /// The agent of a phase.
    Agent(String),
    /// A question answered by its default.
    Question(String),
}

/// What a run may consume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The number of turns.
    pub turns: u32,
    /// How long the run may take.
    pub time: Option<Period>,
    /// The largest sum of costs.
    pub cost: Option<f64>,
}

impl Usage {
    /// Counts a turn.
    pub(super) fn begin(&mut self) {
        self.turns = self.turns.saturating_add(1);
    }

    /// Refunds a turn whose executor could not be started.
    pub(super) fn take_back(&mut self) {
        self.turns = self.turns.saturating_sub(1);
    }

    /// Notes the cost of a conversation with an agent program as far as it has gone, and returns by how much it has grown.
    /// A smaller cost than before is that of the last turn alone.
    pub fn charge(&mut self, conversation: &str, cost: f64) -> f64 {
        let before = self
            .conversations
            .insert(conversation.to_owned(), cost)
            .unwrap_or_default();
        if cost >= before { cost - before } else { cost }
    }

    /// Counts a turn that was killed. It is not worth a word where nobody reports costs and none are limited.
    pub(super) fn lose_price(&mut self, budget: &Budget, is_expected: bool) {
        if is_expected || self.cost > 0.0 || budget.cost.is_some() {
            self.unpriced = self.unpriced.saturating_add(1);
        }
    }

    /// Adds the cost of a result; the sum stays finite.
    pub(super) fn pay(&mut self, cost: f64) {
        self.cost = (self.cost + cost).min(f64::MAX);
    }

    /// Counts a failed try.
    pub(super) fn fail(&mut self, job: Job) {
        let failures = self.failures.entry(job).or_default();
        *failures = failures.saturating_add(1);
    }

    /// Forgets the failures of a job: its work is done, or giving it up is recorded and another phase may
    /// try it again.
    pub(super) fn forgive(&mut self, job: &Job) {
        self.failures.remove(job);
        self.causes.remove(job);
    }

    /// Notes that work was done on a fingerprint.
    pub(super) fn see(&mut self, job: Job, fingerprint: Digest) {
        let pair = (job, fingerprint);
        if !self.seen.contains(&pair) {
            self.seen.push(pair);
        }
    }

    /// Whether a job has failed so often in a row that it is not tried again, or said that no further try can
    /// succeed.
    #[must_use]
    pub(super) fn is_given_up(&self, job: &Job, tries: u32) -> bool {
        self.failures_of(job) >= tries
            || self
                .causes
                .get(job)
                .is_some_and(|cause| cause.trace.is_final())
    }

    /// How often a job has failed in a row.
    #[must_use]
    pub fn failures_of(&self, job: &Job) -> u32 {
        self.failures.get(job).copied().unwrap_or_default()
    }

    /// Why a job failed last, after a semicolon; empty if that is not known.
    #[must_use]
    pub(super) fn last_failure(&self, job: &Job) -> String {
        self.causes.get(job).map_or(String::new(), |cause| {
            format!("; the last time {}", cause.words())
        })
    }

    /// What a job said last and was not allowed to do, after a semicolon; empty if that is not known.
    #[must_use]
    pub(super) fn last_words(&self, job: &Job) -> String {
        self.said
            .get(job)
            .map_or(String::new(), |said| format!("; {said}"))
    }

    /// The limit that is reached, in words; `None` if there is budget left.
    #[must_use]
    pub fn reached(&self, budget: &Budget) -> Option<String> {
        if self.turns >= budget.turns {
            return Some(match budget.turns {
                1 => "the only turn of the run is used up".to_owned(),
                turns => format!("all {turns} turns of the run are used up"),
            });
        }
        if budget.rest(self.time) == Some(Period::default()) {
            let time = budget.time.unwrap_or_default();
            return Some(format!("the time limit of {time} is reached"));
        }
        let cost = budget.cost.filter(|cost| self.cost >= *cost)?;
        Some(format!(
            "the run has cost {:.2}; its limit is {cost:.2}",
            self.cost
        ))
    }
}

impl Budget {
    /// The time that is left after `taken`; `None` if it is unlimited.
    #[must_use]
    pub fn rest(&self, taken: Period) -> Option<Period> {
        let time = self.time?.milliseconds();
        let left = time.saturating_sub(taken.milliseconds());
        Some(Period::from_milliseconds(left))
    }
}

impl Job {
    /// The name of the action, the agent or the question.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Action(name) | Self::Agent(name) | Self::Question(name) => name,
        }
    }

    /// Parses the text that [`Job`] prints; `None` for any other text.
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

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(name) => write!(f, "action:{name}"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::Question(name) => write!(f, "question:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::ExecutorTrace;

    #[test]
    fn what_is_left_of_the_time_is_never_less_than_nothing() {
        for (time, taken, rest) in [
            (None, 5, None),
            (Some(8), 0, Some(8)),
            (Some(8), 5, Some(3)),
            (Some(8), 8, Some(0)),
            (Some(8), 9, Some(0)),
        ] {
            let budget = Budget {
                turns: 1,
                time: time.map(Period::from_seconds),
                cost: None,
            };
            let left = budget.rest(Period::from_seconds(taken));
            assert_eq!(left, rest.map(Period::from_seconds), "{taken} of {time:?}");
            let usage = Usage {
                time: Period::from_seconds(taken),
                ..Usage::default()
            };
            assert_eq!(
                usage.reached(&budget).is_some(),
                rest == Some(0),
                "{taken} of {time:?}"
            );
        }
    }

    #[test]
    fn a_job_is_read_as_it_is_printed() {
        let name = || "a:b".to_owned();
        for (job, text) in [
            (Job::Action(name()), "action:a:b"),
            (Job::Agent(name()), "agent:a:b"),
            (Job::Question(name()), "question:a:b"),
        ] {
            assert_eq!(
                (job.to_string().as_str(), Job::parse(text)),
                (text, Some(job))
            );
        }
        for text in ["", "a", "action", "person:a"] {
            assert_eq!(Job::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_failure_is_told_with_the_last_line_unless_it_says_so_already() {
        let job = Job::Agent("a".to_owned());
        let mut usage = Usage::default();
        assert_eq!(usage.last_failure(&job), "");
        for (why, printed, expected) in [
            (
                "it exited with code 3",
                &[][..],
                "; the last time it exited with code 3",
            ),
            (
                "it exited with code 3",
                &["one", " two \n", " "],
                "; the last time it exited with code 3: two",
            ),
            (
                "it said: two",
                &["one", "two"],
                "; the last time it said: two",
            ),
        ] {
            let mut trace = ExecutorTrace::default();
            printed.iter().for_each(|line| trace.hear(line));
            usage.causes.insert(
                job.clone(),
                FailureCause {
                    why: why.to_owned(),
                    trace,
                },
            );
            assert_eq!(usage.last_failure(&job), expected);
        }
    }

    #[test]
    fn an_executor_is_heard_by_its_last_lines_and_their_beginnings() {
        let mut trace = ExecutorTrace::default();
        let long = "ä".repeat(300);
        for line in ["1", "", "2", "   ", "\t3 ", "4", &long] {
            trace.hear(line);
        }
        assert_eq!(trace.output, ["3", "4", &"ä".repeat(200)]);
    }
}
