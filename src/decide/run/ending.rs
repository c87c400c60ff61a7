//! How a run ends, and what may be wished of it.

use crate::workflow::Signal;

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The task is in a terminal phase.
    Completed,
    /// The task is in a terminal phase that is no success.
    Failed,
    /// Somebody else has to act; the commands are among the options.
    Waiting,
    /// The same would be done again on the same ground.
    Stalled,
    /// A limit is reached.
    Exhausted,
    /// It was paused.
    Paused,
    /// It was stopped.
    Stopped,
    /// The task cannot be judged, or what was done cannot be recorded.
    Error,
}

/// What may be wished of a run from outside, the stronger after the weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControlRequest {
    /// End now, from the keyboard; it goes on later.
    Interrupt,
    /// End after the action that is going on.
    Pause,
    /// End that action too.
    Stop,
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Failed,
        Self::Waiting,
        Self::Stalled,
        Self::Exhausted,
        Self::Paused,
        Self::Stopped,
        Self::Error,
    ];

    /// The ending as records and JSON spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Stalled => "stalled",
            Self::Exhausted => "exhausted",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Error => "error",
        }
    }

    /// The ending with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == name)
    }

    /// Whether the run may go on after it, with what is left of its limits.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Paused | Self::Waiting)
    }
}

impl ControlRequest {
    /// The wish as files and people spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Pause => "pause",
            Self::Stop => "stop",
        }
    }

    /// The wish with this name; an interrupt comes from the keyboard alone.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Pause, Self::Stop].into_iter().find(|request| request.as_str() == name)
    }

    /// How a run ends that heeds it.
    #[must_use]
    pub fn ending(self) -> Ending {
        match self {
            Self::Interrupt | Self::Pause => Ending::Paused,
            Self::Stop => Ending::Stopped,
        }
    }

    /// The order that a rule may answer to.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Interrupt => None,
            Self::Pause => Some(Signal::Pause),
            Self::Stop => Some(Signal::Stop),
        }
    }
}
