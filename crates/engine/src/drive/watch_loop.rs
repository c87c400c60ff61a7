//! The event loop of the watch, which owns a workspace.
//!
//! Files, HEAD, timers and orders only send events. The loop handles them one batch at a time, and the caller
//! renders the effects.

use super::complete::QuietTimer;
use super::watch_events::{OrderRequest, WatchEffect, WatchEvent, WatchMode};
use super::watching::Watching;
use crate::apply::{Applied, Order};
use crate::survey::{Caller, Error, TaskRef, Workspace};
use crate::watch::{Stop, WatchOptions, WatchSignal, Watcher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The delay before retrying held-back transitions.
const RETRY: Duration = Duration::from_millis(500);
/// The delay if each retry may ask for a passphrase.
const RETRY_SIGNING: Duration = Duration::from_secs(30);
/// How long to wait for events if there is nothing else to do.
const IDLE: Duration = Duration::from_secs(3600);

/// The longest wait for quiet, as a multiple of the quiet period.
const MOST_PERIODS: u32 = 10;

/// A watch that runs until it is stopped.
pub struct WatchLoop {
    watching: Watching,
    batch: BatchTimer,
    quiet: QuietTimer,
    watcher: Watcher,
    polls: bool,
    orders: Receiver<OrderRequest>,
    handle: WatchHandle,
}

/// Controls a running watch from other threads.
#[derive(Clone)]
pub struct WatchHandle {
    orders: Sender<OrderRequest>,
    watcher: Stop,
    is_stopped: Arc<AtomicBool>,
}

impl WatchHandle {
    /// Ends the watch after the task that is in progress. What was not begun is left to the next watch.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.watcher.stop();
    }

    /// Orders a transition on behalf of a caller, and returns a channel for the answer. The channel is closed
    /// without an answer if the watch has ended.
    #[must_use]
    pub fn order(
        &self,
        caller: Caller,
        task: TaskRef,
        order: Order,
    ) -> Receiver<Result<Applied, Error>> {
        let (reply, answer) = channel();
        // If the watch has ended, the reply is dropped, which closes the channel.
        let _ = self.orders.send(OrderRequest {
            caller,
            task,
            order,
            reply,
        });
        self.watcher.wake();
        answer
    }
}

impl WatchLoop {
    /// Starts listening, so that no later change is missed. `polls` polls instead of listening for file
    /// system events. Returns an error if the root of the workspace does not exist.
    pub fn new(
        workspace: Workspace,
        caller: Caller,
        mode: WatchMode,
        polls: bool,
    ) -> Result<Self, Error> {
        let watcher = listen(&workspace, polls)?;
        let is_stopped = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_stopped);
        let watching = Watching::new(workspace, caller, mode)
            .with_quiet()
            .until(move || asked.load(Ordering::SeqCst));
        let (send, orders) = channel();
        let handle = WatchHandle {
            orders: send,
            watcher: watcher.stop_handle(),
            is_stopped,
        };
        Ok(Self {
            watching,
            batch: BatchTimer::default(),
            quiet: QuietTimer::default(),
            watcher,
            polls,
            orders,
            handle,
        })
    }

    /// A handle for other threads.
    #[must_use]
    pub fn handle(&self) -> WatchHandle {
        self.handle.clone()
    }

    /// Runs until the watch is stopped. `hear` receives each effect; its error ends the watch.
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
            let quiet = Duration::from_secs(self.watching.workspace().reader.quiet_seconds());
            let left = self
                .batch
                .left(self.watching.waits(), quiet, Instant::now());
            let (_, until_complete) = self.quiet.left(self.watching.incomplete(), Instant::now());
            let (_, until_lapse) = self.watching.next_lapse();
            let until_lapse = until_lapse.map(Duration::from_secs);
            let timeout = [left, until_complete, until_lapse]
                .into_iter()
                .flatten()
                .fold(timeout, Duration::min);
            let Some(signals) = self.watcher.next(timeout) else {
                return Ok(());
            };
            self.watching.workspace().reader.require_present()?;
            let mut events = events_of(signals);
            events.extend(
                self.orders
                    .try_iter()
                    .map(|request| WatchEvent::Order(Box::new(request))),
            );
            let mut reloaded = self.take(events, hear)?;
            if self.watching.is_held() {
                reloaded |= self.take(vec![WatchEvent::Retry], hear)?;
            }
            let (complete, _) = self.quiet.left(self.watching.incomplete(), Instant::now());
            if !complete.is_empty() {
                reloaded |= self.take(vec![WatchEvent::Complete(complete)], hear)?;
            }
            let (lapsed, _) = self.watching.next_lapse();
            if !lapsed.is_empty() {
                reloaded |= self.take(vec![WatchEvent::Lapsed(lapsed)], hear)?;
            }
            if self
                .batch
                .left(self.watching.waits(), quiet, Instant::now())
                == Some(Duration::ZERO)
            {
                reloaded |= self.take(vec![WatchEvent::Quiet], hear)?;
            }
            if reloaded {
                let workspace = self.watching.workspace();
                let options = options_for(workspace, self.polls);
                self.watcher.retarget(
                    workspace.reader.root(),
                    &workspace.settings().watched(),
                    options,
                )?;
                self.take(vec![WatchEvent::Rescan("the settings changed")], hear)?;
            }
        }
    }

    /// Handles one batch of events. Returns whether the settings were read again.
    fn take<E>(
        &mut self,
        events: Vec<WatchEvent>,
        hear: &mut dyn FnMut(&Workspace, WatchEffect) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut reloaded = false;
        let mut part = Some(self.watching.begin(events));
        while let Some(effects) = part {
            for effect in effects {
                reloaded |= matches!(effect, WatchEffect::Reloaded);
                hear(self.watching.workspace(), effect)?;
            }
            part = self.watching.go_on();
        }
        Ok(reloaded)
    }
}

/// Measures how long no transition has joined those that wait to be committed together.
#[derive(Debug, Default)]
struct BatchTimer {
    /// What [`Watching::waits`] was, when the wait began, and when that last changed.
    since: Option<(u64, Instant, Instant)>,
}

impl BatchTimer {
    /// How much of the quiet period is left; `None` if nothing waits. A steady stream of transitions prolongs
    /// the wait up to ten periods.
    fn left(&mut self, waits: Option<u64>, quiet: Duration, now: Instant) -> Option<Duration> {
        self.since = match (waits, self.since) {
            (None, _) => None,
            (Some(waits), Some((known, began, changed))) if waits == known => {
                Some((known, began, changed))
            }
            (Some(waits), since) => Some((waits, since.map_or(now, |(_, began, _)| began), now)),
        };
        let (_, began, changed) = self.since?;
        let end = (changed + quiet).min(began + quiet * MOST_PERIODS);
        Some(end.saturating_duration_since(now))
    }
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited<T> {
    /// `news` has returned something.
    News(T),
    /// The deadline has passed.
    TimedOut,
    /// The wait was interrupted.
    Stopped,
}

/// Waits for changes in a workspace: calls `news` whenever files or HEAD have changed, until it returns
/// something. Returns an error if the workspace cannot be watched, or the first error of the closures.
pub fn wait_for<T, E: From<Error>>(
    workspace: &Workspace,
    until: Option<Instant>,
    begin: impl FnOnce() -> Result<(), E>,
    mut news: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Waited<T>, E> {
    let mut watcher = listen(workspace, false)?;
    let mut head = workspace.reader.head()?;
    begin()?;
    loop {
        let left = until.map_or(IDLE, |until| {
            until.saturating_duration_since(Instant::now())
        });
        let Some(signals) = watcher.next(left) else {
            return Ok(Waited::Stopped);
        };
        let moved = std::mem::replace(&mut head, workspace.reader.head()?) != head;
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

/// Calls `changed` when files, HEAD or branches may have changed, and whenever `every` has passed; it is told whether
/// anything may have changed, as it is at first. Runs until it is stopped by what `begin` receives. Returns an error
/// if the workspace cannot be watched, or the first error of the closures.
pub fn follow<E: From<Error>>(
    workspace: &Workspace,
    every: Duration,
    begin: impl FnOnce(Stop) -> Result<(), E>,
    mut changed: impl FnMut(bool) -> Result<(), E>,
) -> Result<(), E> {
    let mut watcher = listen(workspace, false)?;
    begin(watcher.stop_handle())?;
    changed(true)?;
    while let Some(signals) = watcher.next(every) {
        changed(
            signals
                .iter()
                .any(|signal| !matches!(signal, WatchSignal::Failed(_))),
        )?;
    }
    Ok(())
}

fn listen(workspace: &Workspace, polls: bool) -> Result<Watcher, Error> {
    Watcher::new(
        workspace.reader.root(),
        &workspace.settings().watched(),
        options_for(workspace, polls),
    )
}

fn options_for(workspace: &Workspace, polls: bool) -> WatchOptions {
    let config = workspace.settings().config();
    WatchOptions {
        settle: Duration::from_millis(config.settle_ms),
        poll: polls || config.watch.poll,
        reconcile: Duration::from_secs(config.watch.reconcile_seconds),
        heads: workspace
            .reader
            .store()
            .map(|store| store.refs().head_places())
            .unwrap_or_default(),
        ..WatchOptions::default()
    }
}

/// Combines the signals of one batch into as few events as possible.
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
    if !changed.is_empty()
        && !events
            .iter()
            .any(|event| matches!(event, WatchEvent::Rescan(_)))
    {
        // A commit is judged by the settings that came with it.
        events.insert(0, WatchEvent::Changed(changed));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::RepoPath;

    #[test]
    fn a_commit_is_looked_at_after_the_settings_that_came_with_it() {
        let path = RepoPath::new("orch.toml").expect("a path");
        let events = events_of(vec![WatchSignal::Head, WatchSignal::Dirty(path)]);
        assert!(matches!(
            events.as_slice(),
            [WatchEvent::Changed(_), WatchEvent::Head]
        ));
    }

    #[test]
    fn a_batch_waits_for_a_quiet_period_and_not_for_ever() {
        let mut timer = BatchTimer::default();
        let start = Instant::now();
        let seconds = Duration::from_secs;
        let mut left = |waits, after| timer.left(waits, seconds(60), start + seconds(after));
        assert_eq!(left(None, 0), None);
        assert_eq!(left(Some(1), 10), Some(seconds(60)));
        assert_eq!(left(Some(1), 40), Some(seconds(30)), "nothing new");
        assert_eq!(left(Some(2), 50), Some(seconds(60)), "another one joins");
        assert_eq!(left(Some(2), 110), Some(seconds(0)));
        assert_eq!(left(None, 110), None);
        for joined in 0..10 {
            assert_ne!(left(Some(3 + joined), 200 + 59 * joined), Some(seconds(0)));
        }
        assert_eq!(
            left(Some(13), 200 + 599),
            Some(seconds(1)),
            "ten periods after the first"
        );
        assert_eq!(left(Some(14), 200 + 600), Some(seconds(0)));
    }
}
