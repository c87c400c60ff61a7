//! A run that somebody attends: where it waits for an answer, they are asked, and it goes on.

use super::runs::overrule;
use super::{Asked, Happened, RunEnd, RunOptions, StopFlag, answer, run};
use crate::apply::{Applied, Writer};
use crate::decide::{Ending, Mode};
use crate::survey::{Error, Sight, TaskRef};

/// Who attends a run: hears what happens, may stop it, and answers.
pub trait Attendant {
    /// A run begins, or goes on after an answer; `stop` ends it.
    fn begins(&mut self, stop: &StopFlag);

    /// Something happens in it.
    fn hears(&mut self, happened: &Happened<'_>);

    /// Nothing runs any more, for whatever reason.
    fn rests(&mut self);

    /// What they answer to the question that a task waits with; `None` for nothing now.
    fn answers(&mut self, judged: &Sight) -> Option<Vec<Asked>>;

    /// Their answer was recorded, or why it was not.
    fn answered(&mut self, outcome: &Result<Applied, Error>);
}

/// Drives a task until its run is over and its attendant has no more to answer. An answer counts only if
/// nobody else paused, stopped or moved the task meanwhile.
///
/// # Errors
///
/// Those of [`run`]. An answer that is refused is no error: the question is put again.
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
