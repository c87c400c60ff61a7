//! What a task has come to, as an event that someone may want word of.

use crate::survey::Sight;
use orch_base::Digest;
use orch_core::decide::{NoticeKind, duty, task_notice};

/// An event of a task. Two that are equal are one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskNotice {
    /// The event.
    pub kind: NoticeKind,
    /// What tells it from the same event at another time.
    pub key: Digest,
}

impl TaskNotice {
    /// What a task has come to; `None` while others than people continue with it, and if it has no record.
    #[must_use]
    pub fn of(sight: &Sight) -> Option<Self> {
        let duty = duty(sight.workflow(), &sight.decision, sight.runner.as_ref());
        let kind = task_notice(&duty).filter(|_| !sight.untracked)?;
        Some(Self {
            kind,
            key: key(kind, sight),
        })
    }
}

/// A task ends once each time that it enters a last phase, whatever is recorded there later. Whoever else acts is
/// needed again after each step, so that another question in the same phase is another event.
fn key(kind: NoticeKind, sight: &Sight) -> Digest {
    let phase = &sight.decision.phase;
    let attempt = sight.decision.attempt;
    let entered = || {
        sight
            .state()?
            .last_entry_into(phase.as_ref()?)
            .map(|entry| entry.at)
    };
    let key = match kind {
        NoticeKind::Done | NoticeKind::Failed => format!("{phase:?} {attempt} {:?}", entered()),
        NoticeKind::Human | NoticeKind::Stalled | NoticeKind::RunEnded => match sight.state() {
            Some(state) => format!("{phase:?} {:?}", state.heads),
            None => format!("{phase:?} {}", sight.decision.reason),
        },
    };
    Digest::of_blob(key.as_bytes())
}
