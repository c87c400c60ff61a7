//! The loop of the watch: one owner of a workspace, to whom everything that happens is an event.
//!
//! Files, HEAD, the clock and whoever orders something only send events. The loop takes them one moment
//! after the other, and whoever started it renders what comes back.

use super::watching::{OrderRequest, WatchEffect, WatchEvent, Watching};
use crate::apply::{Applied, Order};
use crate::store::Store;
use crate::survey::{Caller, Error, TaskRef, Workspace};
use crate::watch::{Stop, WatchOptions, WatchSignal, Watcher};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait before trying again what the repository did not allow.
const RETRY: Duration = Duration::from_millis(500);
/// The same where each try may ask for a passphrase.
const RETRY_SIGNING: Duration = Duration::from_secs(30);
/// How long to sleep where nothing is to be done but listening.
const IDLE: Duration = Duration::from_secs(3600);

/// A watch that goes on by itself until it is stopped.
pub struct WatchLoop {
    watching: Watching,
    watcher: Watcher,
    polls: bool,
    orders: Receiver<OrderRequest>,
    handle: WatchHandle,
}

/// Reaches a watch from other threads, for as long as it goes on.
#[derive(Clone)]
pub struct WatchHandle {
    orders: Sender<OrderRequest>,
    /// What stops or wakes the watcher at hand, which is another one after the settings have changed.
    watcher: Arc<Mutex<Stop>>,
}

impl WatchHandle {
    /// Ends the watch after what it does now.
    pub fn stop(&self) {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner).stop();
    }

    /// Orders a transition on behalf of a caller. The answer comes through what is returned; it is closed
    /// without one where the watch has ended.
    #[must_use]
    pub fn order(&self, caller: Caller, task: TaskRef, order: Order) -> Receiver<Result<Applied, Error>> {
        let (reply, answer) = channel();
        // Where nobody takes it any more the reply is dropped, which closes the answer.
        let _ = self.orders.send(OrderRequest { caller, task, order, reply });
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner).wake();
        answer
    }
}

impl WatchLoop {
    /// Begins to listen, so that nothing that happens from here on is missed. `polls` looks at intervals
    /// instead. The error says that the root of the workspace is not there.
    pub fn new(workspace: Workspace, caller: Caller, dry_run: bool, polls: bool) -> Result<Self, Error> {
        let watcher = listen(&workspace, polls)?;
        let watching = Watching::new(workspace, caller, dry_run);
        let (send, orders) = channel();
        let handle = WatchHandle { orders: send, watcher: Arc::new(Mutex::new(watcher.stop_handle())) };
        Ok(Self { watching, watcher, polls, orders, handle })
    }

    /// A handle for other threads.
    #[must_use]
    pub fn handle(&self) -> WatchHandle {
        self.handle.clone()
    }

    /// Goes on until it is stopped. `hear` is told what comes of each event; its error ends the watch.
    pub fn run<E: From<Error>>(
        mut self,
        hear: &mut dyn FnMut(&Workspace, WatchEffect) -> Result<(), E>,
    ) -> Result<(), E> {
        self.take(vec![WatchEvent::Start], hear)?;
        loop {
            let timeout = match (self.watching.is_held(), self.watching.asks_for_a_person()) {
                (true, false) => RETRY,
                (true, true) => RETRY_SIGNING,
                (false, _) => IDLE,
            };
            let Some(signals) = self.watcher.next(timeout) else { return Ok(()) };
            let mut events = events_of(signals);
            events.extend(self.orders.try_iter().map(|request| WatchEvent::Order(Box::new(request))));
            let mut reloaded = self.take(events, hear)?;
            if self.watching.is_held() {
                reloaded |= self.take(vec![WatchEvent::Retry], hear)?;
            }
            if reloaded {
                self.watcher = listen(self.watching.workspace(), self.polls)?;
                let stop = self.watcher.stop_handle();
                *self.handle.watcher.lock().unwrap_or_else(PoisonError::into_inner) = stop;
                self.take(vec![WatchEvent::Rescan("the settings were read anew")], hear)?;
            }
        }
    }

    /// Takes the events of one moment; returns whether the settings were read anew.
    fn take<E>(
        &mut self,
        events: Vec<WatchEvent>,
        hear: &mut dyn FnMut(&Workspace, WatchEffect) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut reloaded = false;
        for effect in self.watching.take(events) {
            reloaded |= matches!(effect, WatchEffect::Reloaded);
            hear(self.watching.workspace(), effect)?;
        }
        Ok(reloaded)
    }
}

/// Why a wait has ended without news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited<T> {
    /// There is something new.
    News(T),
    /// The time has passed.
    TimedOut,
    /// It was stopped.
    Stopped,
}

/// Waits for something new in a workspace: `news` is asked whenever files or HEAD have changed.
pub fn wait_for<T, E: From<Error>>(
    workspace: &Workspace,
    until: Option<Instant>,
    begin: impl FnOnce() -> Result<(), E>,
    mut news: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Waited<T>, E> {
    let mut watcher = listen(workspace, false)?;
    let mut head = workspace.head();
    begin()?;
    loop {
        let left = until.map_or(IDLE, |until| until.saturating_duration_since(Instant::now()));
        let Some(signals) = watcher.next(left) else { return Ok(Waited::Stopped) };
        let moved = std::mem::replace(&mut head, workspace.head()) != head;
        let is_news = |signal: &WatchSignal| match signal {
            WatchSignal::Failed(_) => false,
            WatchSignal::Head => moved,
            WatchSignal::Dirty(_) | WatchSignal::Rescan(_) => true,
        };
        if signals.iter().any(is_news)
            && let Some(found) = news()?
        {
            return Ok(Waited::News(found));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(Waited::TimedOut);
        }
    }
}

fn listen(workspace: &Workspace, polls: bool) -> Result<Watcher, Error> {
    let config = workspace.config();
    let options = WatchOptions {
        settle: Duration::from_millis(config.settle_ms),
        poll: polls || config.watch.poll,
        reconcile: Duration::from_secs(config.watch.reconcile_seconds),
        heads: workspace.store().map(Store::head_places).unwrap_or_default(),
        ..WatchOptions::default()
    };
    Watcher::new(workspace.root(), &workspace.watched(), options)
}

/// The signals of one moment as few events as possible.
fn events_of(signals: Vec<WatchSignal>) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    let mut changed = Vec::new();
    for signal in signals {
        match signal {
            WatchSignal::Dirty(path) => changed.push(path),
            WatchSignal::Head => events.push(WatchEvent::Head),
            WatchSignal::Rescan(why) => events.push(WatchEvent::Rescan(why)),
            WatchSignal::Failed(message) => events.push(WatchEvent::Trouble(message)),
        }
    }
    if !changed.is_empty() && !events.iter().any(|event| matches!(event, WatchEvent::Rescan(_))) {
        events.push(WatchEvent::Changed(changed));
    }
    events
}
