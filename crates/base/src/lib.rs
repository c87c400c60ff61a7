//! Basic values that all rooms share: names, paths, digests, times and diagnostics.
//!
//! Values are parsed once at the boundary and are always valid afterwards.

mod agent_mark;
mod code;
mod diagnostic;
mod digest;
mod enumeration;
mod error;
mod excerpt;
mod hint;
mod line_feeds;
mod locked;
mod name;
mod path;
mod patterns;
mod period;
pub mod pointer;
mod program_settings;
mod reason;
mod shell;
mod suggest;
mod task_place;
mod text;
mod time;
pub mod trailer;
#[macro_use]
mod words;

pub use agent_mark::AgentMark;
pub use code::{Class, Code, CodeEntry};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use digest::{Digest, ObjectFormat, hexadecimal};
pub use enumeration::enumeration;
pub use error::Error;
pub use excerpt::Excerpt;
pub use hint::{Hint, HintPart};
pub use line_feeds::with_line_feeds;
pub use locked::locked;
pub use name::{
    ARCHIVE, ActionName, ArtifactName, InvalidName, PhaseId, RuleId, TaskId, VerificationName,
    WorkflowName,
};
pub use path::{InvalidPath, RepoPath};
pub use patterns::{Patterns, glob};
pub use period::Period;
pub use program_settings::{PROGRAM_SETTINGS, ProgramSettings, is_program_setting};
pub use reason::Reason;
pub use shell::{TypedLine, TypedWord, argv_at, command, shell_word};
pub use suggest::nearest;
pub use task_place::{FILE_TASKS, SingleFile, TaskPlace};
pub use time::{CivilTime, TimeZone, Timestamp};

// For the macro `words`.
#[cfg(feature = "schemars")]
#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
