//! How a run ends, and what may be wished of it.

use crate::base::words;
use crate::workflow::Signal;

words! {
    /// How a run ends.
    pub enum Ending {
        /// The task is in a terminal phase.
        Completed = "completed",
        /// The task is in a terminal phase that is no success.
        Failed = "failed",
        /// Somebody else has to act; the commands are among the options.
        Waiting = "waiting",
        /// The same would be done again on the same ground.
        Stalled = "stalled",
        /// A limit is reached.
        Exhausted = "exhausted",
        /// It was paused.
        Paused = "paused",
        /// It was stopped.
        Stopped = "stopped",
        /// The task cannot be judged, or what was done cannot be recorded.
        Error = "error",
    }
}

words! {
    /// What may be wished of a run from outside, the stronger after the weaker.
    pub enum ControlRequest {
        /// End now, from the keyboard; it goes on later.
        Interrupt = "interrupt",
        /// End after the action that is going on.
        Pause = "pause",
        /// End that action too.
        Stop = "stop",
    }
}

impl Ending {
    /// Whether the run may go on after it, with what is left of its limits.
    #[must_use]
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Paused | Self::Waiting)
    }
}

impl ControlRequest {
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
