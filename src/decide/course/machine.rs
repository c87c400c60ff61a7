//! The loop of a run as a machine: it is told what happened, and says what is to be done.

use super::footing::demand;
use super::{
    Budget, Case, Deed, Doer, Effect, Ending, Event, Hindrance, How, Job, Left, Moment, News, Next, Noted,
    Patience, Returned, Spent, Wish, Work, ground, next,
};
use crate::base::{Digest, Period};
use crate::decide::{ActionResult, Mode, State};

/// One run as it goes on.
///
/// It always ends: see [`Course::left`].
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// How it goes about questions.
    pub mode: Mode,
    /// What it may use.
    pub budget: Budget,
    /// What it has used and seen.
    pub spent: Spent,
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
    pub(super) heeded: Option<Wish>,
    /// That an action asked to stop here.
    rest: Option<String>,
    /// What the decision demands of the agent at work.
    demand: Option<Digest>,
    /// An agent's work of which it is not known yet whether anything has come of it.
    doubted: Option<Doubt>,
    /// The number of turns after which a try was waited for.
    pub(super) waited: Option<u32>,
    /// The number of turns after which something that failed too often could not be given up.
    refused: Option<u32>,
    /// How many records may be made before the next turn.
    pub(super) records: u32,
    /// How long what hinders may still be waited for, and how often it was.
    pub(super) patience: (u64, u32),
}

/// An agent's work that may have come to nothing.
#[derive(Debug, Clone, PartialEq)]
struct Doubt {
    work: Work,
    /// What the decision demanded of it.
    demand: Digest,
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

impl Course {
    /// A run that has used this much, and has this work to settle first.
    #[must_use]
    pub fn new(mode: Mode, budget: Budget, spent: Spent, doing: Option<Work>) -> Self {
        Self {
            mode,
            budget,
            spent,
            doing,
            over: None,
            unsaved: false,
            news: Vec::new(),
            begun: false,
            acted: false,
            blind: false,
            heeded: None,
            rest: None,
            demand: None,
            doubted: None,
            waited: None,
            refused: None,
            records: RECORDS,
            patience: (LONG, 0),
        }
    }

    /// Takes in what happened, and says what is to be done.
    pub fn step(&mut self, now: &Moment, event: Event<'_>) -> Effect {
        self.spent.time = self.spent.time.max(now.time);
        match event {
            Event::Begun if self.doing.is_some() => Effect::LookBack,
            Event::Begun => self.go_on(now),
            Event::Found(left, state) => self.found(now, left, state),
            Event::Judged(case) => self.judged(now, case),
            Event::Recorded(deed, noted) => self.recorded(now, deed, noted),
            Event::Performed(tried) => self.performed(now, tried),
            Event::Waited(effect) => match &now.wish {
                Some(wish) if self.over.is_none() => self.heed(wish),
                _ => effect,
            },
            Event::Hindered(effect, hindrance) => self.hindered(now, effect, hindrance),
            Event::Finished(wish) => match wish {
                Some((wish, why)) if Some(wish) > self.heeded => self.reopen(&(wish, why)),
                _ => Effect::Over,
            },
        }
    }

    /// What comes after something is settled.
    fn go_on(&mut self, now: &Moment) -> Effect {
        if let Some(wish) = &now.wish {
            return self.heed(wish);
        }
        if self.begun {
            return Effect::Judge;
        }
        self.begun = true;
        Effect::Record(Deed::Start)
    }

    fn judged(&mut self, now: &Moment, case: &Case<'_>) -> Effect {
        self.look_for_progress(case);
        if let Some(wish) = &now.wish {
            return self.heed(wish);
        }
        let following = next(case, &self.spent, &self.budget, self.mode);
        if !matches!(following, Next::Apply | Next::End(..))
            && let Some(why) = self.rest.take()
        {
            return self.end(Ending::Paused, why);
        }
        match following {
            Next::End(ending, reason) => self.end(ending, reason),
            Next::Apply => Effect::Record(Deed::Moves),
            Next::GiveUp { action, rule, failures } => {
                Effect::Record(Deed::GiveUp { action, rule, failures })
            }
            Next::Answer { ask, patch, ground } => {
                self.begin();
                Effect::Record(Deed::Answer { ask, patch, ground })
            }
            Next::Perform(work) if self.must_wait(&work) => {
                self.waited = Some(self.spent.turns);
                self.unsaved = true;
                let rest = self.budget.rest(self.spent.time).unwrap_or(work.wait);
                Effect::Wait(work.wait.min(rest), Box::new(Effect::Judge))
            }
            Next::Perform(work) => {
                self.begin();
                self.demand = work.action().is_none().then(|| demand(case.decision));
                self.doing = Some(work);
                Effect::Perform
            }
        }
    }

    /// An agent whose files leave the rules where they were has failed, whatever it wrote; one whose files
    /// move the task has not, however it ended. Where nothing at all has changed, trying again would be the
    /// same once more.
    fn look_for_progress(&mut self, case: &Case<'_>) {
        let Some(Doubt { mut work, demand: before, why }) = self.doubted.take() else { return };
        let ground = || ground(case.workflow, case.state, case.facts, case.decision.rule.as_ref());
        let has_moved = demand(case.decision) != before;
        let has_failed = !has_moved && (why.is_some() || ground() != work.footing.ground);
        if !has_failed {
            self.spent.forgive(&work.doer());
            work.again = None;
        }
        let told = has_failed.then(|| case.decision.reason.clone());
        if let Some(why) = why.or(told) {
            self.news.push(News::Failed { work, why });
        }
    }

    fn must_wait(&self, work: &Work) -> bool {
        work.wait > Period::default() && self.waited != Some(self.spent.turns)
    }

    /// A turn begins: it is counted before anything is done.
    fn begin(&mut self) {
        self.spent.begin();
        self.records = RECORDS;
        self.acted = true;
        self.unsaved = true;
    }

    fn found(&mut self, now: &Moment, left: Left, state: &State) -> Effect {
        let Some(work) = &self.doing else { return self.go_on(now) };
        let cost = cost_of(left.result.as_ref());
        match (&work.job, left.result) {
            (Job::Action { action, .. }, result) if work.footing.is_recorded(state, action) => {
                self.succeed(cost, result.and_then(Result::ok));
                self.go_on(now)
            }
            // A whole result was the executor's last word, though nobody heard it.
            (Job::Action { .. }, Some(Ok(result))) if !left.was_running => self.take_in(now, result),
            _ => self.fail(now, "its run was killed".to_owned(), cost),
        }
    }

    fn performed(&mut self, now: &Moment, tried: Returned) -> Effect {
        let cost = cost_of(tried.result.as_ref());
        match tried.how {
            How::NotStarted(why) => {
                self.spent.take_back();
                self.doing = None;
                self.blind = true;
                self.end(Ending::Error, why)
            }
            // Nobody's failure: it begins anew when the run goes on.
            How::Stopped => self.drop_work(now, cost),
            How::TooLong(_) if self.budget.rest(self.spent.time) == Some(Period::default()) => {
                self.drop_work(now, cost)
            }
            How::TooLong(why) | How::Badly(why) => self.fail(now, why, cost),
            How::Well => match (self.doing.as_ref().map(|work| &work.job), tried.result) {
                (Some(Job::Action { .. }), Some(Ok(result))) => self.take_in(now, result),
                (Some(Job::Action { .. }), Some(Err(why))) => self.fail(now, why, cost),
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
    fn take_in(&mut self, now: &Moment, result: ActionResult) -> Effect {
        if result.failed {
            return self.fail(now, failure_in(&result), result.cost);
        }
        match self.doing.clone() {
            Some(Work { job: Job::Action { action, rule }, footing, .. }) => {
                self.acted = true;
                Effect::Record(Deed::Result { action, rule, footing, result: Box::new(result) })
            }
            _ => self.go_on(now),
        }
    }

    fn recorded(&mut self, now: &Moment, deed: Deed, noted: Noted) -> Effect {
        if self.over.is_some() {
            return self.close(&deed);
        }
        self.records = self.records.saturating_sub(1);
        self.patience = (LONG, 0);
        let refused = match &noted {
            Noted::Done => None,
            Noted::Nothing => Some("there was nothing to record"),
            Noted::Refused(why) => Some(why.as_str()),
        };
        match (deed, refused) {
            (Deed::Result { result, .. }, None) => {
                self.succeed(result.cost, Some(*result));
                self.go_on(now)
            }
            (Deed::Result { result, .. }, Some(why)) => self.fail(now, why.to_owned(), result.cost),
            (Deed::Answer { ask, ground, .. }, None) => {
                self.spent.see(Doer::Question(ask), ground);
                Effect::Judge
            }
            (Deed::Answer { .. }, Some(why)) => {
                self.end(Ending::Waiting, format!("the answer by default is refused: {why}"))
            }
            (Deed::GiveUp { action, .. }, None) => {
                self.spent.forgive(&Doer::Action(action.to_string()));
                self.acted = true;
                self.unsaved = true;
                Effect::Judge
            }
            // Somebody may have moved the task meanwhile; who is refused twice is refused.
            (Deed::GiveUp { .. }, Some(_))
                if self.refused.replace(self.spent.turns) != Some(self.spent.turns) =>
            {
                Effect::Judge
            }
            (Deed::GiveUp { action, .. }, Some(why)) => {
                self.end(Ending::Error, format!("`{action}` failed too often, and that is refused: {why}"))
            }
            (deed, _) => match noted {
                Noted::Refused(why) => self.end(Ending::Error, why),
                _ if self.records == 0 => {
                    let reason = format!("the task moved {RECORDS} times with nothing performed in between");
                    self.end(Ending::Error, reason)
                }
                _ if deed == Deed::Start => Effect::Record(Deed::Begin(self.mode)),
                _ => Effect::Judge,
            },
        }
    }

    /// Waits for what hinders, or ends.
    fn hindered(&mut self, now: &Moment, effect: Effect, hindrance: Hindrance) -> Effect {
        if self.over.is_some() {
            return self.hindered_at_the_end(effect, &hindrance);
        }
        if let Some(wish) = &now.wish {
            return self.heed(wish);
        }
        let ends = |ending| (ending, hindrance.why.clone());
        let (most, ending) = match hindrance.patience {
            Patience::Long => (LONG, Ending::Waiting),
            Patience::Short => (SHORT, Ending::Waiting),
            Patience::Never(ending) => (0, ending),
        };
        let (patience, times) = self.patience;
        let waited = LONG - patience;
        let rest = self.budget.rest(self.spent.time).map_or(LONG, Period::milliseconds);
        let wait = (HELD.0 << times.min(10)).min(HELD.1).min(most.saturating_sub(waited)).min(rest);
        if wait == 0 {
            self.blind = true;
            let is_out_of_time = most > waited;
            let (ending, why) = if is_out_of_time { ends(Ending::Exhausted) } else { ends(ending) };
            return self.end(ending, why);
        }
        self.patience = (patience - wait, times.saturating_add(1));
        Effect::Wait(Period::from_milliseconds(wait), Box::new(effect))
    }

    /// Only what answers to an order is waited for at the end, and not for long.
    fn hindered_at_the_end(&mut self, effect: Effect, hindrance: &Hindrance) -> Effect {
        let Effect::Record(deed) = &effect else { return Effect::Over };
        let (patience, _) = self.patience;
        let is_passing = !matches!(hindrance.patience, Patience::Never(_));
        if matches!(deed, Deed::Order(_)) && is_passing && LONG - patience < ORDER {
            self.patience = (patience - HELD.0, 0);
            return Effect::Wait(Period::from_milliseconds(HELD.0), Box::new(effect));
        }
        if let (Deed::Order(_), Some((_, reason))) = (deed, &mut self.over) {
            reason.push_str(&format!("; what answers to that could not be recorded: {}", hindrance.why));
        }
        self.close(deed)
    }

    /// Work is done and settled.
    fn succeed(&mut self, cost: f64, result: Option<ActionResult>) {
        let Some(work) = self.doing.take() else { return };
        self.spent.pay(cost);
        self.spent.see(work.doer(), work.footing.ground);
        match self.demand.take() {
            None => self.spent.forgive(&work.doer()),
            // The files of an agent will say whether anything has come of its work; until then it counts as
            // failed. No state tells of it as one tells of a result.
            Some(demand) => {
                self.spent.fail(work.doer());
                self.doubted = Some(Doubt { work: work.clone(), demand, why: None });
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
    fn fail(&mut self, now: &Moment, why: String, cost: f64) -> Effect {
        if let Some(work) = self.doing.take() {
            self.spent.pay(cost);
            self.spent.fail(work.doer());
            self.acted = true;
            match self.demand.take() {
                Some(demand) => self.doubted = Some(Doubt { work, demand, why: Some(why) }),
                None => self.news.push(News::Failed { work, why }),
            }
        }
        self.go_on(now)
    }

    fn drop_work(&mut self, now: &Moment, cost: f64) -> Effect {
        self.spent.pay(cost);
        self.doing = None;
        self.go_on(now)
    }

    fn heed(&mut self, (wish, why): &(Wish, String)) -> Effect {
        self.heeded = Some(*wish);
        self.patience = (LONG, 0);
        self.over = Some((wish.ending(), why.clone()));
        match wish.signal() {
            Some(_) => Effect::Record(Deed::Order(*wish)),
            None => self.tell_end(),
        }
    }

    /// Something was wished while the end was written down. A task that is done stays done.
    fn reopen(&mut self, wished: &(Wish, String)) -> Effect {
        if matches!(self.over, Some((Ending::Completed | Ending::Failed, _))) {
            self.heeded = Some(wished.0);
            return Effect::Finish(self.heeded);
        }
        self.acted = false;
        self.heed(wished)
    }

    fn end(&mut self, ending: Ending, reason: String) -> Effect {
        self.over = Some((ending, reason));
        self.tell_end()
    }

    fn tell_end(&self) -> Effect {
        match &self.over {
            Some((ending, reason)) if self.acted && !self.blind => {
                Effect::Record(Deed::End(format!("the run ended as {}: {reason}", ending.as_str())))
            }
            _ => Effect::Finish(self.heeded),
        }
    }

    /// What comes after something was recorded at the end, whether that was possible or not.
    fn close(&self, deed: &Deed) -> Effect {
        match deed {
            Deed::Order(_) => self.tell_end(),
            _ => Effect::Finish(self.heeded),
        }
    }
}

fn cost_of(result: Option<&Result<ActionResult, String>>) -> f64 {
    result.and_then(|result| result.as_ref().ok()).map_or(0.0, |result| result.cost)
}

fn failure_in(result: &ActionResult) -> String {
    let said = result.message.as_deref().or(result.summary.as_deref());
    said.unwrap_or("it says that it failed").to_owned()
}
