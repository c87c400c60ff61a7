//! Which task to look at now, because the queue says so, and word to others of what became due.
//!
//! With a queue, a worker looks at all tasks only at long intervals: it is woken for one task, looks at that one alone, and
//! answers the wake-up when it knows whether it has the task. Who has a task is said by its lease, never by the wake-up.

use super::bell::{Bell, Ring};
use super::free::TaskChance;
use super::slot::TaskSlot;
use super::task::TaskStage;
use super::{LOOK, Parallel, ParallelNews, TICK};
use crate::apply::Writer;
use crate::drive::wake_ups::queue_place;
use crate::survey::Error;
use orch_base::{Class, TaskId};
use orch_core::config::{LeaseStoreKind, QueueAddress};
use orch_fleet::open::open_queue;
use orch_fleet::queue::{QueueNews, WakeQueue};
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How often it is looked at all tasks at the least, while the queue can be reached.
const LONGEST_LOOK: Duration = Duration::from_secs(300);
/// How often a process looks whether it is to stop, while nothing else happens.
const IDLE: Duration = Duration::from_millis(500);
/// After how long a wake-up goes to another worker.
const SOON: Duration = Duration::from_millis(500);
/// After how long one is told again of which the remote has nothing yet.
const PUSHED: Duration = Duration::from_secs(10);
/// How many tasks that this process has no room for are published after a look at all.
const MOST_PUBLISHED: usize = 200;

/// The queue as a worker sees it.
pub(super) struct Wakes {
    queue: WakeQueue,
    /// The tasks that it was woken for, and has not looked at.
    woken: VecDeque<TaskId>,
    /// The tasks of which it is not known whether they can be had.
    open: BTreeSet<TaskId>,
    /// Whether the next wake-up was asked for.
    has_asked: bool,
    is_gone: bool,
    /// What is still to be told.
    told: VecDeque<QueueNews>,
}

/// What came of a wake-up.
enum Heeded {
    /// The task was begun; it is not known yet whether this process has it.
    Begun,
    /// There is nothing to do for this process.
    NotFree,
    /// It is not known yet, or there is no room: it is to be told again after this time.
    Later(Duration),
}

impl Wakes {
    /// Begins to reach the queue at this address, or beside the leases. The bell rings for what it tells. Returns an error if
    /// nothing says where it is, or it may not be used.
    pub(super) fn begin(
        writer: &Writer<'_>,
        named: Option<&QueueAddress>,
        bell: Bell,
    ) -> Result<Self, Error> {
        let place = queue_place(writer, named)?;
        let ear = Box::new(move |one| bell.ring(Ring::Queue(one)));
        Ok(Self {
            queue: open_queue(place, ear)?,
            woken: VecDeque::new(),
            open: BTreeSet::new(),
            has_asked: false,
            is_gone: false,
            told: VecDeque::new(),
        })
    }

    /// Takes in what the queue tells.
    fn hear(&mut self, news: QueueNews) {
        match &news {
            QueueNews::Woken(task) => {
                self.has_asked = false;
                self.open.insert(task.clone());
                self.woken.push_back(task.clone());
            }
            QueueNews::Gone(_) => {
                self.is_gone = true;
                self.told.push_back(news);
            }
            QueueNews::Back => {
                self.is_gone = false;
                self.told.push_back(news);
            }
        }
    }

    /// Asks for the next wake-up, if that has not been done.
    fn ask(&mut self) {
        if !self.has_asked {
            self.has_asked = true;
            self.queue.listen();
        }
    }

    fn know(&mut self, task: &TaskId) {
        if self.open.remove(task) {
            self.queue.know(task);
        }
    }

    fn give_back(&mut self, task: &TaskId, time: Duration) {
        if self.open.remove(task) {
            self.queue.give_back(task, time);
        }
    }
}

/// What could not be taken is for others.
impl Drop for Wakes {
    fn drop(&mut self) {
        for task in std::mem::take(&mut self.open) {
            self.queue.give_back(&task, SOON);
        }
    }
}

impl Parallel<'_> {
    /// Begins tasks that are free, if there is room and a reason to look. `has_changed` says that something has ended here.
    pub(super) fn look_for_work(&mut self, has_changed: bool) -> Result<(), Error> {
        if self.is_cut_off() {
            return Ok(());
        }
        // With a queue, what has ended here wakes whoever can go on.
        if has_changed && self.wakes.is_none() {
            self.looked = None;
        }
        let interval = match &self.wakes {
            Some(_) => woken_interval(self.writer),
            None => LOOK,
        };
        let is_due = self
            .looked
            .is_none_or(|looked| looked.elapsed() >= interval);
        if is_due && self.next.rests() {
            // It looks as soon as it may.
            self.looked = None;
        } else if is_due && self.room() > 0 {
            if self.remote.is_none() && self.wakes.is_some() {
                see_leases(self.writer, None);
            }
            self.fill()?;
            self.looked = (!self.next.owes_look()).then(Instant::now);
        }
        self.heed_wake_ups()
    }

    /// Whether nothing can be taken, because the servers of the leases cannot be reached.
    fn is_cut_off(&self) -> bool {
        let settings = &self.writer.workspace.reader.settings.config().leases;
        let is_gone = self.wakes.as_ref().is_some_and(|wakes| wakes.is_gone);
        is_gone && settings.store == LeaseStoreKind::Nats
    }

    /// Looks at the tasks that this process was woken for, and asks for the next wake-up if there is room.
    fn heed_wake_ups(&mut self) -> Result<(), Error> {
        while let Some(task) = self
            .wakes
            .as_mut()
            .and_then(|wakes| wakes.woken.pop_front())
        {
            let heeded = if self.room() > 0 {
                self.heed(&task)?
            } else {
                Heeded::Later(SOON)
            };
            if let Some(wakes) = &mut self.wakes {
                match heeded {
                    Heeded::Begun => {}
                    Heeded::NotFree => wakes.know(&task),
                    Heeded::Later(time) => wakes.give_back(&task, time),
                }
            }
        }
        self.answer_wake_ups();
        if self.room() > 0
            && let Some(wakes) = &mut self.wakes
        {
            wakes.ask();
        }
        Ok(())
    }

    /// Begins a task if it is free.
    fn heed(&mut self, id: &TaskId) -> Result<Heeded, Error> {
        if let Some(remote) = &mut self.remote {
            if !remote.renew_now() {
                return Ok(Heeded::Later(PUSHED));
            }
        } else {
            see_leases(self.writer, Some(id));
        }
        let found = match self.chance_of(id) {
            Err(error) if matches!(error.class(), Class::Busy | Class::Moved) => {
                return Ok(Heeded::Later(SOON));
            }
            found => found?,
        };
        let is_begun = match found {
            Some((task, TaskChance::Free)) => self.try_to_begin(task)?,
            Some((_, TaskChance::Taken)) => false,
            // Whoever published it has not pushed it yet.
            Some((_, TaskChance::None)) | None if self.remote.is_some() => {
                return Ok(Heeded::Later(PUSHED));
            }
            Some((_, TaskChance::None)) | None => false,
        };
        Ok(if is_begun {
            Heeded::Begun
        } else {
            Heeded::NotFree
        })
    }

    /// Removes the wake-ups of tasks of which it is known by now whether this process has them.
    fn answer_wake_ups(&mut self) {
        let Some(wakes) = &mut self.wakes else {
            return;
        };
        for task in wakes.open.clone() {
            let mut slots = self.slots.iter_mut();
            let slot = slots.find(|slot| self.tasks[slot.index].task == task);
            let is_known = slot.is_none_or(|slot| {
                let row = &self.tasks[slot.index];
                row.stage == TaskStage::Running && slot.has_lease(self.writer, row)
            });
            if is_known {
                wakes.know(&task);
            }
        }
    }

    /// Publishes what somebody could go on with, now that a task has come to the end of what this process does for it.
    pub(super) fn publish_due(&mut self, index: usize) {
        if self.wakes.is_none() {
            return;
        }
        let row = &self.tasks[index];
        let task = row.task.clone();
        let due = match row.stage {
            TaskStage::SentBack => Ok(vec![task]),
            TaskStage::Stopped if self.is_stopping => Ok(vec![task]),
            TaskStage::Merged => self.concerned_by(&task),
            _ => Ok(Vec::new()),
        };
        match (due, &self.wakes) {
            (Ok(due), Some(wakes)) => due.iter().for_each(|task| wakes.queue.publish(task)),
            (Ok(_), None) => {}
            (Err(error), _) => {
                tracing::warn!(error = error.logged(), "nobody gets word of what is due");
            }
        }
    }

    /// The tasks that may go on because of another one, as the base branch has them.
    fn concerned_by(&mut self, id: &TaskId) -> Result<Vec<TaskId>, Error> {
        let tip = self.open()?.at(&self.base_tip()?.to_string())?;
        self.relations.concerned_by(&tip, id)
    }

    /// Publishes the next tasks of a look at all, for which this process has no room.
    pub(super) fn publish_next(&self) {
        if let Some(wakes) = &self.wakes {
            let published = self.next.known().take(MOST_PUBLISHED);
            published.for_each(|task| wakes.queue.publish(task));
        }
    }

    /// Waits a moment, or until something has ended or the queue tells something. Passes on what has to be told of the queue
    /// itself.
    pub(super) fn rest(&mut self, is_idle: bool, report: &mut dyn FnMut(ParallelNews<'_>)) {
        let is_long = is_idle && self.wakes.is_some();
        let rings = self.rings.wait(if is_long { IDLE } else { TICK });
        let Some(wakes) = &mut self.wakes else {
            return;
        };
        for ring in rings {
            match ring {
                Ring::Queue(news) => wakes.hear(news),
                Ring::Ended => {}
            }
        }
        for news in wakes.told.drain(..) {
            report(ParallelNews::Queue(&news));
        }
    }
}

/// How often whoever is woken looks at all tasks: often enough that a lease which nobody renews is seen to end in time.
fn woken_interval(writer: &Writer<'_>) -> Duration {
    let length = writer.workspace.reader.settings.config().leases.length;
    let length = Duration::from_millis(length.milliseconds());
    (length / 10).clamp(LOOK / 3, LONGEST_LOOK)
}

/// Looks at who holds a task, or all, in a store that clones share. Without an answer, the run will be refused.
fn see_leases(writer: &Writer<'_>, task: Option<&TaskId>) {
    if let Err(error) = writer.holding_of_tree().see(task) {
        tracing::warn!(error = error.logged(), "nothing is known of other clones");
    }
}

impl TaskSlot<'_> {
    /// Whether the work tree of the task holds it.
    fn has_lease(&mut self, writer: &Writer<'_>, row: &super::ParallelTask) -> bool {
        self.lease(writer, row).is_some_and(|lease| lease.is_own)
    }
}
