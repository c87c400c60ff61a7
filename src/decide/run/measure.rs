//! Why every run ends: what is left of it falls with each step.

use super::{RunCommand, RunEffect, RunMachine};

impl RunMachine {
    /// What is left of the run before an effect: a row of natural numbers.
    ///
    /// Whatever is told, each step makes it smaller, compared from the left; there is no endless way down, so
    /// every run ends, whatever executors, people and the repository do:
    ///
    /// 1. whether it is still open: once it is to end it never opens again;
    /// 2. three for each turn that is left, two for work that is not settled, one for each failure in a row:
    ///    a start takes a turn and leaves work, a failure settles work and counts, what is given up, or what
    ///    something has come of, no longer counts;
    /// 3. how many records may still be made before the next turn: the rules settle by themselves, and people
    ///    who move the task all the time do not keep the run open;
    /// 4. how long may still be waited for what hinders;
    /// 5. how far the turn has come.
    #[must_use]
    pub fn left(&self, effect: &RunEffect) -> [u64; 5] {
        if self.over.is_some() {
            let wishes = 3 - self.heeded.map_or(0, |request| 1 + request as u64);
            return [0, wishes, 0, self.retry.0, self.rank(effect)];
        }
        let turns = u64::from(self.budget.turns.saturating_sub(self.usage.turns));
        let failures: u64 = self.usage.failures.values().map(|count| u64::from(*count)).sum();
        let work = 3 * turns + 2 * u64::from(self.doing.is_some()) + failures;
        [1, work, u64::from(self.records), self.retry.0, self.rank(effect)]
    }

    fn rank(&self, effect: &RunEffect) -> u64 {
        match effect {
            RunEffect::Over => 0,
            RunEffect::Finish(_) => 1,
            RunEffect::Record(RunCommand::End(_)) => 2,
            RunEffect::Record(_) => 3,
            RunEffect::Perform => 4,
            RunEffect::Judge if self.waited == Some(self.usage.turns) => 5,
            RunEffect::Judge => 7,
            RunEffect::LookBack => 8,
            RunEffect::Wait(_, following) => 1 + self.rank(following),
        }
    }
}
