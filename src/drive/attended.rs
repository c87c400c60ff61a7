//! An attended run: if it waits for an answer, it asks its attendant and continues.

use super::runs::overrule;
use super::{Asked, Happened, RunEnd, RunOptions, StopFlag, answer, run};
use crate::apply::{Applied, Writer};
use crate::decide::{Ending, Mode};
use crate::survey::{Error, Sight, TaskRef};

/// Receives the events of a run, may stop it, and answers its questions.
pub trait Attendant {
    /// The run starts, or continues after an answer. `stop` ends it.
    fn begins(&mut self, stop: &StopFlag);

    /// The run reports an event.
    fn hears(&mut self, happened: &Happened<'_>);

    /// The run has stopped, with or without an error.
    fn rests(&mut self);

    /// Returns the answers to the question that the task waits for; `None` to end the run unanswered.
    fn answers(&mut self, judged: &Sight) -> Option<Vec<Asked>>;

    /// Receives the result of recording the answers.
    fn answered(&mut self, outcome: &Result<Applied, Error>);
}

/// Drives a task until its run ends and the attendant gives no more answers. Returns the end of the last run.
/// An answer is dropped if another process paused, stopped or moved the task meanwhile.
///
/// # Errors
///
/// The errors of [`run`]. A refused answer is not an error: the run asks the question again.
pub fn run_attended(
    writer: &Writer<'_>,
    task: &TaskRef,
    options: &RunOptions,
    attendant: &mut dyn Attendant,
) -> Result<RunEnd, Error> {
    loop {
        let stop = StopFlag::default();
        attendant.begins(&stop);
        let ended = run(writer, task, options, &stop, &mut |happened| attendant.hears(happened));
        attendant.rests();
        let mut end = ended?;
        let asks = end.ending == Ending::Waiting && options.mode != Some(Mode::Auto);
        let Some(answers) = asks.then(|| attendant.answers(&end.judged)).flatten() else { return Ok(end) };
        if overrule(writer, &mut end)? {
            return Ok(end);
        }
        attendant.answered(&answer(writer, task, &answers, false));
    }
}
