//! What publishing its steps means for a run: when they are pushed, and how it ends if they cannot be.

use super::driver::Drive;
use super::publish::{Next, PublishStop};
use super::{Happened, Reporter};
use orch_base::Code;
use orch_core::decide::{
    Blocker, ControlRequest, Ending, RecordOutcome, RetryPolicy, RunEffect, RunEvent,
};
use std::ops::ControlFlow;

/// Publishes what is recorded before an effect is carried out. Returns the effect, or what follows instead if it must not
/// be.
pub(super) fn publish_before(
    drive: &mut Drive<'_>,
    effect: RunEffect,
    report: &mut Reporter<'_>,
) -> ControlFlow<RunEffect, RunEffect> {
    let Some(publishing) = &mut drive.publishing else {
        return ControlFlow::Continue(effect);
    };
    let next = match &effect {
        RunEffect::Evaluate | RunEffect::LookBack => Next::Look,
        RunEffect::Record(_) => Next::Step,
        RunEffect::Perform => Next::Executor,
        RunEffect::Finish(_) => Next::End,
        RunEffect::Wait(..) | RunEffect::Over => return ControlFlow::Continue(effect),
    };
    let published = publishing.before(next);
    for note in publishing.notes() {
        report(&Happened::Note(&note));
    }
    if next == Next::End {
        let unpublished = publishing.unpublished();
        drive.keeps_lease = unpublished.is_some();
        if let (Some(unpublished), Some((_, reason))) = (unpublished, &mut drive.machine.over)
            && !reason.contains(&unpublished)
        {
            reason.push_str("; ");
            reason.push_str(&unpublished);
        }
        return ControlFlow::Continue(effect);
    }
    let (retry, why) = match published {
        Ok(has_moved) => {
            if has_moved {
                drive.sight = None;
            }
            return ControlFlow::Continue(effect);
        }
        Err(PublishStop::Later(why)) => (RetryPolicy::Long, why),
        Err(PublishStop::Unfit(why)) => (RetryPolicy::Never(Ending::Waiting), why),
        Err(PublishStop::Held(error) | PublishStop::Broken(error)) => {
            let why = error.message().to_owned();
            let ending = if error.code() == Code::TaskHeld {
                Ending::Stopped
            } else {
                Ending::Error
            };
            drive.fault.get_or_insert(error);
            (RetryPolicy::Never(ending), why)
        }
    };
    ControlFlow::Break(match effect {
        RunEffect::Record(command) if drive.machine.over.is_some() => {
            drive.step(RunEvent::Recorded(command, RecordOutcome::Nothing), report)
        }
        effect => {
            let blocker = Blocker { retry, why };
            drive.step(RunEvent::Blocked(effect, blocker), report)
        }
    })
}

/// Looks after the lease of the run. Returns what ends the run if it is lost.
pub(super) fn lost_lease(drive: &mut Drive<'_>) -> Option<(ControlRequest, String)> {
    match &mut drive.publishing {
        Some(publishing) => publishing.watch().map(|why| (ControlRequest::Stop, why)),
        None => drive.lease.taken_over(drive.writer, drive.task),
    }
}
