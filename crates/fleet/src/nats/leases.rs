//! Leases as keys of a bucket.
//!
//! The compare-and-swap is that of the server: a write names the revision that it replaces. All reads go to the leader of
//! the bucket, because a replica may lag behind. If an answer is lost, the key is read, and a write with the same nonce was
//! ours. The age of a lease is the time since its write by the clock of the servers.
//!
//! Revisions count the whole bucket, and begin again with another one of the same name. So a version also says when its
//! bucket was made, and whoever replaces a lease first asks whether it still is that bucket. (A random first revision would
//! save the question, but nats-server 2.10.25 loses what such a stream keeps when it is killed.)

use super::{Connection, NatsPlace, Patience, fault, spent_document};
use crate::document::{self, DocumentPlace};
use crate::spent::{SpentBudget, SpentStore};
use crate::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use async_nats::HeaderMap;
use async_nats::datetime::{DateTime, parse_rfc3339};
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_MARKER_REASON};
use async_nats::jetstream::consumer::{DeliverPolicy, push::OrderedConfig};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, StorageType, Stream,
};
use futures_util::StreamExt as _;
use orch_base::{Code, Error, Hint, TaskId};
use orch_core::lease::{Lease, LeaseAge, SeenLease};
use serde::Deserialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// The first part of the keys of what runs have used.
const SPENT: &str = "spent";
/// The header that says what happened to a key, and what it says of one that was removed.
const OPERATION: &str = "KV-Operation";
const REMOVED: &str = "DEL";

/// Connections of stores that were dropped: a worker opens a store for each question, and a new connection takes longer than
/// most of them.
static IDLE: Mutex<Vec<Arc<Connection>>> = Mutex::new(Vec::new());

/// A store of leases in a bucket.
pub struct NatsLeases {
    connection: Arc<Connection>,
    stream: Stream,
    /// When the bucket was made that was opened.
    made: String,
}

/// A value of a key: that which a write has left.
struct Value {
    key: String,
    revision: u64,
    bytes: Vec<u8>,
    /// When it was written, by the clock of the server.
    written: DateTime,
    is_removed: bool,
}

/// What came of a write.
enum WriteOutcome {
    Done(u64),
    Lost(Option<Value>),
}

/// A value to write where a key has this revision, or none.
struct KeyWrite<'w> {
    key: &'w str,
    expected: Option<Revision>,
    /// The value; `None` to remove the key.
    bytes: Option<Vec<u8>>,
}

/// The revision of a key, and when its bucket was made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Revision {
    number: u64,
    made: String,
}

/// What is read of the information about a stream.
#[derive(Deserialize)]
struct StreamTimes {
    /// When it was made.
    created: String,
    /// The time of the server.
    ts: String,
}

/// Takes a connection to a place that nobody uses.
fn idle(place: &NatsPlace) -> Option<Arc<Connection>> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = idle.iter().position(|one| one.place == *place)?;
    Some(idle.swap_remove(at))
}

impl Drop for NatsLeases {
    fn drop(&mut self) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(Arc::clone(&self.connection));
    }
}

impl NatsLeases {
    /// Opens the bucket, and makes it if there is none: with three copies in a cluster. Returns an error if no server can be
    /// reached, if it is too old, or lets nobody make the bucket.
    pub fn open(place: &NatsPlace) -> Result<Self, Error> {
        let config = Config {
            name: format!("KV_{}", place.bucket),
            description: Some("leases of orch".to_owned()),
            subjects: vec![format!("$KV.{}.>", place.bucket)],
            max_messages_per_subject: 1,
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            ..Config::default()
        };
        let known = idle(place).and_then(|connection| {
            let stream = connection.known_stream(&config.name)?;
            Some((connection, stream))
        });
        let (connection, stream) = match known {
            Some(known) => known,
            None => {
                let connection = Arc::new(Connection::open(place)?);
                let stream = connection.stream(&config)?;
                (connection, stream)
            }
        };
        let mut leases = Self {
            connection,
            stream,
            made: String::new(),
        };
        leases.made = leases.connection.runtime.block_on(leases.times())?.created;
        Ok(leases)
    }

    fn fault(&self, why: impl std::fmt::Display) -> Error {
        fault(self.bucket(), why)
    }

    fn bucket(&self) -> &str {
        &self.connection.place.bucket
    }

    fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.bucket())
    }

    /// What the leader has for a key, also if it was removed.
    async fn value(&self, key: &str) -> Result<Option<Value>, Error> {
        let subject = self.subject(key);
        let mut patience = Patience::new();
        loop {
            let asked = self.stream.get_last_raw_message_by_subject(&subject).await;
            let error = match asked {
                Ok(message) => return Ok(Some(Value::of(key, message))),
                Err(error) => error,
            };
            if error.kind() == LastRawMessageErrorKind::NoMessageFound {
                return Ok(None);
            }
            if !patience.again().await {
                return Err(self.fault(error));
            }
        }
    }

    /// Writes a value. Returns an error if nothing is known of whether it was written.
    async fn write(&self, write: &KeyWrite<'_>) -> Result<WriteOutcome, Error> {
        let bytes = write.bytes.clone().unwrap_or_default();
        if let Some(expected) = &write.expected
            && expected.made != self.times().await?.created
        {
            let there = self.value(write.key).await?;
            return Ok(WriteOutcome::Lost(there.filter(|there| !there.is_removed)));
        }
        let expected = write.expected.as_ref().map(|expected| expected.number);
        let mut patience = Patience::new();
        // A removed key has a revision too, which is known when it is in the way.
        let mut replaced = expected.unwrap_or_default();
        let mut is_unknown = false;
        loop {
            let error = match self.publish(write, replaced, bytes.clone()).await {
                Ok(revision) => return Ok(WriteOutcome::Done(revision)),
                Err(error) => error,
            };
            let is_refused = error.kind() == PublishErrorKind::WrongLastSequence;
            is_unknown |= !is_refused;
            let there = self.value(write.key).await?;
            if let Some(there) = &there
                && is_unknown
                && there.revision != replaced
                && there.bytes == bytes
                && there.is_removed == write.bytes.is_none()
            {
                return Ok(WriteOutcome::Done(there.revision));
            }
            let removed = there.as_ref().filter(|there| there.is_removed);
            if let (Some(removed), None) = (removed, expected) {
                replaced = removed.revision;
            }
            let live = there.filter(|there| !there.is_removed);
            if live.as_ref().map(|live| live.revision) != expected {
                return Ok(WriteOutcome::Lost(live));
            }
            if !patience.again().await {
                return Err(self.fault(error));
            }
        }
    }

    async fn publish(
        &self,
        write: &KeyWrite<'_>,
        replaced: u64,
        bytes: Vec<u8>,
    ) -> Result<u64, async_nats::jetstream::context::PublishError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            NATS_EXPECTED_LAST_SUBJECT_SEQUENCE,
            replaced.to_string().as_str(),
        );
        if write.bytes.is_none() {
            headers.insert(OPERATION, REMOVED);
        }
        let context = &self.connection.context;
        let sent = context.publish_with_headers(self.subject(write.key), headers, bytes.into());
        Ok(sent.await?.await?.sequence)
    }

    /// The values of all keys, also of those that were removed.
    async fn values(&self) -> Result<Vec<Value>, Error> {
        let mut patience = Patience::new();
        loop {
            let error = match self.values_once().await {
                Ok(values) => return Ok(values),
                Err(error) => error,
            };
            if !patience.again().await {
                return Err(self.fault(error));
            }
        }
    }

    async fn values_once(&self) -> Result<Vec<Value>, async_nats::Error> {
        let prefix = self.subject("");
        let config = OrderedConfig {
            deliver_subject: self.connection.context.client().new_inbox(),
            // Other documents have names of two parts.
            filter_subject: format!("{prefix}*"),
            deliver_policy: DeliverPolicy::LastPerSubject,
            ..OrderedConfig::default()
        };
        let consumer = self.stream.create_consumer(config).await?;
        let mut values = Vec::new();
        if consumer.cached_info().num_pending == 0 {
            return Ok(values);
        }
        let mut messages = consumer.messages().await?;
        loop {
            let next = timeout(super::ANSWER, messages.next()).await?;
            let message = next.ok_or("the bucket was closed")??;
            let info = message.info()?;
            let headers = message.headers.clone().unwrap_or_default();
            let key = message.subject.strip_prefix(&prefix).unwrap_or_default();
            values.push(Value {
                key: key.to_owned(),
                revision: info.stream_sequence,
                bytes: message.payload.to_vec(),
                written: info.published,
                is_removed: is_removed(&headers),
            });
            if info.pending == 0 {
                return Ok(values);
            }
        }
    }

    /// When the bucket was made, and the time of the server that leads it.
    async fn times(&self) -> Result<StreamTimes, Error> {
        let subject = format!("STREAM.INFO.KV_{}", self.bucket());
        let context = &self.connection.context;
        let mut patience = Patience::new();
        loop {
            let asked = context.request::<_, _, StreamTimes>(subject.clone(), &());
            match asked.await {
                Ok(said) => return Ok(said),
                Err(error) if !patience.again().await => return Err(self.fault(error)),
                Err(_) => {}
            }
        }
    }

    /// Values as leases, without those of removed keys.
    async fn stored(&self, mut values: Vec<Value>) -> Result<Vec<StoredLease>, Error> {
        values.retain(|value| !value.is_removed);
        let mut leases = Vec::new();
        if values.is_empty() {
            return Ok(leases);
        }
        let times = self.times().await?;
        let now = parse_rfc3339(&times.ts).map_err(|error| self.fault(error))?;
        let bucket = self.bucket();
        for value in values {
            let place = DocumentPlace {
                name: format!("{bucket}/{}", value.key),
                removal: Hint::run(&["nats", "kv", "del", bucket, &value.key]),
            };
            let (task, lease) = document::read(&value.key, &value.bytes, &place)?;
            let age = Duration::try_from(now - value.written).unwrap_or_default();
            leases.push(StoredLease {
                task,
                seen: SeenLease {
                    lease,
                    age: LeaseAge::Known(age),
                },
                version: version_of(value.revision, &times.created),
            });
        }
        leases.sort_by(|one, other| one.task.cmp(&other.task));
        Ok(leases)
    }

    /// What stands where something else was expected.
    async fn found(&self, there: Option<Value>) -> Result<Option<StoredLease>, Error> {
        Ok(self.stored(there.into_iter().collect()).await?.pop())
    }
}

#[cfg(test)]
impl NatsLeases {
    /// Writes any bytes where a key is not there.
    pub(crate) fn write_bytes(&self, key: &str, bytes: &[u8]) -> Result<(), Error> {
        let write = KeyWrite {
            key,
            expected: None,
            bytes: Some(bytes.to_vec()),
        };
        self.connection
            .runtime
            .block_on(self.write(&write))
            .map(drop)
    }

    /// Deletes the bucket with all that it holds.
    pub(crate) fn delete_bucket(&self) {
        let name = format!("KV_{}", self.bucket());
        let deleted = self.connection.context.delete_stream(name);
        let deleted = self.connection.runtime.block_on(deleted);
        deleted.expect("deleted");
    }

    /// The number that the server has given to the connection.
    pub(crate) fn client(&self) -> u64 {
        self.connection.context.client().server_info().client_id
    }

    /// When the bucket was made.
    pub(crate) fn made(&self) -> &str {
        &self.made
    }
}

impl Value {
    fn of(key: &str, message: StreamMessage) -> Self {
        Self {
            key: key.to_owned(),
            revision: message.sequence,
            bytes: message.payload.to_vec(),
            written: message.time,
            is_removed: is_removed(&message.headers),
        }
    }
}

impl LeaseStore for NatsLeases {
    fn list(&mut self) -> Result<Vec<StoredLease>, Error> {
        self.connection
            .runtime
            .block_on(async { self.stored(self.values().await?).await })
    }

    fn read(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        let key = document::key(task);
        self.connection
            .runtime
            .block_on(async { self.found(self.value(&key).await?).await })
    }

    fn put(
        &mut self,
        task: &TaskId,
        expected: Option<&LeaseVersion>,
        lease: &Lease,
    ) -> Result<Swapped, Error> {
        let write = KeyWrite {
            key: &document::key(task),
            expected: expected.map(revision_of).transpose()?,
            bytes: Some(document::written(task, lease)?),
        };
        self.connection.runtime.block_on(async {
            match self.write(&write).await? {
                WriteOutcome::Done(revision) => Ok(Swapped::Done(version_of(revision, &self.made))),
                WriteOutcome::Lost(there) => Ok(Swapped::Lost(self.found(there).await?)),
            }
        })
    }

    fn remove(
        &mut self,
        task: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Option<StoredLease>, Error> {
        let write = KeyWrite {
            key: &document::key(task),
            expected: Some(revision_of(expected)?),
            bytes: None,
        };
        self.connection.runtime.block_on(async {
            match self.write(&write).await? {
                WriteOutcome::Done(_) => Ok(None),
                WriteOutcome::Lost(there) => self.found(there).await,
            }
        })
    }

    fn clear(&mut self, task: &TaskId) -> Result<(), Error> {
        let key = document::key(task);
        self.connection.runtime.block_on(async {
            let mut patience = Patience::new();
            loop {
                let there = self.value(&key).await?;
                let Some(there) = there.filter(|there| !there.is_removed) else {
                    return Ok(());
                };
                let write = KeyWrite {
                    key: &key,
                    expected: Some(Revision {
                        number: there.revision,
                        made: self.times().await?.created,
                    }),
                    bytes: None,
                };
                if let WriteOutcome::Done(_) = self.write(&write).await? {
                    return Ok(());
                }
                if !patience.again().await {
                    return Err(self.fault("others are writing the same lease"));
                }
            }
        })
    }
}

impl SpentStore for NatsLeases {
    fn change(
        &mut self,
        task: &TaskId,
        change: &mut dyn FnMut(Option<SpentBudget>) -> Option<SpentBudget>,
    ) -> Result<Option<SpentBudget>, Error> {
        let key = format!("{SPENT}.{}", document::key(task));
        self.connection.runtime.block_on(async {
            let mut patience = Patience::new();
            loop {
                let there = self.value(&key).await?;
                let there = there.filter(|there| !there.is_removed);
                let known = there
                    .as_ref()
                    .and_then(|there| spent_document::read(task, &there.bytes));
                let new = change(known);
                if new == known && (new.is_some() || there.is_none()) {
                    return Ok(new);
                }
                let bytes = match new {
                    Some(new) => Some(spent_document::written(task, new)?),
                    None => None,
                };
                let expected = there.map(|there| Revision {
                    number: there.revision,
                    made: self.made.clone(),
                });
                let write = KeyWrite {
                    key: &key,
                    expected,
                    bytes,
                };
                if let WriteOutcome::Done(_) = self.write(&write).await? {
                    return Ok(new);
                }
                if !patience.again().await {
                    return Err(self.fault("others are writing the same budget"));
                }
            }
        })
    }
}

/// Whether a message with these headers says that a key was removed.
fn is_removed(headers: &HeaderMap) -> bool {
    headers.get(OPERATION).is_some() || headers.get(NATS_MARKER_REASON).is_some()
}

fn version_of(revision: u64, made: &str) -> LeaseVersion {
    LeaseVersion(format!("{revision}@{made}"))
}

fn revision_of(version: &LeaseVersion) -> Result<Revision, Error> {
    let parts = version.0.split_once('@');
    let revision = parts.and_then(|(number, made)| {
        Some(Revision {
            number: number.parse().ok()?,
            made: made.to_owned(),
        })
    });
    revision.ok_or_else(|| {
        let message = format!("`{}` is no revision of a key", version.0);
        Error::new(Code::LeaseStore, message)
    })
}
