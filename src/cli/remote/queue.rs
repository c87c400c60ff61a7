//! What waits and what is executed: work in other threads, so much at once, and orders one after another.
//!
//! Work that waits too long is never done. Work that has begun is completed, whether or not its client still waits, and
//! holds its place until then.

use crate::base::{Code, Error};
use std::panic::resume_unwind;
use std::sync::Arc;
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
    /// How much waits at most.
    pub waiting: usize,
    /// How long work waits until it begins.
    pub queue: Duration,
    /// How long a client waits for the end of work that has begun.
    pub patience: Duration,
}

/// What is known of work before it begins.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkTerms {
    /// Whether it may change something.
    pub is_order: bool,
    /// Whether no other such work may be done meanwhile.
    pub is_alone: bool,
    /// How long its client lets it wait until it begins.
    pub within: Option<Duration>,
}

impl QueueLimits {
    /// Those of a server: as many commands as a machine has cores, or a few more, and a client that is kept waiting
    /// for minutes at most.
    pub const SERVER: Self =
        Self { at_once: 8, waiting: 256, queue: Duration::from_secs(60), patience: Duration::from_secs(120) };
}

/// The work of a server.
pub struct WorkQueue {
    limits: QueueLimits,
    places: Arc<Semaphore>,
    at_once: Arc<Semaphore>,
    /// The place of the order in progress.
    order: Arc<Semaphore>,
}

impl WorkQueue {
    /// Nothing is done yet.
    pub fn new(limits: QueueLimits) -> Self {
        let of = |permits| Arc::new(Semaphore::new(permits));
        let (places, at_once, order) = (of(limits.at_once + limits.waiting), of(limits.at_once), of(1));
        Self { limits, places, at_once, order }
    }

    /// Does work in another thread. It is given the time that it has waited. Returns an error of the code `busy` if it
    /// has not begun, and of `answer-late` if it has, and has not ended in time; then it goes on.
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
            let alone = if terms.is_alone { permit(&self.order).await } else { None };
            (place, alone, permit(&self.at_once).await)
        };
        let limit = terms.within.map_or(self.limits.queue, |within| within.min(self.limits.queue));
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

    /// Waits until the work in progress that is done alone has ended, at most until `patience` is over. No other such
    /// work begins.
    pub fn finish(&self, patience: Duration) {
        let until = Instant::now() + patience;
        loop {
            if let Ok(permit) = self.order.try_acquire() {
                permit.forget();
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

async fn permit(semaphore: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    // It is never closed.
    Arc::clone(semaphore).acquire_owned().await.ok()
}

fn late(is_order: bool) -> Error {
    let (message, hint) = if is_order {
        (
            "the order has begun and takes too long to wait for; it may still take effect",
            "do not send it again before you have looked at the task, its log or the events",
        )
    } else {
        ("the command takes too long to wait for", "ask for less, such as one task")
    };
    Error::new(Code::AnswerLate, message).with_hint(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use tokio::sync::watch;

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(20);
    const ALONE: WorkTerms = WorkTerms { is_order: true, is_alone: true, within: None };
    const FREE: WorkTerms = WorkTerms { is_order: false, is_alone: false, within: None };

    fn queue(at_once: usize, waiting: usize, queue: Duration, patience: Duration) -> WorkQueue {
        WorkQueue::new(QueueLimits { at_once, waiting, queue, patience })
    }

    fn run<R>(future: impl Future<Output = R>) -> R {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
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
                let impatient = WorkTerms { within: Some(Duration::ZERO), ..ALONE };
                assert_eq!(code(queue.execute(impatient, stop.clone(), |_| Ok(())).await), Err(Code::Busy));
                let patient = WorkTerms { within: Some(SHORT), ..ALONE };
                assert_eq!(code(queue.execute(patient, stop.clone(), |_| Ok(())).await), Err(Code::Busy));
                assert_eq!(code(queue.execute(FREE, stop.clone(), |_| Ok(2)).await), Ok(2));
                free.send(()).expect("waits");
            };
            let (first, ()) = tokio::join!(biased; first, others);
            assert_eq!(code(first), Ok(()));
            let free = WorkTerms { within: Some(Duration::ZERO), ..ALONE };
            assert_eq!(code(queue.execute(free, stop.clone(), |_| Ok(4)).await), Ok(4));
        });
    }

    #[test]
    fn a_server_that_ends_begins_nothing() {
        let (end, stop) = watch::channel(false);
        run(async {
            let queue = queue(1, 1, LONG, LONG);
            end.send_replace(true);
            assert_eq!(code(queue.execute(FREE, stop, |_| Ok(())).await), Err(Code::Busy));
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
            assert_eq!(queue.order.available_permits(), 0, "it has not ended");
            free.send(()).expect("waits");
            queue.finish(LONG);
            let impatient = WorkTerms { within: Some(SHORT), ..ALONE };
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
            assert_eq!(code(queue.execute(FREE, stop.clone(), |_| Ok(())).await), Err(Code::Busy));
            drop(place);
            assert_eq!(code(queue.execute(FREE, stop, |_| Ok(())).await), Ok(()));
        });
    }
}
