//! One of the places in which tasks are worked on at once: the processes of one task, one after the other.

use super::bell::{Bell, Ring};
use super::free::holder;
use super::task::{ParallelTask, TaskStage};
use crate::apply::Writer;
use crate::drive::{RunEnd, last_end};
use crate::run::SideProcess;
use crate::survey::{Error, HeldTasks, TaskLease, TaskRef, Workspace};
use orch_base::{Code, command};
use orch_files::io_error;
use orch_fleet::worktrees::TreeClaim;
use orch_git::durable::parent;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::time::{Duration, Instant};

/// How often the record of a run is read.
const READ: Duration = Duration::from_millis(300);

/// The processes of a task.
pub(super) struct TaskSlot<'a> {
    /// The number of its row.
    pub index: usize,
    task: TaskRef,
    /// The work tree, as long as it is not prepared.
    claim: Option<TreeClaim<'a>>,
    /// The commands that still have to prepare it.
    setup: VecDeque<Vec<String>>,
    /// The command that runs, for messages.
    running: String,
    /// The arguments of the run.
    arguments: Vec<OsString>,
    process: Option<SideProcess>,
    log: File,
    /// Rings when a process has ended.
    bell: Bell,
    /// The work tree, as it is read.
    workspace: Option<Workspace>,
    read: Instant,
    /// The id of the last event that was read, by the size of the log.
    seen: u64,
}

impl<'a> TaskSlot<'a> {
    /// A slot in which nothing runs yet. Returns an error if the log cannot be written.
    pub(super) fn open(
        index: usize,
        task: TaskRef,
        claim: TreeClaim<'a>,
        setup: Vec<Vec<String>>,
        arguments: Vec<OsString>,
        row: &ParallelTask,
        bell: Bell,
    ) -> Result<Self, Error> {
        let directory = parent(&row.log);
        fs::create_dir_all(directory).map_err(|source| io_error(directory, source))?;
        let log = File::options().create(true).append(true).open(&row.log);
        Ok(Self {
            index,
            task,
            claim: Some(claim),
            setup: setup.into(),
            running: String::new(),
            arguments,
            process: None,
            log: log.map_err(|source| io_error(&row.log, source))?,
            bell,
            workspace: None,
            read: Instant::now(),
            seen: 0,
        })
    }

    /// Starts the next command that prepares the work tree, or the run. Returns an error if it cannot be started.
    pub(super) fn go_on(&mut self, row: &mut ParallelTask) -> Result<(), Error> {
        let started = match self.setup.pop_front() {
            Some(argv) => {
                self.running = command(&argv);
                row.note = self.running.clone();
                SideProcess::program(&argv, &row.tree, &self.log)
            }
            None => {
                if let Some(claim) = self.claim.take() {
                    claim.prepared()?;
                }
                row.stage = TaskStage::Running;
                row.note.clear();
                self.running = "orch run".to_owned();
                SideProcess::orch(&self.arguments, &row.tree, &self.log)
            }
        };
        let process = started.map_err(|why| {
            Error::new(Code::Io, format!("cannot start `{}`: {why}", self.running))
        })?;
        let bell = self.bell.clone();
        process.at_end(move || bell.ring(Ring::Ended));
        self.process = Some(process);
        Ok(())
    }

    /// Asks what runs to end.
    pub(super) fn interrupt(&self) {
        self.process.iter().for_each(SideProcess::interrupt);
    }

    /// Looks at what runs. Returns `None` as long as it does; then the exit code of the run, or none if what prepares the
    /// work tree has failed. Returns an error if the next command cannot be started.
    pub(super) fn look(
        &mut self,
        row: &mut ParallelTask,
        writer: &Writer<'_>,
    ) -> Result<Option<Option<i32>>, Error> {
        let Some(process) = &mut self.process else {
            return Ok(Some(None));
        };
        let fail = |source| Error::new(Code::Io, format!("cannot wait for a process: {source}"));
        let Some(code) = process.ended().map_err(fail)? else {
            self.renew(row, writer);
            return Ok(None);
        };
        if self.claim.is_none() {
            return Ok(Some(Some(code)));
        }
        if code == 0 {
            self.go_on(row)?;
            return Ok(None);
        }
        if matches!(code, 130 | 143) {
            row.end(TaskStage::Stopped, String::new());
        } else {
            let why = format!("setup: `{}` ended with {code}; see its log", self.running);
            row.end(TaskStage::Failed, why);
        }
        Ok(Some(None))
    }

    /// Reads what the run has recorded. What cannot be read now is read later.
    fn renew(&mut self, row: &mut ParallelTask, writer: &Writer<'_>) {
        if self.claim.is_some() || self.read.elapsed() < READ {
            return;
        }
        self.read = Instant::now();
        self.open_tree(row, writer);
        let Some(workspace) = &self.workspace else {
            return;
        };
        if let Ok(Some(run)) = workspace.reader.run_files(&self.task).read()
            && run.ended().is_none()
        {
            row.turns = Some((run.usage.turns, run.max_turns));
            row.work = run.work().map(|doing| doing.work.name().to_owned());
            let limit = run
                .limit()
                .map(|limit| format!("waits until {}: {}", limit.until, limit.why));
            row.note = limit.unwrap_or_default();
            row.unfenced = run.unfenced;
        }
        let log = self.task.transcript_path().under(workspace.reader.root());
        let size = fs::metadata(log).map_or(0, |data| data.len());
        if size != self.seen
            && let Ok(sight) = workspace.look(&self.task)
        {
            self.seen = size;
            row.phase = sight.decision.phase.as_ref().map(ToString::to_string);
        }
    }

    /// Opens the work tree to read it, unless it is open.
    fn open_tree(&mut self, row: &ParallelTask, writer: &Writer<'_>) {
        if self.workspace.is_none() {
            let environment = writer.workspace.environment.elsewhere();
            self.workspace = Workspace::open_to_look(&row.tree, environment).ok();
        }
    }

    /// The lease of the task, as its work tree sees it; `None` if nobody has one, or that cannot be read.
    pub(super) fn lease(&mut self, writer: &Writer<'_>, row: &ParallelTask) -> Option<TaskLease> {
        self.open_tree(row, writer);
        HeldTasks::of(&self.workspace.as_ref()?.reader)
            .lease_of(&self.task.id)
            .ok()?
    }

    /// Who else holds the task; `None` if nobody does, or that cannot be read.
    pub(super) fn holder(&self, writer: &Writer<'_>, row: &ParallelTask) -> Option<String> {
        let environment = writer.workspace.environment.elsewhere();
        let workspace = Workspace::open_to_look(&row.tree, environment).ok()?;
        let there = Writer::new(&workspace, writer.caller);
        there.holding_of_tree().see(Some(&self.task.id)).ok()?;
        holder(&self.task, &workspace).ok()?
    }

    /// How the run has ended, by its record; `None` if there is none.
    pub(super) fn last_end(&self, writer: &Writer<'_>, row: &ParallelTask) -> Option<RunEnd> {
        let environment = writer.workspace.environment.elsewhere();
        let workspace = Workspace::open_to_look(&row.tree, environment).ok()?;
        let run = workspace.reader.run_files(&self.task).read().ok()??;
        let there = Writer::new(&workspace, writer.caller);
        last_end(&there, &self.task, &run.id).ok()?
    }
}
