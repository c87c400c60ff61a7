//! The order of tasks: the most urgent first, then the one that has not moved for longest, then by id.

use super::Subject;
use orch_base::{TaskId, Timestamp};
use orch_core::decide::{Urgency, duty_of_unread};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The place of a task among others. A task that never moved comes after those that did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskRank(Urgency, Reverse<bool>, Option<Timestamp>, TaskId);

impl TaskRank {
    /// The place of a task that could not be evaluated.
    #[must_use]
    pub fn of_unread(task: &TaskId) -> Self {
        Self(duty_of_unread().urgency, Reverse(false), None, task.clone())
    }

    /// The place of the task of a subject.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let still = subject.unmoved_since;
        Self(
            subject.duty().urgency,
            Reverse(still.is_some()),
            still,
            subject.decision.task.clone(),
        )
    }
}

#[cfg(feature = "board")]
impl TaskRank {
    /// How urgent the task is; the most urgent is 0.
    pub(super) fn urgency(&self) -> u8 {
        self.0 as u8
    }
}

/// Sorts tasks in the order of suggestions.
pub fn sort(subjects: &mut [&Subject<'_>]) {
    subjects.sort_by_cached_key(|subject| TaskRank::of(subject));
}
