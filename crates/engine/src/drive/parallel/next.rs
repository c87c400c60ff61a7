//! Which tasks a worker begins next.
//!
//! To look at all tasks and to bring them into their order takes longer, the more there are. So no more of them are looked at
//! than it takes to know what to begin, what was chosen is used up before all are looked at again, and that is not done
//! too often.

use crate::survey::Error;
use orch_base::TaskId;
use orch_fleet::random;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// For how long what was chosen counts at least.
const SHORTEST: Duration = Duration::from_secs(3);
/// A worker spends at most one part of so many of its time on choosing.
const PART_OF_TIME: u32 = 50;
/// How many of the first free tasks are chosen from, after others were faster again and again: two to the power of this.
const MOST_SPREAD: u32 = 5;

/// The tasks to begin next.
#[derive(Debug, Default)]
pub(super) struct NextTasks {
    ahead: VecDeque<TaskId>,
    /// Until when they are not chosen anew.
    until: Option<Instant>,
    /// Where the next look at all tasks begins.
    place: usize,
    /// How often others were faster lately.
    lost: u32,
}

/// What tasks are chosen from.
pub(super) struct TaskChoice<'c> {
    /// All tasks.
    pub all: &'c dyn Fn() -> Result<Vec<TaskId>, Error>,
    /// Whether one is free.
    pub is_free: &'c mut dyn FnMut(&TaskId) -> Result<bool, Error>,
    /// The tasks that are free by what is known of all, in their order.
    pub order: &'c dyn Fn() -> Result<Vec<TaskId>, Error>,
}

impl NextTasks {
    /// Takes free tasks, the first ones first: enough for this room, or all. Returns an error of the choice.
    pub(super) fn take(
        &mut self,
        room: usize,
        mut choice: TaskChoice<'_>,
    ) -> Result<Vec<TaskId>, Error> {
        // Others who were too late, too, should not choose the same ones.
        let many = room.max(1 << self.lost);
        let mut free = Vec::new();
        if self.until.is_some_and(|until| until > Instant::now()) {
            free = self.take_ahead(many, &mut choice)?;
        }
        if free.is_empty() {
            self.look(many, &mut choice)?;
            free = self.take_ahead(many, &mut choice)?;
        }
        let among = free.len().min(1 << self.lost);
        if among > 1
            && let Ok(word) = random(1)
            && let Ok(byte) = usize::from_str_radix(&word, 16)
        {
            free[..among].rotate_left(byte % among);
        }
        Ok(free)
    }

    fn take_ahead(
        &mut self,
        many: usize,
        choice: &mut TaskChoice<'_>,
    ) -> Result<Vec<TaskId>, Error> {
        let mut free = Vec::new();
        while free.len() < many
            && let Some(task) = self.ahead.pop_front()
        {
            if (choice.is_free)(&task)? {
                free.push(task);
            }
        }
        Ok(free)
    }

    /// Looks at all tasks until more are free than so many. Then the order decides, and the next look begins behind them.
    fn look(&mut self, many: usize, choice: &mut TaskChoice<'_>) -> Result<(), Error> {
        let begun = Instant::now();
        let all = (choice.all)()?;
        let mut free: Vec<TaskId> = Vec::new();
        self.ahead.clear();
        for passed in 0..all.len() {
            let place = (self.place + passed) % all.len();
            if !(choice.is_free)(&all[place])? {
                continue;
            }
            free.push(all[place].clone());
            if free.len() > many {
                self.place = place;
                self.ahead.extend((choice.order)()?);
                // What the order does not name comes last.
                free.retain(|task| !self.ahead.contains(task));
                break;
            }
        }
        self.ahead.extend(free);
        let patience = SHORTEST.max(begun.elapsed() * PART_OF_TIME);
        self.until = Some(Instant::now() + patience);
        Ok(())
    }

    /// Puts tasks back that were taken and not begun.
    pub(super) fn put_back(&mut self, tasks: impl DoubleEndedIterator<Item = TaskId>) {
        tasks.rev().for_each(|task| self.ahead.push_front(task));
    }

    /// Those that come next, as far as they are known. They may not be free any more.
    pub(super) fn known(&self) -> impl Iterator<Item = &TaskId> {
        self.ahead.iter()
    }

    /// Notes whether another was faster, for the next choice.
    pub(super) fn note_race(&mut self, is_lost: bool) {
        self.lost = if is_lost {
            (self.lost + 1).min(MOST_SPREAD)
        } else {
            self.lost.saturating_sub(1)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<TaskId> {
        let words = text.split_whitespace();
        words.map(|id| TaskId::new(id).expect("an id")).collect()
    }

    /// Takes from `a` to `f`, of which those of `free` are free; returns what was taken, and how many were looked at.
    fn take(next: &mut NextTasks, room: usize, free: &str, order: &str) -> (String, usize) {
        let free = ids(free);
        let mut looks = 0;
        let choice = TaskChoice {
            all: &|| Ok(ids("a b c d e f")),
            is_free: &mut |task| {
                looks += 1;
                Ok(free.contains(task))
            },
            order: &|| Ok(ids(order)),
        };
        let taken = next.take(room, choice).expect("chosen");
        let taken: Vec<&str> = taken.iter().map(TaskId::as_str).collect();
        (taken.join(" "), looks)
    }

    #[test]
    fn the_order_decides_if_more_are_free_than_there_is_room_for() {
        let mut next = NextTasks::default();
        let taken = take(&mut next, 2, "a b c d", "d c b");
        // Three of all, and the first two of the order.
        assert_eq!(taken, ("d c".to_owned(), 5));
        // What was chosen is used up first, then what the order does not name.
        assert_eq!(take(&mut next, 1, "a b", ""), ("b".to_owned(), 1));
        assert_eq!(take(&mut next, 1, "a", ""), ("a".to_owned(), 1));
        assert_eq!(take(&mut next, 1, "", ""), (String::new(), 6));
        assert_eq!(take(&mut next, 3, "e f", ""), ("e f".to_owned(), 8));
        next.put_back(ids("e f").into_iter());
        let known: Vec<&TaskId> = next.known().collect();
        assert_eq!(known, ids("e f").iter().collect::<Vec<_>>());
    }

    #[test]
    fn each_task_is_looked_at_in_turn() {
        let mut next = NextTasks::default();
        take(&mut next, 1, "a b c d e f", "");
        next.ahead.clear();
        next.until = None;
        // It goes on behind the first look, and round.
        assert_eq!(take(&mut next, 3, "a b c", "").0, "b c a");
    }

    #[test]
    fn whoever_was_too_late_chooses_among_more() {
        let mut next = NextTasks::default();
        next.note_race(true);
        next.note_race(true);
        let (taken, _) = take(&mut next, 1, "a b c d e f", "a b c d e f");
        let mut among: Vec<&str> = taken.split(' ').collect();
        among.sort_unstable();
        assert_eq!(among, ["a", "b", "c", "d"]);
        next.note_race(false);
        next.note_race(false);
        next.until = None;
        assert_eq!(
            take(&mut next, 1, "c d", "").0,
            "c d".split(' ').next().expect("one")
        );
    }
}
