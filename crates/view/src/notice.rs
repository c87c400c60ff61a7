//! The word of an event, for the programs of `[[notify]]`.

use super::layout::one_line;
use super::text::headline;
use super::{Repository, Suggestion};
use orch_base::Timestamp;
use orch_core::decide::{Ending, NoticeKind};
use orch_core::workflow::Owner;
use serde::Serialize;

/// An event that someone wants word of, as a program of `[[notify]]` reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notice {
    /// The time of the event, in UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub at: String,
    /// The event.
    pub event: NoticeKind,
    /// The event in one line, for people.
    pub text: String,
    /// The repository with the task.
    pub repository: Repository,
    /// The run that has ended; null if the event is not about the end of a run.
    pub run: Option<EndedRun>,
    /// The task, and what to do about it now.
    pub suggestion: Suggestion,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndedRun {
    /// The id of the run.
    pub id: String,
    /// How it ended.
    pub ending: Ending,
    /// The reason.
    pub reason: String,
    /// The number of turns that it has used.
    pub turns: u32,
    /// The number of turns that it may use.
    pub max_turns: u32,
    /// The sum of the costs that results reported.
    #[cfg_attr(test, schemars(extend("minimum" = 0)))]
    pub cost: f64,
}

super::json::documents! { Notice = "notice" }

impl Notice {
    /// The word of an event.
    #[must_use]
    pub fn new(
        at: Timestamp,
        event: NoticeKind,
        repository: Repository,
        suggestion: Suggestion,
        run: Option<EndedRun>,
    ) -> Self {
        let task = &suggestion.task.id;
        let phase = suggestion.task.phase();
        let what = match (event, &run) {
            // Whose turn it is does not say why the run does not continue.
            (NoticeKind::Human, Some(run)) if suggestion.duty.owner != Owner::Human => {
                format!("{phase}: {}", run.reason)
            }
            (NoticeKind::Human, _) => format!("{phase}: {}", headline(&suggestion)),
            (NoticeKind::Done, _) => "done".to_owned(),
            (NoticeKind::RunEnded, Some(run)) => {
                format!("the run is {}: {}", run.ending.as_str(), run.reason)
            }
            (NoticeKind::Failed | NoticeKind::Stalled, Some(run)) => {
                format!("{}: {}", run.ending.as_str(), run.reason)
            }
            (NoticeKind::Failed | NoticeKind::Stalled | NoticeKind::RunEnded, None) => {
                format!("{}: {}", event.as_str(), suggestion.duty.reason)
            }
        };
        let text = one_line(&format!("{task}: {what}"));
        Self {
            at: at.to_string(),
            event,
            text,
            repository,
            run,
            suggestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_text_says_what_has_happened_in_one_line() {
        let text = |event, suggestion, run| {
            Notice::new(
                Timestamp::from_seconds(0),
                event,
                samples::repository(),
                suggestion,
                run,
            )
            .text
        };
        let run = |ending| {
            let id = "1-2".to_owned();
            let reason = "nothing\nhas changed".to_owned();
            Some(EndedRun {
                id,
                ending,
                reason,
                turns: 2,
                max_turns: 50,
                cost: 0.0,
            })
        };
        let write = || Suggestion::of(&samples::write_missing().subject());
        let done = || Suggestion::of(&samples::done().subject());
        let shown = [
            text(NoticeKind::Done, done(), None),
            text(NoticeKind::Human, write(), None),
            text(NoticeKind::Human, write(), run(Ending::Waiting)),
            text(NoticeKind::Stalled, write(), run(Ending::Stalled)),
            text(NoticeKind::RunEnded, write(), run(Ending::Waiting)),
            text(NoticeKind::Failed, write(), run(Ending::Exhausted)),
        ];
        let task = write().task.id;
        let expected = [
            format!("{}: done", done().task.id),
            format!("{task}: codegen: {}", headline(&write())),
            format!("{task}: codegen: nothing has changed"),
            format!("{task}: stalled: nothing has changed"),
            format!("{task}: the run is waiting: nothing has changed"),
            format!("{task}: exhausted: nothing has changed"),
        ];
        assert_eq!(shown, expected);
    }
}
