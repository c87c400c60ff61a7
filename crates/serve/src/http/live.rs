//! The watch of the server, and a look at runs: both tell what they notice as events.

use super::events::Events;
use orch_engine::apply::Writer;
use orch_engine::drive::{
    self, LeaseWatch, WatchEffect, WatchHandle, WatchLoop, WatchMode, WatchPublisher, WatchVerifier,
};
use orch_engine::gather::{happenings, run_line};
use orch_engine::notices::{FaultSink, Notifier};
use orch_engine::survey::{Caller, Error, Workspace};
use orch_view::{EventView, Finding, Happening, RunLine};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How often runs are looked at while a client listens. Those of this server are looked at when they begin and end.
const EVERY: Duration = Duration::from_secs(2);

/// The watch in a thread of its own.
pub(super) struct LiveWatch {
    handle: WatchHandle,
    /// Has a sender as long as the thread continues.
    ended: Receiver<()>,
}

impl LiveWatch {
    /// Begins to watch. Returns an error if the repository cannot be watched.
    pub(super) fn start(
        workspace: Workspace,
        caller: &Caller,
        mode: WatchMode,
        events: &Events,
    ) -> Result<Self, Error> {
        let root = workspace.reader().root().to_owned();
        let leases = LeaseWatch::begin(root.clone(), caller.clone());
        let watch = WatchLoop::new(workspace, caller.clone(), mode, false)?;
        let handle = watch.handle();
        let events = events.clone();
        let clock = caller.clock;
        let published = events.clone();
        let publish = move |happening| published.publish(&EventView::new(clock.now(), happening));
        let (goes_on, ended) = channel();
        let caller = caller.clone();
        thread::spawn(move || {
            let _goes_on: Sender<()> = goes_on;
            let _leases = leases;
            let publish_finding = publish.clone();
            let report: FaultSink = Arc::new(move |finding| {
                publish_finding(Happening::Finding {
                    finding: Box::new(Finding::of(&finding)),
                })
            });
            let mut verifier = match mode {
                WatchMode::Apply => {
                    let report = Arc::clone(&report);
                    Some(WatchVerifier::new(root, caller.clone(), report))
                }
                WatchMode::DryRun | WatchMode::Look => None,
            };
            let mut notifier = Notifier::new(false, report);
            let mut publisher = WatchPublisher::default();
            let mut hear = |workspace: &Workspace, effect: WatchEffect| -> Result<(), Error> {
                // A server has no terminal whose bell someone hears.
                notifier.hear(&Writer::new(workspace, &caller), &effect);
                if let Some(verifier) = &mut verifier {
                    verifier.hear(workspace, &effect);
                    publisher.hear(&Writer::new(workspace, &caller), &effect);
                }
                if matches!(effect, WatchEffect::Ready) {
                    events.begin();
                }
                happenings(workspace, effect).into_iter().for_each(&publish);
                Ok(())
            };
            let ended = watch.run(&mut hear);
            if let Err(error) = ended {
                tracing::warn!(error = error.logged(), "the watch of the server has ended");
                publish(Happening::Stopped {
                    reason: error.to_string(),
                });
            }
            // Whoever waits for the first look would wait for ever.
            events.begin();
        });
        Ok(Self { handle, ended })
    }

    /// Ends the watch. A commit that has begun is completed, if that takes no longer than `patience`.
    pub(super) fn end(self, patience: Duration) {
        self.handle.stop();
        if self.ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the watch of the server has not ended in time");
        }
    }
}

/// Asks for a look at runs. With each question goes a sender that is dropped once events tell what was found.
#[derive(Clone)]
pub(super) struct RunNews(Sender<Sender<()>>);

impl RunNews {
    /// Runs may have changed.
    pub(super) fn changed(&self) {
        let _looked = self.ask();
    }

    /// Waits until events tell how runs stand now, at most for `patience`.
    pub(super) fn await_news(&self, patience: Duration) {
        let _ = self.ask().recv_timeout(patience);
    }

    fn ask(&self) -> Receiver<()> {
        let (reply, looked) = channel();
        // Without the thread nobody listens any more.
        let _ = self.0.send(reply);
        looked
    }

    /// Begins to look at runs, in a thread that ends with the process. `open` opens the repository.
    pub(super) fn begin(
        open: impl Fn() -> Result<Workspace, Error> + Send + 'static,
        caller: &Caller,
        events: &Events,
    ) -> Self {
        let (send, asked) = channel::<Sender<()>>();
        let events = events.clone();
        let clock = caller.clock;
        thread::spawn(move || {
            let mut known = runs(&open).unwrap_or_default();
            loop {
                let _reply = match asked.recv_timeout(EVERY) {
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) if !events.is_heard() => continue,
                    Err(RecvTimeoutError::Timeout) => None,
                    Ok(reply) => Some(reply),
                };
                // What cannot be read now is looked at later.
                let Ok(now) = runs(&open) else { continue };
                for run in now
                    .iter()
                    .filter(|(place, run)| known.get(*place) != Some(*run))
                    .map(|(_, run)| run)
                {
                    let happening = Happening::Run {
                        run: Box::new(run.clone()),
                    };
                    events.publish(&EventView::new(clock.now(), happening));
                }
                known = now;
            }
        });
        Self(send)
    }
}

/// The last run of every task, by its work tree and its task.
fn runs(
    open: &dyn Fn() -> Result<Workspace, Error>,
) -> Result<BTreeMap<(String, String), RunLine>, Error> {
    let (found, _) = drive::runs(&open()?)?;
    let lines = found.iter().map(run_line);
    Ok(lines
        .map(|run| ((run.work_tree.clone(), run.task.clone()), run))
        .collect())
}
