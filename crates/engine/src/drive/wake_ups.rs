//! Word to workers, over the queue: which task somebody could go on with now.
//!
//! A watch gives it, and a command that has recorded a step, if `[leases]` has a queue beside it that a person has trusted.
//! They hand a task to a thread and go on; what becomes of the word is not their concern: workers look by themselves, too, if
//! less often.

use super::watch_events::WatchEffect;
use crate::apply::{Applied, Writer, secret_of};
use crate::survey::{Error, HeldTasks, NetworkStore, Sight, TaskRef};
use orch_base::{Code, Hint};
use orch_core::config::{BranchMerge, LeaseSettings, LeaseStoreKind, QueueAddress};
use orch_core::decide::{DutyKind, Runner, duty};
use orch_core::workflow::Owner;
use orch_fleet::open::open_queue;
use orch_fleet::queue::{QueueNews, QueuePlace, WakeQueue};

/// Where the queue of a repository is: at this address, or beside the leases. Returns an error if neither says that, nobody
/// has trusted the leases, or the variable with the secret is not set.
pub(super) fn queue_place(
    writer: &Writer<'_>,
    named: Option<&QueueAddress>,
) -> Result<QueuePlace, Error> {
    let reader = &writer.workspace.reader;
    let settings = &reader.settings.config.leases;
    let configured = (settings.store == LeaseStoreKind::Nats)
        .then(|| settings.url.clone().zip(settings.bucket.clone()))
        .flatten();
    let is_other = named.is_some_and(|named| {
        let url = configured.as_ref().map(|(url, _)| url);
        url != Some(&named.url)
    });
    // The secret is for the servers of the settings alone.
    let secret = if is_other {
        None
    } else {
        if let Some(network) = NetworkStore::of(settings) {
            network.require_trust(reader, writer.caller)?;
        }
        secret_of(settings, writer.caller)?
    };
    let (url, bucket) = match (named, configured) {
        (Some(named), configured) => {
            let beside = configured.map(|(_, bucket)| bucket);
            (Some(named.url.clone()), named.bucket.clone().or(beside))
        }
        (None, Some((url, bucket))) => (Some(url), Some(bucket)),
        (None, None) => (None, None),
    };
    match url.zip(bucket) {
        Some((url, bucket)) => Ok(QueuePlace {
            url,
            bucket,
            secret,
        }),
        None => Err(unnamed(named.is_some())),
    }
}

fn unnamed(has_servers: bool) -> Error {
    let message = if has_servers {
        "nothing says which bucket of these servers is that of this repository"
    } else {
        "nothing says where the queue is"
    };
    let hint = Hint::from("name it: ")
        .command(&["orch", "work", "--queue", "nats://HOST:4222/BUCKET"])
        .text("; or configure `store = \"nats\"` under [leases] in orch.toml");
    Error::new(Code::Usage, message).with_hint(hint)
}

/// Publishes the tasks of a watch that somebody could go on with.
#[derive(Default)]
pub struct WatchPublisher {
    /// The queue, with the settings that it was begun for.
    begun: Option<(LeaseSettings, WakeQueue)>,
    /// Whether it was said since the settings were read that there is no queue.
    is_refused: bool,
}

impl WatchPublisher {
    /// Publishes the task of an effect if an agent could go on with it now.
    pub fn hear(&mut self, writer: &Writer<'_>, effect: &WatchEffect) {
        let (sight, is_work): (&Sight, bool) = match effect {
            WatchEffect::Stands(sight) => (sight, is_work(sight)),
            WatchEffect::Moved(applied) => (&applied.sight, is_work_now(writer, applied)),
            WatchEffect::Reloaded => {
                self.is_refused = false;
                return;
            }
            _ => return,
        };
        let settings = &writer.workspace.reader.settings.config.leases;
        if settings.store != LeaseStoreKind::Nats || !is_work {
            return;
        }
        if let Some(queue) = self.queue(writer, settings) {
            queue.publish(&sight.task.id);
        }
    }

    /// The queue of these settings. What keeps it from being used is logged once.
    fn queue(&mut self, writer: &Writer<'_>, settings: &LeaseSettings) -> Option<&WakeQueue> {
        let is_begun = self
            .begun
            .as_ref()
            .is_some_and(|(known, _)| known == settings);
        if !is_begun {
            self.begun = None;
            let place = queue_place(writer, None);
            match place.and_then(|place| open_queue(place, Box::new(log))) {
                Ok(queue) => self.begun = Some((settings.clone(), queue)),
                Err(error) if !self.is_refused => {
                    self.is_refused = true;
                    tracing::warn!(error = error.logged(), "workers get no word of what is due");
                }
                Err(_) => {}
            }
        }
        self.begun.as_ref().map(|(_, queue)| queue)
    }
}

/// Gives word of tasks of which a command has recorded steps, and with which a worker could go on now: those that nobody holds.
/// Waits for the servers for two seconds at most. What keeps it from giving word is logged.
pub fn wake_workers(writer: &Writer<'_>, applied: &[Applied]) {
    let reader = &writer.workspace.reader;
    if reader.settings.config.leases.store != LeaseStoreKind::Nats {
        return;
    }
    let is_free = |task: &TaskRef| matches!(HeldTasks::of(reader).lease_of(&task.id), Ok(None));
    let due: Vec<&TaskRef> = applied
        .iter()
        .filter(|one| !one.steps.is_empty() && is_work_now(writer, one))
        .map(|one| &one.sight.task)
        .filter(|task| is_free(task))
        .collect();
    if due.is_empty() {
        return;
    }
    match queue_place(writer, None).and_then(|place| open_queue(place, Box::new(log))) {
        Ok(queue) => due.iter().for_each(|task| queue.publish(&task.id)),
        Err(error) => tracing::info!(error = error.logged(), "workers get no word of what is due"),
    }
}

/// As [`is_work`], of a task that has just moved. One that is done now has a branch to be joined with the base branch.
fn is_work_now(writer: &Writer<'_>, applied: &Applied) -> bool {
    let sight = &applied.sight;
    let merge = writer.workspace.reader.settings.config.worktrees.merge;
    let is_done = duty(sight.workflow(), &sight.decision, None).kind == DutyKind::Done;
    is_work(sight) || (is_done && merge != BranchMerge::None)
}

/// Whether an agent, or `orch` itself, has to go on with a task, and no process does.
fn is_work(sight: &Sight) -> bool {
    if sight.untracked || sight.runner.as_ref().is_some_and(Runner::is_running) {
        return false;
    }
    let duty = duty(sight.workflow(), &sight.decision, sight.runner.as_ref());
    matches!(duty.owner, Owner::Agent | Owner::Orch)
}

fn log(news: QueueNews) {
    match news {
        QueueNews::Gone(error) => {
            tracing::warn!(error = error.logged(), "the queue cannot be reached");
        }
        QueueNews::Back => tracing::info!("the queue can be reached again"),
        QueueNews::Woken(_) => {}
    }
}
