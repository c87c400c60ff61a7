//! What a process that puts up a fence is told and says.

use orch_base::words;
use serde::{Deserialize, Serialize};
use std::io;

/// The word after which this program puts up a fence around itself; the path of a plan follows, then the program and its
/// arguments.
pub const FENCED: &str = "--fenced";

words! {
    /// What a process does to be inside a fence.
    pub enum FenceStep {
        /// It enters a mount namespace.
        MountNamespace = "mount-namespace",
        /// It enters a user namespace, and a mount namespace in it.
        UserNamespace = "user-namespace",
        /// It stays the user that it is.
        UserMap = "user-map",
        /// It shares no mounts with others.
        Propagation = "propagation",
        /// It mounts each path of the plan.
        Place = "place",
        /// It makes the others read-only.
        Close = "close",
        /// It goes to the working directory.
        Directory = "directory",
        /// It looks whether all is as planned.
        Check = "check",
        /// It drops capabilities.
        Capabilities = "capabilities",
        /// It tries to write.
        Try = "try",
    }
}

/// What a process says about its fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FenceReport {
    /// The fence is there, and the program begins.
    Up,
    /// There is no fence, and the program was not started.
    Refused {
        /// The step that failed.
        step: FenceStep,
        /// The number of the error, if the system gave one.
        number: Option<i32>,
        /// The error, for people.
        why: String,
    },
    /// The fence is there, but the program cannot be started.
    NotStarted(String),
}

impl FenceReport {
    pub(super) fn refused(step: FenceStep, error: &io::Error) -> Self {
        Self::Refused {
            step,
            number: error.raw_os_error(),
            why: error.to_string(),
        }
    }
}
