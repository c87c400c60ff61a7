//! A bounded queue of programs to start, and the few threads that start them.

use super::FaultSink;
use orch_base::{Code, Diagnostic, locked};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many programs run at once.
const AT_ONCE: usize = 4;
/// How many programs wait at most.
const MOST_WAITING: usize = 100;
/// How long programs are still started after the end of what they are about.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts one program and waits for its end.
pub(super) type NoticeJob = Box<dyn FnOnce() + Send>;

/// The queue. When it is dropped, no program is started for longer than [`PATIENCE`], and those that were started are
/// waited for.
pub(super) struct NoticeQueue {
    shared: Arc<QueueParts>,
    report: FaultSink,
}

#[derive(Default)]
struct QueueParts {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<NoticeJob>,
    /// The number of threads.
    working: usize,
    /// Whether a full queue has been reported since it was full last.
    is_full: bool,
}

impl QueueParts {
    /// Starts what waits, until nothing does.
    fn work(&self) {
        let mut state = locked(&self.state);
        while let Some(job) = state.waiting.pop_front() {
            drop(state);
            job();
            state = locked(&self.state);
        }
        state.working -= 1;
        self.changed.notify_all();
    }

    /// Waits until nothing waits or works, or `until` has passed.
    fn await_end(&self, until: Option<Instant>) {
        let mut state = locked(&self.state);
        while state.working > 0 {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return,
                Some(left) => {
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl NoticeQueue {
    pub(super) fn new(report: FaultSink) -> Self {
        Self {
            shared: Arc::default(),
            report,
        }
    }

    /// Adds a program, which starts as soon as there is room. If too many wait, it is dropped.
    pub(super) fn push(&self, job: NoticeJob) {
        let mut state = locked(&self.shared.state);
        if state.waiting.len() >= MOST_WAITING {
            let is_new = !std::mem::replace(&mut state.is_full, true);
            drop(state);
            if is_new {
                self.warn(format!(
                    "{MOST_WAITING} notifications are already waiting; further ones are dropped"
                ));
            }
            return;
        }
        state.is_full = false;
        state.waiting.push_back(job);
        if state.working >= AT_ONCE {
            return;
        }
        let shared = Arc::clone(&self.shared);
        match thread::Builder::new().spawn(move || shared.work()) {
            Ok(_) => state.working += 1,
            Err(error) => {
                let is_stuck = state.working == 0;
                drop(state);
                if is_stuck {
                    self.drop_waiting();
                    self.warn(format!("cannot start a thread: {error}"));
                }
            }
        }
    }

    /// Drops what has not been started. Returns how many there were.
    fn drop_waiting(&self) -> usize {
        std::mem::take(&mut locked(&self.shared.state).waiting).len()
    }

    fn warn(&self, message: String) {
        (self.report)(Diagnostic::warning(Code::NotifyFailed, message));
    }
}

impl Drop for NoticeQueue {
    fn drop(&mut self) {
        self.shared.await_end(Some(Instant::now() + PATIENCE));
        let left = self.drop_waiting();
        if left > 0 {
            self.warn(format!(
                "{left} notifications were not sent: earlier ones take too long"
            ));
        }
        self.shared.await_end(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A queue whose jobs say that they have begun, and then wait for a word.
    struct World {
        queue: NoticeQueue,
        began: (Sender<usize>, Receiver<usize>),
        reported: Arc<Mutex<Vec<String>>>,
    }

    impl World {
        fn new() -> Self {
            let reported: Arc<Mutex<Vec<String>>> = Arc::default();
            let keep = Arc::clone(&reported);
            let report: FaultSink =
                Arc::new(move |found| keep.lock().expect("unpoisoned").push(found.message));
            Self {
                queue: NoticeQueue::new(report),
                began: channel(),
                reported,
            }
        }

        /// Adds a job; it ends when the returned sender is used or dropped.
        fn push(&self, number: usize) -> Sender<()> {
            let (end, ends) = channel::<()>();
            let began = self.began.0.clone();
            self.queue.push(Box::new(move || {
                began.send(number).expect("someone listens");
                let _ = ends.recv();
            }));
            end
        }

        fn begun(&self) -> usize {
            self.began.1.recv().expect("a job begins")
        }
    }

    #[test]
    fn few_run_at_once_and_the_others_follow() {
        let world = World::new();
        let mut ends: Vec<Sender<()>> = (0..AT_ONCE + 2).map(|number| world.push(number)).collect();
        let mut first: Vec<usize> = (0..AT_ONCE).map(|_| world.begun()).collect();
        first.sort_unstable();
        assert_eq!(first, (0..AT_ONCE).collect::<Vec<_>>());
        assert!(world.began.1.try_recv().is_err(), "no more than that");
        drop(ends.remove(0));
        assert_eq!(world.begun(), AT_ONCE);
        drop(ends);
        assert_eq!(world.begun(), AT_ONCE + 1);
    }

    #[test]
    fn what_waits_at_the_deadline_never_starts() {
        let world = World::new();
        let ends: Vec<Sender<()>> = (0..AT_ONCE + 3).map(|number| world.push(number)).collect();
        for _ in 0..AT_ONCE {
            world.begun();
        }
        world.queue.shared.await_end(Some(Instant::now()));
        assert_eq!(world.queue.drop_waiting(), 3);
        drop(ends);
        world.queue.shared.await_end(None);
        assert!(world.began.1.try_recv().is_err());
        // The next one starts again.
        drop(world.push(9));
        assert_eq!(world.begun(), 9);
    }

    #[test]
    fn too_many_are_dropped_and_that_is_told_once() {
        let world = World::new();
        let ends: Vec<Sender<()>> = (0..AT_ONCE).map(|number| world.push(number)).collect();
        for _ in 0..AT_ONCE {
            world.begun();
        }
        (0..MOST_WAITING + 5).for_each(|number| drop(world.push(number)));
        let reported = world.reported.lock().expect("unpoisoned").clone();
        assert_eq!(
            reported,
            ["100 notifications are already waiting; further ones are dropped"]
        );
        drop(ends);
        world.queue.shared.await_end(None);
        assert_eq!(world.began.1.try_iter().count(), MOST_WAITING);
    }
}
