//! The order of tasks: the most urgent first, then the one that has not moved for longest, then by id.

use super::Subject;
use std::cmp::Reverse;

/// Sorts tasks in the order of suggestions. A task that never moved comes after those that did.
pub fn sort(subjects: &mut [&Subject<'_>]) {
    subjects.sort_by_cached_key(|subject| {
        let still = subject.unmoved_since;
        (subject.duty().urgency, Reverse(still.is_some()), still, subject.decision.task.clone())
    });
}
