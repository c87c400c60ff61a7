//! Decisions in words and shapes: text, JSON, annotations, commit messages, prompts.
//!
//! Everything here turns a value into text and decides nothing. No terminal, clock or environment is
//! known: colour and width are arguments, and the same values give the same bytes. The JSON structs
//! are the public wire format; their schemas lie in `system/schemas/output/`. Every path in JSON is
//! relative to the root of the repository; text names an artifact by its path below its task.

mod action_prompt;
mod audit;
mod code;
mod error;
mod event;
mod explain;
pub mod findings;
mod json;
pub mod layout;
mod log;
mod message;
mod next;
mod order;
mod paint;
mod prompt;
mod resolution;
mod run;
#[cfg(test)]
mod samples;
mod status;
mod suggestion;
#[cfg(test)]
mod tests;
mod text;
mod transition;
mod wire;

pub use action_prompt::action_prompt;
pub use audit::{AuditChange, AuditCommit, AuditReport};
pub use code::CodeView;
pub use error::ErrorView;
pub use event::{EventView, Happening};
pub use explain::{Explanation, Explanations};
pub use json::{SCHEMA_VERSION, line, pretty};
pub use log::{Log, LogEntry};
pub use message::Message;
pub use next::{Direction, Do, Kind, NextView, next};
pub use order::{Urgency, sort, urgency};
pub use paint::{Paint, Style};
pub use prompt::prompt;
pub use resolution::{Resolution, Resolutions};
pub use run::{ControlReport, RunLine, RunReport, Runs};
pub use status::{PhaseCount, Status, TaskStatus};
pub use text::suggestions;
pub use transition::{AppliedView, TransitionLine, Transitions};
pub use wire::{CommandView, Expected, Finding, Input, Possible, Proof, Suggestion, Suggestions};

use crate::base::{Diagnostic, RepoPath, Timestamp};
use crate::decide::{Choice, Decision};
use crate::workflow::{System, Workflow};
use serde::Serialize;

/// One task as the shell knows it: its decision and what lies around it.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// What the rules say.
    pub decision: &'a Decision,
    /// The workflow that said it.
    pub workflow: &'a Workflow,
    /// Where schemas and instructions come from.
    pub system: &'a System,
    /// A title for people.
    pub title: Option<&'a str>,
    /// The directory of the task.
    pub directory: &'a RepoPath,
    /// The commit in which the state was last committed.
    pub committed: Option<String>,
    /// When the task last moved; used for order only, and never shown.
    pub unmoved_since: Option<Timestamp>,
    /// Where `system/` lies in the repository; `None` where its texts are only in the binary.
    pub system_dir: Option<&'a str>,
    /// What is known of a run of this task, if there is or was one.
    pub runner: Option<RunnerView<'a>>,
    /// Commands that only the shell can find, such as `git restore`; they come first.
    pub extra_options: Vec<Choice>,
    /// Findings that only the shell can make.
    pub extra_diagnostics: Vec<Diagnostic>,
}

/// What is known of a run of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerView<'a> {
    /// A process works on the task now.
    Running,
    /// The run stopped because nothing changed; why, as a sentence without a final full stop.
    Stalled(&'a str),
}

/// The repository, or the directory outside git, that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repository {
    /// Its root: the only absolute path in any output.
    pub root: String,
    /// The branch, unless detached or outside git.
    pub branch: Option<String>,
    /// The commit of HEAD, unless untracked or outside git.
    pub head: Option<String>,
    /// What was read: `work-dir`, `index` or `commit:<id>`.
    pub source: String,
}
