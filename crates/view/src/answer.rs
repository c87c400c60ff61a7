//! Short answers: what a command created, played, formatted, installed, rebuilt, or printed as text.

use super::layout::one_line;
use super::{Finding, TransitionLine};
use orch_base::{Diagnostic, words};
use orch_core::workflow::{Workflow, cases};
use serde::Serialize;
use std::collections::BTreeMap;

/// An answer that is a text: a manual, a document, a diagram, completions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TextAnswer {
    /// The text as it is printed without `--json`.
    pub text: String,
}

/// There was nothing to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NothingDue {
    /// The id of the task.
    pub task: String,
    /// The current phase; null if the state names none.
    pub current_phase: Option<String>,
    /// Why nothing was applied.
    pub reason: String,
}

/// The complete instructions for the current phase of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptAnswer {
    /// The id of the task.
    pub task: String,
    /// The instructions, in Markdown.
    pub prompt: String,
}

/// The draft of a file of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DraftAnswer {
    /// The id of the task.
    pub task: String,
    /// The artifact.
    pub artifact: String,
    /// The path of its file.
    pub path: String,
    /// The text, in which everything left to write begins with TODO.
    pub text: String,
    /// Whether the file was written; it was printed otherwise.
    pub written: bool,
    /// The path where the file is kept that was there, if HEAD does not have it.
    pub kept: Option<String>,
}

/// The files that `orch init` created.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InitAnswer {
    /// The paths that were created, relative to the root.
    pub made: Vec<String>,
    /// The paths that got or lost the part of orch.
    pub changed: Vec<String>,
    /// The paths that were deleted.
    pub removed: Vec<String>,
    /// What was left alone, with what to do by hand.
    pub findings: Vec<Finding>,
}

/// A demonstration that was played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DemoAnswer {
    /// The directory in which it was played; its commits can be inspected.
    pub directory: String,
}

/// Tasks that an executor proposed and that were added to a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GenerationAnswer {
    /// The id of the task that is the loop.
    pub task: String,
    /// The ids of the added tasks, in the order of the list.
    pub added: Vec<String>,
    /// Whether they were added.
    pub applied: bool,
    /// The step that added them.
    pub transitions: Vec<TransitionLine>,
}

/// The task list of another program, and the tasks made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportAnswer {
    /// The program that the list comes from.
    #[cfg_attr(test, schemars(extend("enum" = ["task-master", "bmad", "beads"])))]
    pub program: &'static str,
    /// Whether the tasks were created; false with `--dry-run`.
    pub applied: bool,
    /// The tasks, in the order of the list.
    pub tasks: Vec<ImportLine>,
    /// The entries that became no task.
    pub skipped: Vec<SkippedLine>,
}

/// A task made of an entry of a task list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportLine {
    /// What the list calls the entry.
    pub source: String,
    /// The id of the task.
    pub task: String,
    /// Its directory, or the directory of its file.
    pub directory: String,
    /// Its title.
    pub title: String,
    /// Whether it has a brief.
    pub brief: bool,
}

/// An entry of a task list that became no task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkippedLine {
    /// What the list calls it.
    pub source: String,
    /// Why it became no task.
    pub reason: String,
}

/// What `orch` may start, and whether it is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustAnswer {
    /// The commands of orch.toml and the instructions of agents that need trust.
    pub trustees: Vec<TrustLine>,
    /// Whether all trust in the repository was taken back.
    pub revoked: bool,
}

/// A command or instructions that need trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrustLine {
    /// The key in orch.toml, or the path of instructions or of settings of agent programs.
    pub name: String,
    /// The program and its arguments; null for everything else.
    pub command: Option<Vec<String>>,
    /// The address that a webhook posts to; null for everything else.
    pub webhook: Option<String>,
    /// The variable with the key that signs what is posted; null if nothing is signed.
    pub secret: Option<String>,
    /// The store of leases on the network; null for everything else.
    pub store: Option<String>,
    /// Whether it is trusted as it is now.
    pub trusted: bool,
}

/// A record that was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecoveryAnswer {
    /// The id of the task.
    pub task: String,
    /// Where the state came from; `none` if it was intact.
    #[cfg_attr(test, schemars(extend("enum" = ["none", "git", "transcript", "files"])))]
    pub from: &'static str,
    /// What was done.
    pub message: String,
}

/// Diagrams that were redrawn or are out of date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FormattedAnswer {
    /// Whether they were redrawn; false with `--check`.
    pub written: bool,
    /// The documents, relative to the root.
    pub paths: Vec<String>,
}

/// A workflow that was generated from the configuration of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NewWorkflow {
    /// The name of the workflow.
    pub workflow: String,
    /// The pattern, if it was made from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("enum" = ["article", "rfc", "release", "triage", "epic"])))]
    pub pattern: Option<&'static str>,
    /// How the next action is chosen, in a loop of actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("enum" = ["priority", "user", "state"])))]
    pub strategy: Option<&'static str>,
    /// The paths that were created, relative to the root.
    pub made: Vec<String>,
    /// The existing paths that were overwritten with a new text, relative to the root.
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
    /// The name of the workflow.
    pub name: String,
    /// The title of the workflow.
    pub title: String,
    /// Whether its document has no errors.
    pub valid: bool,
    /// The number of phases; null if the document cannot be read.
    pub phases: Option<usize>,
    /// The number of rules; null if the document cannot be read.
    pub rules: Option<usize>,
    /// The path of the document in the repository, or `shipped`.
    pub origin: String,
}

/// What came of the tests in workflow documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowTests {
    /// The workflows whose tests were run.
    pub workflows: Vec<TestedWorkflow>,
    /// What is not as a test expects, and what is wrong with how tests are written.
    pub findings: Vec<Finding>,
}

impl WorkflowTests {
    /// The answer about these workflows.
    #[must_use]
    pub fn new(workflows: Vec<TestedWorkflow>, findings: &[Diagnostic]) -> Self {
        Self {
            workflows,
            findings: findings.iter().map(Finding::of).collect(),
        }
    }
}

/// A workflow whose tests were run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TestedWorkflow {
    /// The name of the workflow.
    pub workflow: String,
    /// How many tests there are.
    pub tests: usize,
    /// How many passed.
    pub passed: usize,
    /// How many rules there are.
    pub rules: usize,
    /// How many pairs of phases rules connect.
    pub edges: usize,
    /// The rules that no test covers.
    pub open_rules: Vec<String>,
    /// The edges that no test covers: `FROM -> TO`.
    pub open_edges: Vec<String>,
    /// The rules of which the document says that no case reaches them, each with the reason.
    pub unreachable: BTreeMap<String, String>,
    /// With `--missing`, a test for each rule and each edge that is not covered.
    pub missing: Vec<UncoveredCase>,
}

/// A rule or an edge that no test covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UncoveredCase {
    /// The rule.
    pub rule: String,
    /// The phase in which it decides.
    pub phase: String,
    /// A test that covers it, as TOML; null if no case was found.
    pub test: Option<String>,
    /// Why no case was found; null if one was.
    pub why: Option<String>,
}

/// A workflow that was played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlayedWorkflow {
    /// The number from which the choices follow.
    pub seed: u64,
    /// What happened, in order.
    pub steps: Vec<PlayedStep>,
    /// The phase at the end.
    pub phase: Option<String>,
    /// Whether the workflow ended there.
    pub over: bool,
    /// What the rules say there.
    pub reason: String,
}

/// Something that happened in a play.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlayedStep {
    /// What it was.
    pub happened: String,
    /// The steps that it led to: `FROM -> TO (RULE)`.
    pub steps: Vec<String>,
}

impl PlayedWorkflow {
    /// The play as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            out.push_str(&format!("> {}\n", one_line(&step.happened)));
            for taken in &step.steps {
                out.push_str(&format!("  {}\n", one_line(taken)));
            }
        }
        let phase = self.phase.as_deref().unwrap_or("no phase");
        let end = if self.over { "the end" } else { "no end yet" };
        out.push_str(&format!("{phase}: {} ({end})\n", one_line(&self.reason)));
        out
    }
}

/// The rules that may hold together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverlapList {
    /// Each two rules of a phase that may hold together, in the order of the rules.
    pub overlaps: Vec<OverlapLine>,
}

/// Two rules that may hold together; the first decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverlapLine {
    /// The name of the workflow.
    pub workflow: String,
    /// The phase in which both may hold.
    pub phase: String,
    /// The id of the rule that decides.
    pub first: String,
    /// The id of the other rule.
    pub second: String,
    /// Whether the two come to different outcomes.
    pub differs: bool,
    /// The group in which both stand; null if they do not stand in the same one.
    pub group: Option<String>,
    /// Values with which both hold, as expressions or in words. What does not matter is left out.
    pub case: Vec<String>,
}

impl OverlapLine {
    /// The overlaps of a workflow.
    #[must_use]
    pub fn of_workflow(workflow: &Workflow) -> Vec<Self> {
        let mut lines = Vec::new();
        for of in cases(workflow) {
            lines.extend(of.overlaps.iter().map(|overlap| {
                Self {
                    workflow: workflow.name.to_string(),
                    phase: of.phase.to_string(),
                    first: overlap.first.id.to_string(),
                    second: overlap.second.id.to_string(),
                    differs: overlap.differs(),
                    group: overlap
                        .first
                        .group
                        .clone()
                        .filter(|_| overlap.is_in_one_group()),
                    case: overlap.case.0.clone(),
                }
            }));
        }
        lines
    }
}

/// The git hooks, and what was done with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HooksAnswer {
    /// The directory in which git looks for hooks: relative to the root, or absolute if it is elsewhere.
    pub directory: String,
    /// The location of that directory; outside the repository nothing is installed.
    #[cfg_attr(test, schemars(extend("enum" = ["git", "work-tree", "outside"])))]
    pub location: &'static str,
    /// The requested hooks, or all.
    pub hooks: Vec<HookLine>,
    /// The hooks that the configuration of git names, in the order in which git runs them before those of the
    /// directory.
    pub configured: Vec<ConfiguredHookLine>,
}

/// A hook that the configuration of git names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfiguredHookLine {
    /// Its name in the configuration: `NAME` of `hook.NAME.command`.
    pub name: String,
    /// The hook of git in whose place it runs, such as `pre-commit`.
    pub hook: String,
    /// What the shell runs.
    pub command: String,
    /// Whether git runs it: it is not switched off, and this git is 2.54 or newer.
    pub runs: bool,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HookLine {
    /// The name of the hook.
    pub hook: HookName,
    /// The present hook: `edited` is orch's own, changed since its installation; `replaced` is another one in
    /// its place.
    pub state: HookState,
    /// Whether the previous hook is kept; it runs first if it is executable.
    pub chained: bool,
    /// What was done; null if nothing had to be done.
    pub did: Option<HookDone>,
}

words! {
    /// A git hook that `orch` can install.
    pub enum HookName {
        /// Checks what is staged.
        PreCommit = "pre-commit",
        /// Checks the message, or names the task of the branch in it.
        CommitMsg = "commit-msg",
        /// Checks the commits that are pushed.
        PrePush = "pre-push",
        /// Names the task of the branch in the message.
        PrepareCommitMsg = "prepare-commit-msg",
    }
}

words! {
    /// The hook in a place.
    pub enum HookState {
        /// There is none.
        Absent = "absent",
        /// That of orch, up to date.
        Installed = "installed",
        /// That of orch, from another version or with other settings.
        Outdated = "outdated",
        /// That of orch, changed by someone.
        Edited = "edited",
        /// Another one, which replaced that of orch after this had kept a previous one.
        Replaced = "replaced",
        /// Another one.
        Other = "other",
    }
}

words! {
    /// What was done to a hook.
    pub enum HookDone {
        /// It was installed.
        Installed = "installed",
        /// It was brought up to date.
        Updated = "updated",
        /// It was up to date.
        Unchanged = "unchanged",
        /// It was removed.
        Removed = "removed",
        /// The previous one was put back.
        Restored = "restored",
        /// It is not as orch installed it, and was left alone.
        Left = "left",
    }
}

super::json::documents! {
    TextAnswer = "text",
    NothingDue = "nothing",
    PromptAnswer = "prompt",
    InitAnswer = "init",
    DemoAnswer = "demo",
    DraftAnswer = "draft",
    TrustAnswer = "trust",
    RecoveryAnswer = "recovery",
    FormattedAnswer = "formatted",
    GenerationAnswer = "generation",
    ImportAnswer = "import",
    NewWorkflow = "workflow",
    OverlapList = "overlaps",
    PlayedWorkflow = "play",
    WorkflowList = "workflows",
    WorkflowTests = "workflow-tests",
    HooksAnswer = "hooks",
}
