//! A queue of tasks that somebody could go on with: it wakes workers, no more.
//!
//! A message is not a lease: an acknowledgement of a former holder would remove that of the next. So a worker acknowledges a
//! wake-up as soon as it knows whether it has the task, and whoever finds something due publishes it again. There is at most
//! one message for each task, which the queue refuses to double.

use super::{Connection, NatsPlace, Patience, fault};
use crate::document;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, AckKind};
use futures_util::StreamExt as _;
use orch_base::{Error, TaskId};
use std::time::Duration;

/// For how long a worker may have a wake-up before another one gets it.
const WAIT: Duration = Duration::from_secs(30);
/// For how long a worker listens before it asks again: a new leader of a cluster does not know who listened.
const LISTEN: Duration = Duration::from_secs(60);
/// The consumer that all workers share.
const WORKERS: &str = "workers";
/// What the server says of a second message for the same task.
const DOUBLED: &str = "maximum messages per subject exceeded";

/// The queue of a bucket.
pub struct WakeUps {
    connection: Connection,
    consumer: PullConsumer,
}

/// A wake-up that has to be acknowledged.
pub struct WakeUp {
    /// The task that somebody could go on with.
    pub task: TaskId,
    message: jetstream::Message,
}

impl WakeUps {
    /// Opens the queue beside a bucket, and makes it if there is none. Returns an error if no server can be reached, if it is
    /// too old, or lets nobody make the queue.
    pub fn open(place: &NatsPlace) -> Result<Self, Error> {
        let connection = Connection::open(place)?;
        let stream = connection.stream(&Config {
            name: format!("ORCH_{}", place.bucket),
            description: Some("wake-ups of orch".to_owned()),
            subjects: vec![format!("orch.{}.*", place.bucket)],
            retention: RetentionPolicy::WorkQueue,
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            storage: StorageType::File,
            ..Config::default()
        })?;
        let config = pull::Config {
            durable_name: Some(WORKERS.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: WAIT,
            ..pull::Config::default()
        };
        let consumer = connection
            .runtime
            .block_on(stream.get_or_create_consumer(WORKERS, config))
            .map_err(|error| fault(&place.bucket, error))?;
        Ok(Self {
            connection,
            consumer,
        })
    }

    /// Says that somebody could go on with a task. Returns whether that is new, and an error if the queue cannot be reached.
    pub fn publish(&self, task: &TaskId) -> Result<bool, Error> {
        self.wait_for(self.send(task))
    }

    /// The next wake-up; `None` if none comes in time. Only one is fetched, so that others are left to other workers. Returns
    /// an error if the queue cannot be reached.
    pub fn next(&self, wait: Duration) -> Result<Option<WakeUp>, Error> {
        let fetched = self.wait_for(async {
            let mut pull = Some(self.pull_within(wait).await?);
            self.pulled(&mut pull).await
        });
        Ok(fetched?.map(|(task, message)| WakeUp { task, message }))
    }

    /// Removes a wake-up from the queue. Returns an error if nothing is known of whether it is gone.
    pub fn acknowledge(&self, wake_up: &WakeUp) -> Result<(), Error> {
        self.wait_for(self.remove(&wake_up.message))
    }

    /// Drives the connection until something is done.
    pub(super) fn wait_for<T>(&self, what: impl Future<Output = T>) -> T {
        self.connection.runtime.block_on(what)
    }

    /// As [`Self::publish`].
    pub(super) async fn send(&self, task: &TaskId) -> Result<bool, Error> {
        let subject = format!(
            "orch.{}.{}",
            self.connection.place.bucket,
            document::key(task)
        );
        let context = &self.connection.context;
        let mut patience = Patience::new();
        loop {
            let text = task.to_string();
            let sent = async { context.publish(subject.clone(), text.into()).await?.await };
            let Err(error) = sent.await else {
                return Ok(true);
            };
            let why = std::error::Error::source(&error).map(ToString::to_string);
            if error.kind() == PublishErrorKind::Other
                && why.is_some_and(|why| why.contains(DOUBLED))
            {
                return Ok(false);
            }
            if !patience.again().await {
                return Err(self.fault(error));
            }
        }
    }

    /// Asks for one wake-up, for as long as a worker listens at a time.
    pub(super) async fn pull(&self) -> Result<pull::Batch, Error> {
        self.pull_within(LISTEN).await
    }

    async fn pull_within(&self, wait: Duration) -> Result<pull::Batch, Error> {
        let fetch = self.consumer.fetch().max_messages(1).expires(wait);
        let asked = fetch.messages().await;
        asked.map_err(|error| self.fault(error))
    }

    /// Waits until the connection is lost: then nobody knows any more who listened. Returns the error.
    pub(super) async fn lost(&self) -> Error {
        self.connection.lost.notified().await;
        self.fault("the connection was lost")
    }

    /// The wake-up that was asked for; `None` if none came in time. Returns an error if the queue cannot be reached.
    pub(super) async fn pulled(
        &self,
        pull: &mut Option<pull::Batch>,
    ) -> Result<Option<(TaskId, jetstream::Message)>, Error> {
        let Some(batch) = pull else {
            return Ok(None);
        };
        while let Some(message) = batch.next().await {
            let message = message.map_err(|error| self.fault(error))?;
            match TaskId::new(String::from_utf8_lossy(&message.payload)) {
                Ok(task) => return Ok(Some((task, message))),
                // Nobody can go on with what has no name.
                Err(error) => {
                    tracing::warn!(%error, "a wake-up names no task");
                    self.remove(&message).await?;
                }
            }
        }
        Ok(None)
    }

    /// Removes a message, and waits until that is certain.
    pub(super) async fn remove(&self, message: &jetstream::Message) -> Result<(), Error> {
        let removed = message.double_ack().await;
        removed.map_err(|error| self.fault(error))
    }

    /// Says something else of a message, which needs no answer.
    pub(super) async fn answer(
        &self,
        message: &jetstream::Message,
        kind: AckKind,
    ) -> Result<(), Error> {
        let told = message.ack_with(kind).await;
        told.map_err(|error| self.fault(error))
    }

    fn fault(&self, why: impl std::fmt::Display) -> Error {
        fault(&self.connection.place.bucket, why)
    }
}
