//! The thread of a queue: fetches one wake-up at a time, and does what is ordered.

use super::wake_ups::WakeUps;
use crate::queue::{OrderSink, QueueEar, QueueNews, QueueOrder, QueuePlace};
use async_nats::jetstream::{self, AckKind};
use orch_base::{Code, Error, TaskId};
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::sleep;

/// How many orders wait for the thread at most.
const MOST_WAITING: usize = 1024;
/// How soon a server that is gone is tried again at first, and at last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// How often it is looked whether anybody still needs the queue, while it is gone.
const TICK: Duration = Duration::from_millis(250);
/// How often a wake-up goes to workers at most.
const MOST_TOLD: i64 = 20;
/// How often the server is told that it is not known yet whether a task can be had.
const PROGRESS: Duration = Duration::from_secs(10);

/// The thread with what it knows.
struct Listener {
    place: QueuePlace,
    ear: QueueEar,
    orders: Receiver<QueueOrder>,
    wants: bool,
    /// What could not be published yet.
    unsent: Option<TaskId>,
}

/// The wake-ups that were told, and are not answered.
type OpenWakeUps = BTreeMap<TaskId, jetstream::Message>;

/// Begins the thread, which ends when the orders do. Returns an error if there can be none.
pub(crate) fn begin(
    place: QueuePlace,
    ear: QueueEar,
    goes_on: Sender<()>,
) -> Result<OrderSink, Error> {
    let (send, orders) = channel(MOST_WAITING);
    let listener = Listener {
        place,
        ear,
        orders,
        wants: false,
        unsent: None,
    };
    let work = move || {
        let _goes_on = goes_on;
        listener.work();
    };
    thread::Builder::new()
        .name("queue".to_owned())
        .spawn(work)
        .map_err(|why| Error::new(Code::Io, format!("cannot start a thread: {why}")))?;
    Ok(Box::new(move |order| send.try_send(order).is_ok()))
}

impl Listener {
    fn work(mut self) {
        let mut is_gone = false;
        let mut pause = PAUSES.0;
        loop {
            let error = match WakeUps::open(&self.place) {
                Err(error) => error,
                Ok(queue) => {
                    if std::mem::take(&mut is_gone) {
                        (self.ear)(QueueNews::Back);
                    }
                    let begun = Instant::now();
                    let Err(error) = queue.wait_for(self.serve(&queue)) else {
                        return;
                    };
                    if begun.elapsed() > PAUSES.1 {
                        pause = PAUSES.0;
                    }
                    // It is told if the next connection fails.
                    tracing::info!(error = error.logged(), "the queue is opened again");
                    if self.rest(pause) {
                        return;
                    }
                    continue;
                }
            };
            if !std::mem::replace(&mut is_gone, true) {
                (self.ear)(QueueNews::Gone(error));
            }
            if self.rest(pause) {
                return;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Waits before the next try. Returns whether nobody needs the queue any more.
    fn rest(&self, pause: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < pause {
            if self.orders.is_closed() {
                return true;
            }
            thread::sleep(TICK.min(pause));
        }
        false
    }

    /// Does what is ordered until nobody orders anything any more. Returns an error if the queue cannot be reached.
    async fn serve(&mut self, queue: &WakeUps) -> Result<(), Error> {
        let mut open = OpenWakeUps::new();
        let mut pull = None;
        loop {
            if let Some(task) = &self.unsent {
                queue.send(task).await?;
                self.unsent = None;
            }
            if self.wants && pull.is_none() {
                pull = Some(queue.pull().await?);
            }
            tokio::select! {
                error = queue.lost() => return Err(error),
                order = self.orders.recv() => match order {
                    None => return Ok(()),
                    Some(order) => self.obey(queue, order, &mut open).await?,
                },
                pulled = queue.pulled(&mut pull), if pull.is_some() => {
                    pull = None;
                    if let Some((task, message)) = pulled? {
                        self.wants = false;
                        open.insert(task.clone(), message);
                        (self.ear)(QueueNews::Woken(task));
                    }
                }
                () = sleep(PROGRESS), if !open.is_empty() => {
                    for message in open.values() {
                        queue.answer(message, AckKind::Progress).await?;
                    }
                }
            }
        }
    }

    async fn obey(
        &mut self,
        queue: &WakeUps,
        order: QueueOrder,
        open: &mut OpenWakeUps,
    ) -> Result<(), Error> {
        match order {
            QueueOrder::Listen => self.wants = true,
            QueueOrder::Publish(task) => self.unsent = Some(task),
            QueueOrder::Know(task) => {
                if let Some(message) = open.remove(&task) {
                    queue.remove(&message).await?;
                }
            }
            QueueOrder::GiveBack(task, time) => {
                if let Some(message) = open.remove(&task) {
                    let told = message.info().map_or(MOST_TOLD, |info| info.delivered);
                    if told < MOST_TOLD {
                        let kind = AckKind::Nak(Some(time));
                        queue.answer(&message, kind).await?;
                    } else {
                        queue.remove(&message).await?;
                    }
                }
            }
        }
        Ok(())
    }
}
