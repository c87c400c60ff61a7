//! Leases in NATS JetStream, and the queue that wakes workers.
//!
//! A key-value bucket keeps the leases: the server compares the revision of a key and swaps its value, and tells the time of
//! each write. Messages of the queue are only wake-ups ([`wake_ups`]); nobody holds a task by one.
//!
//! The traits of this crate are blocking, so each store drives its connection in a small runtime of its own.

pub mod leases;
pub(crate) mod listener;
mod spent_document;
pub mod wake_ups;

pub use crate::queue::QueuePlace as NatsPlace;
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{Client, ConnectOptions, Event};
use orch_base::{Code, Error};
use std::fmt::Display;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The oldest server whose promises were tried.
const OLDEST: [u32; 3] = [2, 10, 25];
/// For how long a server may take to answer once.
const ANSWER: Duration = Duration::from_secs(2);
/// How often a server that says nothing is asked whether it is there.
const ALIVE: Duration = Duration::from_secs(20);
/// For how long it is asked again, as while a cluster elects a leader.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a server has to say that there is no stream before one is made: while a leader is elected, others may say so.
const ABSENT: u32 = 4;
/// How many servers of a cluster keep what is written.
const REPLICAS: usize = 3;
/// What a server answers that belongs to no cluster, and so cannot keep several copies.
const ALONE: ErrorCode = ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED;

/// A connection that is driven while something is asked.
struct Connection {
    runtime: Runtime,
    context: Context,
    place: NatsPlace,
    /// Is told when the server was lost, also if it was found again.
    lost: Arc<Notify>,
}

/// Asks again, less and less often, until it has taken too long.
struct Patience {
    begun: Instant,
    pause: Duration,
}

impl Patience {
    fn new() -> Self {
        Self {
            begun: Instant::now(),
            pause: Duration::from_millis(25),
        }
    }

    /// Waits before the next try; `false` if there is none.
    async fn again(&mut self) -> bool {
        if self.begun.elapsed() > PATIENCE {
            return false;
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(500));
        true
    }
}

impl Connection {
    /// Connects. Returns an error if the name of the bucket is none, no server can be reached, or it is too old.
    fn open(place: &NatsPlace) -> Result<Self, Error> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if place.bucket.is_empty() || !place.bucket.chars().all(is_plain) {
            let message = format!("`{}` is no name of a bucket", place.bucket);
            let hint = "use letters, digits, `-` and `_`";
            return Err(Error::new(Code::LeaseStore, message).with_hint(hint));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| fault(&place.bucket, error))?;
        let lost = Arc::new(Notify::new());
        let told = Arc::clone(&lost);
        let options = ConnectOptions::new()
            .name("orch")
            .ping_interval(ALIVE)
            .event_callback(move |event| {
                if event == Event::Disconnected {
                    told.notify_one();
                }
                ready(())
            })
            .connection_timeout(ANSWER * 2)
            .request_timeout(Some(ANSWER));
        let options = match place
            .secret
            .as_deref()
            .map(|secret| (secret, secret.split_once(':')))
        {
            Some((_, Some((user, password)))) => {
                options.user_and_password(user.to_owned(), password.to_owned())
            }
            Some((token, None)) => options.token(token.to_owned()),
            None => options,
        };
        let addresses: Vec<String> = place
            .url
            .split(',')
            .map(|one| one.trim().to_owned())
            .collect();
        let client = runtime
            .block_on(options.connect(addresses))
            .map_err(|error| fault(&place.bucket, error))?;
        refuse_old(&client, &place.bucket)?;
        let context = {
            // It begins a task of its own.
            let _entered = runtime.enter();
            jetstream::context::ContextBuilder::new()
                .timeout(ANSWER)
                .build(client)
        };
        Ok(Self {
            runtime,
            context,
            place: place.clone(),
            lost,
        })
    }

    /// A stream that was there before; `None` if it does not answer at once.
    fn known_stream(&self, name: &str) -> Option<Stream> {
        let found = self.runtime.block_on(self.context.get_stream(name));
        found.ok()
    }

    /// A stream, made as this says if there is none. Returns an error if the servers do not answer, or refuse.
    fn stream(&self, config: &Config) -> Result<Stream, Error> {
        self.runtime.block_on(async {
            let mut patience = Patience::new();
            let mut absences = 0;
            loop {
                let error = match self.context.get_stream(&config.name).await {
                    Ok(stream) => return Ok(stream),
                    Err(error) => error,
                };
                match error.kind() {
                    GetStreamErrorKind::JetStream(said)
                        if said.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                    {
                        absences += 1;
                    }
                    _ => absences = 0,
                }
                if absences == ABSENT {
                    return self.created(config).await;
                }
                if !patience.again().await {
                    return Err(fault(&self.place.bucket, error));
                }
            }
        })
    }

    async fn created(&self, config: &Config) -> Result<Stream, Error> {
        let name = config.name.clone();
        for replicas in [REPLICAS, 1] {
            let config = Config {
                num_replicas: replicas,
                ..config.clone()
            };
            match self.context.create_stream(config).await {
                Ok(stream) => return Ok(stream),
                Err(error) => match error.kind() {
                    CreateStreamErrorKind::JetStream(said)
                        if replicas > 1 && said.error_code() == ALONE => {}
                    CreateStreamErrorKind::JetStream(said)
                        if said.error_code() == ErrorCode::STREAM_NAME_EXIST =>
                    {
                        // Somebody else has made it at the same moment.
                        let stream = self.context.get_stream(&name).await;
                        return stream.map_err(|error| fault(&self.place.bucket, error));
                    }
                    _ => return Err(fault(&self.place.bucket, error)),
                },
            }
        }
        Err(fault(&self.place.bucket, "it cannot be made"))
    }
}

/// Returns an error if a server is older than those whose promises were tried.
fn refuse_old(client: &Client, bucket: &str) -> Result<(), Error> {
    let said = client.server_info().version;
    if version(&said) < OLDEST {
        let [major, minor, patch] = OLDEST;
        let why = format!("the server has version {said}");
        let hint = format!("use nats-server {major}.{minor}.{patch} or newer");
        return Err(fault(bucket, why).with_hint(hint));
    }
    Ok(())
}

/// The numbers of a version such as `2.10.25-beta.1`.
fn version(text: &str) -> [u32; 3] {
    let mut numbers = [0; 3];
    let parts = text.split(['.', '-', '+']);
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = part.parse().unwrap_or_default();
    }
    numbers
}

/// The error of a bucket that could not be reached.
fn fault(bucket: &str, why: impl Display) -> Error {
    let message = format!("the bucket `{bucket}` of NATS: {why}");
    Error::new(Code::LeaseStore, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (text, is_new) in [
            ("2.9.10", false),
            ("2.10.25", true),
            ("2.10.3", false),
            ("2.15.1", true),
            ("3.0.0-beta.1", true),
            ("", false),
        ] {
            assert_eq!(version(text) >= OLDEST, is_new, "{text}");
        }
    }
}
