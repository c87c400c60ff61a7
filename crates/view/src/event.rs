//! The events of a watch: one JSON object or one line of text each.

use super::layout::{counted, one_line, shorten};
use super::text::{headline, mood};
use super::wire::{Finding, Suggestion};
use super::{Advice, Paint, RunLine, Style, TransitionLine};
use orch_base::{RepoPath, Timestamp};
use serde::Serialize;

/// One event of a watch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventView {
    /// The time of the event, in UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub at: String,
    /// The event.
    #[serde(flatten)]
    pub happening: Happening,
}

super::json::documents! { EventView = "event" }

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Happening {
    /// The watch has evaluated all tasks and now listens for changes.
    Started {
        /// The number of watched tasks.
        tasks: usize,
    },
    /// A transition was applied.
    Transition {
        /// The applied transition.
        transition: Box<TransitionLine>,
    },
    /// The suggestion for a task has changed.
    Suggestion {
        /// The new suggestion.
        suggestion: Box<Suggestion>,
    },
    /// A transition is due but cannot be applied at the moment.
    Held {
        /// The id of the task.
        task: String,
        /// Why it is held back.
        reason: String,
        /// What would allow it.
        #[serde(flatten)]
        advice: Advice,
    },
    /// A problem that does not stop the watch.
    Finding {
        /// The problem.
        finding: Box<Finding>,
    },
    /// A task has disappeared.
    Gone {
        /// The id of the task.
        task: String,
    },
    /// A run has changed. A server says so, a watch does not.
    Run {
        /// The run as it is now.
        run: Box<RunLine>,
    },
    /// The watch has ended.
    Stopped {
        /// The reason.
        reason: String,
    },
}

impl EventView {
    /// An event at a time.
    #[must_use]
    pub fn new(at: Timestamp, happening: Happening) -> Self {
        Self {
            at: at.to_string(),
            happening,
        }
    }
}

impl Happening {
    /// Makes the commands of its hint work for whoever types them in the directory `here`.
    pub fn type_at(&mut self, here: &RepoPath) {
        match self {
            Self::Held { advice, .. } => advice.type_at(here),
            Self::Finding { finding } => finding.advice.type_at(here),
            _ => {}
        }
    }

    /// The event as text: one line, or two if there is a hint.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        match self {
            Self::Started { tasks } => format!("watching {}\n", counted(*tasks, "task")),
            Self::Transition { transition } => transition.text(paint, width),
            Self::Suggestion { suggestion } => {
                let phase = suggestion.task.phase();
                let line = format!("{}: {phase}: {}", suggestion.task.id, headline(suggestion));
                format!(
                    "{}\n",
                    paint.paint(mood(suggestion), &shorten(&line, width))
                )
            }
            Self::Held {
                task,
                reason,
                advice,
            } => {
                let line = shorten(&format!("{task}: held back: {reason}"), width);
                format!(
                    "{}\n{}",
                    paint.paint(Style::Warn, &line),
                    hint_line(advice, paint)
                )
            }
            Self::Finding { finding } => {
                format!(
                    "{}\n{}",
                    one_line(&finding.line()),
                    hint_line(&finding.advice, paint)
                )
            }
            Self::Gone { task } => format!("{}: gone\n", one_line(task)),
            Self::Run { run } => {
                format!(
                    "{}: run {}: {}\n",
                    one_line(&run.task),
                    one_line(&run.run),
                    run.state
                )
            }
            Self::Stopped { reason } => format!("stopped: {}\n", shorten(reason, width)),
        }
    }
}

fn hint_line(advice: &Advice, paint: Paint) -> String {
    match advice.hint() {
        Some(hint) => {
            let hint = one_line(&hint.to_string());
            format!(
                "{}\n",
                paint.paint(Style::Dim, &format!("    hint: {hint}"))
            )
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;
    use orch_base::Hint;

    #[test]
    fn the_hint_of_an_event_is_for_where_it_is_typed() {
        let task = "t".to_owned();
        let reason = "a merge is open".to_owned();
        let mut held = Happening::Held {
            task,
            reason,
            advice: Some(Hint::run(&["git", "add", "--", "tasks/t"])).into(),
        };
        held.type_at(&RepoPath::new("tasks").expect("a path"));
        let shown = held.text(Paint::PLAIN, 0);
        assert!(shown.ends_with("hint: git add -- t\n"), "{shown}");
    }

    #[test]
    fn an_event_is_one_flat_line() {
        let held = Happening::Held {
            task: "t-42".to_owned(),
            reason: "a `git commit`\nis open".to_owned(),
            advice: Advice::default(),
        };
        assert_eq!(
            held.text(Paint::PLAIN, 0),
            "t-42: held back: a `git commit` is open\n"
        );
        assert_eq!(
            line(&EventView::new(Timestamp::from_seconds(0), held)),
            "{\"schemaVersion\":1,\"kind\":\"event\",\"at\":\"1970-01-01T00:00:00Z\",\"event\":\"held\",\
             \"task\":\"t-42\",\"reason\":\"a `git commit`\\nis open\",\"hint\":null,\"commands\":[]}\n"
        );
    }
}
