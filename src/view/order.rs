//! Which task first: the most urgent, then the one that has stood still longest, then by id.

use super::Subject;
use std::cmp::Reverse;

/// Puts tasks in the order of suggestions; a task that never moved comes after those that did.
pub fn sort(subjects: &mut [&Subject<'_>]) {
    subjects.sort_by_cached_key(|subject| {
        let still = subject.unmoved_since;
        (subject.duty().urgency, Reverse(still.is_some()), still, subject.decision.task.clone())
    });
}
