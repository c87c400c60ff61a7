//! An attended run: when it waits for an answer, the attendant is asked, and the run continues.

use super::answer::answered;
use super::runs::overrule;
use super::{Asked, Happened, RunEnd, RunOptions, StopFlag, answer, run};
use crate::apply::{Applied, Writer};
use crate::survey::{Error, Sight, TaskRef};
use orch_base::Reason;
use orch_core::decide::{Ending, Mode};

/// The caller's side of an attended run, such as a terminal.
pub trait Attendant {
    /// A run starts, or resumes after an answer. `stop` stops it from another thread.
    fn begins(&mut self, stop: &StopFlag);

    /// Receives each event of the run.
    fn hears(&mut self, happened: &Happened<'_>);

    /// The run has returned, with or without an error: no executor is running.
    fn rests(&mut self);

    /// Answers the question that the task waits for. `None` ends the attended run. `fits` returns why answers
    /// would be refused.
    fn answers(
        &mut self,
        sight: &Sight,
        fits: &dyn Fn(&[Asked]) -> Result<(), Reason>,
    ) -> Option<Vec<Asked>>;

    /// Receives the transition that recorded the answer, or why it was refused.
    fn answered(&mut self, outcome: &Result<Applied, Error>);
}

/// Drives a task until its run ends and the attendant gives no further answer. An answer is dropped if the
/// task was paused, stopped or moved in the meantime.
///
/// # Errors
///
/// The same as [`run`]. A refused answer is not an error: the question is asked again.
pub fn run_attended(
    writer: &Writer<'_>,
    task: &TaskRef,
    options: &RunOptions,
    attendant: &mut dyn Attendant,
) -> Result<RunEnd, Error> {
    loop {
        let stop = StopFlag::default();
        attendant.begins(&stop);
        let ended = run(writer, task, options, &stop, &mut |happened| {
            attendant.hears(happened)
        });
        attendant.rests();
        let mut end = ended?;
        let asks = end.ending == Ending::Waiting && options.mode != Some(Mode::Auto);
        let sight = &end.sight;
        let fits = |answers: &[Asked]| answered(writer, sight, answers).map(drop);
        let Some(answers) = asks.then(|| attendant.answers(sight, &fits)).flatten() else {
            return Ok(end);
        };
        if overrule(writer, &mut end)? {
            return Ok(end);
        }
        attendant.answered(&answer(writer, task, (&answers, None), false));
    }
}
