//! Carries out what the course of a run says: judge, record, start, wait, write down.

use super::super::{Engine, Error, Judged, TaskRef};
use super::{Happened, RunEnd, RunOptions, StopFlag, Tell, budget, not_here, refuse_unborn, state_of};
use crate::base::{Period, Timestamp};
use crate::decide::{
    Case, Course, Effect, Ending, Event, Hindrance, Mode, Moment, News, Patience, Recorded, Spent,
};
use crate::run::{Files, Lock, RunState, Standing, Turn, Wish, WorkState, adopt_strays};
use crate::store;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// One run as it goes on.
pub(super) struct Drive<'a> {
    pub engine: &'a Engine,
    pub task: &'a TaskRef,
    pub options: &'a RunOptions,
    pub files: &'a Files,
    pub stop: &'a StopFlag,
    pub course: Course,
    /// The id of the run.
    pub id: String,
    pub started: Timestamp,
    /// The turn of the work at hand.
    pub turn: Option<Turn>,
    /// Whether what an earlier process left was still running, and was ended.
    pub was_running: bool,
    /// The task as it was judged last, where nothing has happened since that could change it.
    pub judged: Option<Judged>,
    /// What has kept it from going on.
    pub fault: Option<Error>,
    /// Whether it is told that something hinders.
    pub is_held: bool,
    /// When this process took it up, and what it had taken before.
    since: (Instant, Period),
    /// What is wished from the beginning, and by whom.
    preset: Option<(Wish, String)>,
    lock: Option<Lock>,
    /// When the record was written last.
    saved: Instant,
}

/// How old the record of a run may be while an executor works.
const KEPT: Duration = Duration::from_secs(2);

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
        state_of(&judged)?;
        self.refuse_idle(&judged, options)?;
        if let (true, Some(store)) = (self.commits(), &self.store) {
            // What the repository does not allow is told before anybody is started.
            match store.begin().map(drop).map_err(Error::from) {
                Err(error) if patience_for(&error) == Patience::Long => {}
                other => other?,
            }
        }
        self.take_up(&judged, (options, stop, None), tell)?.ok_or_else(|| {
            store::Error::Busy { what: format!("another process runs task `{}`", task.id) }.into()
        })
    }

    /// Takes up the run of a task, or begins a new one, and drives it to its end; `None` where another
    /// process does. With something wished from the beginning it only settles what there is, and ends.
    pub(super) fn take_up(
        &mut self,
        judged: &Judged,
        (options, stop, preset): (&RunOptions, &StopFlag, Option<(Wish, String)>),
        tell: &mut Tell<'_>,
    ) -> Result<Option<RunEnd>, Error> {
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let mut budget = budget(workflow, options);
        let files = Files::of(&self.root, &judged.task.directory);
        let (now, known_mode) = (self.now(), state_of(judged)?.run.mode);
        let mode = |old: Option<Mode>| options.mode.or(known_mode).or(old).unwrap_or(Mode::Interactive);
        let mut was_interrupted = false;
        let begun = files.begin(|old| {
            let pid = std::process::id();
            let Some(old) = old.filter(RunState::goes_on) else {
                let id = format!("{}-{pid}", now.seconds());
                let (spent, standing) = (Spent::default(), Standing::Idle);
                let (mode, max_turns) = (mode(None), budget.turns);
                return RunState { id, pid, mode, started: now, updated: now, spent, max_turns, standing };
            };
            was_interrupted = old.ended().is_none();
            let standing = old.unsettled().cloned().map_or(Standing::Idle, Standing::Working);
            let max_turns = old.max_turns.min(budget.turns);
            RunState { pid, mode: mode(Some(old.mode)), max_turns, updated: now, standing, ..old }
        })?;
        let Some((lock, run)) = begun else { return Ok(None) };
        budget.turns = run.max_turns;
        let unsettled = run.unsettled().cloned();
        let (work, turn) = unsettled.map(|work| (work.work, work.turn)).unzip();
        adopt_strays();
        self.driving = Some(judged.task.id.clone());
        tracing::info!(task = %judged.task.id, run = run.id, resumed = was_interrupted, "run begun");
        tell(&Happened::Begun { run: &run.id, resumed: was_interrupted });
        let drive = Drive {
            engine: self,
            task: &judged.task,
            options,
            files: &files,
            stop,
            since: (Instant::now(), run.spent.time),
            course: Course::new(run.mode, budget, run.spent, work),
            id: run.id,
            started: run.started,
            turn,
            was_running: false,
            judged: None,
            fault: None,
            is_held: false,
            preset,
            lock: Some(lock),
            saved: Instant::now(),
        };
        let ended = drive.go(tell);
        self.driving = None;
        ended.map(Some)
    }
}

impl Drive<'_> {
    /// Effect after effect.
    fn go(mut self, tell: &mut Tell<'_>) -> Result<RunEnd, Error> {
        let mut effect = self.step(Event::Begun, tell);
        while effect != Effect::Over {
            effect = match self.save_if_due() {
                Err(error) => self.unsaved(effect, error, tell),
                Ok(()) => self.carry_out(effect, tell),
            };
        }
        self.close()
    }

    fn carry_out(&mut self, effect: Effect, tell: &mut Tell<'_>) -> Effect {
        match effect {
            Effect::LookBack => self.look_back(tell),
            Effect::Judge => self.judge(tell),
            Effect::Record(deed) => self.record(deed, tell),
            Effect::Perform => {
                let tried = self.perform(tell);
                self.step(Event::Performed(tried), tell)
            }
            Effect::Wait(time, following) => {
                self.judged = None;
                self.wait(time);
                self.step(Event::Waited(*following), tell)
            }
            Effect::Finish(heeded) => self.finish(heeded, tell),
            Effect::Over => Effect::Over,
        }
    }

    /// Tells the course what happened, and whoever watches what that means.
    pub(super) fn step(&mut self, event: Event<'_>, tell: &mut Tell<'_>) -> Effect {
        let now = self.now();
        let effect = self.course.step(&now, event);
        if effect == Effect::Perform {
            let (number, started) = (self.course.spent.turns, self.engine.now());
            self.turn = Some(Turn { number, started, process: None });
        }
        for news in std::mem::take(&mut self.course.news) {
            match &news {
                News::Done { work, message } => tell(&Happened::Done { work, message: message.as_deref() }),
                News::Failed { work, why } => {
                    let again = work.again.map(tracing::field::display);
                    tracing::info!(work = work.name(), attempt = work.attempt, again, "a try failed");
                    tell(&Happened::Failed { work, why, wait: work.again });
                }
            }
        }
        effect
    }

    fn judge(&mut self, tell: &mut Tell<'_>) -> Effect {
        let judged = match self.judged.take().map_or_else(|| self.engine.judge(self.task), Ok) {
            Ok(judged) => judged,
            Err(error) => return self.hinder(Effect::Judge, error, tell),
        };
        let has = |agent: &str| self.engine.command_for([agent], self.options).is_some();
        let effect = match case(&judged, &has) {
            Ok(case) => self.step(Event::Judged(&case), tell),
            Err(hindrance) => self.step(Event::Hindered(Effect::Judge, hindrance), tell),
        };
        self.judged = Some(judged);
        effect
    }

    /// Tells that an effect was not possible; that something passing hinders is told once.
    pub(super) fn hinder(&mut self, effect: Effect, error: Error, tell: &mut Tell<'_>) -> Effect {
        let patience = patience_for(&error);
        if !self.is_held {
            tracing::warn!(error = error.logged(), again = ?patience, "the run is hindered");
        }
        let why = match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        if matches!(patience, Patience::Never(_)) {
            self.fault.get_or_insert(error);
        } else if !std::mem::replace(&mut self.is_held, true) {
            tell(&Happened::Held(&error));
        }
        self.step(Event::Hindered(effect, Hindrance { patience, why }), tell)
    }

    /// What time it is, and what is wished.
    fn now(&self) -> Moment {
        let here = u64::try_from(self.since.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        let time = Period::from_milliseconds(self.since.1.milliseconds().saturating_add(here));
        Moment { time, wish: self.wished() }
    }

    /// The strongest that is wished, and by whom.
    pub(super) fn wished(&self) -> Option<(Wish, String)> {
        let said = self.files.wish().map(|control| wished_by(control.wish, &control.by));
        let key = || (Wish::Interrupt, "it was interrupted".to_owned());
        let typed = self.stop.is_set().then(key);
        [said, typed, self.preset.clone()].into_iter().flatten().max_by_key(|(wish, _)| *wish)
    }

    fn wait(&self, time: Period) {
        let until = Instant::now() + Duration::from_millis(time.milliseconds());
        // What is wished is known already where the run is about to end.
        while Instant::now() < until && (self.course.over.is_some() || self.wished().is_none()) {
            sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Writes down what must be known before anything else is done. A record that somebody cleaned away
    /// is written again.
    fn save_if_due(&mut self) -> Result<(), Error> {
        if self.course.unsaved || !self.files.has_record() {
            self.save()?;
        }
        Ok(())
    }

    pub(super) fn save(&mut self) -> Result<(), Error> {
        self.files.write(&self.known())?;
        self.course.unsaved = false;
        self.saved = Instant::now();
        Ok(())
    }

    /// While an executor works, others must be able to see it and to reach it, whatever it cleans away, and
    /// a kill must give back no more than a moment.
    pub(super) fn keep_known(&mut self) {
        self.files.keep_lock(&mut self.lock);
        if self.saved.elapsed() >= KEPT || !self.files.has_record() {
            self.course.spent.time = self.course.spent.time.max(self.now().time);
            // It is tried again, and once more when the executor has ended.
            let _ = self.save();
        }
    }

    /// What could not be written down is not done.
    fn unsaved(&mut self, effect: Effect, error: Error, tell: &mut Tell<'_>) -> Effect {
        self.course.unsaved = false;
        match effect {
            Effect::Perform => {
                let tried = super::perform::not_started(error.to_string());
                self.fault.get_or_insert(error);
                self.step(Event::Performed(tried), tell)
            }
            effect => self.hinder(effect, error, tell),
        }
    }

    /// The run as its record tells it.
    pub(super) fn known(&self) -> RunState {
        let work = self.course.doing.clone().zip(self.turn.clone());
        let work = work.map(|(work, turn)| WorkState { work, turn });
        let standing = match (self.course.over.clone(), work) {
            (Some((ending, why)), kept) => Standing::Ended { ending, why, kept },
            (None, Some(work)) => Standing::Working(work),
            (None, None) => Standing::Idle,
        };
        RunState {
            id: self.id.clone(),
            pid: std::process::id(),
            mode: self.course.mode,
            started: self.started,
            updated: self.engine.now(),
            spent: self.course.spent.clone(),
            max_turns: self.course.budget.turns,
            standing,
        }
    }

    fn finish(&mut self, heeded: Option<Wish>, tell: &mut Tell<'_>) -> Effect {
        if let Some(wish) = heeded {
            tracing::info!(request = wish.as_str(), "control request taken");
        }
        self.course.spent.time = self.course.spent.time.max(self.now().time);
        let run = self.known();
        match self.files.finish(&mut self.lock, &run, heeded) {
            Ok(control) => {
                let wish = control.map(|control| wished_by(control.wish, &control.by));
                self.step(Event::Finished(wish), tell)
            }
            Err(error) => self.hinder(Effect::Finish(heeded), error.into(), tell),
        }
    }

    /// What the run came to.
    fn close(mut self) -> Result<RunEnd, Error> {
        let (ending, reason) = self.course.over.take().unwrap_or((Ending::Error, String::new()));
        let turns = self.course.spent.turns;
        tracing::info!(task = %self.task.id, run = self.id, ending = ending.as_str(), turns, "run ended");
        if let Some(error) = self.fault.take() {
            return Err(error);
        }
        let judged = self.engine.judge(self.task)?;
        // A copy for convenience: what was recorded is, whether it can be written or not.
        let _ = self.engine.renew_suggestion(&judged);
        Ok(RunEnd {
            ending,
            reason,
            judged,
            run: self.id,
            turns: (self.course.spent.turns, self.course.budget.turns),
            cost: self.course.spent.cost,
            interrupted: self.stop.is_set() && ending == Ending::Paused,
            due: None,
        })
    }
}

/// A wish of somebody, in words.
pub(super) fn wished_by(wish: Wish, by: &str) -> (Wish, String) {
    let done = if wish == Wish::Stop { "stopped" } else { "paused" };
    (wish, format!("{by} {done} it"))
}

/// A judged task as the course sees it; a task of which nothing can be decided here is none.
pub(super) fn case<'a>(
    judged: &'a Judged,
    has_executor: &'a dyn Fn(&str) -> bool,
) -> Result<Case<'a>, Hindrance> {
    let never = |ending, why: String| Hindrance { patience: Patience::Never(ending), why };
    if judged.unborn {
        return Err(never(Ending::Waiting, not_here(&judged.task.id)));
    }
    match (judged.workflow(), &judged.recorded) {
        (Some(workflow), Recorded::Known(state)) => Ok(Case {
            workflow,
            state,
            facts: &judged.observed.facts,
            decision: &judged.decision,
            has_executor,
        }),
        _ => Err(never(Ending::Error, judged.decision.reason.clone())),
    }
}

/// How long an error is waited for.
pub(super) fn patience_for(error: &Error) -> Patience {
    match error {
        Error::Store(store::Error::Busy { .. } | store::Error::CommitOpen { .. } | store::Error::Moved) => {
            Patience::Long
        }
        Error::Store(store::Error::NotNow { .. }) => Patience::Short,
        error if error.code() == "unstable" => Patience::Short,
        _ => Patience::Never(Ending::Error),
    }
}
