//! Events for clients that listen: what the watch does, and how runs stand. The newest are kept, so that a client that
//! was away gets what it missed.

use super::body::ChannelBody;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use orch_base::{Timestamp, locked};
use orch_view::{EventView, Happening, JsonDocument, SCHEMA_VERSION, line};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How many events are kept.
const KEPT: usize = 1000;
/// The most bytes of kept events.
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// How often a client is told that the server still lives.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many events a client is given at a time, and from how many bytes on it is given no more of them.
const AT_ONCE: usize = 64;
const AT_ONCE_BYTES: usize = 64 * 1024;
/// How long events are gathered before they are sent to a client. The answer to the order that caused them goes first.
const GATHERING: Duration = Duration::from_millis(50);
/// The longer gathering time if the client received events less than [`STORM`] ago: waking hundreds of clients costs as
/// much as the event itself.
const GATHERING_MORE: Duration = Duration::from_millis(200);
const STORM: Duration = Duration::from_millis(500);

/// The events of a server.
#[derive(Clone)]
pub struct Events(Arc<EventsParts>);

struct EventsParts {
    /// A word that no other server has, so that an event of an earlier one is not mistaken for one of this.
    server: String,
    kept: Mutex<KeptEvents>,
    newest: watch::Sender<u64>,
    /// Whether the watch tells of what changes.
    has_begun: watch::Sender<bool>,
}

#[derive(Default)]
struct KeptEvents {
    /// The number of events that were dropped.
    dropped: u64,
    bytes: usize,
    frames: VecDeque<Bytes>,
}

impl Events {
    /// No events yet. `server` is a word that no other server has.
    pub(super) fn new(server: String) -> Self {
        let newest = watch::Sender::new(0);
        let has_begun = watch::Sender::new(false);
        Self(Arc::new(EventsParts {
            server,
            kept: Mutex::default(),
            newest,
            has_begun,
        }))
    }

    /// From now on the watch tells of what changes, so that clients may rely on what they read. Until then it looks at
    /// every task for the first time, and takes what it finds for what clients have read.
    pub(super) fn begin(&self) {
        self.0.has_begun.send_replace(true);
    }

    /// Tells all who listen, and keeps the event for those who are away.
    pub(super) fn publish(&self, event: &EventView) {
        let name = name(&event.happening);
        self.add(name, line(event).trim_end());
    }

    /// The same for the transitions that a command has printed and applied.
    pub fn publish_transitions(&self, at: Timestamp, printed: &str) {
        let document: Value = serde_json::from_str(printed).unwrap_or_default();
        if document["applied"] == true {
            let transitions = document["transitions"].as_array().into_iter().flatten();
            transitions.for_each(|transition| self.publish_transition(at, transition));
        }
    }

    fn publish_transition(&self, at: Timestamp, transition: &Value) {
        let event = json!({
            "schemaVersion": SCHEMA_VERSION, "kind": EventView::KIND, "at": at.to_string(), "event": "transition",
            "transition": transition,
        });
        self.add("transition", &event.to_string());
    }

    /// The number of the newest event, as it changes.
    pub fn heard(&self) -> watch::Receiver<u64> {
        self.0.newest.subscribe()
    }

    /// Whether anyone listens.
    pub(super) fn is_heard(&self) -> bool {
        self.0.newest.receiver_count() > 0
    }

    fn add(&self, name: &str, data: &str) {
        let mut kept = locked(&self.0.kept);
        let number = kept.dropped + kept.frames.len() as u64 + 1;
        let frame = self.frame(number, name, data);
        kept.bytes += frame.len();
        kept.frames.push_back(frame);
        while kept.frames.len() > 1 && (kept.frames.len() > KEPT || kept.bytes > KEPT_BYTES) {
            let dropped = kept.frames.pop_front().map_or(0, |frame| frame.len());
            kept.bytes -= dropped;
            kept.dropped += 1;
        }
        drop(kept);
        self.0.newest.send_replace(number);
    }

    /// An event as it is sent.
    fn frame(&self, number: u64, name: &str, data: &str) -> Bytes {
        format!(
            "id: {}-{number}\nevent: {name}\ndata: {data}\n\n",
            self.0.server
        )
        .into()
    }

    /// The number of the event with this id; `None` if it is not one of this server, or too old.
    fn number(&self, id: &str) -> Option<u64> {
        let number: u64 = id
            .strip_prefix(self.0.server.as_str())?
            .strip_prefix('-')?
            .parse()
            .ok()?;
        let kept = locked(&self.0.kept);
        (kept.dropped..=kept.dropped + kept.frames.len() as u64)
            .contains(&number)
            .then_some(number)
    }

    /// The next events after this number; `None` if some of them were dropped.
    fn after(&self, number: u64) -> Option<Vec<Bytes>> {
        let kept = locked(&self.0.kept);
        let at = usize::try_from(number.checked_sub(kept.dropped)?).ok()?;
        let mut bytes = 0;
        let fits = |frame: &&Bytes| {
            let is_first = bytes == 0;
            bytes += frame.len();
            is_first || bytes <= AT_ONCE_BYTES
        };
        Some(
            kept.frames
                .iter()
                .skip(at)
                .take(AT_ONCE)
                .take_while(fits)
                .cloned()
                .collect(),
        )
    }

    /// A stream of the events after the one with the id `last`, or from now on. It ends when `end` is true, with the
    /// newest event.
    pub(super) fn stream(&self, last: Option<&str>, mut end: watch::Receiver<bool>) -> Response {
        let (send, receive) = mpsc::channel(1);
        let events = self.clone();
        let last = last.map(str::to_owned);
        // Listening begins here, so that nothing is missed.
        let heard = self.0.newest.subscribe();
        tokio::spawn(async move {
            let mut at = None;
            tokio::select! {
                () = events.send_on(last, heard, &send, &mut at) => return,
                _ = end.wait_for(|is_ended| *is_ended) => {}
            }
            let Some(mut at) = at else { return };
            // Send the events that are still unsent.
            while let Some(frames) = events.after(at).filter(|frames| !frames.is_empty()) {
                at += frames.len() as u64;
                if send.send(joined(frames)).await.is_err() {
                    return;
                }
            }
        });
        event_stream(receive)
    }

    /// Tells one client until it is gone. A client that reads too slowly holds nothing but its place: if events that it
    /// has not read are dropped, it is told to begin again. `told_to` is the number of the last event that it was told;
    /// `None` before it was told anything.
    async fn send_on(
        &self,
        last: Option<String>,
        mut heard: watch::Receiver<u64>,
        send: &mpsc::Sender<Bytes>,
        sent_to: &mut Option<u64>,
    ) {
        let newest = *heard.borrow_and_update();
        let known = last.as_deref().and_then(|id| self.number(id));
        let first = match (&last, known) {
            (None, _) => Some("ready"),
            (Some(_), None) => Some("reset"),
            (Some(_), Some(_)) => None,
        };
        let mut at = known.unwrap_or(newest);
        let mut begun = self.0.has_begun.subscribe();
        while first.is_some() && !*begun.borrow_and_update() {
            tokio::select! {
                _ = begun.changed() => {}
                () = sleep(HEARTBEAT) => {
                    if !still_hears(send).await {
                        return;
                    }
                }
                () = send.closed() => return,
            }
        }
        if let Some(name) = first
            && send.send(self.frame(at, name, "{}")).await.is_err()
        {
            return;
        }
        let mut sent_at = None::<Instant>;
        loop {
            *sent_to = Some(at);
            match self.after(at) {
                Some(frames) if !frames.is_empty() => {
                    let next = at + frames.len() as u64;
                    if send.send(joined(frames)).await.is_err() {
                        return;
                    }
                    at = next;
                    sent_at = Some(Instant::now());
                    continue;
                }
                Some(_) => {}
                None => {
                    at = *heard.borrow_and_update();
                    if send.send(self.frame(at, "reset", "{}")).await.is_err() {
                        return;
                    }
                    continue;
                }
            }
            tokio::select! {
                changed = heard.changed() => match changed {
                    Ok(()) => {
                        let is_storm = sent_at.is_some_and(|sent_at| sent_at.elapsed() < STORM);
                        sleep(if is_storm { GATHERING_MORE } else { GATHERING }).await;
                    }
                    Err(_) => return,
                },
                () = sleep(HEARTBEAT) => {
                    if !still_hears(send).await {
                        return;
                    }
                }
                () = send.closed() => return,
            }
        }
    }
}

/// What tells a client that the server still lives.
pub(super) fn heartbeat() -> Bytes {
    Bytes::from_static(b": heartbeat\n\n")
}

/// Tells a client that the server still lives. Returns whether the client is there.
async fn still_hears(send: &mpsc::Sender<Bytes>) -> bool {
    send.send(heartbeat()).await.is_ok()
}

/// Several events as they are sent together.
fn joined(mut frames: Vec<Bytes>) -> Bytes {
    if frames.len() > 1 {
        frames.concat().into()
    } else {
        frames.pop().unwrap_or_default()
    }
}

/// An answer that is a stream of events.
pub(super) fn event_stream(receive: mpsc::Receiver<Bytes>) -> Response {
    let media = HeaderValue::from_static("text/event-stream");
    ([(CONTENT_TYPE, media)], Body::new(ChannelBody(receive))).into_response()
}

/// The name of an event, as in its document.
fn name(happening: &Happening) -> &'static str {
    match happening {
        Happening::Started { .. } => "started",
        Happening::Transition { .. } => "transition",
        Happening::Suggestion { .. } => "suggestion",
        Happening::Held { .. } => "held",
        Happening::Finding { .. } => "finding",
        Happening::Gone { .. } => "gone",
        Happening::Run { .. } => "run",
        Happening::Stopped { .. } => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(frames: Option<Vec<Bytes>>) -> Option<Vec<String>> {
        let text = |frame: &Bytes| {
            String::from_utf8_lossy(frame)
                .lines()
                .nth(2)
                .unwrap_or_default()
                .to_owned()
        };
        Some(frames?.iter().map(text).collect())
    }

    #[test]
    fn clients_hear_that_the_server_is_ready_when_the_watch_has_begun() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        for last in [None, Some("of-another-server-1".to_owned())] {
            let events = Events::new("s".to_owned());
            runtime.block_on(async {
                let (send, mut receive) = mpsc::channel(1);
                let name = if last.is_none() { "ready" } else { "reset" };
                let sender = events.clone();
                let heard = events.heard();
                let last = last.clone();
                let sending =
                    tokio::spawn(
                        async move { sender.send_on(last, heard, &send, &mut None).await },
                    );
                events.add("gone", "1");
                tokio::task::yield_now().await;
                assert!(receive.try_recv().is_err(), "nothing is said before");
                events.begin();
                let first = receive.recv().await.expect("a frame");
                assert!(
                    String::from_utf8_lossy(&first).contains(&format!("event: {name}")),
                    "{first:?}"
                );
                drop(receive);
                sending.await.expect("it ends");
            });
        }
    }

    #[test]
    fn a_client_that_was_away_gets_what_it_missed_or_is_told_to_begin_anew() {
        let events = Events::new("s".to_owned());
        assert_eq!(
            (events.number("s-0"), events.after(0)),
            (Some(0), Some(Vec::new()))
        );
        for number in 1..=3 {
            events.add("gone", &number.to_string());
        }
        assert_eq!(
            texts(events.after(1)),
            Some(vec!["data: 2".to_owned(), "data: 3".to_owned()])
        );
        assert_eq!(
            (
                events.number("s-3"),
                events.number("s-4"),
                events.number("r-1")
            ),
            (Some(3), None, None)
        );
        assert_eq!(
            (events.number("s"), events.number("s-x"), events.number("")),
            (None, None, None)
        );
        for number in 4..=KEPT + 2 {
            events.add("gone", &number.to_string());
        }
        // The first two were dropped.
        assert_eq!((events.number("s-1"), events.after(1)), (None, None));
        assert_eq!(events.number("s-2"), Some(2));
        assert_eq!(events.after(2).map(|frames| frames.len()), Some(AT_ONCE));
        assert_eq!(events.after(KEPT as u64 + 2), Some(Vec::new()));
    }

    #[test]
    fn large_events_are_kept_as_far_as_there_is_room() {
        let events = Events::new("s".to_owned());
        let large = "x".repeat(KEPT_BYTES / 4);
        for _ in 0..9 {
            events.add("finding", &large);
        }
        let kept = locked(&events.0.kept);
        assert_eq!((kept.frames.len(), kept.dropped), (3, 6));
        assert_eq!(
            kept.bytes,
            kept.frames.iter().map(Bytes::len).sum::<usize>()
        );
        drop(kept);
        assert_eq!(
            events.after(6).map(|frames| frames.len()),
            Some(1),
            "they are sent one by one"
        );
    }
}
