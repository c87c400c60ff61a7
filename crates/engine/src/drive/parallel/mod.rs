//! Many tasks side by side, each in a work tree of its own: `orch run --parallel` and `orch work`.
//!
//! Every task is driven by an `orch run` of its own, in a process of its own. This one makes the work trees, starts the
//! processes, watches what they record, and joins the branches of tasks that are done with the base branch, one at a time.
//! It keeps nothing that is not also in the work trees, so that it may end at any time; the next one goes on.

mod bell;
mod free;
mod landing;
mod next;
mod remote;
mod slot;
mod task;
mod wake;

pub use task::{ParallelTask, TaskStage};

use super::StopFlag;
use super::task_trees::remove;
use super::trust::{refuse_untrusted_setup, trust_clone};
use crate::apply::Writer;
use crate::drive::RunOptions;
use crate::survey::{BranchRelations, Error, TaskRef};
use bell::Rings;
use free::FinishedTasks;
use landing::{BranchOutcome, LandRequest, Landing};
use next::NextTasks;
use orch_base::{Class, Digest, TaskId, command};
use orch_core::config::{BranchMerge, QueueAddress, WorkTreeKind};
use orch_fleet::queue::QueueNews;
use orch_fleet::worktrees::{TaskTree, TaskTrees};
use orch_git::{Ancestors, Store};
use remote::{RemoteTasks, passes};
use slot::TaskSlot;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::thread::sleep;
use std::time::{Duration, Instant};
use wake::Wakes;

/// How often processes are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked for tasks that have become free, by somebody else.
const LOOK: Duration = Duration::from_secs(3);
/// After how long a task is tried again that somebody else held.
const AGAIN: Duration = Duration::from_secs(15);
/// The exit codes of a run that could not be, because something on the machine or the network has failed, and of one that
/// was killed.
const FAULTS: [i32; 2] = [70, 137];
/// How long runs may take to end, if this process cannot go on.
const WIND_UP: Duration = Duration::from_secs(30);
/// How often a task is sent back because its branch does not fit the base branch, by one process.
const MOST_SENT_BACK: u32 = 2;

/// What is worked on, and how.
#[derive(Debug, Clone, Default)]
pub struct ParallelOptions {
    /// How many tasks are worked on at once at most.
    pub most: usize,
    /// The tasks; none stands for all.
    pub tasks: Vec<TaskId>,
    /// Only tasks in these phases are begun; none stands for all.
    pub phases: Vec<String>,
    /// Whether to wait for tasks that become free later, until stopped.
    pub goes_on: bool,
    /// Whether to be woken by a queue, and at which address it is; none stands for that beside the leases.
    pub queue: Option<Option<QueueAddress>>,
    /// What each run is like.
    pub run: RunOptions,
    /// The arguments of each `orch run`, after the task.
    pub arguments: Vec<OsString>,
    /// The remote on whose tasks several clones work.
    pub remote: Option<String>,
}

/// Works on many tasks.
struct Parallel<'a> {
    writer: &'a Writer<'a>,
    store: &'a Store,
    trees: TaskTrees<'a>,
    /// The branch that work is merged into.
    base: String,
    options: &'a ParallelOptions,
    order: &'a dyn Fn() -> Result<Vec<TaskId>, Error>,
    tasks: Vec<ParallelTask>,
    slots: Vec<TaskSlot<'a>>,
    landing: Option<Landing>,
    /// The tasks that are done and wait to be joined with the base branch.
    done: Vec<usize>,
    /// Where the branch of a task was when its run ended: there is nothing new to do on it.
    seen: BTreeMap<TaskId, Digest>,
    finished: FinishedTasks,
    /// What the base branch has.
    joined: Ancestors,
    /// How the tasks of the base branch relate to one another.
    relations: BranchRelations,
    /// Where the branches of tasks were that others had done, and have not joined yet.
    waited: BTreeMap<TaskId, Digest>,
    sent_back: BTreeMap<TaskId, u32>,
    /// When tasks are tried again that somebody else held.
    again: BTreeMap<TaskId, Instant>,
    looked: Option<Instant>,
    /// The tasks to begin next.
    next: NextTasks,
    /// The tasks of a remote, if they are worked on.
    remote: Option<RemoteTasks<'a>>,
    /// When the leases of tasks that are done and not joined yet were renewed last.
    kept: Instant,
    wakes: Option<Wakes>,
    rings: Rings,
    is_stopping: bool,
}

/// What is told while tasks are worked on.
#[derive(Debug, Clone, Copy)]
pub enum ParallelNews<'n> {
    /// How each task stands.
    Tasks(&'n [ParallelTask]),
    /// That the queue cannot be reached, or can be again.
    Queue(&'n QueueNews),
}

/// Works on tasks until none is free, or until stopped. `order` says which tasks come first. `report` is told several times a second how each task stands.
/// Returns how each one stands in the end, and an error if the repository cannot be read, or nobody has trusted what prepares
/// a work tree.
pub fn run_parallel(
    writer: &Writer<'_>,
    options: &ParallelOptions,
    order: &dyn Fn() -> Result<Vec<TaskId>, Error>,
    stop: &StopFlag,
    report: &mut dyn FnMut(ParallelNews<'_>),
) -> Result<Vec<ParallelTask>, Error> {
    let reader = &writer.workspace.reader;
    let store = reader.repository_or_refuse()?;
    let config = reader.settings.config();
    refuse_untrusted_setup(writer, options.run.trust)?;
    let base = store
        .work_trees()
        .base_branch(config.git.base.as_deref(), config.git.protected.texts())?;
    let remote = match &options.remote {
        Some(remote) => Some(RemoteTasks::open(writer, store, remote, &base)?),
        None => None,
    };
    let rings = Rings::default();
    let wakes = match &options.queue {
        Some(named) => Some(Wakes::begin(writer, named.as_ref(), rings.bell())?),
        None => None,
    };
    let mut parallel = Parallel {
        remote,
        kept: Instant::now(),
        writer,
        store,
        trees: TaskTrees::new(store, &config.worktrees),
        base,
        options,
        order,
        tasks: Vec::new(),
        slots: Vec::new(),
        landing: None,
        done: Vec::new(),
        seen: BTreeMap::new(),
        finished: FinishedTasks::default(),
        joined: Ancestors::default(),
        relations: BranchRelations::default(),
        waited: BTreeMap::new(),
        sent_back: BTreeMap::new(),
        again: BTreeMap::new(),
        looked: None,
        next: NextTasks::default(),
        wakes,
        rings,
        is_stopping: false,
    };
    let gone = parallel.go(stop, report);
    if gone.is_err() {
        parallel.wind_up();
    }
    gone?;
    Ok(parallel.tasks)
}

impl Parallel<'_> {
    fn go(
        &mut self,
        stop: &StopFlag,
        report: &mut dyn FnMut(ParallelNews<'_>),
    ) -> Result<(), Error> {
        loop {
            let has_changed = self.look_after_slots()? | self.look_after_landing()?;
            if stop.is_set() && !self.is_stopping {
                self.is_stopping = true;
                self.slots.iter().for_each(TaskSlot::interrupt);
                self.landing.iter().for_each(Landing::stop);
            }
            if !self.is_stopping {
                self.land_next();
                self.look_for_work(has_changed)?;
            }
            self.keep_done();
            report(ParallelNews::Tasks(&self.tasks));
            let is_idle = self.slots.is_empty() && self.landing.is_none();
            // Without a time of the last look, another one is due.
            let is_at_end = self.done.is_empty() && self.looked.is_some();
            let is_over = self.is_stopping || (is_at_end && !self.options.goes_on);
            if is_idle && is_over {
                self.done.iter().for_each(|index| self.give_back(*index));
                return Ok(());
            }
            self.rest(is_idle, report);
        }
    }

    /// Ends all runs by their own orderly stop, because this process cannot go on.
    fn wind_up(&mut self) {
        self.slots.iter().for_each(TaskSlot::interrupt);
        let begun = Instant::now();
        while !self.slots.is_empty() && begun.elapsed() < WIND_UP {
            sleep(TICK);
            if self.look_after_slots().is_err() {
                return;
            }
        }
    }

    /// How many tasks may be begun now. None as long as that many are done and wait to be joined: each of them would be joined
    /// later still, and fit the base branch less.
    pub(super) fn room(&self) -> usize {
        if self.done.len() >= self.options.most {
            0
        } else {
            self.options.most - self.slots.len()
        }
    }

    /// Begins tasks that are free, as long as there is room.
    fn fill(&mut self) -> Result<(), Error> {
        if self.remote.as_mut().is_some_and(|remote| !remote.renew()) {
            return Ok(());
        }
        while self.room() > 0 {
            let free = match self.free_tasks(self.room()) {
                // A later look may find what it needs.
                Err(error) if matches!(error.class(), Class::Busy | Class::Moved) => return Ok(()),
                free => free?,
            };
            if free.is_empty() {
                break;
            }
            for task in free {
                self.try_to_begin(task)?;
            }
        }
        self.publish_next();
        Ok(())
    }

    /// Begins a task, or notes why it cannot be begun. Returns whether it was begun.
    fn try_to_begin(&mut self, found: TaskRef) -> Result<bool, Error> {
        let index = self.row(&found)?;
        let task = found.id.clone();
        let Err(error) = self.begin(index, found) else {
            return Ok(true);
        };
        if error.class() == Class::Busy {
            self.next.note_race(true);
            self.tasks[index].end(TaskStage::Held, error.to_string());
            self.leave_alone(task)?;
        } else {
            self.tasks[index].end(TaskStage::Failed, error.to_string());
            if self.remote.is_some() {
                self.try_again(index, AGAIN);
            }
        }
        Ok(false)
    }

    /// The row of a task, which is new if it has none.
    fn row(&mut self, task: &TaskRef) -> Result<usize, Error> {
        let known = self.tasks.iter().position(|row| row.task == task.id);
        if let Some(index) = known {
            return Ok(index);
        }
        let tree = self.trees.place(&task.id)?;
        let name = task.id.as_str().replace('/', "+");
        let common = self.store.layout().common_directory();
        let log = common.join("orch/logs").join(format!("{name}.log"));
        self.tasks
            .push(ParallelTask::new(tree, log, self.writer.now()));
        Ok(self.tasks.len() - 1)
    }

    /// Makes the work tree of a task, and starts what prepares it, or its run.
    fn begin(&mut self, index: usize, task: TaskRef) -> Result<(), Error> {
        let from = match self.furthest(&task.id, None)? {
            Some(found) => found.commit,
            None => self.base_tip()?,
        };
        let claim = self.trees.claim(&task.id)?;
        let is_new = claim.make(from)?;
        let setup = if is_new {
            self.writer
                .workspace
                .reader
                .settings
                .config()
                .worktrees
                .setup
                .clone()
        } else {
            Vec::new()
        };
        let row = &mut self.tasks[index];
        row.begin(self.writer.now());
        let mut arguments: Vec<OsString> = vec!["run".into(), task.id.as_str().into()];
        let parent = std::process::id();
        arguments.push(format!("--parent-process={parent}").into());
        if claim.tree().kind == WorkTreeKind::Clone {
            trust_clone(self.writer, &claim.tree().path)?;
        }
        arguments.extend(self.options.arguments.iter().cloned());
        let bell = self.rings.bell();
        let mut slot = TaskSlot::open(index, task, claim, setup, arguments, row, bell)?;
        slot.go_on(row)?;
        self.slots.push(slot);
        Ok(())
    }

    /// Looks at all processes. Returns whether one has ended.
    fn look_after_slots(&mut self) -> Result<bool, Error> {
        let mut ended = Vec::new();
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let row = &mut self.tasks[slot.index];
            match slot.look(row, self.writer) {
                Ok(None) => {}
                Ok(Some(code)) => ended.push((at, code)),
                Err(error) => {
                    row.end(TaskStage::Failed, error.to_string());
                    ended.push((at, None));
                }
            }
        }
        let has_ended = !ended.is_empty();
        for (at, code) in ended.into_iter().rev() {
            let slot = self.slots.remove(at);
            if let Some(code) = code {
                self.ended(&slot, code)?;
                self.publish_due(slot.index);
            }
        }
        Ok(has_ended)
    }

    /// The run of a task has ended with this exit code.
    fn ended(&mut self, slot: &TaskSlot<'_>, code: i32) -> Result<(), Error> {
        let row = &mut self.tasks[slot.index];
        if row.kind == WorkTreeKind::Clone
            && let Err(error) = self.store.work_trees().take_over(&row.tree, &row.branch)
        {
            row.end(TaskStage::Failed, error.to_string());
            return Ok(());
        }
        let end = slot.last_end(self.writer, row);
        let has_begun = end.is_some();
        row.take_in_end(code, end);
        if row.stage == TaskStage::Failed
            && let Some(holder) = slot.holder(self.writer, row)
        {
            row.end(TaskStage::Held, format!("{holder} holds it"));
        }
        let stage = row.stage;
        let task = row.task.clone();
        self.finished.forget(&task);
        if FAULTS.contains(&code) && self.options.goes_on {
            // The next try may reach what this one could not. It begins with what is left of the budget.
            self.try_again(slot.index, AGAIN);
            return Ok(());
        }
        if stage == TaskStage::Done {
            self.done.push(slot.index);
        }
        self.next.note_race(stage == TaskStage::Held);
        if stage == TaskStage::Held {
            return self.leave_alone(task);
        }
        if stage == TaskStage::Failed && !has_begun && self.remote.is_some() {
            // The store of leases could not be reached, perhaps.
            self.try_again(slot.index, AGAIN);
            return Ok(());
        }
        if let Some(found) = self.furthest(&task, None)? {
            self.seen.insert(task, found.commit);
        }
        Ok(())
    }

    /// Leaves a task alone that somebody else works on: for a while, or until its branch moves if this process does not wait.
    fn leave_alone(&mut self, task: TaskId) -> Result<(), Error> {
        if self.options.goes_on {
            self.again.insert(task, Instant::now() + AGAIN);
        } else {
            let tip = match self.furthest(&task, None)? {
                Some(found) => found.commit,
                None => self.base_tip()?,
            };
            self.seen.insert(task, tip);
        }
        Ok(())
    }

    /// Begins to join the branch of the next task that is done with the base branch.
    fn land_next(&mut self) {
        if self.landing.is_some() || self.done.is_empty() {
            return;
        }
        let index = self.done.remove(0);
        let row = &mut self.tasks[index];
        let config = self.writer.workspace.reader.settings.config();
        let merge = match config.worktrees.merge {
            BranchMerge::None => {
                let words = ["git", "merge", &row.branch];
                row.end(
                    TaskStage::Done,
                    format!("its branch waits: {}", command(&words)),
                );
                self.give_back(index);
                return;
            }
            BranchMerge::Merge | BranchMerge::Rebase
                if config.git.protected.matches(&self.base) =>
            {
                BranchMerge::Pr
            }
            merge => merge,
        };
        row.stage = TaskStage::Merging;
        row.note = format!("into {}", self.base);
        let request = LandRequest {
            index,
            task: row.task.clone(),
            tree: row.tree.clone(),
            kind: row.kind,
            branch: row.branch.clone(),
            base: self.base.clone(),
            merge,
            log: row.log.clone(),
            verifies: !config.verify.is_empty(),
            trust: self.options.run.trust,
            remote: self.options.remote.clone(),
        };
        let bell = self.rings.bell();
        self.landing = Some(Landing::begin(request, self.writer, bell));
    }

    /// Takes in what came of joining a branch. Returns whether something did.
    fn look_after_landing(&mut self) -> Result<bool, Error> {
        let Some(landing) = &mut self.landing else {
            return Ok(false);
        };
        let Some((index, landed)) = landing.landed() else {
            return Ok(false);
        };
        self.landing = None;
        let task = self.tasks[index].task.clone();
        if let Some(found) = self.furthest(&task, None)? {
            self.seen.insert(task, found.commit);
        }
        match landed {
            Ok(BranchOutcome::Joined(why)) => {
                self.tasks[index].end(TaskStage::Merged, why);
                self.give_back(index);
                self.remove_tree(index);
                self.forget_branch(index);
            }
            Ok(BranchOutcome::Pushed(where_to)) => {
                self.tasks[index].end(TaskStage::Pushed, where_to);
                self.give_back(index);
                self.remove_tree(index);
            }
            Ok(BranchOutcome::Unfit(why)) => self.send_back(index, &why)?,
            Ok(BranchOutcome::Later(why)) => self.not_joined(index, why, true),
            Err(error) => self.not_joined(index, error.to_string(), passes(&error)),
        }
        self.publish_due(index);
        Ok(true)
    }

    /// The branch of a task could not be joined with the base branch; `passes` says whether that may change by itself.
    fn not_joined(&mut self, index: usize, why: String, passes: bool) {
        self.tasks[index].end(TaskStage::Unmerged, why);
        self.give_back(index);
        if passes && self.remote.is_some() {
            self.try_again(index, AGAIN * 2);
        }
    }

    /// Removes the work tree of a task that is done, unless it has to stay.
    fn remove_tree(&mut self, index: usize) {
        let row = &mut self.tasks[index];
        let tree = TaskTree {
            task: row.task.clone(),
            path: row.tree.clone(),
            branch: row.branch.clone(),
            kind: row.kind,
        };
        let stays = match remove(self.writer, &self.trees, &tree, &self.base) {
            Ok(stays) => stays,
            // Another process that has joined the branch removes it.
            Err(error) if error.class() == Class::Busy => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = stays {
            row.note = format!("{}; its work tree stays: {why}", row.note);
        }
    }

    /// Sends a task back whose branch does not fit the base branch, with the reason, if the caller may.
    fn send_back(&mut self, index: usize, why: &str) -> Result<(), Error> {
        let row = &mut self.tasks[index];
        let times = self.sent_back.entry(row.task.clone()).or_default();
        if *times >= MOST_SENT_BACK {
            row.end(TaskStage::Conflict, why.to_owned());
            self.give_back(index);
            return Ok(());
        }
        *times += 1;
        match landing::reopen(self.writer, row, why) {
            Ok(()) => {
                row.end(TaskStage::SentBack, why.to_owned());
                // It is free again.
                self.seen.remove(&row.task);
                if row.kind == WorkTreeKind::Clone {
                    self.store.work_trees().take_over(&row.tree, &row.branch)?;
                }
                if let Some(remote) = &self.remote {
                    remote.push_tree(row);
                }
            }
            Err(error) => {
                let words = [
                    "orch",
                    "-C",
                    &row.tree.to_string_lossy(),
                    "reopen",
                    row.task.as_str(),
                ];
                let hint = command(&[words.as_slice(), &["--reason", "WHY"]].concat());
                row.end(TaskStage::Conflict, format!("{why}; {error}; {hint}"));
                self.give_back(index);
            }
        }
        Ok(())
    }

    fn base_tip(&self) -> Result<Digest, Error> {
        let tip = match &self.remote {
            Some(remote) => remote.base_tip()?,
            None => self.store.work_trees().tip(&self.base)?,
        };
        tip.ok_or_else(Error::moved)
    }
}
