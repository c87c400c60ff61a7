//! Which task first: the most urgent, then the one that has stood still longest, then by id.

use super::{Do, Kind, Subject, next};
use crate::workflow::Owner;
use std::cmp::Reverse;

/// How urgent a task is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// The state, a rule or the workflow is broken.
    Error,
    /// What the phase builds on is missing or broken.
    Inconsistent,
    /// A person must act.
    Person,
    /// A transition is due.
    Transition,
    /// Something has to be mended.
    Fix,
    /// Something has to be written anew.
    Renew,
    /// Something has to be written, or an action run.
    Write,
    /// A process is at work.
    Process,
    /// Nobody must act.
    Nothing,
}

/// How urgent a task is.
#[must_use]
pub fn urgency(subject: &Subject<'_>) -> Urgency {
    let next = next(subject);
    match (next.kind, next.owner, next.task) {
        (Kind::Error | Kind::Livelock, ..) => Urgency::Error,
        (Kind::Inconsistent, ..) => Urgency::Inconsistent,
        (_, Owner::Human, _) => Urgency::Person,
        (Kind::Transition, ..) => Urgency::Transition,
        (_, Owner::Process, _) => Urgency::Process,
        (_, _, Do::Fix) => Urgency::Fix,
        (_, _, Do::Renew) => Urgency::Renew,
        (_, _, Do::Write | Do::Run) => Urgency::Write,
        _ => Urgency::Nothing,
    }
}

/// Puts tasks in the order of suggestions; a task that never moved comes after those that did.
pub fn sort(subjects: &mut [&Subject<'_>]) {
    subjects.sort_by_cached_key(|subject| {
        let still = subject.unmoved_since;
        (urgency(subject), Reverse(still.is_some()), still, subject.decision.task.clone())
    });
}
