//! What other processes say and ask: pause, stop, answers, and who runs what.

use super::super::orders::first_applied;
use super::super::{Applied, Engine, Error, Judged, TaskRef};
use super::{refuse_unborn, state_of};
use crate::base::{ActionName, Timestamp, command};
use crate::decide::{self, Ending, Step, Transition, Verdict, data_of, patch};
use crate::run::{Control, Files, RunState, Wish, end_leftovers};
use crate::workflow::{Ask, Signal};
use serde_json::{Map, Value};
use std::time::Duration;

/// What came of an order about a run.
pub enum Controlled {
    /// The process that drives the task was told.
    Told(Box<RunState>),
    /// No process drives it, so the order was carried out at once: the run is over, or a rule answered.
    Done(Option<Box<Applied>>),
    /// There is nothing to pause, resume or stop.
    Nothing,
}

/// A run, as it is known.
pub struct RunInfo {
    /// The task.
    pub task: TaskRef,
    /// What its record says.
    pub run: RunState,
    /// Whether a process drives it now.
    pub is_driven: bool,
}

/// What a person is asked.
pub enum Standstill<'a> {
    /// A question, and what may be answered at which place.
    Question(&'a Ask, Vec<(String, Value)>),
    /// To pick one of these actions.
    Pick(Vec<ActionName>),
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// A key: `action`, or a place in the state.
    pub key: String,
    /// The value as it was typed.
    pub value: String,
}

impl Asked {
    /// Reads `key=value`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("`{text}` is not KEY=VALUE")),
        }
    }
}

impl Engine {
    /// Says to whoever drives a task that it should pause or stop; where nobody does, carries it out.
    pub fn control(&mut self, task: &TaskRef, wish: Wish) -> Result<Controlled, Error> {
        let files = Files::of(&self.root, &task.directory);
        let by = self.stamp().by.name;
        let run = files.read();
        if let (Some(run), true) = (&run, files.is_driven()) {
            files.say(&run.id, Some(&Control { wish, run: run.id.clone(), by }))?;
            return Ok(Controlled::Told(Box::new(run.clone())));
        }
        let (signal, ending) = match wish {
            Wish::Pause => (Signal::Pause, Ending::Paused),
            Wish::Stop => (Signal::Stop, Ending::Stopped),
        };
        let mut over = false;
        if let Some(mut run) = run.filter(|run| run.ended.is_none() || is_softer(run, ending)) {
            let Some(_lock) = files.try_lock()? else { return self.control(task, wish) };
            if let Some(doing) = &run.work {
                let result = files.result(&doing.name);
                end_leftovers(doing.group, doing.group_started, &result, Duration::from_secs(5));
            }
            run.ended = Some((ending, format!("{by}: {}", wish.as_str())));
            files.write(&run)?;
            over = true;
        }
        match self.signal(task, signal)? {
            Some(applied) => Ok(Controlled::Done(Some(Box::new(applied)))),
            None if over => Ok(Controlled::Done(None)),
            None => Ok(Controlled::Nothing),
        }
    }

    /// Takes a pause back; where nobody drives the task, lets a rule answer to it. The rest is for a run.
    pub fn resume(&mut self, task: &TaskRef) -> Result<Controlled, Error> {
        let files = Files::of(&self.root, &task.directory);
        if let (Some(run), true) = (files.read(), files.is_driven()) {
            files.say(&run.id, None)?;
            return Ok(Controlled::Told(Box::new(run)));
        }
        Ok(match self.signal(task, Signal::Resume)? {
            Some(applied) => Controlled::Done(Some(Box::new(applied))),
            None => Controlled::Nothing,
        })
    }

    /// Applies the rule that answers to an order, if there is one.
    fn signal(&mut self, task: &TaskRef, signal: Signal) -> Result<Option<Applied>, Error> {
        let judged = self.judge(task)?;
        refuse_unborn(&judged)?;
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let facts = &judged.observed.facts;
        if decide::signalled(workflow, state_of(&judged)?, facts, signal).is_none() {
            return Ok(None);
        }
        let outcomes = self.apply(std::slice::from_ref(task), false, &|engine, judged| {
            engine.own_step(judged, |_, judged| {
                let workflow = judged.workflow().ok_or("the workflow has errors")?;
                let state = judged.state().ok_or("the state is lost")?;
                decide::signalled(workflow, state, &judged.observed.facts, signal)
                    .unwrap_or_else(|| Err("no rule answers to it any more".to_owned()))
            })
        })?;
        first_applied(outcomes).map(Some)
    }

    /// What a person is asked about a task now.
    pub fn standstill<'j>(&self, judged: &'j Judged) -> Option<Standstill<'j>> {
        if let Verdict::Choose(actions) = &judged.decision.verdict {
            return Some(Standstill::Pick(actions.clone()));
        }
        let (workflow, state, facts) = (judged.workflow()?, judged.state()?, &judged.observed.facts);
        let (_, ask) = decide::asked(workflow, state, facts)?;
        Some(Standstill::Question(ask, decide::offers(workflow, state, facts, &ask.options)))
    }

    /// Records a person's answer, if it fits what is asked and what the schema of the state accepts.
    pub fn answer(&mut self, task: &TaskRef, answers: &[Asked], dry_run: bool) -> Result<Applied, Error> {
        let judged = self.judge(task)?;
        refuse_unborn(&judged)?;
        state_of(&judged)?;
        if self.standstill(&judged).is_none() {
            let message = format!("nothing is asked about `{}` now: {}", task.id, judged.decision.reason);
            let hint = Some(command(&["orch", "suggest", task.id.as_str()]));
            return Err(Error::NotNow { code: "nothing-asked", message, hint });
        }
        let outcomes = self.apply(std::slice::from_ref(task), dry_run, &|engine, judged| {
            engine.own_step(judged, |engine, judged| answered(engine, judged, answers))
        })?;
        first_applied(outcomes)
    }

    /// A step on the caller's order; what refuses it is told as the answer no.
    fn own_step(
        &self,
        judged: &Judged,
        make: impl Fn(&Self, &Judged) -> Result<Transition, String>,
    ) -> Result<Vec<Step>, Error> {
        let refuse = |message: String| {
            let hint = Some(command(&["orch", "suggest", judged.task.id.as_str()]));
            Error::Refused(decide::Refusal { code: "refused", message, hint })
        };
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let state = state_of(judged)?;
        let transition = make(self, judged).map_err(refuse)?;
        let next = decide::apply(workflow, state, &judged.observed.facts, &transition, &self.stamp());
        match self.refused_data(workflow, &next) {
            Some(why) => Err(refuse(why)),
            None => Ok(vec![Step { transition, state: next }]),
        }
    }

    /// Every run that is known, of tasks in their order.
    #[must_use]
    pub fn runs(&self) -> Vec<RunInfo> {
        let known = |task: TaskRef| {
            let files = Files::of(&self.root, &task.directory);
            let run = files.read()?;
            Some(RunInfo { is_driven: files.is_driven(), task, run })
        };
        self.tasks().into_iter().filter_map(known).collect()
    }

    /// What is known of the run of one task.
    #[must_use]
    pub fn run_of(&self, task: &TaskRef) -> Option<RunInfo> {
        let files = Files::of(&self.root, &task.directory);
        Some(RunInfo { run: files.read()?, is_driven: files.is_driven(), task: task.clone() })
    }
}

impl RunInfo {
    /// How it stands, in a word: `running`, `interrupted`, or how it ended.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match (&self.run.ended, self.is_driven) {
            (None, true) => "running",
            (None, false) => "interrupted",
            (Some((ending, _)), _) => ending.as_str(),
        }
    }

    /// Since when it is what it is.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        if self.run.ended.is_none() { self.run.started } else { self.run.updated }
    }
}

/// Whether a run has ended in a way that this order goes beyond: what is paused may be stopped.
fn is_softer(run: &RunState, ending: Ending) -> bool {
    let ended = run.ended.as_ref().map(|(ending, _)| *ending);
    ending == Ending::Stopped && matches!(ended, Some(Ending::Paused | Ending::Waiting))
}

/// The step that an answer makes. A value is read as JSON where that fits, else it is the text itself.
fn answered(engine: &Engine, judged: &Judged, answers: &[Asked]) -> Result<Transition, String> {
    let workflow = judged.workflow().ok_or("the workflow has errors")?;
    let state = judged.state().ok_or("the state is lost")?;
    let facts = &judged.observed.facts;
    let said: Vec<String> = answers.iter().map(|answer| format!("{}={}", answer.key, answer.value)).collect();
    let reason = format!("answered: {}", said.join(", "));
    if let (Verdict::Choose(_), [answer]) = (&judged.decision.verdict, answers)
        && answer.key == "action"
    {
        let action = ActionName::new(answer.value.trim()).map_err(|error| error.to_string())?;
        return decide::pick(workflow, state, facts, &action, &reason);
    }
    let as_json = |answer: &Asked| serde_json::from_str::<Value>(&answer.value).ok();
    let updates = |texts: &[bool]| -> Map<String, Value> {
        let value = |(answer, text): (&Asked, &bool)| {
            let value = as_json(answer).filter(|value| !*text && !value.is_null());
            (answer.key.clone(), value.unwrap_or_else(|| Value::from(answer.value.as_str())))
        };
        answers.iter().zip(texts).map(value).collect()
    };
    let attempt = |texts: &[bool]| {
        let step = decide::answer(workflow, state, facts, &patch(&updates(texts))?, &reason)?;
        let next = decide::State { extra: data_of(workflow, state), ..state.clone() };
        let next = decide::apply(workflow, &next, facts, &step, &engine.stamp());
        engine.refused_data(workflow, &next).map_or(Ok(step), Err)
    };
    let first = attempt(&vec![false; answers.len()]);
    // What reads as a number may be meant as a text, such as a name that is all digits.
    (0..answers.len())
        .filter(|at| as_json(&answers[*at]).is_some())
        .find_map(|at| attempt(&(0..answers.len()).map(|other| other == at).collect::<Vec<_>>()).ok())
        .filter(|_| first.is_err())
        .map_or(first, Ok)
}
