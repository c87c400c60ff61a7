//! What waits and what is executed: work in other threads, so much at once, and the orders about a task one after
//! another.
//!
//! Work that waits too long is never done. Work that has begun is completed, whether or not its client still waits, and
//! holds its place until then.

use orch_base::{Code, Error, locked};
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::watch::Receiver;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// How often it is looked at the end whether the order in progress has ended.
const TICK: Duration = Duration::from_millis(5);

/// How much work there may be, and how long a client waits for it.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// How much is done at once.
    pub at_once: usize,
    /// How many of it may be orders that exclude something, so that questions have places of their own.
    pub orders: usize,
    /// How much waits at most.
    pub waiting: usize,
    /// How long work waits until it begins.
    pub queue: Duration,
    /// How long a client waits for the end of work that has begun.
    pub patience: Duration,
}

/// What is known of work before it begins.
#[derive(Debug, Clone, Default)]
pub struct WorkTerms {
    /// Whether it may change something.
    pub is_order: bool,
    /// What may not be done meanwhile.
    pub excludes: Excluded,
    /// How long its client lets it wait until it begins.
    pub within: Option<Duration>,
}

/// What may not be done while some work is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Excluded {
    /// Anything may.
    #[default]
    Nothing,
    /// Work that excludes the same task, or all orders.
    Task(String),
    /// Work that excludes anything.
    Orders,
}

impl QueueLimits {
    /// Those of a server: as many commands as a machine has cores, or a few more, and a client that is kept waiting
    /// for minutes at most.
    pub const SERVER: Self = Self {
        at_once: 8,
        orders: 6,
        waiting: 256,
        queue: Duration::from_secs(60),
        patience: Duration::from_secs(120),
    };
}

/// The work of a server.
pub struct WorkQueue {
    limits: QueueLimits,
    places: Arc<Semaphore>,
    at_once: Arc<Semaphore>,
    /// The places of the orders in progress; one that excludes all others takes all of them.
    orders: Arc<Semaphore>,
    /// One place for each task, as long as an order about it waits or is in progress.
    tasks: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl WorkQueue {
    /// Nothing is done yet.
    pub fn new(limits: QueueLimits) -> Self {
        let of = |permits| Arc::new(Semaphore::new(permits));
        let places = of(limits.at_once + limits.waiting);
        let at_once = of(limits.at_once);
        Self {
            limits,
            places,
            at_once,
            orders: of(limits.orders),
            tasks: Mutex::default(),
        }
    }

    /// The place of a task.
    fn of_task(&self, task: String) -> Arc<Semaphore> {
        let mut tasks = locked(&self.tasks);
        tasks.retain(|_, place| place.strong_count() > 0);
        if let Some(place) = tasks.get(&task).and_then(Weak::upgrade) {
            return place;
        }
        let place = Arc::new(Semaphore::new(1));
        tasks.insert(task, Arc::downgrade(&place));
        place
    }

    /// Waits until nothing is in progress that these terms exclude.
    async fn exclude(&self, excluded: Excluded) -> [Option<OwnedSemaphorePermit>; 2] {
        match excluded {
            Excluded::Nothing => [None, None],
            Excluded::Task(task) => {
                // An order that waits for another one about the same task takes no place from others.
                let task = permits(&self.of_task(task), 1).await;
                [task, permits(&self.orders, 1).await]
            }
            Excluded::Orders => [permits(&self.orders, self.limits.orders).await, None],
        }
    }

    /// Does work in another thread. It is given the time that it has waited. Returns an error of the code `busy` if it
    /// has not begun, and of `answer-late` if it has, and has not ended in time; then it continues.
    pub async fn execute<T: Send + 'static>(
        &self,
        terms: WorkTerms,
        mut stop: Receiver<bool>,
        work: impl FnOnce(Duration) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let came = Instant::now();
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Err(Error::busy("too many requests wait for an answer"));
        };
        let permits = async {
            // An order that waits for another one takes no place from work that could be done.
            let alone = self.exclude(terms.excludes).await;
            (place, alone, permits(&self.at_once, 1).await)
        };
        let limit = terms
            .within
            .map_or(self.limits.queue, |within| within.min(self.limits.queue));
        let permits = tokio::select! {
            biased;
            _ = stop.wait_for(|is_stopped| *is_stopped) => return Err(Error::busy("the server ends")),
            permits = permits => permits,
            () = sleep(limit) => {
                let message = "other requests kept the server busy, so nothing was done";
                return Err(Error::busy(message));
            }
        };
        let waited = came.elapsed();
        let done = spawn_blocking(move || {
            let _until_the_end = permits;
            work(waited)
        });
        match timeout(self.limits.patience, done).await {
            Ok(done) => done.unwrap_or_else(|error| resume_unwind(error.into_panic())),
            Err(_) => Err(late(terms.is_order)),
        }
    }

    /// Waits until the work in progress that excludes something has ended, at most until `patience` is over. No other
    /// such work begins.
    pub fn finish(&self, patience: Duration) {
        let until = Instant::now() + patience;
        loop {
            if let Ok(permits) = self.orders.try_acquire_many(count(self.limits.orders)) {
                permits.forget();
                return;
            }
            if Instant::now() >= until {
                tracing::warn!("a command has not ended in time");
                return;
            }
            thread::sleep(TICK);
        }
    }
}

async fn permits(semaphore: &Arc<Semaphore>, number: usize) -> Option<OwnedSemaphorePermit> {
    // It is never closed.
    Arc::clone(semaphore)
        .acquire_many_owned(count(number))
        .await
        .ok()
}

/// A number of places, of which there are a few.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn late(is_order: bool) -> Error {
    let (message, hint) = if is_order {
        (
            "the order has begun, but is taking too long to wait for; it may still take effect",
            "do not send it again before you have looked at the task, its log or the events",
        )
    } else {
        (
            "the command is taking too long to wait for",
            "ask for less, such as one task",
        )
    };
    Error::new(Code::AnswerLate, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use tokio::sync::watch;

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(20);
    const ALONE: WorkTerms = WorkTerms {
        is_order: true,
        excludes: Excluded::Orders,
        within: None,
    };
    const FREE: WorkTerms = WorkTerms {
        is_order: false,
        excludes: Excluded::Nothing,
        within: None,
    };

    fn queue(at_once: usize, waiting: usize, queue: Duration, patience: Duration) -> WorkQueue {
        WorkQueue::new(QueueLimits {
            at_once,
            orders: at_once,
            waiting,
            queue,
            patience,
        })
    }

    fn run<R>(future: impl Future<Output = R>) -> R {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(future)
    }

    fn code<T>(done: Result<T, Error>) -> Result<T, Code> {
        done.map_err(|error| error.code())
    }

    #[test]
    fn an_order_that_has_begun_is_late_and_completed_and_holds_its_place() {
        let (free, freed) = mpsc::channel::<()>();
        let (_open, stop) = watch::channel(false);
        let done = Arc::new(AtomicUsize::new(0));
        run(async {
            let queue = queue(1, 1, SHORT, SHORT);
            let counted = Arc::clone(&done);
            let late = queue.execute(ALONE, stop.clone(), move |_| {
                freed.recv().expect("freed");
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            assert_eq!(code(late.await), Err(Code::AnswerLate));
            // Its client is gone, and it still holds the only place.
            let counted = Arc::clone(&done);
            let next = queue.execute(FREE, stop.clone(), move |_| {
                counted.fetch_add(100, Ordering::SeqCst);
                Ok(())
            });
            assert_eq!(code(next.await), Err(Code::Busy));
            free.send(()).expect("waits");
            while queue.at_once.available_permits() == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(code(queue.execute(ALONE, stop, |_| Ok(3)).await), Ok(3));
        });
        // What was refused is never done.
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn an_order_that_waits_takes_no_place_from_a_question_and_begins_within_its_wait() {
        let (free, freed) = mpsc::channel::<()>();
        let (_open, stop) = watch::channel(false);
        run(async {
            let queue = queue(2, 8, LONG, LONG);
            let first = queue.execute(ALONE, stop.clone(), move |_| {
                freed.recv().expect("freed");
                Ok(())
            });
            let others = async {
                // The first order has its place as soon as it was polled.
                let impatient = WorkTerms {
                    within: Some(Duration::ZERO),
                    ..ALONE
                };
                assert_eq!(
                    code(queue.execute(impatient, stop.clone(), |_| Ok(())).await),
                    Err(Code::Busy)
                );
                let patient = WorkTerms {
                    within: Some(SHORT),
                    ..ALONE
                };
                assert_eq!(
                    code(queue.execute(patient, stop.clone(), |_| Ok(())).await),
                    Err(Code::Busy)
                );
                assert_eq!(
                    code(queue.execute(FREE, stop.clone(), |_| Ok(2)).await),
                    Ok(2)
                );
                free.send(()).expect("waits");
            };
            let (first, ()) = tokio::join!(biased; first, others);
            assert_eq!(code(first), Ok(()));
            let free = WorkTerms {
                within: Some(Duration::ZERO),
                ..ALONE
            };
            assert_eq!(
                code(queue.execute(free, stop.clone(), |_| Ok(4)).await),
                Ok(4)
            );
        });
    }

    #[test]
    fn an_order_excludes_those_about_its_task_or_all() {
        let of = |task: &str| Excluded::Task(task.to_owned());
        for (first, other, is_excluded) in [
            (of("a"), of("a"), true),
            (of("a"), of("b"), false),
            (of("a"), Excluded::Orders, true),
            (Excluded::Orders, of("a"), true),
            (Excluded::Orders, Excluded::Orders, true),
            (of("a"), Excluded::Nothing, false),
        ] {
            let (free, freed) = mpsc::channel::<()>();
            let (_open, stop) = watch::channel(false);
            run(async {
                let queue = queue(3, 8, LONG, LONG);
                let terms = |excludes: &Excluded, within| WorkTerms {
                    is_order: true,
                    excludes: excludes.clone(),
                    within,
                };
                let begun = queue.execute(terms(&first, None), stop.clone(), move |_| {
                    freed.recv().expect("freed");
                    Ok(())
                });
                let meanwhile = async {
                    let within = is_excluded.then_some(SHORT);
                    let done = queue
                        .execute(terms(&other, within), stop.clone(), |_| Ok(()))
                        .await;
                    let expected = if is_excluded { Err(Code::Busy) } else { Ok(()) };
                    assert_eq!(code(done), expected, "{first:?} {other:?}");
                    free.send(()).expect("waits");
                };
                let (begun, ()) = tokio::join!(biased; begun, meanwhile);
                assert_eq!(code(begun), Ok(()));
                // What has waited in vain holds nothing.
                let done = queue
                    .execute(terms(&Excluded::Orders, None), stop, |_| Ok(()))
                    .await;
                assert_eq!(code(done), Ok(()));
            });
        }
    }

    #[test]
    fn a_server_that_ends_begins_nothing() {
        let (end, stop) = watch::channel(false);
        run(async {
            let queue = queue(1, 1, LONG, LONG);
            end.send_replace(true);
            assert_eq!(
                code(queue.execute(FREE, stop, |_| Ok(())).await),
                Err(Code::Busy)
            );
        });
    }

    #[test]
    fn the_end_waits_for_the_order_in_progress_but_not_for_ever() {
        let (free, freed) = mpsc::channel::<()>();
        let (_open, stop) = watch::channel(false);
        run(async {
            let queue = queue(2, 1, LONG, SHORT);
            let late = queue.execute(ALONE, stop.clone(), move |_| {
                freed.recv().expect("freed");
                Ok(())
            });
            assert_eq!(code(late.await), Err(Code::AnswerLate));
            queue.finish(SHORT);
            assert_eq!(queue.orders.available_permits(), 0, "it has not ended");
            free.send(()).expect("waits");
            queue.finish(LONG);
            let impatient = WorkTerms {
                within: Some(SHORT),
                ..ALONE
            };
            assert_eq!(
                code(queue.execute(impatient, stop, |_| Ok(())).await),
                Err(Code::Busy),
                "none begins"
            );
        });
    }

    #[test]
    fn more_than_may_wait_is_refused_at_once() {
        let (_open, stop) = watch::channel(false);
        run(async {
            let queue = queue(1, 0, LONG, LONG);
            let place = Arc::clone(&queue.places).try_acquire_owned();
            assert_eq!(
                code(queue.execute(FREE, stop.clone(), |_| Ok(())).await),
                Err(Code::Busy)
            );
            drop(place);
            assert_eq!(code(queue.execute(FREE, stop, |_| Ok(())).await), Ok(()));
        });
    }
}
