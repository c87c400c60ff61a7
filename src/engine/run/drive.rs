//! The loop of a run.

use super::super::{Engine, Error, ErrorKind, Judged, Outcome, Plan, TaskRef};
use super::{Happened, RunEnd, RunOptions, StopFlag, Tell, budget, refuse_unborn, state_of};
use crate::base::Period;
use crate::decide::{self, Budget, Ending, Mode, Next, Stamp, Step, Transition, Work};
use crate::run::{Files, RunState, Wish, adopt_strays};
use crate::store;
use crate::workflow::Signal;
use std::cell::RefCell;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long is waited between two tries of what the repository does not allow.
const HELD: Duration = Duration::from_millis(200);

/// One run as it goes on.
pub(super) struct Drive<'a> {
    pub engine: &'a Engine,
    pub task: &'a TaskRef,
    pub options: &'a RunOptions,
    pub files: &'a Files,
    pub stop: &'a StopFlag,
    pub run: RunState,
    pub budget: Budget,
    /// When this process took it up, and what it had taken before.
    since: (Instant, Period),
    /// What was waited for already: the work and its try.
    waited: Option<(String, u32)>,
    /// Whether something was performed or answered.
    pub acted: bool,
    /// Whether an action has asked to stop here.
    pub asked_to_stop: Option<String>,
}

impl Engine {
    /// Drives a task until its run is over.
    pub fn run(
        &mut self,
        task: &TaskRef,
        options: &RunOptions,
        stop: &StopFlag,
        tell: &mut Tell<'_>,
    ) -> Result<RunEnd, Error> {
        let judged = self.judge(task)?;
        refuse_unborn(&judged)?;
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let state = state_of(&judged)?;
        if let (true, Some(store)) = (self.commits(), &self.store) {
            // What the repository never allows is told before anybody is started.
            drop(store.begin()?);
        }
        let files = Files::of(&self.root, &task.directory);
        let Some(_lock) = files.try_lock()? else {
            return Err(
                store::Error::Busy { what: format!("another process runs task `{}`", task.id) }.into()
            );
        };
        files.create()?;
        adopt_strays();
        let mode = options.mode.or(state.run.mode).unwrap_or(Mode::Interactive);
        let (run, resumed) = self.take_up(&files, mode, budget(workflow, options).turns);
        let mut drive = Drive {
            engine: self,
            task,
            options,
            files: &files,
            stop,
            budget: budget(workflow, options),
            since: (Instant::now(), run.spent.time),
            run,
            waited: None,
            acted: false,
            asked_to_stop: None,
        };
        if drive.files.wish(&drive.run.id).is_none() {
            drive.files.say(&drive.run.id, None)?;
        }
        drive.save()?;
        tell(&Happened::Begun { run: &drive.run.id, resumed });
        let outcome = drive.begin(tell).and_then(|()| drive.go_on(tell));
        match outcome {
            Ok((ending, reason)) => drive.close(ending, reason, tell),
            Err(error) => {
                // Whoever looks sees that it ended, not that it was interrupted.
                drive.run.ended = Some((Ending::Error, error.to_string()));
                drive.save()?;
                Err(error)
            }
        }
    }

    /// The run to go on with: one that was interrupted, paused or waits, else a new one.
    fn take_up(&self, files: &Files, mode: Mode, max_turns: u32) -> (RunState, bool) {
        let now = self.now();
        if let Some(old) = files.read() {
            let goes_on = match &old.ended {
                None => true,
                Some((ending, _)) => matches!(ending, Ending::Paused | Ending::Waiting),
            };
            if goes_on {
                let interrupted = old.ended.is_none();
                let run =
                    RunState { pid: std::process::id(), mode, max_turns, ended: None, updated: now, ..old };
                return (run, interrupted);
            }
        }
        let id = format!("{}-{}", now.seconds(), std::process::id());
        let run = RunState {
            id,
            pid: std::process::id(),
            mode,
            started: now,
            updated: now,
            spent: decide::Spent::default(),
            max_turns,
            work: None,
            ended: None,
        };
        (run, false)
    }
}

impl Drive<'_> {
    /// Takes in what an interrupted run left, and records that a run begins.
    fn begin(&mut self, tell: &mut Tell<'_>) -> Result<(), Error> {
        self.take_in_leftovers(tell)?;
        let mode = self.run.mode;
        self.record(tell, &|_, judged, stamp| {
            let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else { return Ok(None) };
            let facts = &judged.observed.facts;
            let moved = match decide::signalled(workflow, state, facts, Signal::Start) {
                Some(moved) => Some(moved?),
                None if workflow.has_actions() => decide::start(workflow, state, facts, mode),
                None => None,
            };
            Ok(moved.map(|moved| (moved, stamp)))
        })?;
        // An order to begin comes first; how the run goes about questions is recorded after it.
        self.record(tell, &|_, judged, stamp| {
            let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else { return Ok(None) };
            let started =
                workflow.has_actions().then(|| decide::start(workflow, state, &judged.observed.facts, mode));
            Ok(started.flatten().map(|start| (start, stamp)))
        })?;
        Ok(())
    }

    /// Turn after turn.
    fn go_on(&mut self, tell: &mut Tell<'_>) -> Result<(Ending, String), Error> {
        loop {
            if let Some(over) = self.wished() {
                return Ok(over);
            }
            self.clock();
            let judged = self.engine.judge(self.task)?;
            let due =
                self.engine.next(&judged, &self.run.spent, &self.budget, self.run.mode, self.options)?;
            if !matches!(due, Next::Apply | Next::End(..))
                && let Some(why) = self.asked_to_stop.take()
            {
                return Ok((Ending::Paused, why));
            }
            match due {
                Next::End(ending, reason) => return Ok((ending, reason)),
                Next::Apply => self.advance(tell)?,
                Next::Answer { ask, patch, ground } => {
                    self.run.spent.begin();
                    self.run.spent.see(&ask, ground);
                    self.acted = true;
                    self.save()?;
                    let refused = self.record(tell, &|engine, judged, _| {
                        let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else {
                            return Ok(None);
                        };
                        let reason = format!("question `{ask}` was answered by its default");
                        let facts = &judged.observed.facts;
                        let answer = decide::answer(workflow, state, facts, &patch, &reason)?;
                        Ok(Some((answer, engine.caller.own_stamp())))
                    })?;
                    if let Some(why) = refused {
                        return Ok((Ending::Waiting, format!("the answer by default is refused: {why}")));
                    }
                }
                Next::GiveUp(work) => self.give_up(&work, tell)?,
                Next::Perform(work) => {
                    if !self.wait_for(&work) {
                        continue;
                    }
                    self.perform(&judged, &work, tell)?;
                }
            }
        }
    }

    /// Waits before a try; whoever has waited looks again before anything is started.
    fn wait_for(&mut self, work: &Work) -> bool {
        let key = (work.name.clone(), work.attempt);
        if work.wait == Period::default() || self.waited.as_ref() == Some(&key) {
            return true;
        }
        let until = Instant::now() + Duration::from_millis(work.wait.milliseconds());
        while Instant::now() < until && self.wished().is_none() {
            sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
        }
        self.waited = Some(key);
        false
    }

    /// Whether somebody wants the end, and how.
    fn wished(&self) -> Option<(Ending, String)> {
        if self.stop.is_set() {
            return Some((Ending::Paused, "it was interrupted".to_owned()));
        }
        let control = self.files.wish(&self.run.id)?;
        Some(match control.wish {
            Wish::Pause => (Ending::Paused, format!("{} paused it", control.by)),
            Wish::Stop => (Ending::Stopped, format!("{} stopped it", control.by)),
        })
    }

    pub(super) fn clock(&mut self) {
        let here = u64::try_from(self.since.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        let whole = self.since.1.milliseconds().saturating_add(here);
        self.run.spent.time = Period::from_milliseconds(whole);
        self.run.updated = self.engine.now();
    }

    pub(super) fn save(&mut self) -> Result<(), Error> {
        self.clock();
        Ok(self.files.write(&self.run)?)
    }

    /// The same for what a turn can be taken up without, should the whole machine go down.
    pub(super) fn note(&mut self) -> Result<(), Error> {
        self.clock();
        Ok(self.files.note(&self.run)?)
    }

    /// Applies the transitions that are due.
    fn advance(&mut self, tell: &mut Tell<'_>) -> Result<(), Error> {
        let may = |due: &Transition| !due.by_human;
        let plan = Plan { may: &may, once: false, own: true, dry_run: false, adopt: &|_| false };
        let tasks = std::slice::from_ref(self.task);
        let Some(outcomes) = self.patiently(tell, &|engine| engine.advance_due(tasks, &plan))? else {
            return Ok(());
        };
        self.told(outcomes, tell)
    }

    /// Tells what was applied.
    fn told(&mut self, outcomes: Vec<Outcome>, tell: &mut Tell<'_>) -> Result<(), Error> {
        for outcome in outcomes {
            if let Outcome::Applied(applied) = outcome {
                tell(&Happened::Applied(&applied));
                self.engine.renew_suggestion(&applied.judged)?;
            }
        }
        Ok(())
    }

    /// Does what the repository may not allow at this moment, again and again until it does, or until
    /// somebody wants the end; then nothing is done.
    pub(super) fn patiently<T>(
        &self,
        tell: &mut Tell<'_>,
        attempt: &dyn Fn(&Engine) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let mut is_told = false;
        loop {
            match attempt(self.engine) {
                Err(error) if is_passing(&error) => {
                    if !is_told {
                        tell(&Happened::Held(&error));
                        is_told = true;
                    }
                    if self.wished().is_some() {
                        return Ok(None);
                    }
                    sleep(HELD);
                }
                other => return other.map(Some),
            }
        }
    }

    /// Records a step that `make` yields for the task as it is then. Returns why it was refused, if so.
    pub(super) fn record(&mut self, tell: &mut Tell<'_>, make: &Make<'_>) -> Result<Option<String>, Error> {
        let refused: RefCell<Option<String>> = RefCell::new(None);
        let steps_of = |engine: &Engine, judged: &Judged| -> Result<Vec<Step>, Error> {
            refused.replace(None);
            let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else {
                return Ok(Vec::new());
            };
            let made = match make(engine, judged, engine.stamp()) {
                Ok(Some(made)) => made,
                Ok(None) => return Ok(Vec::new()),
                Err(why) => {
                    refused.replace(Some(why));
                    return Ok(Vec::new());
                }
            };
            let (transition, stamp) = made;
            let next = decide::apply(workflow, state, &judged.observed.facts, &transition, &stamp);
            if let Some(why) = engine.refused_data(workflow, &next) {
                refused.replace(Some(why));
                return Ok(Vec::new());
            }
            Ok(vec![Step { transition, state: next }])
        };
        let tasks = std::slice::from_ref(self.task);
        let outcomes = self.patiently(tell, &|engine| engine.carry_out(tasks, &steps_of))?;
        let is_done = outcomes.is_some();
        self.told(outcomes.unwrap_or_default(), tell)?;
        let why = refused.into_inner();
        Ok(why.or_else(|| (!is_done).then(|| NOT_RECORDED.to_owned())))
    }

    /// Ends the run: carries out what an order means for the task, records the end, and says so.
    fn close(mut self, ending: Ending, reason: String, tell: &mut Tell<'_>) -> Result<RunEnd, Error> {
        let interrupted = self.stop.is_set();
        let signal = match ending {
            Ending::Paused if self.files.wish(&self.run.id).is_some() => Some(Signal::Pause),
            Ending::Stopped => Some(Signal::Stop),
            _ => None,
        };
        self.files.say(&self.run.id, None)?;
        if let Some(signal) = signal {
            self.record(tell, &|_, judged, stamp| {
                let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else {
                    return Ok(None);
                };
                let moved = decide::signalled(workflow, state, &judged.observed.facts, signal);
                Ok(moved.transpose()?.map(|moved| (moved, stamp)))
            })?;
        }
        let told = format!("the run ended as {}: {reason}", ending.as_str());
        if self.acted {
            self.record(tell, &|engine, judged, _| {
                let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else {
                    return Ok(None);
                };
                let end = workflow
                    .has_actions()
                    .then(|| decide::end(workflow, state, &judged.observed.facts, &told));
                Ok(end.flatten().map(|end| (end, engine.caller.own_stamp())))
            })?;
        }
        self.run.ended = Some((ending, reason.clone()));
        self.save()?;
        let judged = self.engine.judge(self.task)?;
        self.engine.renew_suggestion(&judged)?;
        Ok(RunEnd {
            ending,
            reason,
            judged,
            run: self.run.id,
            turns: (self.run.spent.turns, self.budget.turns),
            cost: self.run.spent.cost,
            interrupted,
            due: None,
        })
    }
}

/// What yields a step, with who takes it, for the task as it is when it is recorded; an error refuses it.
pub(super) type Make<'a> =
    dyn Fn(&Engine, &Judged, Stamp) -> Result<Option<(Transition, Stamp)>, String> + 'a;

/// Said where the end was wanted while the repository did not allow the record.
pub(super) const NOT_RECORDED: &str = "the repository did not allow to record it";

/// Whether an error may be gone in a moment.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Store(error) => matches!(
            error.kind(),
            store::ErrorKind::Busy | store::ErrorKind::Moved | store::ErrorKind::NotNow
        ),
        _ => error.kind() == ErrorKind::Busy,
    }
}
