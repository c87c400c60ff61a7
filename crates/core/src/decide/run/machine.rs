//! The run machine: it consumes events and yields effects.

use super::precondition::goal;
use super::proposal::{PersonsFiles, awaited, persons_files};
use super::{
    Blocker, Budget, ControlRequest, Ending, EvaluatedTask, ExecutorExit, ExecutorTrace,
    FailedAction, FailureCause, Job, Leftover, LimitWait, News, NextStep, PassingLimit,
    RecordOutcome, RetryPolicy, Returned, RunCommand, RunEffect, RunEvent, Tick, Usage, Work,
    WorkKind, fingerprint, next,
};
use crate::decide::{ActionResult, Mode, State};
use orch_base::{ArtifactName, Digest, Period, Reason};

/// One run in progress.
///
/// Every run ends: see [`RunMachine::left`].
#[derive(Debug, Clone, PartialEq)]
pub struct RunMachine {
    /// Whether the run asks people.
    pub mode: Mode,
    /// What the run may consume.
    pub budget: Budget,
    /// What the run has consumed and seen.
    pub usage: Usage,
    /// The work of the current executor, until it is recorded, failed or dropped.
    pub doing: Option<Work>,
    /// The ending and its reason, once they are decided.
    pub over: Option<(Ending, String)>,
    /// Whether the usage must be persisted before the next effect, or before the executor of that starts.
    pub unsaved: bool,
    /// Messages for people who watch the run.
    pub news: Vec<News>,
    /// The limit that the executor of the last try met, if it met one.
    pub limit: Option<LimitWait>,
    /// Whether the response to the order to start was requested.
    begun: bool,
    /// Whether anything was performed, answered or given up, so that the end is recorded.
    acted: bool,
    /// Whether nothing can be recorded any more.
    blind: bool,
    /// The strongest control request that the run has followed.
    pub(super) followed: Option<ControlRequest>,
    /// How the run ends before its next work, and why: an executor asked a person, or asked the run to stop.
    rest: Option<(Ending, String)>,
    /// The goal of the agent at work: a digest of what the decision asks for.
    goal: Option<Digest>,
    /// The files of phases that a person owns, as they were when the executor started.
    persons: Option<PersonsFiles>,
    /// The outputs of such phases that executors wrote.
    proposed: Vec<ArtifactName>,
    /// The executor of the last try, until the try succeeded or failed.
    tried: ExecutorTrace,
    /// Finished work of an agent whose effect is not known yet.
    pending: Option<PendingWork>,
    /// The number of turns after which the run last waited before a try.
    pub(super) waited: Option<u32>,
    /// The number of turns after which giving up an action was refused.
    refused: Option<u32>,
    /// How many steps may be recorded before the next turn.
    pub(super) records: u32,
    /// How long the run may still wait for obstacles, in milliseconds, and how often it has waited.
    pub(super) retry: (u64, u32),
}

/// Finished work of an agent that may have had no effect.
#[derive(Debug, Clone, PartialEq)]
struct PendingWork {
    work: Work,
    /// What the decision asked for when the work began.
    goal: Digest,
    /// The failure, if the agent failed.
    why: Option<String>,
}

/// How many steps may be recorded between two turns.
const RECORDS: u32 = 100;
/// The longest total wait for an obstacle that passes by itself, in milliseconds.
const LONG: u64 = 3_600_000;
/// The longest total wait for a person to act, in milliseconds.
const SHORT: u64 = 60_000;
/// The longest total wait for the response to an order to end, in milliseconds.
const ORDER: u64 = 5_000;
/// The first and the longest single wait for an obstacle, in milliseconds.
const HELD: (u64, u64) = (200, 5_000);

impl RunMachine {
    /// A run with this usage so far, which has to settle the work `doing` first.
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
            limit: None,
            begun: false,
            acted: false,
            blind: false,
            followed: None,
            rest: None,
            goal: None,
            persons: None,
            proposed: Vec::new(),
            tried: ExecutorTrace::default(),
            pending: None,
            waited: None,
            refused: None,
            records: RECORDS,
            retry: (LONG, 0),
        }
    }

    /// Consumes an event and yields the next effect.
    pub fn step(&mut self, now: &Tick, event: RunEvent<'_>) -> RunEffect {
        self.usage.time = self.usage.time.max(now.time);
        match event {
            RunEvent::Begun if self.doing.is_some() => RunEffect::LookBack,
            RunEvent::Begun => self.go_on(now),
            RunEvent::Found(left, state) => self.found(now, left, state),
            RunEvent::Evaluated(case) => self.evaluated(now, case),
            RunEvent::Recorded(command, noted) => self.recorded(now, command, noted),
            RunEvent::Performed(tried) => self.performed(now, tried),
            RunEvent::Waited(effect) => match &now.request {
                Some(request) if self.over.is_none() => self.end_on_request(request),
                _ => effect,
            },
            RunEvent::Blocked(effect, blocker) => self.blocked(now, effect, blocker),
            RunEvent::Finished(request) => match request {
                Some((request, why)) if Some(request) > self.followed => {
                    self.reopen(&(request, why))
                }
                _ => RunEffect::Over,
            },
        }
    }

    /// Continues after work is settled.
    fn go_on(&mut self, now: &Tick) -> RunEffect {
        if let Some(request) = &now.request {
            return self.end_on_request(request);
        }
        if self.begun {
            return RunEffect::Evaluate;
        }
        self.begun = true;
        RunEffect::Record(RunCommand::Start)
    }

    fn evaluated(&mut self, now: &Tick, case: &EvaluatedTask<'_>) -> RunEffect {
        self.look_for_proposals(case);
        self.look_for_progress(case);
        if let Some(request) = &now.request {
            return self.end_on_request(request);
        }
        let following = next(case, &self.usage, &self.budget, self.mode);
        let is_at_rest = match &following {
            NextStep::Apply => false,
            // A question is not lost because it used up the budget.
            NextStep::End(ending, _) => {
                *ending == Ending::Exhausted && matches!(self.rest, Some((Ending::Waiting, _)))
            }
            _ => true,
        };
        if is_at_rest && let Some((ending, why)) = self.rest.take() {
            return self.end(ending, why);
        }
        match following {
            NextStep::End(Ending::Exhausted, reason) => {
                let limit = self.limit.as_ref();
                let why = limit.map_or(String::new(), |limit| format!("; {}", limit.why));
                self.end(Ending::Exhausted, format!("{reason}{why}"))
            }
            NextStep::End(ending, reason) => self.end(ending, reason),
            NextStep::Apply => match awaited(case, &self.proposed) {
                Some(why) => self.end(Ending::Waiting, why),
                None => RunEffect::Record(RunCommand::Moves {
                    proposed: self.proposed.clone(),
                }),
            },
            NextStep::Verify(names) => RunEffect::Record(RunCommand::Verify(names)),
            NextStep::GiveUp(failed) => RunEffect::Record(RunCommand::GiveUp(failed)),
            NextStep::Answer(answer) => {
                self.begin();
                RunEffect::Record(RunCommand::Answer(answer))
            }
            NextStep::Perform(work) if self.wait_before(now, &work) > Period::default() => {
                self.wait_for(now, work)
            }
            NextStep::Perform(work) => {
                self.begin();
                self.persons = Some(persons_files(case.workflow, case.facts));
                self.goal = work.action().is_none().then(|| goal(case.decision));
                self.doing = Some(work);
                RunEffect::Perform
            }
        }
    }

    /// Decides whether the agent's last work succeeded. It succeeded if its files changed the goal, however
    /// it exited. It failed if the goal is the same and it exited badly or changed any file. If it exited
    /// well and changed nothing, it is not tried again, because that would repeat the same work.
    fn look_for_progress(&mut self, case: &EvaluatedTask<'_>) {
        let Some(PendingWork {
            mut work,
            goal: before,
            why,
        }) = self.pending.take()
        else {
            return;
        };
        let rule = case.decision.rule.as_ref();
        let has_moved = goal(case.decision) != before;
        let has_failed = !has_moved
            && (why.is_some()
                || fingerprint(case.workflow, case.state, case.facts, rule)
                    != work.precondition.fingerprint);
        if !has_failed {
            self.usage.forgive(&work.job());
            work.again = None;
        }
        let reason = has_failed.then(|| case.decision.reason.clone());
        if let Some(why) = why.or(reason) {
            self.news.push(News::Failed { work, why });
        }
    }

    /// Notes which outputs of phases that a person owns have changed while the executor worked.
    fn look_for_proposals(&mut self, case: &EvaluatedTask<'_>) {
        let Some(before) = self.persons.take() else {
            return;
        };
        let now = persons_files(case.workflow, case.facts);
        let written = now
            .into_iter()
            .filter(|(name, files)| !files.is_empty() && before.get(name) != Some(files));
        for (name, _) in written {
            if !self.proposed.contains(&name) {
                self.proposed.push(name);
            }
        }
    }

    /// How long to wait before some work. Each turn waits once at most.
    fn wait_before(&self, now: &Tick, work: &Work) -> Period {
        if self.waited == Some(self.usage.turns) {
            return Period::default();
        }
        let limit = self
            .limit_of(work)
            .map_or(Period::default(), |limit| limit.left(now.at));
        work.wait.max(limit)
    }

    /// The limit that the executor of some work has met.
    fn limit_of(&self, work: &Work) -> Option<&LimitWait> {
        let limit = self.limit.as_ref();
        limit.filter(|limit| limit.job == work.job())
    }

    /// Waits before some work, unless the time of the run would be over before a limit passes.
    fn wait_for(&mut self, now: &Tick, work: Work) -> RunEffect {
        let wait = self.wait_before(now, &work);
        let rest = self.budget.rest(self.usage.time).unwrap_or(wait);
        let limit = self.limit_of(&work);
        if let Some(limit) = limit
            .filter(|limit| limit.left(now.at) > Period::default())
            .cloned()
        {
            if limit.left(now.at) > rest {
                let time = self.budget.time.unwrap_or_default();
                let LimitWait { until, why, .. } = limit;
                let reason =
                    format!("the time limit of {time} would end a wait until {until}: {why}");
                return self.end(Ending::Exhausted, reason);
            }
            self.news.push(News::Limited { work, limit });
        }
        self.waited = Some(self.usage.turns);
        self.unsaved = true;
        RunEffect::Wait(wait.min(rest), Box::new(RunEffect::Evaluate))
    }

    /// Starts a turn, which is counted before anything is done.
    fn begin(&mut self) {
        self.usage.begin();
        self.records = RECORDS;
        self.acted = true;
        self.unsaved = true;
    }

    fn found(&mut self, now: &Tick, left: Leftover, state: &State) -> RunEffect {
        let Some(work) = &self.doing else {
            return self.go_on(now);
        };
        let cost = cost_of(left.result.as_ref());
        match (&work.kind, left.result) {
            (WorkKind::Action { action, .. }, result)
                if work.precondition.is_recorded(state, action) =>
            {
                self.succeed(cost, result.and_then(Result::ok));
                self.go_on(now)
            }
            // A complete result is valid even if the run died before reading it.
            (WorkKind::Action { .. }, Some(Ok(result))) if !left.was_running => {
                self.take_in(now, result)
            }
            _ => {
                self.usage.lose_price(&self.budget, false);
                self.fail(now, "its run was killed".to_owned(), cost)
            }
        }
    }

    fn performed(&mut self, now: &Tick, tried: Returned) -> RunEffect {
        let cost = match &tried.result {
            Some(Ok(result)) => result.cost,
            Some(Err(_)) | None => tried.cost,
        };
        self.tried = tried.trace;
        if tried.is_unpriced {
            self.usage.lose_price(&self.budget, true);
        }
        if let Some(job) = self.doing.as_ref().map(Work::job) {
            match tried.said {
                Some(said) => self.usage.said.insert(job, said),
                None => self.usage.said.remove(&job),
            };
        }
        let earlier = self.limit.take();
        match tried.how {
            ExecutorExit::Limited(limit) => self.limited(now, limit, earlier.as_ref(), cost),
            ExecutorExit::Hopeless(why) => {
                self.usage.pay(cost);
                self.doing = None;
                self.end(Ending::Error, why)
            }
            ExecutorExit::NotStarted(why) => {
                self.usage.take_back();
                self.doing = None;
                self.blind = true;
                self.end(Ending::Error, why)
            }
            // This is not a failure: the work starts again when the run continues.
            ExecutorExit::Stopped => self.drop_work(now, cost),
            ExecutorExit::TooLong(_)
                if self.budget.rest(self.usage.time) == Some(Period::default()) =>
            {
                self.drop_work(now, cost)
            }
            ExecutorExit::TooLong(why) | ExecutorExit::Badly(why) => self.fail(now, why, cost),
            ExecutorExit::Well => {
                match (self.doing.as_ref().map(|work| &work.kind), tried.result) {
                    (Some(WorkKind::Action { .. }), Some(Ok(result))) => self.take_in(now, result),
                    (Some(WorkKind::Action { .. }), Some(Err(why))) => {
                        self.fail(now, why.into(), cost)
                    }
                    (Some(WorkKind::Action { .. }), None) => {
                        self.fail(now, "the executor left no result".to_owned(), cost)
                    }
                    // The files of an agent count, not its result, so a missing result is not a failure.
                    (_, result) => match result.and_then(Result::ok) {
                        Some(ActionResult {
                            question: Some(question),
                            ..
                        }) => self.ask(now, &question, cost),
                        Some(result) if result.failed => self.fail_with_result(now, &result, cost),
                        result => {
                            self.succeed(cost, result);
                            self.go_on(now)
                        }
                    },
                }
            }
        }
    }

    /// Settles a try that met a limit: it is no failure, and the work starts again when the limit has passed.
    fn limited(
        &mut self,
        now: &Tick,
        limit: PassingLimit,
        earlier: Option<&LimitWait>,
        cost: f64,
    ) -> RunEffect {
        if let Some(work) = &self.doing {
            self.limit = Some(LimitWait::new(work.job(), limit, earlier, now.at));
        }
        self.unsaved = true;
        self.drop_work(now, cost)
    }

    /// Accepts the result of an action for recording.
    fn take_in(&mut self, now: &Tick, result: ActionResult) -> RunEffect {
        if result.failed {
            return self.fail_with_result(now, &result, result.cost);
        }
        if let Some(question) = &result.question {
            return self.ask(now, question, result.cost);
        }
        match self.doing.clone() {
            Some(Work {
                kind: WorkKind::Action { action, rule },
                precondition,
                ..
            }) => {
                self.acted = true;
                RunEffect::Record(RunCommand::Result {
                    action,
                    rule,
                    precondition,
                    result: Box::new(result),
                })
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
            (RunCommand::Result { result, .. }, Some(why)) => {
                self.fail(now, why.to_owned(), result.cost)
            }
            (RunCommand::Answer(answer), None) => {
                self.usage
                    .see(Job::Question(answer.ask), answer.fingerprint);
                RunEffect::Evaluate
            }
            (RunCommand::Answer(_), Some(why)) => self.end(
                Ending::Waiting,
                format!("the default answer was refused: {why}"),
            ),
            (RunCommand::GiveUp(failed), None) => {
                self.usage.forgive(&Job::Action(failed.action.to_string()));
                self.acted = true;
                self.unsaved = true;
                RunEffect::Evaluate
            }
            // Someone may have moved the task meanwhile; only a second refusal counts.
            (RunCommand::GiveUp(_), Some(_))
                if self.refused.replace(self.usage.turns) != Some(self.usage.turns) =>
            {
                RunEffect::Evaluate
            }
            (RunCommand::GiveUp(FailedAction { action, .. }), Some(why)) => self.end(
                Ending::Error,
                format!("`{action}` failed too often, and giving it up was refused: {why}"),
            ),
            // Somebody has to look at it before it can run.
            (RunCommand::Verify(_), Some(why)) if noted != RecordOutcome::Nothing => {
                self.acted = true;
                self.end(Ending::Waiting, why.to_owned())
            }
            (command, _) => match noted {
                RecordOutcome::Refused(why) => self.end(Ending::Error, why.into()),
                _ if self.records == 0 => {
                    let reason =
                        format!("the task moved {RECORDS} times without any work in between");
                    self.end(Ending::Error, reason)
                }
                _ if command == RunCommand::Start => {
                    RunEffect::Record(RunCommand::Begin(self.mode))
                }
                _ => RunEffect::Evaluate,
            },
        }
    }

    /// Waits for an obstacle to pass, or ends the run.
    fn blocked(&mut self, now: &Tick, effect: RunEffect, blocker: Blocker) -> RunEffect {
        if self.over.is_some() {
            return self.blocked_at_the_end(effect, &blocker);
        }
        if let Some(request) = &now.request {
            return self.end_on_request(request);
        }

        let (most, ending) = match blocker.retry {
            RetryPolicy::Long => (LONG, Ending::Waiting),
            RetryPolicy::Short => (SHORT, Ending::Waiting),
            RetryPolicy::Never(ending) => (0, ending),
        };
        let (retry, times) = self.retry;
        let waited = LONG - retry;
        let rest = self
            .budget
            .rest(self.usage.time)
            .map_or(LONG, Period::milliseconds);
        let wait = (HELD.0 << times.min(10))
            .min(HELD.1)
            .min(most.saturating_sub(waited))
            .min(rest);
        if wait == 0 {
            self.blind = true;
            let is_out_of_time = most > waited;
            let ending = if is_out_of_time {
                Ending::Exhausted
            } else {
                ending
            };
            return self.end(ending, blocker.why);
        }
        self.retry = (retry - wait, times.saturating_add(1));
        RunEffect::Wait(Period::from_milliseconds(wait), Box::new(effect))
    }

    /// At the end, only the response to an order is retried, and not for long.
    fn blocked_at_the_end(&mut self, effect: RunEffect, blocker: &Blocker) -> RunEffect {
        let RunEffect::Record(command) = &effect else {
            return RunEffect::Over;
        };
        let (retry, _) = self.retry;
        let is_passing = !matches!(blocker.retry, RetryPolicy::Never(_));
        if matches!(command, RunCommand::Order(_)) && is_passing && LONG - retry < ORDER {
            self.retry = (retry - HELD.0, 0);
            return RunEffect::Wait(Period::from_milliseconds(HELD.0), Box::new(effect));
        }
        if let (RunCommand::Order(_), Some((_, reason))) = (command, &mut self.over) {
            reason.push_str(&format!(
                "; the response to it could not be recorded: {}",
                blocker.why
            ));
        }
        self.close(command)
    }

    /// Settles work that is done.
    fn succeed(&mut self, cost: f64, result: Option<ActionResult>) {
        let Some(work) = self.doing.take() else {
            return;
        };
        self.usage.pay(cost);
        self.usage.see(work.job(), work.precondition.fingerprint);
        match self.goal.take() {
            None => self.usage.forgive(&work.job()),
            // The next evaluation shows whether the agent's files had an effect; until then the work counts
            // as failed. The state does not record an agent's work as it records a result.
            Some(goal) => {
                self.usage.fail(work.job());
                self.pending = Some(PendingWork {
                    work: work.clone(),
                    goal,
                    why: None,
                });
                self.unsaved = true;
            }
        }
        self.rest = result.as_ref().filter(|result| !result.goes_on).map(|_| {
            (
                Ending::Paused,
                format!("`{}` asked to stop here", work.name()),
            )
        });
        let message = result.and_then(|result| result.message);
        self.news.push(News::Done { work, message });
    }

    /// Settles a try whose executor asks a person: the work is neither done nor failed, and the run ends before it
    /// would start again.
    fn ask(&mut self, now: &Tick, question: &str, cost: f64) -> RunEffect {
        if let Some(work) = &self.doing {
            self.rest = Some((
                Ending::Waiting,
                format!("`{}` asks: {question}", work.name()),
            ));
        }
        self.goal = None;
        self.acted = true;
        self.drop_work(now, cost)
    }

    /// Settles a try whose result reports a failure.
    fn fail_with_result(&mut self, now: &Tick, result: &ActionResult, cost: f64) -> RunEffect {
        let said = result.message.as_deref().or(result.summary.as_deref());
        let mut why = said.unwrap_or("the result reports a failure").to_owned();
        if !result.recoverable {
            self.tried.recoverable = Some(false);
            why.push_str(" (not recoverable)");
        }
        self.fail(now, why, cost)
    }

    /// Settles a failed try.
    fn fail(&mut self, now: &Tick, why: String, cost: f64) -> RunEffect {
        if let Some(mut work) = self.doing.take() {
            self.usage.pay(cost);
            self.usage.fail(work.job());
            let trace = std::mem::take(&mut self.tried);
            work.again = work.again.filter(|_| !trace.is_final());
            self.usage.causes.insert(
                work.job(),
                FailureCause {
                    why: why.clone(),
                    trace,
                },
            );
            self.acted = true;
            match self.goal.take() {
                Some(goal) => {
                    self.pending = Some(PendingWork {
                        work,
                        goal,
                        why: Some(why),
                    })
                }
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

    fn end_on_request(&mut self, (request, why): &(ControlRequest, String)) -> RunEffect {
        self.followed = Some(*request);
        self.retry = (LONG, 0);
        self.over = Some((request.ending(), why.clone()));
        match request.signal() {
            Some(_) => RunEffect::Record(RunCommand::Order(*request)),
            None => self.record_end(),
        }
    }

    /// A control request arrived while the end was persisted. A finished task stays finished.
    fn reopen(&mut self, requested: &(ControlRequest, String)) -> RunEffect {
        if matches!(self.over, Some((Ending::Completed | Ending::Failed, _))) {
            self.followed = Some(requested.0);
            return RunEffect::Finish(self.followed);
        }
        self.acted = false;
        self.end_on_request(requested)
    }

    fn end(&mut self, ending: Ending, reason: String) -> RunEffect {
        self.over = Some((ending, reason));
        self.record_end()
    }

    fn record_end(&self) -> RunEffect {
        match &self.over {
            Some((ending, reason)) if self.acted && !self.blind => {
                RunEffect::Record(RunCommand::End(ending.reason(reason)))
            }
            _ => RunEffect::Finish(self.followed),
        }
    }

    /// Continues after a recording at the end, successful or not.
    fn close(&self, command: &RunCommand) -> RunEffect {
        match command {
            RunCommand::Order(_) => self.record_end(),
            _ => RunEffect::Finish(self.followed),
        }
    }
}

fn cost_of(result: Option<&Result<ActionResult, Reason>>) -> f64 {
    result
        .and_then(|result| result.as_ref().ok())
        .map_or(0.0, |result| result.cost)
}
