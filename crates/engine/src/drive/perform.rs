//! One try: starts an executor and follows it; and recovers what an earlier runner left.

use super::agent_end::{TurnEnd, unmarked_by};
use super::driver::{Drive, case, not_started};
use super::leftovers::GRACE;
use super::trust::refuse_untrusted;
use super::turn_commits::GitBefore;
use super::turn_fence::{Fencing, fence_words, lost_cover, turn_fence};
use super::{Happened, Reporter, executor_environment, executor_for};
use crate::run::{
    ControlRequest, Ended, Executor, LimitedProgram, Live, Performed, Process, end_leftovers,
    start_janitor,
};
use crate::survey::{Error, OutputsNow, Sight};
use orch_base::{Code, Diagnostic, Period};
use orch_core::config::Config;
use orch_core::decide::{
    ActionResult, ActorKind, ExecutorExit, ExecutorTrace, FileWriter, Leftover, Returned,
    RunEffect, RunEvent, Work, WriterTurn,
};
use orch_files::io_error;
use serde_json::Value;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long an executor may go on after its run was killed: the lease of the run lasts longer, however long ago it was renewed.
pub(super) fn executor_patience(config: &Config) -> Duration {
    Duration::from_millis(config.leases.length.milliseconds() / 2)
}

/// The minimum interval between checks for a control request.
const LOOK: Duration = Duration::from_millis(20);

/// How many ticks pass between two looks at the mounts of an executor.
const LOOK_AT_MOUNTS: u32 = 5;

impl Drive<'_> {
    /// Starts an executor for the current work, and waits for its end.
    pub(super) fn perform(&mut self, report: &mut Reporter<'_>) -> Returned {
        let (Some(work), Some(sight)) = (self.machine.doing.clone(), self.sight.take()) else {
            return not_started("there is no work to do".to_owned());
        };
        let name = self.work_name().unwrap_or_default();
        self.spent
            .count(self.writer, &self.task.id, &mut self.machine.usage);
        let saving = self.begin_save();
        let executor = self.executor(&sight, &work, &name, report);
        let guard = self.guard_turn();
        let fence = self.fenced.last.clone();
        let git = fence
            .as_ref()
            .and_then(|fence| GitBefore::of(self.writer, fence.commits));
        // It starts only when its turn is on the disk: a power cut must not give the run a new budget.
        let executor = match saving.wait().and(executor) {
            Ok(executor) => executor,
            Err(error) => return self.refuse_start(error),
        };
        let outputs = self.writer.workspace.reader.outputs_now(&sight);
        (self.written, self.was_overwritten) = (self.files.record(), false);
        let turn = self.machine.usage.turns;
        let turns = self.machine.budget.turns;
        let log = executor.log.clone();
        let shown = log
            .strip_prefix(&self.writer.workspace.reader.root)
            .unwrap_or(&log)
            .display()
            .to_string();
        tracing::info!(
            work = work.name(),
            attempt = work.attempt,
            turn,
            turns,
            "turn started"
        );
        report(&Happened::Turn {
            work: &work,
            turn,
            turns,
            log: &shown,
        });
        let program = executor.program.argv.first();
        let program = program.map(|program| unmarked_by(self.writer.caller, program, &[]));
        self.performing = program.clone().map(|program| (self.writer.now(), program));
        let trace = ExecutorTrace {
            executor: program,
            ..ExecutorTrace::default()
        };
        let mut last_lines = Vec::new();
        let mut broken = None;
        match self.listen((&name, &executor), &mut last_lines, &mut broken, report) {
            Ok(Performed {
                ended: Ended::NotStarted(why),
                ..
            }) => self.refuse_start(super::cannot_start(&why)),
            Ok(performed) => {
                notes(&performed, &name, report);
                self.report_overreach(&guard, &work, report);
                self.see_writer(&sight, outputs, &work);
                let mut returned =
                    self.returned((&name, &executor, &last_lines), performed, trace, report);
                if let Some(fence) = &fence {
                    let git = git.and_then(|git| git.look_after((&sight, fence), &work, report));
                    let root = self.writer.workspace.reader.root();
                    let left = self.fenced.say_left((&sight, root), &work, report);
                    if let Some(error) = broken.or(git).or(left) {
                        returned.how = ExecutorExit::Hopeless(error.to_string());
                        self.fault.get_or_insert(error);
                    }
                    self.fenced.say_refused(&mut returned, report);
                }
                returned
            }
            Err(error) => self.refuse_start(error),
        }
    }

    /// Keeps that the executor has written what changed in its turn. A failure is logged: the turn counts all the same.
    fn see_writer(&self, sight: &Sight, before: Result<Option<OutputsNow>, Error>, work: &Work) {
        let executor = self
            .performing
            .as_ref()
            .map(|(_, program)| program.clone())
            .unwrap_or_default();
        let turn = WriterTurn {
            executor,
            run: self.id.clone(),
            number: self.machine.usage.turns,
        };
        let writer = FileWriter {
            turn: Some(turn),
            ..FileWriter::new(ActorKind::Agent, work.name())
        };
        let workspace = self.writer.workspace;
        let seen = before.and_then(|before| {
            before.map_or(Ok(()), |before| {
                workspace.reader.see_turn(sight, &before, &writer)
            })
        });
        if let Err(error) = seen {
            tracing::warn!(
                error = error.logged(),
                "cannot keep what was written in a turn"
            );
        }
    }

    fn refuse_start(&mut self, error: Error) -> Returned {
        let tried = not_started(error.to_string());
        self.fault.get_or_insert(error);
        tried
    }

    fn executor(
        &mut self,
        sight: &Sight,
        work: &Work,
        name: &str,
        report: &mut Reporter<'_>,
    ) -> Result<Executor, Error> {
        let workflow = sight.workflow();
        let (config, mut times) = executor_for(self.writer, workflow, work, self.options)?;
        refuse_untrusted(self.writer, &config.command, self.options)?;
        let rest = self.machine.budget.rest(self.machine.usage.time);
        times.hard = times.hard.into_iter().chain(rest).min();
        self.files.create()?;
        // The executor reads the state from its file.
        self.writer.records().renew_state(sight)?;
        let result = self.files.result(name);
        let work_named = (work.name(), work.attempt);
        let mut environment = executor_environment(self.writer, self.task, work_named, &result);
        let mut input = self.prompt(sight, work);
        let fencing = turn_fence(self.writer, sight, &config, self.files)?;
        if let Some(news) = self.fenced.begin(&fencing) {
            report(&Happened::Fence(&news));
        }
        let mut fence = None;
        if let Fencing::Fenced(fenced) = fencing {
            input += &fence_words(&fenced);
            environment.extend(fenced.environment());
            fence = Some(fenced.fence.clone());
            self.fenced.last = Some(*fenced);
        }
        let program = LimitedProgram {
            argv: config.command,
            directory: self.writer.workspace.reader.root.clone(),
            environment,
            input,
            times,
            grace: config.grace,
            fence,
        };
        Ok(Executor {
            program,
            log: self.files.log(name),
            result,
        })
    }

    /// Runs an executor. Its process group is recorded while it already works; if that fails, it works on,
    /// but a killed runner would leave it behind.
    fn listen(
        &mut self,
        (name, executor): (&str, &Executor),
        last_lines: &mut Vec<String>,
        broken: &mut Option<Error>,
        report: &mut Reporter<'_>,
    ) -> Result<Performed, Error> {
        let stop = self.stop.clone();
        let files = self.files.clone();
        let run = self.id.clone();
        let looked: Cell<Option<Instant>> = Cell::new(None);
        let is_lost = Cell::new(false);
        let is_broken = Cell::new(false);
        let fence = executor.program.fence.as_ref();
        let mut process = 0;
        let mut ticks = 0_u32;
        let wants_stop = || {
            if stop.is_set() || is_lost.get() || is_broken.get() {
                return true;
            }
            if looked.get().is_some_and(|at| at.elapsed() < LOOK) {
                return false;
            }
            looked.set(Some(Instant::now()));
            files.control().pending(&run) == Some(ControlRequest::Stop)
        };
        let log = files.begin_try(name)?;
        start_janitor(executor_patience(
            &self.writer.workspace.reader.settings.config,
        ));
        let performed = executor.perform(log, &stop.running, &wants_stop, &mut |live| match live {
            Live::Started { group, at } => {
                process = group;
                if let Err(error) = files.keep_process(name, &Process::new(group, at)) {
                    let message = format!("cannot record the start of the executor: {error}");
                    report(&Happened::Note(&Diagnostic::warning(
                        Code::RunUnrecorded,
                        message,
                    )));
                }
            }
            Live::Line(line) => {
                keep_last(last_lines, line);
                if fence.is_some() {
                    self.fenced.hear(line);
                }
                report(&Happened::Line(line));
            }
            Live::Tick(time) => {
                self.keep_known();
                let preset = self.preset.as_ref();
                is_lost.set(preset.is_some_and(|(request, _)| *request == ControlRequest::Stop));
                ticks = ticks.wrapping_add(1);
                let is_due = ticks.is_multiple_of(LOOK_AT_MOUNTS) && !is_broken.get();
                let lost = fence
                    .filter(|_| is_due)
                    .and_then(|fence| fence.lost(process));
                if let Some(path) = lost {
                    is_broken.set(true);
                    *broken = Some(lost_cover(&self.writer.workspace.reader.root, path));
                }
                let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                report(&Happened::Tick(Period::from_milliseconds(time)));
            }
        });
        files.drop_process(name);
        performed.map_err(|source| io_error(&executor.log, source))
    }

    /// Converts the outcome of a try. From here on its result counts, even if this process dies.
    fn returned(
        &mut self,
        (name, executor, last_lines): (&str, &Executor, &[String]),
        mut performed: Performed,
        trace: ExecutorTrace,
        report: &mut Reporter<'_>,
    ) -> Returned {
        let result = performed.result.take();
        let usage = &mut self.machine.usage;
        let counts_costs = usage.cost > 0.0 || self.machine.budget.cost.is_some();
        let costs = performed.printed.costs.iter();
        let cost = costs.map(|reported| match &reported.conversation {
            Some(conversation) => usage.charge(conversation, reported.cost),
            None => reported.cost,
        });
        let cost = cost.reduce(|sum, cost| sum + cost);
        let end = TurnEnd::of(self.writer, &executor.program.argv, last_lines, &performed);
        let how = end.exit();
        let trace = end.trace(trace);
        let said = end.said(&trace);
        let is_unpriced = end.is_unpriced(counts_costs);
        if let Some(error) = end.hopeless(self.task.id.as_str()) {
            self.fault.get_or_insert(error);
        }
        if how != ExecutorExit::Well {
            // If this process is killed now, the next one must not take the result of a failed try.
            self.files.drop_result(name);
        }
        if is_unpriced {
            let message = "the executor was killed before it said what its turn cost; the cost of the run is without it";
            report(&Happened::Note(&Diagnostic::note(
                Code::CostUnknown,
                message,
            )));
        }
        let result = result.map(|result| {
            let mut value = result?;
            if let Value::Object(members) = &mut value {
                if let Some(cost) = cost
                    && members.get("cost").is_none_or(Value::is_null)
                {
                    members.insert("cost".to_owned(), Value::from(cost));
                }
                // They become the reason of a step.
                for key in ["summary", "message"] {
                    if let Some(Value::String(said)) = members.get_mut(key) {
                        let conversations = &performed.printed.conversations;
                        *said = unmarked_by(self.writer.caller, said, conversations);
                    }
                }
            }
            let read = ActionResult::read(&value)?;
            if how == ExecutorExit::Well
                && let Err(error) = self.files.keep_result(name, &value)
            {
                let message = format!("cannot store the result: {error}");
                report(&Happened::Note(&Diagnostic::warning(
                    Code::ResultUnsaved,
                    message,
                )));
            }
            Ok(read)
        });
        Returned {
            how,
            result,
            cost: cost.unwrap_or_default(),
            is_unpriced,
            trace,
            said,
        }
    }

    /// The base name of the files of the current work.
    pub(super) fn work_name(&self) -> Option<String> {
        let run = self.known();
        run.unsettled().map(|work| run.name_of(work))
    }

    /// Ends what an earlier runner left running, and reads the result it left.
    pub(super) fn look_back(&mut self, report: &mut Reporter<'_>) -> RunEffect {
        let name = self.work_name().unwrap_or_default();
        let process = self
            .files
            .left_process(&name)
            .filter(Process::is_of_this_boot);
        let (group, started) = process
            .map(|process| (process.group, process.started))
            .unzip();
        let was_running = end_leftovers(group, started.flatten(), &self.files.result(&name), GRACE);
        self.was_running |= was_running;
        let work = self
            .machine
            .doing
            .as_ref()
            .map_or("", |work| work.name())
            .to_owned();
        if was_running {
            tracing::warn!(work, "ended an executor that a killed run left behind");
            let message = format!("`{work}` of a killed run was still running and was ended");
            report(&Happened::Note(&Diagnostic::warning(
                Code::LeftProcesses,
                message,
            )));
        }
        let result = self
            .files
            .left_result(&name)
            .map(|value| ActionResult::read(&value?));
        if matches!(result, Some(Ok(_))) && !self.was_running {
            let message = format!("`{work}` of a killed run had finished; its result is used");
            report(&Happened::Note(&Diagnostic::note(Code::Resumed, message)));
        }
        let sight = match self.writer.workspace.look(self.task) {
            Ok(sight) => sight,
            Err(error) => return self.block(RunEffect::LookBack, error, report),
        };
        match case(&sight, &|_| false) {
            Ok(case) => {
                let left = Leftover {
                    was_running: self.was_running,
                    result,
                };
                self.step(RunEvent::Found(left, case.state), report)
            }
            Err(blocker) => self.step(RunEvent::Blocked(RunEffect::LookBack, blocker), report),
        }
    }

    /// The text on the standard input of an executor.
    fn prompt(&self, sight: &Sight, work: &Work) -> String {
        let action = work.action().map(|name| (name, work.attempt));
        super::prompt(
            self.writer.workspace,
            sight,
            action,
            orch_view::SchemaForm::Compact,
        )
    }
}

/// How many of the last lines are kept.
const LAST_LINES: usize = 3;

/// Keeps a line among the last ones, unless it is empty.
fn keep_last(lines: &mut Vec<String>, line: &str) {
    if line.trim().is_empty() {
        return;
    }
    if lines.len() == LAST_LINES {
        lines.remove(0);
    }
    lines.push(line.to_owned());
}

fn notes(performed: &Performed, name: &str, report: &mut Reporter<'_>) {
    if performed.left_processes {
        let message = "the executor left processes behind, which were ended";
        report(&Happened::Note(&Diagnostic::warning(
            Code::LeftProcesses,
            message,
        )));
    }
    if let Some(fault) = &performed.log_fault {
        let message = format!("cannot write the log {name}.log: {fault}");
        report(&Happened::Note(&Diagnostic::warning(Code::RunLog, message)));
    }
}
