//! The machine: what a workflow document says, checked as a whole.
//!
//! A [`Workflow`] exists only if [`compile`] accepted its document. Every later room can rely on
//! that: each phase a rule names exists, every guard parses, every schema and agent text is there.

mod action;
mod actions;
mod check;
mod compile;
mod diagram;
mod document;
pub mod guard;
mod names;
mod place;
mod raw;
mod rule;
mod system;
mod tree;

pub use action::{Action, Ask, Limits, Signal, Times, is_within};
pub use check::check;
pub use compile::compile;
pub use diagram::{DiagramFormat, diagram, format};
pub use document::Document;
pub use guard::{Guard, GuardError, ValueKind};
pub use system::System;
pub use tree::{TreePart, TreeScope, is_tree_name, tree_name};

use crate::base::{ActionName, ArtifactName, Digest, Patterns, PhaseId, Place, RuleId, WorkflowName, words};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The top-level keys of `state.json` that belong to `orch`.
pub const RESERVED_KEYS: [&str; 16] = [
    "$schema",
    "version",
    "task",
    "title",
    "heads",
    "transcript",
    "rev",
    "seal",
    "workflow",
    "phase",
    "actors",
    "waived",
    "history",
    "errors",
    "run",
    "updated_at",
];

/// A compiled workflow: the machine that judges tasks.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// The stem of the document's file name.
    pub name: WorkflowName,
    /// A title for people.
    pub title: String,
    /// Of the document and the schemas that its artifacts name.
    pub digest: Digest,
    /// Where the document lies, for diagnostics.
    pub path: String,
    /// The phase of a new task.
    pub initial: PhaseId,
    /// The top-level key of `state.json` that holds the phase.
    pub phase_key: String,
    /// How often a phase may be attempted by the rules alone before a person must decide.
    pub attempts: u32,
    /// The artifacts in document order.
    pub artifacts: Vec<Artifact>,
    /// The phases in document order, which is what "forward" and "later" mean.
    pub phases: Vec<Phase>,
    /// The rules in document order: the first that fires decides.
    pub rules: Vec<Rule>,
    /// Named expressions, for reuse in guards.
    pub defines: Vec<(String, Guard)>,
    /// The actions that `run` and `choose` rules name.
    pub actions: Vec<Action>,
    /// The questions that `wait` rules put to a person.
    pub asks: Vec<Ask>,
    /// When a run of it has to end.
    pub limits: Limits,
    /// JSON pointers into the state: what every prompt shows of it.
    pub show: Vec<String>,
    /// The workflow's own top-level keys of `state.json`.
    pub state: StateShape,
}

/// A kind of file that the workflow knows.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Its name, which guards use.
    pub name: ArtifactName,
    /// Globs below the task directory, the preferred one first; the first is where it is written.
    /// A wildcard does not match the dot that begins a name.
    pub paths: Vec<String>,
    /// The committed code that it may be instead, after every path.
    pub tree: Option<TreeScope>,
    /// How its bytes are read.
    pub format: Format,
    /// The schema that accepts it.
    pub schema: Option<SchemaText>,
    /// Named values computed from its data.
    pub facts: Vec<(String, Guard)>,
    /// Whether transitions commit it; one that is not committed proves nothing and can be no need.
    pub commit: bool,
    /// A line that says what it is, for people and agents.
    pub title: Option<String>,
}

/// A schema as the workflow found it.
#[derive(Debug, Clone)]
pub struct SchemaText {
    /// Its name: `plan-review` for `plan-review.schema.json`.
    pub name: String,
    /// Its text.
    pub text: Arc<str>,
    /// The digest of its text.
    pub digest: Digest,
}

words! {
    /// How the bytes of an artifact become a JSON value.
    pub enum Format {
        /// One JSON document.
        Json = "json",
        /// One JSON document a line, read as an array.
        Jsonl = "jsonl",
        /// Front matter, headings, check boxes and word count of a Markdown document.
        Markdown = "markdown",
        /// A JUnit XML report: tests, failures, errors, skipped.
        Junit = "junit",
        /// Any text: bytes, lines.
        Text = "text",
        /// A unified diff: bytes, lines, files touched.
        Patch = "patch",
    }
}

/// A named state of a task.
#[derive(Debug, Clone)]
pub struct Phase {
    /// Its name.
    pub id: PhaseId,
    /// A line for people.
    pub title: Option<String>,
    /// The instructions for whoever does this phase: `system/agents/<agent>.md`.
    pub agent: Option<String>,
    /// Artifacts that must be present and valid while a task is in this phase.
    pub needs: Vec<ArtifactName>,
    /// Artifacts that this phase makes, the optional ones included.
    pub produces: Vec<ArtifactName>,
    /// Those of them that it may make but need not; they are never asked for.
    pub optional: Vec<ArtifactName>,
    /// Other names of this phase found in the wild.
    pub aliases: Vec<String>,
    /// Whether there is no way out but an explicit re-open.
    pub terminal: bool,
    /// Whether a task that ends there has come to a good end.
    pub success: bool,
    /// Where within the phase a task stands.
    pub substate: Option<Guard>,
    /// Who works in this phase unless a rule says otherwise.
    pub owner: Owner,
    /// How often this phase may be attempted; overrides the workflow's own number.
    pub attempts: Option<u32>,
    /// Which paths outside the task may change in this phase. A path that any phase names may change
    /// in those phases only; one that none names is nobody's business.
    pub touches: Patterns,
}

words! {
    /// Who must act.
    pub enum Owner {
        /// A coding agent, or whoever does the phase's work.
        Agent = "agent",
        /// A person: a decision, an answer, a repair.
        Human = "human",
        /// `orch` itself: a transition is due.
        Orch = "orch",
        /// An external process that is running.
        Process = "process",
        /// Nobody.
        None = "none",
    }
}

/// *from* phases, *when* a guard holds, *then* one outcome, *because* of a reason.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its id, unique in the workflow.
    pub id: RuleId,
    /// The phases it starts from (`*` already expanded), in document order.
    pub from: Vec<PhaseId>,
    /// The guard; a missing one is `true`.
    pub when: Guard,
    /// What happens when it fires.
    pub outcome: Outcome,
    /// The reason, a sentence without a final full stop.
    pub because: String,
    /// Bookkeeping that goes with the outcome: JSON pointer into the state, and its new value.
    pub set: Vec<(String, Guard)>,
    /// Whether the rule asks for a person.
    pub by_human: bool,
    /// The order that makes it fire; by itself it never does then.
    pub on: Option<Signal>,
    /// The question whose answer ends the wait: the name of an [`Ask`].
    pub ask: Option<String>,
    /// Where the rule stands in the document.
    pub place: Place,
}

/// What a rule yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Move to a phase.
    To(PhaseId),
    /// Perform an action.
    Run(ActionName),
    /// Wait for something, in words.
    Wait(String),
    /// A person picks one of the actions.
    Choose(Vec<ActionName>),
}

/// The top-level keys that a workflow adds to `state.json`.
#[derive(Debug, Clone, Default)]
pub struct StateShape {
    /// The schema that validates every write.
    pub schema: Option<SchemaText>,
    /// The values that a new task starts with.
    pub defaults: Map<String, Value>,
    /// Lists that keep their last items only: JSON pointer, and how many.
    pub keep: Vec<(String, usize)>,
    /// What a lost state is built of anew: JSON pointer, and an expression over the artifacts.
    pub rebuild: Vec<(String, Guard)>,
}

impl Workflow {
    /// The phase with this id.
    #[must_use]
    pub fn phase(&self, id: &PhaseId) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == *id)
    }

    /// The place of a phase in document order.
    #[must_use]
    pub fn position(&self, id: &PhaseId) -> Option<usize> {
        self.phases.iter().position(|phase| phase.id == *id)
    }

    /// The action with this name.
    #[must_use]
    pub fn action(&self, name: &ActionName) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == *name)
    }

    /// The question with this name.
    #[must_use]
    pub fn ask(&self, name: &str) -> Option<&Ask> {
        self.asks.iter().find(|ask| ask.name == name)
    }

    /// Whether it drives actions: some rule runs one, or lets a person choose one.
    #[must_use]
    pub fn has_actions(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.outcome, Outcome::Run(_) | Outcome::Choose(_)))
    }

    /// Whether some rule looks at how many actions were given up, and so says what then.
    #[must_use]
    pub fn handles_errors(&self) -> bool {
        let reads_errors = |chain: &[String]| chain.starts_with(&["run".to_owned(), "errors".to_owned()]);
        self.rules.iter().any(|rule| self.reads(&rule.when).into_iter().any(reads_errors))
    }

    /// The artifact with this name.
    #[must_use]
    pub fn artifact(&self, name: &ArtifactName) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.name == *name)
    }

    /// The phase that a name in the wild means: its own id, or one of its aliases.
    #[must_use]
    pub fn phase_named(&self, name: &str) -> Option<&Phase> {
        self.phases
            .iter()
            .find(|phase| phase.id.as_str() == name)
            .or_else(|| self.phases.iter().find(|phase| phase.aliases.iter().any(|alias| alias == name)))
    }

    /// The rules that can fire in a phase, in document order.
    pub fn rules_from<'a>(&'a self, phase: &'a PhaseId) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.from.contains(phase))
    }

    /// The phases that produce an artifact.
    pub fn producers<'a>(&'a self, artifact: &'a ArtifactName) -> impl Iterator<Item = &'a Phase> {
        self.phases.iter().filter(move |phase| phase.produces.contains(artifact))
    }

    /// What a guard reads in source order, each name of an expression replaced by what that reads.
    #[must_use]
    pub fn reads<'a>(&'a self, guard: &'a Guard) -> Vec<&'a [String]> {
        let (mut found, mut expanded) = (Vec::new(), Vec::new());
        self.collect_reads(guard, &mut expanded, &mut found);
        found
    }

    /// Each named expression is gone into once only: two that each read the one before twice would
    /// otherwise cost time without bounds.
    fn collect_reads<'a>(
        &'a self,
        guard: &'a Guard,
        expanded: &mut Vec<&'a str>,
        found: &mut Vec<&'a [String]>,
    ) {
        for chain in guard.chains() {
            match self.defines.iter().find(|(name, _)| *name == chain[0]) {
                Some((name, define)) if !expanded.contains(&name.as_str()) => {
                    expanded.push(name);
                    self.collect_reads(define, expanded, found);
                }
                Some(_) => {}
                None => found.push(chain),
            }
        }
    }

    /// How often a phase may be attempted by the rules alone.
    #[must_use]
    pub fn attempts_of(&self, phase: &Phase) -> u32 {
        phase.attempts.unwrap_or(self.attempts)
    }

    /// Every phase that the rules can lead to from `start`, `start` itself only if a rule leads back.
    #[must_use]
    pub fn reachable(&self, start: &PhaseId) -> Vec<PhaseId> {
        let mut found: Vec<PhaseId> = Vec::new();
        let mut open = vec![start.clone()];
        while let Some(from) = open.pop() {
            for rule in self.rules_from(&from) {
                if let Outcome::To(target) = &rule.outcome
                    && !found.contains(target)
                {
                    found.push(target.clone());
                    open.push(target.clone());
                }
            }
        }
        found.sort_by_key(|id| self.position(id));
        found
    }
}

impl Artifact {
    /// Whether some path of it holds a wildcard, so that it may be several files.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.paths.iter().any(|path| path.contains(['*', '?', '[', '{']))
    }
}

impl Format {
    /// The format that a path's extension implies.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        match path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("json") => Self::Json,
            Some("jsonl" | "ndjson") => Self::Jsonl,
            Some("md" | "markdown") => Self::Markdown,
            Some("xml") => Self::Junit,
            Some("patch" | "diff") => Self::Patch,
            _ => Self::Text,
        }
    }
}
