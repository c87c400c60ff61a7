//! The loop of a run as a machine: it is told what happened, and says what is to be done.

use super::precondition::goal;
use super::{
    Blocker, Budget, ControlRequest, Ending, ExecutorExit, FailedAction, Job, JudgedTask, Leftover, News,
    NextStep, RecordOutcome, RetryPolicy, Returned, RunCommand, RunEffect, RunEvent, Tick, Usage, Work,
    Worker, fingerprint, next,
};
use crate::base::{Digest, Period, Reason};
use crate::decide::{ActionResult, Mode, State};

/// One run as it goes on.
///
/// It always ends: see [`RunMachine::left`].
#[derive(Debug, Clone, PartialEq)]
pub struct RunMachine {
    /// How it goes about questions.
    pub mode: Mode,
    /// What it may use.
    pub budget: Budget,
    /// What it has used and seen.
    pub usage: Usage,
    /// What an executor was started for, until that is recorded, counted as failed or given back.
    pub doing: Option<Work>,
    /// How it ends, once that is clear.
    pub over: Option<(Ending, String)>,
    /// Whether what it has used must be on the disk before the next effect.
    pub unsaved: bool,
    /// What whoever watches should be told.
    pub news: Vec<News>,
    /// Whether it has asked for what answers to the order to begin.
    begun: bool,
    /// Whether something was performed, answered or given up, so that the end is told.
    acted: bool,
    /// Whether nothing can be recorded any more.
    blind: bool,
    /// The strongest wish that was heeded.
    pub(super) heeded: Option<ControlRequest>,
    /// That an action asked to stop here.
    rest: Option<String>,
    /// What the decision demands of the agent at work.
    goal: Option<Digest>,
    /// An agent's work of which it is not known yet whether anything has come of it.
    doubted: Option<Doubt>,
    /// The number of turns after which a try was waited for.
    pub(super) waited: Option<u32>,
    /// The number of turns after which something that failed too often could not be given up.
    refused: Option<u32>,
    /// How many records may be made before the next turn.
    pub(super) records: u32,
    /// How long what hinders may still be waited for, and how often it was.
    pub(super) retry: (u64, u32),
}

/// An agent's work that may have come to nothing.
#[derive(Debug, Clone, PartialEq)]
struct Doubt {
    work: Work,
    /// What the decision demanded of it.
    goal: Digest,
    /// Why it has failed, if it has not ended well.
    why: Option<String>,
}

/// How many records may be made between two turns.
const RECORDS: u32 = 100;
/// How long is waited at most for what passes by itself, in milliseconds.
const LONG: u64 = 3_600_000;
/// How long is waited at most for somebody to act, in milliseconds.
const SHORT: u64 = 60_000;
/// How long is waited at most for what hinders an order to end, in milliseconds.
const ORDER: u64 = 5_000;
/// The first wait for what hinders, and the longest, in milliseconds.
const HELD: (u64, u64) = (200, 5_000);

impl RunMachine {
    /// A run that has used this much, and has this work to settle first.
    #[must_use]
    pub fn new(mode: Mode, budget: Budget, usage: Usage, doing: Option<Work>) -> Self {
        Self {
            mode,
            budget,
            usage,
            doing,
            over: None,
            unsaved: false,
            news: Vec::new(),
            begun: false,
            acted: false,
            blind: false,
            heeded: None,
            rest: None,
            goal: None,
            doubted: None,
            waited: None,
            refused: None,
            records: RECORDS,
            retry: (LONG, 0),
        }
    }

    /// Takes in what happened, and says what is to be done.
    pub fn step(&mut self, now: &Tick, event: RunEvent<'_>) -> RunEffect {
        self.usage.time = self.usage.time.max(now.time);
        match event {
            RunEvent::Begun if self.doing.is_some() => RunEffect::LookBack,
            RunEvent::Begun => self.go_on(now),
            RunEvent::Found(left, state) => self.found(now, left, state),
            RunEvent::Judged(case) => self.judged(now, case),
            RunEvent::Recorded(command, noted) => self.recorded(now, command, noted),
            RunEvent::Performed(tried) => self.performed(now, tried),
            RunEvent::Waited(effect) => match &now.request {
                Some(request) if self.over.is_none() => self.heed(request),
                _ => effect,
            },
            RunEvent::Blocked(effect, blocker) => self.blocked(now, effect, blocker),
            RunEvent::Finished(request) => match request {
                Some((request, why)) if Some(request) > self.heeded => self.reopen(&(request, why)),
                _ => RunEffect::Over,
            },
        }
    }

    /// What comes after something is settled.
    fn go_on(&mut self, now: &Tick) -> RunEffect {
        if let Some(request) = &now.request {
            return self.heed(request);
        }
        if self.begun {
            return RunEffect::Judge;
        }
        self.begun = true;
        RunEffect::Record(RunCommand::Start)
    }

    fn judged(&mut self, now: &Tick, case: &JudgedTask<'_>) -> RunEffect {
        self.look_for_progress(case);
        if let Some(request) = &now.request {
            return self.heed(request);
        }
        let following = next(case, &self.usage, &self.budget, self.mode);
        if !matches!(following, NextStep::Apply | NextStep::End(..))
            && let Some(why) = self.rest.take()
        {
            return self.end(Ending::Paused, why);
        }
        match following {
            NextStep::End(ending, reason) => self.end(ending, reason),
            NextStep::Apply => RunEffect::Record(RunCommand::Moves),
            NextStep::GiveUp(failed) => RunEffect::Record(RunCommand::GiveUp(failed)),
            NextStep::Answer(answer) => {
                self.begin();
                RunEffect::Record(RunCommand::Answer(answer))
            }
            NextStep::Perform(work) if self.must_wait(&work) => {
                self.waited = Some(self.usage.turns);
                self.unsaved = true;
                let rest = self.budget.rest(self.usage.time).unwrap_or(work.wait);
                RunEffect::Wait(work.wait.min(rest), Box::new(RunEffect::Judge))
            }
            NextStep::Perform(work) => {
                self.begin();
                self.goal = work.action().is_none().then(|| goal(case.decision));
                self.doing = Some(work);
                RunEffect::Perform
            }
        }
    }

    /// An agent whose files leave the rules where they were has failed, whatever it wrote; one whose files
    /// move the task has not, however it ended. Where nothing at all has changed, trying again would be the
    /// same once more.
    fn look_for_progress(&mut self, case: &JudgedTask<'_>) {
        let Some(Doubt { mut work, goal: before, why }) = self.doubted.take() else { return };
        let fingerprint = || fingerprint(case.workflow, case.state, case.facts, case.decision.rule.as_ref());
        let has_moved = goal(case.decision) != before;
        let has_failed = !has_moved && (why.is_some() || fingerprint() != work.precondition.fingerprint);
        if !has_failed {
            self.usage.forgive(&work.worker());
            work.again = None;
        }
        let told = has_failed.then(|| case.decision.reason.clone());
        if let Some(why) = why.or(told) {
            self.news.push(News::Failed { work, why });
        }
    }

    fn must_wait(&self, work: &Work) -> bool {
        work.wait > Period::default() && self.waited != Some(self.usage.turns)
    }

    /// A turn begins: it is counted before anything is done.
    fn begin(&mut self) {
        self.usage.begin();
        self.records = RECORDS;
        self.acted = true;
        self.unsaved = true;
    }

    fn found(&mut self, now: &Tick, left: Leftover, state: &State) -> RunEffect {
        let Some(work) = &self.doing else { return self.go_on(now) };
        let cost = cost_of(left.result.as_ref());
        match (&work.job, left.result) {
            (Job::Action { action, .. }, result) if work.precondition.is_recorded(state, action) => {
                self.succeed(cost, result.and_then(Result::ok));
                self.go_on(now)
            }
            // A whole result was the executor's last word, though nobody heard it.
            (Job::Action { .. }, Some(Ok(result))) if !left.was_running => self.take_in(now, result),
            _ => self.fail(now, "its run was killed".to_owned(), cost),
        }
    }

    fn performed(&mut self, now: &Tick, tried: Returned) -> RunEffect {
        let cost = cost_of(tried.result.as_ref());
        match tried.how {
            ExecutorExit::NotStarted(why) => {
                self.usage.take_back();
                self.doing = None;
                self.blind = true;
                self.end(Ending::Error, why)
            }
            // Nobody's failure: it begins anew when the run goes on.
            ExecutorExit::Stopped => self.drop_work(now, cost),
            ExecutorExit::TooLong(_) if self.budget.rest(self.usage.time) == Some(Period::default()) => {
                self.drop_work(now, cost)
            }
            ExecutorExit::TooLong(why) | ExecutorExit::Badly(why) => self.fail(now, why, cost),
            ExecutorExit::Well => match (self.doing.as_ref().map(|work| &work.job), tried.result) {
                (Some(Job::Action { .. }), Some(Ok(result))) => self.take_in(now, result),
                (Some(Job::Action { .. }), Some(Err(why))) => self.fail(now, why.into(), cost),
                (Some(Job::Action { .. }), None) => self.fail(now, "it left no result".to_owned(), cost),
                // The word of an agent is no evidence, so that it says nothing is no fault either.
                (_, result) => match result.and_then(Result::ok) {
                    Some(result) if result.failed => self.fail(now, failure_in(&result), cost),
                    result => {
                        self.succeed(cost, result);
                        self.go_on(now)
                    }
                },
            },
        }
    }

    /// Takes in the result of an action: it is to be recorded.
    fn take_in(&mut self, now: &Tick, result: ActionResult) -> RunEffect {
        if result.failed {
            return self.fail(now, failure_in(&result), result.cost);
        }
        match self.doing.clone() {
            Some(Work { job: Job::Action { action, rule }, precondition, .. }) => {
                self.acted = true;
                RunEffect::Record(RunCommand::Result { action, rule, precondition, result: Box::new(result) })
            }
            _ => self.go_on(now),
        }
    }

    fn recorded(&mut self, now: &Tick, command: RunCommand, noted: RecordOutcome) -> RunEffect {
        if self.over.is_some() {
            return self.close(&command);
        }
        self.records = self.records.saturating_sub(1);
        self.retry = (LONG, 0);
        let refused = match &noted {
            RecordOutcome::Done => None,
            RecordOutcome::Nothing => Some("there was nothing to record"),
            RecordOutcome::Refused(why) => Some(why.as_str()),
        };
        match (command, refused) {
            (RunCommand::Result { result, .. }, None) => {
                self.succeed(result.cost, Some(*result));
                self.go_on(now)
            }
            (RunCommand::Result { result, .. }, Some(why)) => self.fail(now, why.to_owned(), result.cost),
            (RunCommand::Answer(answer), None) => {
                self.usage.see(Worker::Question(answer.ask), answer.fingerprint);
                RunEffect::Judge
            }
            (RunCommand::Answer(_), Some(why)) => {
                self.end(Ending::Waiting, format!("the answer by default is refused: {why}"))
            }
            (RunCommand::GiveUp(failed), None) => {
                self.usage.forgive(&Worker::Action(failed.action.to_string()));
                self.acted = true;
                self.unsaved = true;
                RunEffect::Judge
            }
            // Somebody may have moved the task meanwhile; who is refused twice is refused.
            (RunCommand::GiveUp(_), Some(_))
                if self.refused.replace(self.usage.turns) != Some(self.usage.turns) =>
            {
                RunEffect::Judge
            }
            (RunCommand::GiveUp(FailedAction { action, .. }), Some(why)) => {
                self.end(Ending::Error, format!("`{action}` failed too often, and that is refused: {why}"))
            }
            (command, _) => match noted {
                RecordOutcome::Refused(why) => self.end(Ending::Error, why.into()),
                _ if self.records == 0 => {
                    let reason = format!("the task moved {RECORDS} times with nothing performed in between");
                    self.end(Ending::Error, reason)
                }
                _ if command == RunCommand::Start => RunEffect::Record(RunCommand::Begin(self.mode)),
                _ => RunEffect::Judge,
            },
        }
    }

    /// Waits for what hinders, or ends.
    fn blocked(&mut self, now: &Tick, effect: RunEffect, blocker: Blocker) -> RunEffect {
        if self.over.is_some() {
            return self.hindered_at_the_end(effect, &blocker);
        }
        if let Some(request) = &now.request {
            return self.heed(request);
        }
        let ends = |ending| (ending, blocker.why.clone());
        let (most, ending) = match blocker.retry {
            RetryPolicy::Long => (LONG, Ending::Waiting),
            RetryPolicy::Short => (SHORT, Ending::Waiting),
            RetryPolicy::Never(ending) => (0, ending),
        };
        let (retry, times) = self.retry;
        let waited = LONG - retry;
        let rest = self.budget.rest(self.usage.time).map_or(LONG, Period::milliseconds);
        let wait = (HELD.0 << times.min(10)).min(HELD.1).min(most.saturating_sub(waited)).min(rest);
        if wait == 0 {
            self.blind = true;
            let is_out_of_time = most > waited;
            let (ending, why) = if is_out_of_time { ends(Ending::Exhausted) } else { ends(ending) };
            return self.end(ending, why);
        }
        self.retry = (retry - wait, times.saturating_add(1));
        RunEffect::Wait(Period::from_milliseconds(wait), Box::new(effect))
    }

    /// Only what answers to an order is waited for at the end, and not for long.
    fn hindered_at_the_end(&mut self, effect: RunEffect, blocker: &Blocker) -> RunEffect {
        let RunEffect::Record(command) = &effect else { return RunEffect::Over };
        let (retry, _) = self.retry;
        let is_passing = !matches!(blocker.retry, RetryPolicy::Never(_));
        if matches!(command, RunCommand::Order(_)) && is_passing && LONG - retry < ORDER {
            self.retry = (retry - HELD.0, 0);
            return RunEffect::Wait(Period::from_milliseconds(HELD.0), Box::new(effect));
        }
        if let (RunCommand::Order(_), Some((_, reason))) = (command, &mut self.over) {
            reason.push_str(&format!("; what answers to that could not be recorded: {}", blocker.why));
        }
        self.close(command)
    }

    /// Work is done and settled.
    fn succeed(&mut self, cost: f64, result: Option<ActionResult>) {
        let Some(work) = self.doing.take() else { return };
        self.usage.pay(cost);
        self.usage.see(work.worker(), work.precondition.fingerprint);
        match self.goal.take() {
            None => self.usage.forgive(&work.worker()),
            // The files of an agent will say whether anything has come of its work; until then it counts as
            // failed. No state tells of it as one tells of a result.
            Some(goal) => {
                self.usage.fail(work.worker());
                self.doubted = Some(Doubt { work: work.clone(), goal, why: None });
                self.unsaved = true;
            }
        }
        self.rest = result
            .as_ref()
            .filter(|result| !result.goes_on)
            .map(|_| format!("`{}` asked to stop here", work.name()));
        let message = result.and_then(|result| result.message);
        self.news.push(News::Done { work, message });
    }

    /// A try has failed.
    fn fail(&mut self, now: &Tick, why: String, cost: f64) -> RunEffect {
        if let Some(work) = self.doing.take() {
            self.usage.pay(cost);
            self.usage.fail(work.worker());
            self.acted = true;
            match self.goal.take() {
                Some(goal) => self.doubted = Some(Doubt { work, goal, why: Some(why) }),
                None => self.news.push(News::Failed { work, why }),
            }
        }
        self.go_on(now)
    }

    fn drop_work(&mut self, now: &Tick, cost: f64) -> RunEffect {
        self.usage.pay(cost);
        self.doing = None;
        self.go_on(now)
    }

    fn heed(&mut self, (request, why): &(ControlRequest, String)) -> RunEffect {
        self.heeded = Some(*request);
        self.retry = (LONG, 0);
        self.over = Some((request.ending(), why.clone()));
        match request.signal() {
            Some(_) => RunEffect::Record(RunCommand::Order(*request)),
            None => self.tell_end(),
        }
    }

    /// Something was wished while the end was written down. A task that is done stays done.
    fn reopen(&mut self, requested: &(ControlRequest, String)) -> RunEffect {
        if matches!(self.over, Some((Ending::Completed | Ending::Failed, _))) {
            self.heeded = Some(requested.0);
            return RunEffect::Finish(self.heeded);
        }
        self.acted = false;
        self.heed(requested)
    }

    fn end(&mut self, ending: Ending, reason: String) -> RunEffect {
        self.over = Some((ending, reason));
        self.tell_end()
    }

    fn tell_end(&self) -> RunEffect {
        match &self.over {
            Some((ending, reason)) if self.acted && !self.blind => {
                RunEffect::Record(RunCommand::End(format!("the run ended as {}: {reason}", ending.as_str())))
            }
            _ => RunEffect::Finish(self.heeded),
        }
    }

    /// What comes after something was recorded at the end, whether that was possible or not.
    fn close(&self, command: &RunCommand) -> RunEffect {
        match command {
            RunCommand::Order(_) => self.tell_end(),
            _ => RunEffect::Finish(self.heeded),
        }
    }
}

fn cost_of(result: Option<&Result<ActionResult, Reason>>) -> f64 {
    result.and_then(|result| result.as_ref().ok()).map_or(0.0, |result| result.cost)
}

fn failure_in(result: &ActionResult) -> String {
    let said = result.message.as_deref().or(result.summary.as_deref());
    said.unwrap_or("it says that it failed").to_owned()
}
