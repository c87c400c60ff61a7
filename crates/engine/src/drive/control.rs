//! Control requests from other processes: pause, stop and resume.

use super::answer::own_step;
use super::driver::take_up;
use super::{Happened, RunOptions, StopFlag, state_of};
use crate::apply::{Applied, Writer, first_applied};
use crate::run::{ControlOutcome, ControlRequest, RunState};
use crate::survey::{Error, TaskRef};
use orch_base::Diagnostic;
use orch_core::decide;
use orch_core::workflow::Signal;

/// The outcome of a control request.
pub enum Controlled {
    /// It was sent to the process that drives the task.
    Sent(Box<RunState>),
    /// No process drives the task, so the request was executed at once: the run has ended, or a rule was
    /// applied.
    Done(Option<Box<Applied>>),
    /// There is nothing to pause, resume or stop.
    Nothing,
}

/// How often to try again when another process takes the task meanwhile.
const TRIES: u32 = 5;

/// Asks the process that drives a task to pause or stop. If there is none, executes the request. Returns an
/// error if the task cannot be read or a step cannot be recorded.
pub fn control(
    writer: &Writer<'_>,
    task: &TaskRef,
    request: ControlRequest,
) -> Result<Controlled, Error> {
    let files = writer.workspace.reader.run_files(task);
    let by = writer.stamp().by.name;
    for _ in 0..TRIES {
        let run = match files.control().send(Some(request), &by)? {
            ControlOutcome::Sent(run) => return Ok(Controlled::Sent(run)),
            ControlOutcome::NoRunner(run) => run,
        };
        if !run.is_some_and(|run| concerns(request, &run)) {
            let signal = request
                .signal()
                .map_or(Ok(None), |signal| answer_signal(writer, task, signal))?;
            return Ok(signal.map_or(Controlled::Nothing, |applied| {
                Controlled::Done(Some(Box::new(applied)))
            }));
        }
        if let Some(done) = end_run(writer, task, request, &by)? {
            return Ok(done);
        }
    }
    Err(Error::busy(format!(
        "other processes keep taking task `{}`",
        task.id
    )))
}

/// Takes over a run that no process drives, in order to end it: ends the processes it left running, records
/// finished results, and applies the rule for the request. `None` if another process was faster.
fn end_run(
    writer: &Writer<'_>,
    task: &TaskRef,
    request: ControlRequest,
    by: &str,
) -> Result<Option<Controlled>, Error> {
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    let mut steps = Vec::new();
    let mut notes = Vec::<Diagnostic>::new();
    let options = RunOptions::default();
    let stop = StopFlag::default();
    let preset = Some(super::driver::requested_by(request, by));
    let end = take_up(
        writer,
        &sight,
        (&options, &stop, preset),
        &mut |happened| match happened {
            Happened::Applied(applied) => {
                steps.extend(applied.steps.iter().cloned());
                notes.extend(applied.notes.iter().cloned());
            }
            Happened::Note(note) => notes.push((*note).clone()),
            _ => {}
        },
    )?;
    Ok(end.map(|end| {
        let applied = Applied {
            sight: end.sight,
            steps,
            notes,
        };
        Controlled::Done((!applied.steps.is_empty()).then(|| Box::new(applied)))
    }))
}

/// Withdraws a pending request. If no process drives the task, applies the rule with `on = "resume"`, if
/// there is one; continuing the run is left to the caller. Returns an error if the task cannot be read or a
/// step cannot be recorded.
pub fn resume(writer: &Writer<'_>, task: &TaskRef) -> Result<Controlled, Error> {
    let files = writer.workspace.reader.run_files(task);
    let by = writer.stamp().by.name;
    let run = match files.control().send(None, &by)? {
        ControlOutcome::Sent(run) => return Ok(Controlled::Sent(run)),
        ControlOutcome::NoRunner(run) => run,
    };
    Ok(match answer_signal(writer, task, Signal::Resume)? {
        Some(applied) => Controlled::Done(Some(Box::new(applied))),
        None if run.is_some_and(|run| run.goes_on()) => Controlled::Done(None),
        None => Controlled::Nothing,
    })
}

/// Applies the rule for a signal, if there is one.
fn answer_signal(
    writer: &Writer<'_>,
    task: &TaskRef,
    signal: Signal,
) -> Result<Option<Applied>, Error> {
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    let workflow = sight.workflow();
    let facts = &sight.observed.facts;
    if decide::signalled(workflow, state_of(&sight)?, facts, signal).is_none() {
        return Ok(None);
    }
    let outcomes = writer
        .advance()
        .apply(std::slice::from_ref(task), false, &|sight| {
            own_step(writer, sight, |sight| {
                let workflow = sight.workflow();
                let state = sight.state().ok_or("the state cannot be read")?;
                decide::signalled(workflow, state, &sight.observed.facts, signal).unwrap_or_else(
                    || Err("no rule applies to the signal any more".to_owned().into()),
                )
            })
        })?;
    first_applied(outcomes).map(Some)
}

/// Whether a request has an effect on a run that no process drives. A paused run can still be stopped.
fn concerns(request: ControlRequest, run: &RunState) -> bool {
    match request {
        ControlRequest::Stop => run.goes_on(),
        ControlRequest::Pause | ControlRequest::Interrupt | ControlRequest::AskPerson => {
            run.ended().is_none()
        }
    }
}
