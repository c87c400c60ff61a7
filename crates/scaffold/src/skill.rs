//! What a `skill-config.json` says: the types that it is read as, and the names that it may use.

use super::field::Field;
use orch_base::ActionName;
use orch_core::workflow::Guard;

/// The keys of a generated state that `orch` manages itself.
pub(super) const KEPT: [&str; 7] = [
    "status",
    "current_action",
    "completed_actions",
    "errors",
    "error_count",
    "iteration_count",
    "updated_at",
];

/// The contents of a configuration.
#[derive(Debug, Clone, Default)]
pub struct Skill {
    /// A title for people.
    pub title: String,
    /// A one-line description of its purpose.
    pub description: String,
    /// Requests that should start it, as people phrase them.
    pub triggers: Vec<String>,
    /// Its output and where to find it, in lines for people.
    pub output: Vec<String>,
    /// The criteria for its results, in lines for people.
    pub quality: Vec<String>,
    /// The version and the date of the configuration, in lines for people.
    pub origin: Vec<String>,
    /// The documents that its work has to satisfy besides its README, as paths from the root of the repository.
    pub specs: Vec<String>,
    /// The fields of its state, except those that `orch` manages.
    pub fields: Vec<Field>,
    /// The phases of a sequential skill, in order; empty for a loop.
    pub phases: Vec<SkillPhase>,
    /// Its actions, in document order.
    pub actions: Vec<SkillAction>,
    /// The conditions that end it.
    pub ends: Vec<Condition>,
}

/// A phase of a sequential skill as written.
#[derive(Debug, Clone)]
pub struct SkillPhase {
    /// The JSON pointer of the phase.
    pub pointer: String,
    /// The id as written: `01-scan`.
    pub id: String,
    /// The name in the workflow: `scan`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// What the phase does.
    pub description: String,
    /// What it reads besides the outputs of the phases before, as written.
    pub input: Vec<String>,
    /// The file that it writes, relative to the directory of the task.
    pub output: String,
}

/// An action as written.
#[derive(Debug, Clone)]
pub struct SkillAction {
    /// The JSON pointer of the action.
    pub pointer: String,
    /// The id as written: `action-init`.
    pub id: String,
    /// The name in the workflow: `init`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// What the action does.
    pub description: String,
    /// The conditions for running it.
    pub preconditions: Vec<Condition>,
    /// What it changes: names of fields, or prose that contains them.
    pub effects: Vec<String>,
    /// Actions with higher priority run first.
    pub priority: i64,
}

/// An expression and its position.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The JSON pointer of the text.
    pub pointer: String,
    /// The text as written in the configuration.
    pub text: String,
}

/// The action that reviews the specification, in every generated workflow.
pub(super) const SPEC_REVIEW: &str = "spec_review";

/// The name of an action in the workflow. Guards need a name without `-`, and configurations spell the same
/// action with `-` in one place and `_` in another.
pub(super) fn machine_name(id: &str) -> String {
    let bare = id
        .strip_prefix("action-")
        .or_else(|| id.strip_prefix("action_"))
        .unwrap_or(id);
    let name: String = bare
        .chars()
        .map(|c| if matches!(c, '-' | '.' | ' ') { '_' } else { c })
        .collect();
    // Some words are reserved in CEL.
    if is_name(&name) {
        name
    } else {
        format!("{name}_")
    }
}

/// The name of a phase in the workflow: its id without the number in front.
pub(super) fn phase_name(id: &str) -> String {
    let bare = id.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    machine_name(if bare.is_empty() { id } else { bare })
}

/// Whether a condition can use this name for a member.
pub(super) fn is_name(text: &str) -> bool {
    let is_identifier = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 60;
    is_identifier && Guard::parse(&format!("state.{text}")).is_ok()
}

/// Whether an action can have this name.
pub(super) fn is_action(text: &str) -> bool {
    is_name(text) && ActionName::new(text).is_ok()
}

/// Whether two actions would share a prompt file on a file system that ignores case.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('_')
        .eq_ignore_ascii_case(other.trim_end_matches('_'))
}
