//! The WebSocket of the older tool: what changes in loops, to clients that listen.

use super::api::{LoopView, all_loops};
use super::changes::{KnownLoop, KnownLoops, changes};
use super::list::outward;
use super::state::LoopState;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use orch_base::Error;
use orch_serve::http::{HEARTBEAT, Service, problem, wrong};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::time::sleep;

/// The path of the WebSocket.
pub(super) const PATH: &str = "/ws";
/// How long changes are gathered.
const QUIET: Duration = Duration::from_millis(100);
/// How often loops are looked at, even if no event tells of a change.
const EVERY: Duration = Duration::from_secs(2);
/// The longest message of a client, in bytes. No message means anything.
const MESSAGE: usize = 4096;

/// Lets a client listen from now on.
pub(super) async fn listen(
    State(state): State<Arc<LoopState>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(upgrade) = upgrade else {
        return problem(wrong(&format!(
            "`{PATH}` is for WebSockets: the request does not ask for one"
        )));
    };
    let Ok(place) = Arc::clone(&state.news.places).try_acquire_owned() else {
        return problem(Error::busy("too many clients listen"));
    };
    match hear(&state).await {
        Ok(heard) => upgrade
            .max_message_size(MESSAGE)
            .on_upgrade(move |socket| follow(socket, state, heard, place)),
        Err(error) => problem(error),
    }
}

/// The changes from now on.
async fn hear(state: &Arc<LoopState>) -> Result<Receiver<String>, Error> {
    let mut known = None;
    loop {
        {
            let mut is_compared = state.news.is_compared();
            let heard = state.news.send.subscribe();
            if *is_compared {
                return Ok(heard);
            }
            if let Some(known) = known {
                *is_compared = true;
                tokio::spawn(compare(Arc::clone(state), known));
                return Ok(heard);
            }
        }
        // What changes after the client was answered differs from what is read before.
        known = Some(read(state).await?);
    }
}

/// Tells one client until it is gone or the server ends.
async fn follow(
    mut socket: WebSocket,
    state: Arc<LoopState>,
    mut heard: Receiver<String>,
    _place: OwnedSemaphorePermit,
) {
    let mut stop = state.service.stop.clone();
    loop {
        let message = tokio::select! {
            _ = stop.wait_for(|is_stopped| *is_stopped) => return,
            heard = heard.recv() => match heard {
                Ok(text) => Message::Text(text.into()),
                Err(_) => return,
            },
            said = socket.recv() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
            () = sleep(HEARTBEAT) => Message::Ping(Vec::new().into()),
        };
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

/// Compares the loops after each event, and tells what differs, until no client listens or the server ends.
async fn compare(state: Arc<LoopState>, mut before: KnownLoops) {
    let mut events = state.service.events.heard();
    let mut stop = state.service.stop.clone();
    loop {
        tokio::select! {
            _ = stop.wait_for(|is_stopped| *is_stopped) => return,
            changed = events.changed() => if changed.is_err() { return },
            () = sleep(EVERY) => {}
        }
        {
            let mut is_compared = state.news.is_compared();
            if state.news.send.receiver_count() == 0 {
                *is_compared = false;
                return;
            }
        }
        state.generations.publish_progress(&state.news);
        sleep(QUIET).await;
        // What cannot be read now is compared later.
        let Ok(now) = read(&state).await else {
            continue;
        };
        for message in changes(&before, &now) {
            state.news.publish(&message);
        }
        before = now;
    }
}

async fn read(state: &Arc<LoopState>) -> Result<KnownLoops, Error> {
    let found = |service: &Service| {
        let loops = all_loops(&service.runner.workspace()?)?;
        Ok(loops.into_iter().map(known_loop).collect())
    };
    state.service.in_background(found).await
}

fn known_loop(view: LoopView) -> (String, KnownLoop) {
    let tasks = view.tasks.unwrap_or_default();
    let tasks = tasks
        .iter()
        .enumerate()
        .map(|(order, task)| outward(task, order))
        .collect();
    let status = view.document["status"].clone();
    (
        view.id,
        KnownLoop {
            status,
            updated: view.updated,
            tasks,
        },
    )
}
