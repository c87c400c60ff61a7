//! Work that is done alone: one piece after another, until the server ends.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    now: Mutex<TurnState>,
    freed: Condvar,
}

#[derive(Default)]
struct TurnState {
    /// Whether work is done.
    is_taken: bool,
    /// Whether no other work begins.
    is_over: bool,
}

/// The time in which work is done; it ends when this is dropped.
struct TakenTurn<'t>(&'t Turns);

impl Turns {
    /// Calls `work` when no other work is done.
    pub(super) fn alone<R>(&self, work: impl FnOnce() -> R) -> R {
        let waited = self.freed.wait_while(self.now(), |now| now.is_taken || now.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).is_taken = true;
        let _turn = TakenTurn(self);
        work()
    }

    /// Waits until the work in progress has ended, at most until `patience` is over. Returns whether it has. No other
    /// work begins, so what waits for its turn waits for ever.
    pub(super) fn finish(&self, patience: Duration) -> bool {
        let mut now = self.now();
        now.is_over = true;
        let waited = self.freed.wait_timeout_while(now, patience, |now| now.is_taken);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn now(&self) -> MutexGuard<'_, TurnState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TakenTurn<'_> {
    fn drop(&mut self) {
        self.0.now().is_taken = false;
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn the_end_waits_for_work_in_progress_but_not_for_ever() {
        let turns = Turns::default();
        assert_eq!(turns.alone(|| 3), 3);
        let ((begin, begun), (free, freed)) = (channel(), channel::<()>());
        thread::scope(|scope| {
            let turns = &turns;
            scope.spawn(move || {
                turns.alone(|| {
                    begin.send(()).expect("heard");
                    freed.recv().expect("freed");
                })
            });
            begun.recv().expect("it has begun");
            assert!(!turns.finish(Duration::from_millis(5)), "it has not ended");
            free.send(()).expect("waits");
        });
        let turns = Turns::default();
        turns.alone(|| ());
        assert!(turns.finish(Duration::ZERO), "nothing is in progress");
    }
}
