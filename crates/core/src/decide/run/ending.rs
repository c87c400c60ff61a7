//! How a run ends, and the control requests that end it.

use crate::workflow::Signal;
use orch_base::words;

words! {
    /// How a run ends.
    pub enum Ending {
        /// The task is in a terminal phase.
        Completed = "completed",
        /// The task is in a terminal phase that means failure.
        Failed = "failed",
        /// Someone else has to act; the decision lists the commands.
        Waiting = "waiting",
        /// The same work would be repeated on the same fingerprint.
        Stalled = "stalled",
        /// A limit of the budget or of the workflow is reached.
        Exhausted = "exhausted",
        /// The run was paused.
        Paused = "paused",
        /// The run was stopped.
        Stopped = "stopped",
        /// The task cannot be evaluated, or work cannot be recorded.
        Error = "error",
    }
}

words! {
    /// A request from another process to a run, the weakest first.
    pub enum ControlRequest {
        /// End now, from the keyboard; the run can be continued.
        Interrupt = "interrupt",
        /// End after the current action.
        Pause = "pause",
        /// End after the current action, because its executor gave an order that needs a person.
        AskPerson = "ask-person",
        /// End the current action too.
        Stop = "stop",
    }
}

/// How the reason of the step that records an ending begins.
const ENDED: &str = "the run ended as ";

impl Ending {
    /// Whether a run with this ending can be continued with the rest of its budget.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Paused | Self::Waiting)
    }

    /// The reason of the step that records this ending.
    #[must_use]
    pub fn reason(self, why: &str) -> String {
        format!("{ENDED}{}: {why}", self.as_str())
    }

    /// The ending and its cause, from the reason of the step that records it; `None` for any other text.
    #[must_use]
    pub fn of_reason(reason: &str) -> Option<(Self, &str)> {
        let (name, why) = reason.strip_prefix(ENDED)?.split_once(": ")?;
        Some((Self::named(name)?, why))
    }
}

impl ControlRequest {
    /// The ending of a run that follows this request.
    #[must_use]
    pub fn ending(self) -> Ending {
        match self {
            Self::Interrupt | Self::Pause => Ending::Paused,
            Self::AskPerson => Ending::Waiting,
            Self::Stop => Ending::Stopped,
        }
    }

    /// The order that corresponds to this request, to which a rule may respond.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Interrupt | Self::AskPerson => None,
            Self::Pause => Some(Signal::Pause),
            Self::Stop => Some(Signal::Stop),
        }
    }
}
