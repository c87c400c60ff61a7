//! The short answers: what was made, played, formatted, installed, rebuilt, or written as text.

use serde::Serialize;

/// An answer that is a text: a manual, a document, a diagram, completions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TextAnswer {
    /// The text, as it is printed without `--json`.
    pub text: String,
}

/// There was nothing to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NothingDue {
    /// The task.
    pub task: String,
    /// The phase it is in; null where the state names none.
    pub current_phase: Option<String>,
    /// Why nothing was applied.
    pub reason: String,
}

/// The whole instruction for the current phase of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptAnswer {
    /// The task.
    pub task: String,
    /// The instruction, in Markdown.
    pub prompt: String,
}

/// What `orch init` made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InitAnswer {
    /// The paths that were made or changed, relative to the root.
    pub made: Vec<String>,
}

/// A demonstration that was played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DemoAnswer {
    /// Where it was played; the commits are there to look at.
    pub directory: String,
}

/// A state that was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecoveryAnswer {
    /// The task.
    pub task: String,
    /// Where the state came from; `none` where it was whole.
    #[cfg_attr(test, schemars(extend("enum" = ["none", "git", "transcript", "files"])))]
    pub from: &'static str,
    /// What was done.
    pub message: String,
}

/// Diagrams that were drawn anew, or are out of date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FormattedAnswer {
    /// Whether they were drawn anew; false with `--check`.
    pub written: bool,
    /// The documents, relative to the root.
    pub paths: Vec<String>,
}

/// A workflow that was made from a skill's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NewWorkflow {
    /// Its name.
    pub workflow: String,
    /// By what the next action is chosen.
    #[cfg_attr(test, schemars(extend("enum" = ["priority", "user", "state"])))]
    pub strategy: &'static str,
    /// The paths that were made, relative to the root.
    pub made: Vec<String>,
    /// The paths whose text was there before and was written anew, relative to the root.
    pub replaced: Vec<String>,
}

/// The workflows, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowList {
    /// The workflows, by name.
    pub workflows: Vec<WorkflowLine>,
}

/// One workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowLine {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Whether its document has no error.
    pub valid: bool,
    /// How many phases it has; null where its document cannot be read.
    pub phases: Option<usize>,
    /// How many rules it has; null where its document cannot be read.
    pub rules: Option<usize>,
    /// Its path in the repository, or `shipped`.
    pub origin: String,
}

/// The hooks of git, and what was done about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HooksAnswer {
    /// Where git looks for hooks: relative to the root, or absolute where it lies elsewhere.
    pub directory: String,
    /// Where that directory lies; outside of the repository nothing is installed.
    #[cfg_attr(test, schemars(extend("enum" = ["git", "work-tree", "outside"])))]
    pub location: &'static str,
    /// The hooks that were asked for, or all.
    pub hooks: Vec<HookLine>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HookLine {
    /// The hook.
    #[cfg_attr(test, schemars(extend("enum" = ["pre-commit", "commit-msg", "pre-push"])))]
    pub hook: &'static str,
    /// What is there now: `edited` is ours, changed since; `replaced` is another in the place of ours.
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["absent", "installed", "outdated", "edited", "replaced", "other"]))
    )]
    pub state: &'static str,
    /// Whether the hook that was there before is kept beside it, to be run first.
    pub chained: bool,
    /// What was done; null where nothing was to do.
    #[cfg_attr(
        test,
        schemars(extend("enum" = ["installed", "updated", "unchanged", "removed", "restored", "left", null]))
    )]
    pub did: Option<&'static str>,
}

super::json::documents! {
    TextAnswer = "text",
    NothingDue = "nothing",
    PromptAnswer = "prompt",
    InitAnswer = "init",
    DemoAnswer = "demo",
    RecoveryAnswer = "recovery",
    FormattedAnswer = "formatted",
    NewWorkflow = "workflow",
    WorkflowList = "workflows",
    HooksAnswer = "hooks",
}
