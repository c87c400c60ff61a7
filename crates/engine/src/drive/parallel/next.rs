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
/// A worker spends at most one part of so many of its time on choosing anew what it has not used up yet.
const PART_OF_TIME: u32 = 50;
/// And if it has used that up, one part of so many.
const LARGEST_PART: u32 = 5;
/// Among how many of the first tasks one is chosen, after others were faster again and again: two to the power of this.
const MOST_SPREAD: u32 = 6;
/// How many races have to be won to halve that number, and by how many times as much each lost one counts. So in the long run
/// one race in five is lost.
const WON: u32 = 2;
const LOST: u32 = 4;

/// The tasks to begin next.
#[derive(Debug, Default)]
pub(super) struct NextTasks {
    ahead: VecDeque<TaskId>,
    /// Until when they are not chosen anew.
    until: Option<Instant>,
    /// Until when they are not, even if they are used up.
    rests_until: Option<Instant>,
    /// Whether a look at all tasks was left out because of that.
    owes_look: bool,
    /// Where the next look at all tasks begins.
    place: usize,
    /// How often others were faster lately: each such race counts [`LOST`] times as much as one that was won.
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
        let mut free = Vec::new();
        if is_ahead(self.until) {
            free = self.take_ahead(room, &mut choice)?;
        }
        self.owes_look = free.is_empty() && self.rests();
        if free.is_empty() && !self.owes_look {
            self.look(room, &mut choice)?;
            free = self.take_ahead(room, &mut choice)?;
        }
        Ok(free)
    }

    fn take_ahead(
        &mut self,
        room: usize,
        choice: &mut TaskChoice<'_>,
    ) -> Result<Vec<TaskId>, Error> {
        let mut free = Vec::new();
        while free.len() < room {
            // Others who were too late, too, should not choose the same one.
            let among = self.spread().min(self.ahead.len());
            let Some(task) = self.ahead.remove(one_of(among)) else {
                break;
            };
            if (choice.is_free)(&task)? {
                free.push(task);
            }
        }
        Ok(free)
    }

    /// Whether what was chosen is used up, and it is too early to look at all tasks again.
    pub(super) fn rests(&self) -> bool {
        self.ahead.is_empty() && is_ahead(self.rests_until)
    }

    /// Whether nothing was taken without a look at all tasks: it has to follow after the rest.
    pub(super) fn owes_look(&self) -> bool {
        self.owes_look
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
        let took = begun.elapsed();
        self.until = Some(Instant::now() + SHORTEST.max(took * PART_OF_TIME));
        self.rests_until = Some(Instant::now() + took * LARGEST_PART);
        Ok(())
    }

    /// Those that come next, as far as they are known. They may not be free any more.
    pub(super) fn known(&self) -> impl Iterator<Item = &TaskId> {
        self.ahead.iter()
    }

    /// Notes whether another was faster, for the next choice.
    pub(super) fn note_race(&mut self, is_lost: bool) {
        self.lost = if is_lost {
            (self.lost + LOST).min(WON * MOST_SPREAD)
        } else {
            self.lost.saturating_sub(1)
        };
    }

    /// Among how many of the first tasks one is chosen.
    fn spread(&self) -> usize {
        1 << (self.lost / WON)
    }
}

fn is_ahead(time: Option<Instant>) -> bool {
    time.is_some_and(|time| time > Instant::now())
}

/// A random number below this one; 0 if there is none.
fn one_of(many: usize) -> usize {
    if many < 2 {
        return 0;
    }
    let word = random(1).unwrap_or_default();
    usize::from_str_radix(&word, 16).unwrap_or_default() % many
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PATIENCE: Duration = Duration::from_secs(3600);

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
        // However long the look took.
        next.rests_until = None;
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
    }

    #[test]
    fn whoever_has_looked_for_long_rests_before_the_next_look() {
        let mut next = NextTasks::default();
        assert_eq!(take(&mut next, 2, "a b", ""), ("a b".to_owned(), 8));
        next.rests_until = Some(Instant::now() + PATIENCE);
        assert!(next.rests());
        assert_eq!(take(&mut next, 2, "c", ""), (String::new(), 0));
        assert!(next.owes_look());
        assert_eq!(take(&mut next, 2, "c d e", "c d e").0, "c d");
        assert!(!next.owes_look());
        // What was chosen is not used up.
        next.rests_until = Some(Instant::now() + PATIENCE);
        assert!(!next.rests());
        assert_eq!(take(&mut next, 1, "e", ""), ("e".to_owned(), 1));
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
        let mut chosen = BTreeSet::new();
        for _ in 0..200 {
            next.until = None;
            chosen.insert(take(&mut next, 1, "a b c d e f", "a b c d e f").0);
        }
        assert_eq!(chosen, ["a", "b", "c", "d"].map(str::to_owned).into());
        let mut won = 0;
        while next.spread() > 1 {
            next.note_race(false);
            won += 1;
        }
        assert_eq!(won, 3);
        next.until = None;
        assert_eq!(take(&mut next, 1, "c d", "").0, "c");
    }
}
