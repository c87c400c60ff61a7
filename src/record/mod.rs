//! The files that `orch` itself keeps in a task, as text: `state.json` and `transcript.jsonl`.
//!
//! This is the boundary between the core's [`State`](crate::decide::State) and its file: parsing
//! reports every fault with a JSON pointer, and rendering is deterministic, so that the same state
//! always gives the same bytes.

mod conflict;
mod extent;
mod fold;
mod json_patch;
mod log;
mod log_event;
mod reading;
mod seal;
mod state;
#[cfg(test)]
mod tests;

pub use conflict::{ConflictSides, sides, united_lines};
pub use extent::LogExtent;
pub use fold::{FoldCache, FoldError, RecordedStep, record_steps};
pub use json_patch::{JsonPatchOp, MissingPlace, apply_patch, diff};
pub use log::{EventLog, LogFault, LogFaultKind, LogPeek, has_lost_events, whole_lines};
pub use log_event::{LogEvent, NotAnEvent};
pub use reading::{RecordReading, StateDefect, StateText, believed_state, read_record};
pub use state::{StateFault, log_extent_in, phase_key_in, read_state, write_state};

/// The file that holds a task's state.
pub const STATE_FILE: &str = "state.json";
/// The file that holds a task's whole story, one event a line.
pub const TRANSCRIPT_FILE: &str = "transcript.jsonl";
/// The file that holds the present suggestion; derived, and ignored by git.
pub const SUGGESTION_FILE: &str = "suggestion.json";

/// Whether a path below a task directory names a file that `orch` itself writes.
#[must_use]
pub fn is_own_file(path: &str) -> bool {
    matches!(path, STATE_FILE | TRANSCRIPT_FILE | SUGGESTION_FILE)
}
