//! The words every room shares: names, paths, digests, times and diagnostics.
//!
//! Values here are parsed once at the edge and never invalid afterwards.

mod code;
mod diagnostic;
mod digest;
mod error;
mod name;
mod path;
mod patterns;
mod period;
mod reason;
mod shell;
mod suggest;
mod time;

pub use code::{Class, Code, CodeEntry};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use digest::Digest;
pub use error::Error;
pub use name::{ActionName, ArtifactName, InvalidName, PhaseId, RuleId, TaskId, WorkflowName};
pub use path::{InvalidPath, RepoPath};
pub use patterns::Patterns;
pub use period::Period;
pub use reason::Reason;
pub use shell::{command, shell_word};
pub use suggest::nearest;
pub use time::Timestamp;
