//! A limit of an agent program that passes by itself, and how long a run waits for it.

use super::Job;
use orch_base::{Period, Timestamp};

/// What an executor reports that cannot work now, but later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassingLimit {
    /// The limit, in words.
    pub why: String,
    /// When it passes, if the program says so.
    pub until: Option<Timestamp>,
}

/// The wait of a run for such a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitWait {
    /// The job whose executor met the limit.
    pub job: Job,
    /// When the work is tried again.
    pub until: Timestamp,
    /// The limit, in words.
    pub why: String,
    /// How often in a row the job has met a limit.
    pub times: u32,
}

/// The first wait for a limit of unknown duration, in seconds; each further one is twice as long.
const FIRST: i64 = 30;
/// The longest such wait.
const LONGEST: i64 = 30 * 60;
/// The longest wait that a program is believed: a week, and a day for what it rounds up.
const LONGEST_TOLD: i64 = 8 * 24 * 3600;

/// The wait after this many limits in a row, in seconds, if no program says how long it takes.
fn grown(times: u32) -> i64 {
    (FIRST << times.saturating_sub(1).min(10)).min(LONGEST)
}

impl LimitWait {
    /// The wait for a limit that a job has met now. `earlier` is the wait for the one that it met before.
    #[must_use]
    pub fn new(job: Job, limit: PassingLimit, earlier: Option<&Self>, now: Timestamp) -> Self {
        let earlier = earlier.filter(|earlier| earlier.job == job);
        let times = earlier.map_or(0, |earlier| earlier.times).saturating_add(1);
        let seconds = match limit.until {
            None => grown(times),
            Some(until) => {
                let told = until.seconds().saturating_sub(now.seconds());
                // A time that has turned out to be wrong is not believed again.
                let least = if times > 1 { grown(times - 1) } else { 1 };
                told.min(LONGEST_TOLD).max(least)
            }
        };
        Self {
            job,
            until: Timestamp::from_seconds(now.seconds().saturating_add(seconds)),
            why: limit.why,
            times,
        }
    }

    /// How much of the wait is left.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Period {
        let seconds = self.until.seconds().saturating_sub(now.seconds());
        Period::from_seconds(seconds.try_into().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a time, each wait is twice as long as the one before it, up to a bound; a time counts, unless it has
    /// passed, is too far away, or has turned out to be wrong.
    #[test]
    fn waits_grow_and_follow_the_times_that_are_told() {
        let now = Timestamp::from_seconds(1_000_000);
        let job = || Job::Agent("a".to_owned());
        for (before, told, expected) in [
            (0, None, 30),
            (1, None, 60),
            (2, None, 120),
            (6, None, 1800),
            (7, None, 1800),
            (u32::MAX, None, 1800),
            (0, Some(5), 5),
            (0, Some(36_000), 36_000),
            (0, Some(-60), 1),
            (0, Some(i64::MAX / 2), LONGEST_TOLD),
            (1, Some(5), 30),
            (2, Some(-60), 60),
            (1, Some(36_000), 36_000),
        ] {
            let earlier = LimitWait {
                job: job(),
                until: now,
                why: String::new(),
                times: before,
            };
            let until =
                told.map(|told: i64| Timestamp::from_seconds(now.seconds().saturating_add(told)));
            let limit = || PassingLimit {
                why: "no".to_owned(),
                until,
            };
            let wait = LimitWait::new(job(), limit(), Some(&earlier), now);
            let seconds = u64::try_from(expected).expect("positive");
            assert_eq!(
                wait.left(now),
                Period::from_seconds(seconds),
                "{before} {told:?}"
            );
            // The limits of another job do not count.
            let other = Job::Action("a".to_owned());
            let wait = LimitWait::new(other, limit(), Some(&earlier), now);
            assert_eq!(wait.times, 1);
        }
    }
}
