//! What someone may want word of: which events a task and a run can come to.

use super::{Duty, DutyKind, Ending, RunTurn};
use crate::workflow::Owner;
use orch_base::words;

words! {
    /// An event that `[[notify]]` of `orch.toml` may name.
    pub enum NoticeKind {
        /// A person must act.
        Human = "human",
        /// The task came to a failing end, or a run of it failed.
        Failed = "failed",
        /// A run stopped because nothing changed.
        Stalled = "stalled",
        /// The task came to a good end.
        Done = "done",
        /// A run has ended, however.
        RunEnded = "run-ended",
    }
}

/// The event that a task has come to; `None` while others than people continue with it.
#[must_use]
pub fn task_notice(duty: &Duty) -> Option<NoticeKind> {
    match (duty.kind, duty.turn, duty.owner) {
        (DutyKind::Done, RunTurn::End(Ending::Failed), _) => Some(NoticeKind::Failed),
        (DutyKind::Done, ..) => Some(NoticeKind::Done),
        (DutyKind::Stalled, ..) => Some(NoticeKind::Stalled),
        (.., Owner::Human) => Some(NoticeKind::Human),
        (.., Owner::Agent | Owner::Orch | Owner::Process | Owner::None) => None,
    }
}

/// The events at the end of a run, given what its task has come to. The end itself is the last of them.
#[must_use]
pub fn run_notices(ending: Ending, task: Option<NoticeKind>) -> Vec<NoticeKind> {
    let of_run = match ending {
        Ending::Failed | Ending::Exhausted | Ending::Error => Some(NoticeKind::Failed),
        Ending::Stalled => Some(NoticeKind::Stalled),
        // Nothing continues by itself any more.
        Ending::Waiting => Some(NoticeKind::Human),
        Ending::Completed | Ending::Paused | Ending::Stopped => None,
    };
    let of_run = of_run.filter(|kind| Some(*kind) != task);
    task.into_iter()
        .chain(of_run)
        .chain([NoticeKind::RunEnded])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_is_told_with_what_it_means() {
        use NoticeKind::{Done, Failed, Human, RunEnded, Stalled};
        for (ending, task, expected) in [
            (Ending::Completed, Some(Done), &[Done, RunEnded][..]),
            (Ending::Failed, Some(Failed), &[Failed, RunEnded]),
            (Ending::Failed, None, &[Failed, RunEnded]),
            (Ending::Error, Some(Human), &[Human, Failed, RunEnded]),
            (Ending::Exhausted, None, &[Failed, RunEnded]),
            (Ending::Stalled, None, &[Stalled, RunEnded]),
            (Ending::Stalled, Some(Stalled), &[Stalled, RunEnded]),
            (Ending::Waiting, Some(Human), &[Human, RunEnded]),
            (Ending::Waiting, None, &[Human, RunEnded]),
            (Ending::Paused, None, &[RunEnded]),
            (Ending::Stopped, Some(Done), &[Done, RunEnded]),
        ] {
            assert_eq!(run_notices(ending, task), expected, "{ending:?} {task:?}");
        }
    }

    #[test]
    fn a_task_is_told_of_by_what_it_came_to_or_by_whose_turn_it_is() {
        use crate::decide::{Direction, Do, Urgency};
        let ends = RunTurn::End;
        for (kind, turn, owner, expected) in [
            (
                DutyKind::Done,
                ends(Ending::Completed),
                Owner::None,
                Some(NoticeKind::Done),
            ),
            (
                DutyKind::Done,
                ends(Ending::Failed),
                Owner::None,
                Some(NoticeKind::Failed),
            ),
            (
                DutyKind::Stalled,
                ends(Ending::Stalled),
                Owner::Human,
                Some(NoticeKind::Stalled),
            ),
            (
                DutyKind::Wait,
                ends(Ending::Waiting),
                Owner::Human,
                Some(NoticeKind::Human),
            ),
            (
                DutyKind::Error,
                ends(Ending::Failed),
                Owner::Human,
                Some(NoticeKind::Human),
            ),
            (DutyKind::Wait, ends(Ending::Failed), Owner::Agent, None),
            (DutyKind::Transition, RunTurn::Apply, Owner::Orch, None),
            (DutyKind::Wait, RunTurn::Apply, Owner::Process, None),
        ] {
            let task = Do::Nothing;
            let direction = Direction::None;
            let urgency = Urgency::Nothing;
            let duty = Duty {
                kind,
                task,
                owner,
                phase: None,
                direction,
                urgency,
                turn,
            };
            assert_eq!(task_notice(&duty), expected, "{duty:?}");
        }
    }
}
