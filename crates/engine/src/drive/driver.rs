//! Drives a run: executes the effects of the run machine and feeds it their outcomes.

use super::complete::{FileSets, incomplete_now};
use super::publish::{Next, PublishStop, Publishing};
use super::run_lease::{RunLease, take_for_run};
use super::spent::SpentCount;
use super::trust::{refuse_untrusted, remember};
use super::turn_fence::{FencedTurns, begin_trial};
use super::{
    Happened, Reporter, RunEnd, RunOptions, StopFlag, budget, command_for, continued, look_ahead,
    refuse_idle, state_of,
};
use crate::apply::{Applied, Writer};
use crate::run::{
    Control, ControlRequest, Lock, RunFiles, RunStanding, RunState, Turn, WorkState, adopt_orphans,
};
use crate::survey::{Error, Sight, TaskRef, UsableWorkflow};
use orch_base::{Class, Code, Diagnostic, Hint, Period, Reason, RepoPath, Timestamp};
use orch_core::decide::{
    ActorKind, Blocker, Ending, EvaluatedTask, ExecutorExit, ExecutorTrace, HistoryEntry, Kind,
    Mode, News, RecordOutcome, Recorded, RetryPolicy, Returned, RunEffect, RunEvent, RunMachine,
    Tick, Usage,
};
use orch_git::SideWork;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A run in progress.
pub(super) struct Drive<'a> {
    pub writer: &'a Writer<'a>,
    pub task: &'a TaskRef,
    pub options: &'a RunOptions,
    pub files: &'a RunFiles,
    pub stop: &'a StopFlag,
    pub machine: RunMachine,
    /// The id of the run.
    pub id: String,
    pub started: Timestamp,
    /// The command that the run was started with, for the record.
    pub command: Vec<String>,
    /// The turn of the current work.
    pub turn: Option<Turn>,
    /// When the executor that this process started last was started, and its program.
    pub performing: Option<(Timestamp, String)>,
    /// Whether processes of an earlier runner were still alive, and were ended.
    pub was_running: bool,
    /// The workflow of the last evaluation.
    pub compiled: Arc<UsableWorkflow>,
    /// The last evaluation, as long as nothing has happened that could change it.
    pub sight: Option<Sight>,
    /// The files of the settings that changed while executors worked, as they were reported.
    pub changed_settings: Vec<RepoPath>,
    /// The error that ended the run.
    pub fault: Option<Error>,
    /// Whether an obstacle has been reported.
    pub is_held: bool,
    /// When this process took over the run, and the time the run had used before.
    since: (Instant, Period),
    /// A request that is given from the start, with its reason.
    pub(super) preset: Option<(ControlRequest, String)>,
    lock: Option<Lock>,
    /// The lease of the task.
    pub(super) lease: RunLease,
    /// What publishes the steps, if they are.
    pub(super) publishing: Option<Publishing<'a>>,
    /// Whether the lease outlives the run, because not all is published.
    pub(super) keeps_lease: bool,
    /// What the run has used on all machines.
    pub(super) spent: SpentCount,
    /// When the record was last written.
    saved: Instant,
    /// The bytes of the record of the run as this process wrote it last while an executor works.
    pub(super) written: Option<Vec<u8>>,
    /// Whether something else was in their place meanwhile.
    pub(super) was_overwritten: bool,
    /// What was wrong with the control request that was reported.
    bad_control: Option<Reason>,
    /// The files that have been quiet long enough.
    complete: FileSets,
    /// Whether this process has waited for an executor: what that has written is complete, because its processes have
    /// ended.
    has_performed: bool,
    /// The number of the last step when the executor began to work, until it was looked for later ones.
    worked_from: Option<u64>,
    /// What became of the fence of the turns.
    pub(super) fenced: FencedTurns,
}

/// The maximum age of the record while an executor works.
const KEPT: Duration = Duration::from_secs(2);
/// The maximum age of the record while the run waits for a limit.
const KEPT_WAITING: Duration = Duration::from_secs(60);
/// A longer wait looks at the clock, and less often for requests of other processes.
const LONG_WAIT: Duration = Duration::from_secs(10);
/// How often it looks for them.
const LOOK_WAITING: Duration = Duration::from_millis(200);

/// Drives a task until its run ends. Returns an error if another process runs the task, the repository does
/// not allow a commit, the first executor cannot be started, or a step cannot be recorded.
pub fn run(
    writer: &Writer<'_>,
    task: &TaskRef,
    options: &RunOptions,
    stop: &StopFlag,
    report: &mut Reporter<'_>,
) -> Result<RunEnd, Error> {
    let is_given = !options.command.is_empty();
    if is_given {
        remember(writer, &options.command);
    }
    let options = continued(writer, task, options)?;
    let options = &RunOptions {
        trust: options.trust || is_given,
        ..options
    };
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    state_of(&sight)?;
    if let Some(executor) = refuse_idle(
        writer,
        &sight,
        &look_ahead(writer, &sight, options)?,
        options,
    )? {
        refuse_untrusted(writer, &executor.command, options)?;
        begin_trial(writer, &executor);
    }
    if let (true, Some(store)) = (
        writer.workspace.reader.commits(),
        &writer.workspace.reader.store,
    ) {
        // Report a repository that does not allow commits before starting an executor.
        match store.transactions().begin().map(drop) {
            Err(error) if retry_policy(&error) == RetryPolicy::Long => {}
            other => other?,
        }
    }
    take_up(writer, &sight, (options, stop, None), report)?
        .ok_or_else(|| Error::busy(format!("another process runs task `{}`", task.id)))
}

/// Continues the run of a task or starts a new one, and drives it until it ends. Returns `None` if another
/// process drives it. With a preset request it only records what is finished, and ends.
pub(super) fn take_up(
    writer: &Writer<'_>,
    sight: &Sight,
    (options, stop, preset): (&RunOptions, &StopFlag, Option<(ControlRequest, String)>),
    report: &mut Reporter<'_>,
) -> Result<Option<RunEnd>, Error> {
    let workflow = sight.workflow();
    let mut budget = budget(workflow, options);
    let files = writer.workspace.reader.run_files(&sight.task);
    let now = writer.now();
    let known_mode = state_of(sight)?.run.mode;
    let mode = |old: Option<Mode>| {
        options
            .mode
            .or(known_mode)
            .or(old)
            .unwrap_or(Mode::Interactive)
    };
    let mut was_interrupted = false;
    let pid = std::process::id();
    let taken = match preset {
        None => {
            let new = format!("{}-{pid}", now.seconds());
            take_for_run(writer, sight, &files, &new, options.publish.is_some())?
        }
        Some(_) => None,
    };
    let begun = files.begin(|old| {
        let Some(old) = old.filter(RunState::goes_on) else {
            let id = format!("{}-{pid}", now.seconds());
            let usage = Usage::default();
            let standing = RunStanding::Idle;
            let mode = mode(None);
            let max_turns = budget.turns;
            let command = options.command.clone();
            let (met, unfenced) = (None, None);
            return RunState {
                id,
                pid,
                mode,
                started: now,
                updated: now,
                usage,
                max_turns,
                command,
                met,
                unfenced,
                standing,
            };
        };
        was_interrupted = old.ended().is_none();
        let standing = old
            .unsettled()
            .cloned()
            .map_or(RunStanding::Idle, RunStanding::Working);
        let max_turns = old.max_turns.min(budget.turns);
        let command = if options.command.is_empty() {
            old.command.clone()
        } else {
            options.command.clone()
        };
        // The limit is that of the command that met it.
        let is_met = command == old.command && !options.no_wait;
        let met = old.met.clone().filter(|_| is_met);
        RunState {
            pid,
            mode: mode(Some(old.mode)),
            max_turns,
            command,
            met,
            updated: now,
            standing,
            ..old
        }
    })?;
    let Some((lock, run)) = begun else {
        if taken.as_ref().is_some_and(|taken| !taken.was_held) {
            writer.taking().release_of_run(&sight.task)?;
        }
        return Ok(None);
    };
    let lease = RunLease::of(taken.as_ref());
    let publishing = match (&options.publish, &preset) {
        (Some(remote), None) => Some(Publishing::open(writer, &sight.task, remote)?),
        _ => None,
    };
    budget.turns = run.max_turns;
    let unsettled = run.unsettled().cloned();
    let (work, turn) = unsettled.map(|work| (work.work, work.turn)).unzip();
    adopt_orphans();
    super::leftovers::end_left(&files);
    tracing::info!(task = %sight.task.id, run = run.id, resumed = was_interrupted, "run started");
    report(&Happened::Begun {
        run: &run.id,
        resumed: was_interrupted,
    });
    let mut usage = run.usage;
    let mut spent = SpentCount::default();
    spent.begin(writer, &sight.task.id, &mut usage);
    let mut machine = RunMachine::new(run.mode, budget, usage, work);
    machine.limit = run.met;
    let drive = Drive {
        writer,
        task: &sight.task,
        options,
        files: &files,
        stop,
        since: (Instant::now(), machine.usage.time),
        machine,
        command: run.command,
        id: run.id,
        started: run.started,
        turn,
        performing: None,
        was_running: false,
        compiled: Arc::clone(&sight.compiled),
        sight: None,
        changed_settings: Vec::new(),
        fault: None,
        is_held: false,
        preset,
        lock: Some(lock),
        lease,
        publishing,
        keeps_lease: false,
        spent,
        saved: Instant::now(),
        written: None,
        was_overwritten: false,
        bad_control: None,
        complete: FileSets::new(),
        has_performed: false,
        worked_from: None,
        fenced: FencedTurns::default(),
    };
    let ended = drive.go(report);
    if ended.as_ref().is_ok_and(|end| end.keeps_lease) {
        return ended.map(Some);
    }
    if let Err(error) = writer.taking().release_of_run(&sight.task) {
        // It ends by itself.
        report(&Happened::Note(&error.into_warning()));
    }
    ended.map(Some)
}

impl Drive<'_> {
    /// Executes effects until the run is over.
    fn go(mut self, report: &mut Reporter<'_>) -> Result<RunEnd, Error> {
        let mut effect = self.step(RunEvent::Begun, report);
        while effect != RunEffect::Over {
            effect = match self.save_if_due(&effect) {
                Err(error) => self.block(effect, error, report),
                Ok(()) => match publish_before(&mut self, effect, report) {
                    ControlFlow::Continue(effect) => self.carry_out(effect, report),
                    ControlFlow::Break(instead) => instead,
                },
            };
        }
        self.close()
    }

    fn carry_out(&mut self, effect: RunEffect, report: &mut Reporter<'_>) -> RunEffect {
        match effect {
            RunEffect::LookBack => self.look_back(report),
            RunEffect::Evaluate => self.evaluate(report),
            RunEffect::Record(command) => self.record(command, report),
            RunEffect::Perform => {
                self.worked_from = self
                    .sight
                    .as_ref()
                    .and_then(Sight::state)
                    .map(|state| state.rev);
                let tried = self.perform(report);
                self.has_performed = true;
                self.step(RunEvent::Performed(tried), report)
            }
            RunEffect::Wait(time, following) => {
                self.sight = None;
                self.wait(time);
                self.step(RunEvent::Waited(*following), report)
            }
            RunEffect::Finish(heeded) => self.finish(heeded, report),
            RunEffect::Over => RunEffect::Over,
        }
    }

    /// Feeds an event to the run machine, and reports what follows.
    pub(super) fn step(&mut self, event: RunEvent<'_>, report: &mut Reporter<'_>) -> RunEffect {
        let heard = self.heard(report);
        let now = Tick {
            time: self.time(),
            at: self.writer.now(),
            request: self.strongest(heard),
        };
        let effect = self.machine.step(&now, event);
        if effect == RunEffect::Perform {
            let number = self.machine.usage.turns;
            let started = self.writer.now();
            self.turn = Some(Turn { number, started });
        }
        for news in std::mem::take(&mut self.machine.news) {
            match &news {
                News::Done { work, message } => report(&Happened::Done {
                    work,
                    message: message.as_deref(),
                }),
                News::Failed { work, why } => {
                    let again = work.again.map(tracing::field::display);
                    tracing::info!(
                        work = work.name(),
                        attempt = work.attempt,
                        again,
                        "a try failed"
                    );
                    report(&Happened::Failed {
                        work,
                        why,
                        wait: work.again,
                    });
                }
                News::Limited { work, limit } => {
                    let until = limit.until;
                    tracing::info!(work = work.name(), %until, "the run waits for a limit of its executor");
                    report(&Happened::Limited { work, limit });
                }
            }
        }
        effect
    }

    /// The pending control request. Reports, once, one that is none, or is for another run.
    fn heard(&mut self, report: &mut Reporter<'_>) -> Option<Control> {
        let why = match self.files.control().request(&self.id) {
            Ok(control) => return control,
            Err(why) => why,
        };
        if self.bad_control.as_ref() == Some(&why) {
            return None;
        }
        let message = format!(
            "{} is not a request to this run: {why}; it has no effect",
            self.files.control().control_shown()
        );
        let hint = Hint::run(&["orch", "stop", self.task.id.as_str()]);
        report(&Happened::Note(
            &Diagnostic::warning(Code::ControlUnreadable, message).hint(hint),
        ));
        self.bad_control = Some(why);
        None
    }

    fn evaluate(&mut self, report: &mut Reporter<'_>) -> RunEffect {
        let sight = match self
            .sight
            .take()
            .map_or_else(|| self.writer.workspace.look(self.task), Ok)
        {
            Ok(sight) => own(sight),
            Err(error) => return self.block(RunEffect::Evaluate, error, report),
        };
        self.report_decided(&sight, report);
        let sight = match self.with_lapses(sight, report) {
            Ok(sight) => sight,
            Err(error) => return self.block(RunEffect::Evaluate, error, report),
        };
        let sight = match self.completed(sight, report) {
            Ok(Ok(sight)) => sight,
            Ok(Err(why)) => {
                let blocker = Blocker {
                    retry: RetryPolicy::Never(Ending::Waiting),
                    why,
                };
                return self.step(RunEvent::Blocked(RunEffect::Evaluate, blocker), report);
            }
            Err(error) => return self.block(RunEffect::Evaluate, error, report),
        };
        let has = |agent: &str| command_for(self.writer, [agent], self.options).is_some();
        let effect = match case(&sight, &has) {
            Ok(case) => self.step(RunEvent::Evaluated(&case), report),
            Err(blocker) => self.step(RunEvent::Blocked(RunEffect::Evaluate, blocker), report),
        };
        self.compiled = Arc::clone(&sight.compiled);
        self.sight = Some(sight);
        effect
    }

    /// The task after it was recorded which of its deadlines have passed. Returns an error if that cannot be recorded.
    fn with_lapses(&self, sight: Sight, report: &mut Reporter<'_>) -> Result<Sight, Error> {
        if sight.lapses(self.writer.caller.clock.now()).is_empty() {
            return Ok(sight);
        }
        let Some(applied) = self.writer.advance().lapses(self.task)? else {
            return Ok(own(self.writer.workspace.look(self.task)?));
        };
        let applied = Applied {
            sight: own(applied.sight),
            ..applied
        };
        report(&Happened::Applied(&applied));
        Ok(applied.sight)
    }

    /// The task once the files of one run are complete that a due transition rests on, or what is still to come. A
    /// request to the run ends the wait. Returns an error if the task cannot be read again.
    fn completed(
        &mut self,
        mut sight: Sight,
        report: &mut Reporter<'_>,
    ) -> Result<Result<Sight, String>, Error> {
        let mut last_why = String::new();
        while let Some(found) = incomplete_now(self.writer.workspace, &sight, &self.complete) {
            let Some(quiet) = found.quiet else {
                return Ok(Err(found.why));
            };
            if !self.has_performed {
                if last_why != found.why {
                    report(&Happened::Note(&Diagnostic::note(
                        Code::FilesIncomplete,
                        found.why.as_str(),
                    )));
                    last_why = found.why;
                }
                self.wait(quiet);
                if self.requested().is_some() {
                    break;
                }
                sight = own(self.writer.workspace.look(self.task)?);
            }
            self.complete = found.sets;
        }
        Ok(Ok(sight))
    }

    /// Reports which steps people have taken while an executor worked. The run itself has taken the task: of whoever takes it
    /// over, its lease tells.
    fn report_decided(&mut self, sight: &Sight, report: &mut Reporter<'_>) {
        let (Some(from), Some(state)) = (self.worked_from.take(), sight.state()) else {
            return;
        };
        let is_by_person = |entry: &&Arc<HistoryEntry>| {
            entry.seq > from && entry.actor.kind == ActorKind::Human && entry.kind != Kind::Take
        };
        for entry in state.history.iter().filter(is_by_person) {
            let left = entry.from.as_ref().map_or("new", |from| from.as_str());
            let how = entry.rule.as_deref().unwrap_or(entry.kind.as_str());
            let who = &entry.actor.name;
            let to = &entry.to;
            let message = if to.as_str() == left {
                format!("{who} recorded a step while the executor worked: {how}, in {to}")
            } else {
                format!("{who} moved the task while the executor worked: {left} -> {to} ({how})")
            };
            report(&Happened::Note(&Diagnostic::note(
                Code::DecidedMeanwhile,
                message,
            )));
        }
    }

    /// Reports that an effect is not possible now. A temporary obstacle is reported only once.
    pub(super) fn block(
        &mut self,
        effect: RunEffect,
        error: Error,
        report: &mut Reporter<'_>,
    ) -> RunEffect {
        let retry = retry_policy(&error);
        if !self.is_held {
            tracing::warn!(error = error.logged(), again = ?retry, "the run is blocked");
        }
        let why = match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        if matches!(retry, RetryPolicy::Never(_)) {
            self.fault.get_or_insert(error);
        } else if !std::mem::replace(&mut self.is_held, true) {
            report(&Happened::Held(&error));
        }
        self.step(RunEvent::Blocked(effect, Blocker { retry, why }), report)
    }

    /// The time that the run has used.
    fn time(&self) -> Period {
        let here = u64::try_from(self.since.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        Period::from_milliseconds(self.since.1.milliseconds().saturating_add(here))
    }

    /// The strongest pending request, with its reason.
    pub(super) fn requested(&self) -> Option<(ControlRequest, String)> {
        self.strongest(self.files.control().request(&self.id).ok().flatten())
    }

    /// The strongest of this request and those that came by other ways, with its reason.
    fn strongest(&self, said: Option<Control>) -> Option<(ControlRequest, String)> {
        let said = said.map(|control| requested_by(control.request, &control.by));
        let key = || {
            (
                ControlRequest::Interrupt,
                "the run was interrupted".to_owned(),
            )
        };
        let typed = self.stop.is_set().then(key);
        [said, typed, self.preset.clone()]
            .into_iter()
            .flatten()
            .max_by_key(|(request, _)| *request)
    }

    fn wait(&mut self, time: Period) {
        let time = Duration::from_millis(time.milliseconds());
        let is_long = time > LONG_WAIT;
        let until = Instant::now() + time;
        let mut looked: Option<Instant> = None;
        while Instant::now() < until {
            // A machine that slept has not counted the time.
            let limit = self.machine.limit.as_ref();
            let now = self.writer.now();
            if is_long && limit.is_some_and(|limit| limit.left(now) == Period::default()) {
                return;
            }
            let is_due = !is_long || looked.is_none_or(|at| at.elapsed() >= LOOK_WAITING);
            if is_due {
                looked = Some(Instant::now());
                self.keep_waiting();
            }
            // Once the run is about to end, the request is already known.
            let is_open = self.machine.over.is_none();
            if is_open && (self.stop.is_set() || (is_due && self.requested().is_some())) {
                return;
            }
            sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Keeps the lock and the record in place while the run waits for a limit.
    fn keep_waiting(&mut self) {
        self.preset = self.preset.take().or_else(|| lost_lease(self));
        if self.machine.limit.is_none() || self.machine.over.is_some() {
            return;
        }
        self.files.keep_lock(&mut self.lock);
        if self.saved.elapsed() >= KEPT_WAITING || !self.files.has_record() {
            self.machine.usage.time = self.machine.usage.time.max(self.time());
            // A failure is ignored: the record is written again before the next turn.
            let _ = self.begin_save().wait();
        }
    }

    /// Writes the record if something must be persisted before the next effect, or if someone deleted it.
    fn save_if_due(&mut self, effect: &RunEffect) -> Result<(), Error> {
        let is_due = self.machine.unsaved || !self.files.has_record();
        // A try saves it while the executor is prepared.
        if is_due && *effect != RunEffect::Perform {
            self.begin_save().wait()
        } else {
            Ok(())
        }
    }

    /// Begins to write the record.
    pub(super) fn begin_save(&mut self) -> SideWork {
        let saving = self.files.begin_write(self.known());
        self.machine.unsaved = false;
        self.saved = Instant::now();
        saving
    }

    /// Keeps the lock and the record in place while an executor works, so that other processes can see and
    /// control the run and a crash loses little of the used time.
    pub(super) fn keep_known(&mut self) {
        self.preset = self.preset.take().or_else(|| lost_lease(self));
        self.files.keep_lock(&mut self.lock);
        if self.saved.elapsed() >= KEPT || !self.files.has_record() {
            self.machine.usage.time = self.machine.usage.time.max(self.time());
            self.was_overwritten |= self.files.record() != self.written;
            // A failure is ignored: the record is written again, at the latest when the executor has ended.
            let _ = self.begin_save().wait();
            self.written = self.files.record();
        }
    }

    /// The run as its record describes it.
    pub(super) fn known(&self) -> RunState {
        let work = self.machine.doing.clone().zip(self.turn.clone());
        let work = work.map(|(work, turn)| WorkState { work, turn });
        let standing = match (self.machine.over.clone(), work) {
            (Some((ending, why)), kept) => RunStanding::Ended { ending, why, kept },
            (None, Some(work)) => RunStanding::Working(work),
            (None, None) => RunStanding::Idle,
        };
        RunState {
            id: self.id.clone(),
            pid: std::process::id(),
            mode: self.machine.mode,
            started: self.started,
            updated: self.writer.now(),
            usage: self.machine.usage.clone(),
            max_turns: self.machine.budget.turns,
            command: self.command.clone(),
            met: self.machine.limit.clone(),
            unfenced: self.fenced.unfenced(),
            standing,
        }
    }

    fn finish(&mut self, heeded: Option<ControlRequest>, report: &mut Reporter<'_>) -> RunEffect {
        if let Some(request) = heeded {
            tracing::info!(request = request.as_str(), "control request applied");
        }
        self.machine.usage.time = self.machine.usage.time.max(self.time());
        self.spent
            .settle(self.writer, &self.task.id, &mut self.machine);
        let run = self.known();
        match self.files.finish(&mut self.lock, &run, heeded) {
            Ok(control) => {
                let request = control.map(|control| requested_by(control.request, &control.by));
                self.step(RunEvent::Finished(request), report)
            }
            Err(error) => self.block(RunEffect::Finish(heeded), error, report),
        }
    }

    /// Returns how the run ended. Returns the error that ended it, if there is one.
    fn close(mut self) -> Result<RunEnd, Error> {
        let (ending, reason) = self
            .machine
            .over
            .take()
            .unwrap_or((Ending::Error, String::new()));
        let turns = self.machine.usage.turns;
        tracing::info!(task = %self.task.id, run = self.id, ending = ending.as_str(), turns, "run ended");
        if let Some(error) = self.fault.take().or_else(|| self.fenced.instead_of(ending)) {
            return Err(error);
        }
        let sight = own(self.writer.workspace.look(self.task)?);
        // Only a copy: the run's result does not depend on it.
        let _ = self.writer.renew_suggestion(&sight);
        Ok(RunEnd {
            ending,
            reason,
            sight,
            run: self.id,
            turns: (self.machine.usage.turns, self.machine.budget.turns),
            cost: self.machine.usage.cost,
            unpriced: self.machine.usage.unpriced,
            interrupted: self.stop.is_set() && ending == Ending::Paused,
            // What publishes it joins its branch next.
            keeps_lease: self.keeps_lease
                || (self.publishing.is_some() && ending == Ending::Completed),
            due: None,
            foreseen: Vec::new(),
            fence: self.fenced.said,
        })
    }
}

/// Publishes what is recorded before an effect is carried out. Returns the effect, or what follows instead if it must not
/// be.
fn publish_before(
    drive: &mut Drive<'_>,
    effect: RunEffect,
    report: &mut Reporter<'_>,
) -> ControlFlow<RunEffect, RunEffect> {
    let Some(publishing) = &mut drive.publishing else {
        return ControlFlow::Continue(effect);
    };
    let next = match &effect {
        RunEffect::Evaluate | RunEffect::LookBack => Next::Look,
        RunEffect::Record(_) => Next::Step,
        RunEffect::Perform => Next::Executor,
        RunEffect::Finish(_) => Next::End,
        RunEffect::Wait(..) | RunEffect::Over => return ControlFlow::Continue(effect),
    };
    let published = publishing.before(next);
    for note in publishing.notes() {
        report(&Happened::Note(&note));
    }
    if next == Next::End {
        let unpublished = publishing.unpublished();
        drive.keeps_lease = unpublished.is_some();
        if let (Some(unpublished), Some((_, reason))) = (unpublished, &mut drive.machine.over)
            && !reason.contains(&unpublished)
        {
            reason.push_str("; ");
            reason.push_str(&unpublished);
        }
        return ControlFlow::Continue(effect);
    }
    let (retry, why) = match published {
        Ok(has_moved) => {
            if has_moved {
                drive.sight = None;
            }
            return ControlFlow::Continue(effect);
        }
        Err(PublishStop::Later(why)) => (RetryPolicy::Long, why),
        Err(PublishStop::Unfit(why)) => (RetryPolicy::Never(Ending::Waiting), why),
        Err(PublishStop::Held(error) | PublishStop::Broken(error)) => {
            let why = error.message().to_owned();
            let ending = if error.code() == Code::TaskHeld {
                Ending::Stopped
            } else {
                Ending::Error
            };
            drive.fault.get_or_insert(error);
            (RetryPolicy::Never(ending), why)
        }
    };
    ControlFlow::Break(match effect {
        RunEffect::Record(command) if drive.machine.over.is_some() => {
            drive.step(RunEvent::Recorded(command, RecordOutcome::Nothing), report)
        }
        effect => {
            let blocker = Blocker { retry, why };
            drive.step(RunEvent::Blocked(effect, blocker), report)
        }
    })
}

/// Looks after the lease of the run. Returns what ends the run if it is lost.
fn lost_lease(drive: &mut Drive<'_>) -> Option<(ControlRequest, String)> {
    match &mut drive.publishing {
        Some(publishing) => publishing.watch().map(|why| (ControlRequest::Stop, why)),
        None => drive.lease.taken_over(drive.writer, drive.task),
    }
}

/// A request together with its reason.
pub(super) fn requested_by(request: ControlRequest, by: &str) -> (ControlRequest, String) {
    let why = match request {
        ControlRequest::Interrupt | ControlRequest::Pause => format!("{by} paused the run"),
        ControlRequest::Stop => format!("{by} stopped the run"),
        ControlRequest::AskPerson => by.to_owned(),
    };
    (request, why)
}

/// An evaluation without its runner, because that is this process.
pub(super) fn own(sight: Sight) -> Sight {
    Sight {
        runner: None,
        ..sight
    }
}

/// An evaluated task as input of the run machine, or why nothing can be decided about it.
pub(super) fn case<'a>(
    sight: &'a Sight,
    has_executor: &'a dyn Fn(&str) -> bool,
) -> Result<EvaluatedTask<'a>, Blocker> {
    let never = |ending, why: String| Blocker {
        retry: RetryPolicy::Never(ending),
        why,
    };
    if let Err(error) = sight.require_tracked() {
        return Err(never(Ending::Waiting, error.to_string()));
    }
    match &sight.recorded {
        Recorded::Known(state) => Ok(EvaluatedTask {
            workflow: sight.workflow(),
            state,
            facts: &sight.observed.facts,
            decision: &sight.decision,
            has_executor,
        }),
        _ => Err(never(Ending::Error, sight.decision.reason.clone())),
    }
}

/// A try whose executor did not start.
pub(super) fn not_started(why: String) -> Returned {
    Returned {
        how: ExecutorExit::NotStarted(why),
        result: None,
        cost: 0.0,
        is_unpriced: false,
        trace: ExecutorTrace::default(),
        said: None,
    }
}

/// How long to retry after an error.
pub(super) fn retry_policy(error: &Error) -> RetryPolicy {
    match (error.class(), error.code()) {
        (Class::Busy | Class::Moved, _) => RetryPolicy::Long,
        // Waiting provides neither an identity nor a signing key.
        (Class::Held, Code::NoIdentity | Code::SigningFailed) => RetryPolicy::Never(Ending::Error),
        (Class::Held, _) | (_, Code::Unstable) => RetryPolicy::Short,
        _ => RetryPolicy::Never(Ending::Error),
    }
}
