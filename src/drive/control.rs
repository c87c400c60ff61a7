//! What other processes say: pause, stop, and that it may go on.

use super::answer::own_step;
use super::driver::take_up;
use super::{Happened, RunOptions, StopFlag, refuse_untracked, state_of};
use crate::apply::{Applied, Writer, first_applied};
use crate::base::Diagnostic;
use crate::decide;
use crate::run::{ControlOutcome, ControlRequest, RunFiles, RunState};
use crate::survey::{Error, TaskRef};
use crate::workflow::Signal;

/// What came of an order about a run.
pub enum Controlled {
    /// The process that drives the task was told.
    Told(Box<RunState>),
    /// No process drives it, so the order was carried out at once: the run is over, or a rule answered.
    Done(Option<Box<Applied>>),
    /// There is nothing to pause, resume or stop.
    Nothing,
}

/// How often an order is given anew to whoever took the task up meanwhile.
const TRIES: u32 = 5;

/// Says to whoever drives a task that it should pause or stop; where nobody does, carries it out.
pub fn control(writer: &Writer<'_>, task: &TaskRef, request: ControlRequest) -> Result<Controlled, Error> {
    let files = RunFiles::of(&writer.workspace.root, &task.directory);
    let by = writer.stamp().by.name;
    for _ in 0..TRIES {
        let run = match files.send(Some(request), &by)? {
            ControlOutcome::Sent(run) => return Ok(Controlled::Told(run)),
            ControlOutcome::NoRunner(run) => run,
        };
        if !run.is_some_and(|run| concerns(request, &run)) {
            let signal = request.signal().map_or(Ok(None), |signal| answer_signal(writer, task, signal))?;
            return Ok(
                signal.map_or(Controlled::Nothing, |applied| Controlled::Done(Some(Box::new(applied))))
            );
        }
        if let Some(done) = end_run(writer, task, request, &by)? {
            return Ok(done);
        }
    }
    Err(Error::busy(format!("other processes run task `{}`", task.id)))
}

/// Takes up a run that nobody drives only to end it: what it left running is ended, what was finished
/// is recorded, and the rule that answers to the order is applied. `None` where somebody was quicker.
fn end_run(
    writer: &Writer<'_>,
    task: &TaskRef,
    request: ControlRequest,
    by: &str,
) -> Result<Option<Controlled>, Error> {
    let judged = writer.workspace.look(task)?;
    refuse_untracked(&judged)?;
    let (mut steps, mut notes) = (Vec::new(), Vec::<Diagnostic>::new());
    let (options, stop) = (RunOptions::default(), StopFlag::default());
    let preset = Some(super::driver::requested_by(request, by));
    let end = take_up(writer, &judged, (&options, &stop, preset), &mut |happened| match happened {
        Happened::Applied(applied) => {
            steps.extend(applied.steps.iter().cloned());
            notes.extend(applied.notes.iter().cloned());
        }
        Happened::Note(note) => notes.push((*note).clone()),
        _ => {}
    })?;
    Ok(end.map(|end| {
        let applied = Applied { judged: end.judged, steps, notes };
        Controlled::Done((!applied.steps.is_empty()).then(|| Box::new(applied)))
    }))
}

/// Takes back what was wished; where nobody drives the task, lets a rule answer to it. The rest is for
/// a run, if there is one that can go on.
pub fn resume(writer: &Writer<'_>, task: &TaskRef) -> Result<Controlled, Error> {
    let files = RunFiles::of(&writer.workspace.root, &task.directory);
    let by = writer.stamp().by.name;
    let run = match files.send(None, &by)? {
        ControlOutcome::Sent(run) => return Ok(Controlled::Told(run)),
        ControlOutcome::NoRunner(run) => run,
    };
    Ok(match answer_signal(writer, task, Signal::Resume)? {
        Some(applied) => Controlled::Done(Some(Box::new(applied))),
        None if run.is_some_and(|run| run.goes_on()) => Controlled::Done(None),
        None => Controlled::Nothing,
    })
}

/// Applies the rule that answers to an order, if there is one.
fn answer_signal(writer: &Writer<'_>, task: &TaskRef, signal: Signal) -> Result<Option<Applied>, Error> {
    let judged = writer.workspace.look(task)?;
    refuse_untracked(&judged)?;
    let workflow = judged.workflow();
    let facts = &judged.observed.facts;
    if decide::signalled(workflow, state_of(&judged)?, facts, signal).is_none() {
        return Ok(None);
    }
    let outcomes = writer.apply(std::slice::from_ref(task), false, &|judged| {
        own_step(writer, judged, |judged| {
            let workflow = judged.workflow();
            let state = judged.state().ok_or("the state is lost")?;
            decide::signalled(workflow, state, &judged.observed.facts, signal)
                .unwrap_or_else(|| Err("no rule answers to it any more".to_owned().into()))
        })
    })?;
    first_applied(outcomes).map(Some)
}

/// Whether an order means something for a run that nobody drives: what is paused may be stopped.
fn concerns(request: ControlRequest, run: &RunState) -> bool {
    match request {
        ControlRequest::Stop => run.goes_on(),
        ControlRequest::Pause | ControlRequest::Interrupt => run.ended().is_none(),
    }
}
