//! The files that `orch` itself keeps in a task, as text: `state.json` and `transcript.jsonl`.
//!
//! This is the boundary between the [`State`](crate::decide::State) of the core and its file. Parsing reports
//! every fault with a JSON pointer. Rendering is deterministic: the same state always yields the same bytes.

mod conflict;
mod extent;
mod fold;
mod foreign;
mod history_entry;
mod json_patch;
mod known_log;
mod last_order;
mod layout;
mod log;
mod log_event;
mod other_format;
mod parts;
mod patch_text;
mod reading;
mod seal;
mod state;
#[cfg(test)]
mod tests;

pub use conflict::{ConflictSides, sides, united_lines};
pub use extent::LogExtent;
pub use fold::{FoldCache, FoldError, RecordedStep, record_steps};
pub use json_patch::{JsonPatchOp, MissingPlace, apply_patch, diff};
pub use known_log::KnownLog;
pub use layout::{AFTER_CHANGING, StateLayout};
pub use log::{
    EventLog, LogFault, LogFaultKind, LogPeek, has_later_version, has_lost_events, listed_events,
    lost_events, whole_lines,
};
pub use log_event::{LogEvent, NotAnEvent};
pub use other_format::{format_of_log, log_in_format};
pub use parts::LogPart;
pub use patch_text::PatchText;
pub use reading::{
    RecordReading, StateDefect, StateText, believed_state, read_foreign, read_record,
};
pub use state::{
    StateFault, is_as_written, is_other_layout, log_extent_in, log_extent_of, phase_key_in,
    read_state, write_state,
};

/// The file name of a task's state.
pub const STATE_FILE: &str = "state.json";
/// The file name of a task's log, one event per line.
pub const TRANSCRIPT_FILE: &str = "transcript.jsonl";
/// The file name of the current suggestion, a derived file that git ignores.
pub const SUGGESTION_FILE: &str = "suggestion.json";

/// Whether a path relative to the task directory names a file that `orch` itself writes.
#[must_use]
pub fn is_own_file(path: &str) -> bool {
    matches!(path, STATE_FILE | TRANSCRIPT_FILE | SUGGESTION_FILE)
}
