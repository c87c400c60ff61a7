//! What a killed run left: a process that still runs, a result that nobody took in.

use super::super::Error;
use super::drive::Drive;
use super::{Happened, Tell};
use crate::base::Diagnostic;
use crate::decide::{ActionResult, Kind};
use crate::run::end_leftovers;
use std::time::Duration;

/// How long a process has that is asked to end.
const GRACE: Duration = Duration::from_secs(5);

impl Drive<'_> {
    /// Ends what still runs, and takes in what was finished: no finished action is done again, and one
    /// that was not is a failed try.
    pub(super) fn take_in_leftovers(&mut self, tell: &mut Tell<'_>) -> Result<(), Error> {
        let Some(doing) = self.run.work.clone() else { return Ok(()) };
        if end_leftovers(doing.group, doing.group_started, &self.files.result(&doing.name), GRACE) {
            let message = format!("`{}` was still running; it was ended", doing.work.name);
            tell(&Happened::Note(&Diagnostic::warning("left-processes", message)));
        }
        let judged = self.engine.judge(self.task)?;
        let last = judged.state().and_then(|state| state.history.last());
        let is_recorded = judged.decision.rev > doing.rev
            && last.is_some_and(|last| last.kind == Kind::Run && last.action == doing.work.action);
        if doing.work.action.is_some() && is_recorded {
            self.run.spent.succeed(&doing.work, 0.0);
            self.run.work = None;
            return self.save();
        }
        self.acted = true;
        // A whole result in its file was the executor's last word, though nobody heard it.
        let left = self.files.left_result(&doing.name).and_then(|value| ActionResult::read(&value).ok());
        match left {
            Some(result) if doing.work.action.is_some() => {
                let message = format!("`{}` had finished; its result is taken in", doing.work.name);
                tell(&Happened::Note(&Diagnostic::note("resumed", message)));
                self.accept(judged.decision.phase.as_ref(), &doing.work, &result, tell)
            }
            _ => self.fail(&doing.work, "its run was killed", 0.0, tell),
        }
    }
}
