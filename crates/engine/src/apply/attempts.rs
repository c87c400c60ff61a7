//! Attempts to record steps on a branch that other processes move, too.

use crate::survey::Error;
use orch_base::Class;
use orch_git::{LockOrder, LockWait, PATIENCE, Store, Transaction};
use std::thread::sleep;
use std::time::Duration;

/// How often to decide again after the branch has moved, if the caller does not say how long to wait.
const TRIES: u32 = 20;
/// How many attempts leave the index to the user until they have decided, which takes long for many tasks.
const MOST_LATE: u32 = 2;

/// The attempts of one command. They share the time that the command may wait.
pub(super) struct CommitAttempts {
    wait: LockWait,
    /// Whether the caller says how long to wait.
    is_limited: bool,
    number: u32,
}

impl CommitAttempts {
    /// Attempts that wait at most this long for other processes, in addition to the usual number of tries.
    pub(super) fn within(wait: Option<Duration>) -> Self {
        Self {
            wait: LockWait::at_most(wait.unwrap_or_default()),
            is_limited: wait.is_some(),
            number: 0,
        }
    }

    /// Begins a transaction; returns the errors of [`Transactions::begin`](orch_git::Transactions::begin). After
    /// [`MOST_LATE`] attempts everything is locked first: otherwise a user whose commits follow each other would win again
    /// and again.
    pub(super) fn begin<'s>(&mut self, store: &'s Store) -> Result<Transaction<'s>, Error> {
        let order = if self.number < MOST_LATE {
            LockOrder::Late
        } else {
            LockOrder::Early
        };
        store.transactions().begin_within(&mut self.wait, order)
    }

    /// How long to wait for others of this process.
    pub(super) fn patience(&self) -> Duration {
        if self.is_limited {
            self.wait.left()
        } else {
            PATIENCE
        }
    }

    /// Whether to decide and commit again after this error. Pauses before it says so.
    ///
    /// Besides a branch that has moved, this may be a lock of git that was free when the transaction began, or a
    /// `git commit` that began since: another process is faster, and that is what the caller waits for.
    pub(super) fn again(&mut self, error: &Error) -> bool {
        self.number += 1;
        if error.is_moved() && self.number < TRIES {
            pause_before(self.number);
            return true;
        }
        (error.is_moved() || error.class() == Class::Busy) && self.wait.again()
    }
}

/// Waits before a writer decides again. The delays differ, so that two processes that collided do not collide
/// again.
fn pause_before(attempt: u32) {
    let uneven = (std::process::id() + 7 * attempt) % 11;
    sleep(Duration::from_millis(u64::from(
        (2 << attempt.min(5)) + uneven,
    )));
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Code;

    fn after(number: u32, wait: Option<u64>) -> CommitAttempts {
        CommitAttempts {
            number,
            ..CommitAttempts::within(wait.map(Duration::from_secs))
        }
    }

    #[test]
    fn waiting_covers_losing_the_race_for_the_branch() {
        let open = Error::new(Code::CommitOpen, "a `git commit` is open");
        let other = Error::new(Code::BranchProtected, "the branch is protected");
        for (number, wait, error, expected) in [
            (0, None, Error::moved(), true),
            (TRIES, None, Error::moved(), false),
            (TRIES, Some(60), Error::moved(), true),
            (TRIES, Some(0), Error::moved(), false),
            (0, None, open.clone(), false),
            (0, Some(60), open, true),
            (0, Some(60), other, false),
        ] {
            assert_eq!(
                after(number, wait).again(&error),
                expected,
                "{number} {wait:?} {error}"
            );
        }
    }
}
