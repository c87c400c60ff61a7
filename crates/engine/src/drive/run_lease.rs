//! The lease that a run has of its task.

use crate::apply::{TakeWish, TakenTask, Writer};
use crate::run::{RunFiles, RunState};
use crate::survey::{Error, Sight, TaskRef};
use orch_base::Code;
use orch_core::decide::ControlRequest;
use std::time::{Duration, Instant};

/// How often a run looks after its lease at most.
const LOOK: Duration = Duration::from_secs(2);

/// How a run looks after the lease of its task.
pub(super) struct RunLease {
    /// How often, and when it did so last; `None` if there is no lease.
    looks: Option<(Duration, Instant)>,
}

impl RunLease {
    /// The lease of a task that was taken, if it was.
    pub(super) fn of(taken: Option<&TakenTask>) -> Self {
        let every = taken.map(|taken| LOOK.min(taken.lease.length() / 6));
        Self {
            looks: every.map(|every| (every, Instant::now())),
        }
    }

    /// Renews the lease in time. Returns what ends the run if another has taken the task over.
    pub(super) fn taken_over(
        &mut self,
        writer: &Writer<'_>,
        task: &TaskRef,
    ) -> Option<(ControlRequest, String)> {
        let (every, looked) = self.looks.as_mut()?;
        if looked.elapsed() < *every {
            return None;
        }
        *looked = Instant::now();
        // Whatever else is wrong with the store shows at the next step.
        let kept = writer.holding_of_tree().keep(task, 0);
        let error = kept.err().filter(|error| error.code() == Code::TaskHeld)?;
        tracing::warn!(error = error.logged(), "the task of the run was taken over");
        Some((ControlRequest::Stop, error.message().to_owned()))
    }
}

/// Takes the task for its run, with the id that a new one has; nothing outside git. With `is_published`, the run catches up with a
/// remote before it records that. Returns an error if another holds it.
pub(super) fn take_for_run(
    writer: &Writer<'_>,
    sight: &Sight,
    files: &RunFiles,
    new: &str,
    is_published: bool,
) -> Result<Option<TakenTask>, Error> {
    if writer.workspace.reader.store().is_none() {
        return Ok(None);
    }
    let last = files.last()?.filter(RunState::goes_on);
    let run = last.as_ref().map_or(new, |last| last.id.as_str());
    // The same run has taken it a moment ago, to catch up.
    if is_published
        && let Some(lease) = writer.holding_of_tree().keep(&sight.task, 0)?
        && lease.run.as_deref() == Some(run)
    {
        return Ok(Some(TakenTask {
            lease,
            was_held: true,
            over: None,
        }));
    }
    let wish = TakeWish {
        run: Some(run),
        records_later: is_published,
        ..TakeWish::default()
    };
    writer.taking().take(sight, wish).map(Some)
}
