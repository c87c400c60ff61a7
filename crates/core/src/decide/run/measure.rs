//! Why every run ends: a measure that decreases with each step.

use super::{ControlRequest, RunCommand, RunEffect, RunMachine};

impl RunMachine {
    /// What is left of the run before an effect: a list of natural numbers.
    ///
    /// Whatever the events are, each step decreases the list in lexicographic order. That order is
    /// well-founded, so every run ends, whatever executors, people and the repository do:
    ///
    /// 1. whether the run is open: once it is to end, it never opens again;
    /// 2. three for each remaining turn, two for unsettled work, one for each failure in a row: a start takes
    ///    a turn and leaves work, a failure settles work and counts, and failures are forgotten when the work is
    ///    given up or succeeds;
    /// 3. how many steps may be recorded before the next turn: the rules settle by themselves, and people who
    ///    keep moving the task do not keep the run open;
    /// 4. how long the run may still wait for obstacles;
    /// 5. how far the turn has progressed.
    #[must_use]
    pub fn left(&self, effect: &RunEffect) -> [u64; 5] {
        if self.over.is_some() {
            let all = ControlRequest::ALL.len() as u64;
            let requests = all - self.followed.map_or(0, |request| 1 + request as u64);
            return [0, requests, 0, self.retry.0, self.rank(effect)];
        }
        let turns = u64::from(self.budget.turns.saturating_sub(self.usage.turns));
        let failures: u64 = self
            .usage
            .failures
            .values()
            .map(|count| u64::from(*count))
            .sum();
        let work = 3 * turns + 2 * u64::from(self.doing.is_some()) + failures;
        [
            1,
            work,
            u64::from(self.records),
            self.retry.0,
            self.rank(effect),
        ]
    }

    fn rank(&self, effect: &RunEffect) -> u64 {
        match effect {
            RunEffect::Over => 0,
            RunEffect::Finish(_) => 1,
            RunEffect::Record(RunCommand::End(_)) => 2,
            RunEffect::Record(_) => 3,
            RunEffect::Perform => 4,
            RunEffect::Evaluate if self.waited == Some(self.usage.turns) => 5,
            RunEffect::Evaluate => 7,
            RunEffect::LookBack => 8,
            RunEffect::Wait(_, following) => 1 + self.rank(following),
        }
    }
}
