//! The queue that wakes workers, in a thread of its own: whoever publishes or listens never waits for a server.
//!
//! A server that is gone is tried again, less and less often. What was to be published meanwhile waits, up to a number.

use orch_base::{Error, TaskId};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// For how long the end of a queue waits until what was ordered is done.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the queue is.
#[derive(Clone, PartialEq, Eq)]
pub struct QueuePlace {
    /// The servers: `nats://HOST:PORT`, several with commas between them.
    pub url: String,
    /// The name of the bucket, one for each repository.
    pub bucket: String,
    /// `USER:PASSWORD`, or a token, if the servers ask for it.
    pub secret: Option<String>,
}

/// What the queue tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueNews {
    /// Somebody could go on with a task. It has to be answered with [`WakeQueue::know`] or [`WakeQueue::give_back`].
    Woken(TaskId),
    /// The queue cannot be reached, for this reason; it is tried again.
    Gone(Error),
    /// It can be reached again.
    Back,
}

/// Receives what the queue tells, in its thread.
pub type QueueEar = Box<dyn Fn(QueueNews) + Send>;

/// What the thread is to do.
#[derive(Debug)]
pub enum QueueOrder {
    /// To fetch the next wake-up.
    Listen,
    /// To remove the wake-up of a task.
    Know(TaskId),
    /// To leave the wake-up of a task to whoever asks after this time.
    GiveBack(TaskId, Duration),
    /// To say that somebody could go on with a task.
    Publish(TaskId),
}

/// Hands an order to the thread; `false` if too many wait.
pub type OrderSink = Box<dyn Fn(QueueOrder) -> bool + Send + Sync>;

/// A queue that is published to, and perhaps listened to. When it is dropped, what was ordered is still done, if that does
/// not take long.
pub struct WakeQueue {
    orders: Option<OrderSink>,
    /// Has a sender as long as the thread goes on.
    ended: Receiver<()>,
}

impl WakeQueue {
    /// The queue whose thread takes these orders, and keeps the sender of `ended` as long as it goes on.
    #[must_use]
    pub fn of(orders: OrderSink, ended: Receiver<()>) -> Self {
        Self {
            orders: Some(orders),
            ended,
        }
    }

    /// Waits for the next wake-up, of which the ear is told. Only one comes, so that others are left to other workers.
    pub fn listen(&self) {
        self.order(QueueOrder::Listen);
    }

    /// Removes the wake-up of a task, because it is known whether the task can be had.
    pub fn know(&self, task: &TaskId) {
        self.order(QueueOrder::Know(task.clone()));
    }

    /// Leaves the wake-up of a task to whoever asks after this time. One that was given back often is removed.
    pub fn give_back(&self, task: &TaskId, time: Duration) {
        self.order(QueueOrder::GiveBack(task.clone(), time));
    }

    /// Says that somebody could go on with a task. If too much waits, that is dropped.
    pub fn publish(&self, task: &TaskId) {
        if !self.order(QueueOrder::Publish(task.clone())) {
            tracing::warn!(%task, "too many wake-ups wait for the queue, this one is dropped");
        }
    }

    fn order(&self, order: QueueOrder) -> bool {
        self.orders.as_ref().is_some_and(|orders| orders(order))
    }
}

impl Drop for WakeQueue {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}
