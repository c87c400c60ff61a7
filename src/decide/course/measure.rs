//! Why every run ends: what is left of it falls with each step.

use super::{Course, Deed, Effect};

impl Course {
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
    pub fn left(&self, effect: &Effect) -> [u64; 5] {
        if self.over.is_some() {
            let wishes = 3 - self.heeded.map_or(0, |wish| 1 + wish as u64);
            return [0, wishes, 0, self.patience.0, self.rank(effect)];
        }
        let turns = u64::from(self.budget.turns.saturating_sub(self.spent.turns));
        let failures: u64 = self.spent.failures.values().map(|count| u64::from(*count)).sum();
        let work = 3 * turns + 2 * u64::from(self.doing.is_some()) + failures;
        [1, work, u64::from(self.records), self.patience.0, self.rank(effect)]
    }

    fn rank(&self, effect: &Effect) -> u64 {
        match effect {
            Effect::Over => 0,
            Effect::Finish(_) => 1,
            Effect::Record(Deed::End(_)) => 2,
            Effect::Record(_) => 3,
            Effect::Perform => 4,
            Effect::Judge if self.waited == Some(self.spent.turns) => 5,
            Effect::Judge => 7,
            Effect::LookBack => 8,
            Effect::Wait(_, following) => 1 + self.rank(following),
        }
    }
}
