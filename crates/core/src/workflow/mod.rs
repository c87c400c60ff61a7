//! Workflows: parses and checks workflow documents.
//!
//! A [`Workflow`] exists only if [`compile()`] accepted its document, so later rooms can rely on it: every
//! phase that a rule names exists, every guard parses, every schema and agent text is present.

mod action;
mod actions;
mod cases;
mod changes;
mod check;
mod compile;
mod completion;
mod deadline;
mod diagram;
mod document;
mod document_tests;
mod fact_types;
mod group;
pub mod guard;
mod keys;
mod loosened;
mod machine;
mod memo;
mod migrate;
mod names;
mod paths;
mod place;
mod raw;
mod renames;
mod repository_files;
mod role;
mod rule;
mod schema_field;
mod symbols;
mod system;
mod tree;

mod verifies;

pub use action::{Action, Ask, Limits, Signal, Times, is_within};
pub use cases::{
    DecisionDifference, DecisionDifferences, EndlessPhase, PhaseCases, RuleCase, RuleOverlap,
    cases, differences, endless_phases,
};
pub use changes::{DocumentVersion, TableChange, TableChangeKind, changes};
pub use check::{check, check_cases, check_fast, check_untyped};
pub use compile::{compile, compile_with};
pub use completion::Completion;
pub use deadline::{Deadline, LAPSED};
pub use diagram::{DiagramFormat, arrows, diagram, format};
pub use document::Document;
pub use document_tests::{
    DocumentTest, GivenCode, GivenContent, GivenFile, GivenRun, GivenTask, TestExpectation,
    TestSetup, check_tests, document_tests, unreachable_rules,
};
pub use fact_types::{NameType, name_type};
pub use guard::{Guard, GuardError, Types};
pub use keys::{BlockKey, block_keys};
pub use loosened::{RuleChange, first_other_line, loosened, schema_loosened};
pub use memo::CheckMemo;
pub use migrate::PhaseMove;
pub use paths::{ArtifactPaths, artifact_paths};
pub use repository_files::{RepositoryFiles, is_repository_name, repository_name};
pub use role::{ArtifactRole, BRIEF};
pub use schema_field::{is_list, schema_field};
pub use symbols::{GuardPath, GuardText, Symbol, SymbolKind, guard_paths, guards, symbols};
pub use system::System;
pub use tree::{TreePart, TreeScope, is_tree_name, tree_name};
pub use verifies::check_verifications;

use orch_base::{
    ActionName, ArtifactName, Digest, Patterns, PhaseId, Place, RepoPath, RuleId, TaskId,
    VerificationName, WorkflowName, words,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// The top-level keys of `state.json` that are reserved for `orch`.
pub const RESERVED_KEYS: [&str; 17] = [
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
    "relations",
    "updated_at",
];

/// A compiled workflow: the state machine of its tasks.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// The stem of the document's file name.
    pub name: WorkflowName,
    /// Other names under which records may name the workflow: those that its document had before.
    pub aliases: Vec<String>,
    /// The artifacts that the document has no more. What records say of them is passed over.
    pub forgets: Vec<String>,
    /// The expression that yields what the plan names: a list of paths, directories and globs of the repository.
    pub names: Option<Guard>,
    /// A title for people.
    pub title: String,
    /// The digest of what the document says to the machine, and of the schemas that it names.
    pub digest: Digest,
    /// The digest of the document as it is written, and of the schemas.
    pub digest_of_bytes: Digest,
    /// The id that git gives to the document, with line feeds as the ends of its lines.
    pub document_digest: Digest,
    /// The path of the document, for diagnostics.
    pub path: String,
    /// The phase of a new task.
    pub initial: PhaseId,
    /// The top-level key of `state.json` that holds the phase.
    pub phase_key: String,
    /// How often the rules may lead to a phase before a person must decide.
    pub attempts: u32,
    /// The artifacts in document order.
    pub artifacts: Vec<Artifact>,
    /// The phases in document order, which is what "forward" and "later" mean.
    pub phases: Vec<Phase>,
    /// The rules in document order: the first that fires decides.
    pub rules: Vec<Rule>,
    /// Named expressions, for reuse in guards.
    pub defines: Vec<(String, Guard)>,
    /// The actions that rules name in `run` and `choose`.
    pub actions: Vec<Action>,
    /// The questions that rules ask with `wait`.
    pub asks: Vec<Ask>,
    /// The phases that the document has no more, and where their tasks go on.
    pub moves: Vec<PhaseMove>,
    /// The deadlines in document order.
    pub deadlines: Vec<Deadline>,
    /// The limits of a run.
    pub limits: Limits,
    /// JSON pointers into the state that every prompt shows.
    pub show: Vec<String>,
    /// The workflow's own top-level keys of `state.json`.
    pub state: StateShape,
}

/// A kind of file that the workflow declares.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The name, which guards use.
    pub name: ArtifactName,
    /// Other names under which records and reports may name the artifact.
    pub aliases: Vec<String>,
    /// Globs relative to the task directory, in order of precedence; the first is where the artifact is
    /// written. A wildcard does not match a leading dot of a name.
    pub paths: Vec<String>,
    /// Where a missing file is written. `<NAME>` in it stands for what the writer chooses. `None`: in the first
    /// of `paths`.
    pub new_path: Option<String>,
    /// The committed code that takes the place of files; it has the lowest precedence.
    pub tree: Option<TreeScope>,
    /// The files of the repository outside of tasks that the artifact consists of, in place of `paths`.
    pub repository: Option<RepositoryFiles>,
    /// The expression over other artifacts that yields which of its files count: a path or a glob below the task's
    /// directory. Where it yields null, those of the first of `paths` do.
    pub named_by: Option<Guard>,
    /// The format of the bytes.
    pub format: Format,
    /// The schema that validates the data.
    pub schema: Option<SchemaText>,
    /// Named facts: expressions over its data.
    pub facts: Vec<(String, Guard)>,
    /// Whether transitions commit the artifact. One that is not committed proves nothing and cannot be a
    /// need.
    pub commit: bool,
    /// The artifacts that its files judge. A file that was there before what it judges was recorded does not count.
    pub judges: Vec<ArtifactName>,
    /// The verification that says the same as its files. Where `orch` runs that itself, they do not count.
    pub same_as: Option<VerificationName>,
    /// Whether a file that says the same as an example of the schema does not count.
    pub filled: bool,
    /// A one-line description for people and agents.
    pub title: Option<String>,
    /// The text of an example file, for an artifact without a schema. In it `<task>` stands for the id of the
    /// task, and `<title>` for its title.
    pub example: Option<String>,
    /// When the files of one run are complete; `None` if each counts as soon as it is there.
    pub complete: Option<Completion>,
}

/// Whether a path has a wildcard.
fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

/// The place in the path of a new file that the writer fills, for example `<capability>`; `None` if there is none.
#[must_use]
pub fn blank(path: &str) -> Option<&str> {
    let start = path.find('<')?;
    let length = path[start..].find('>')?;
    Some(&path[start..=start + length])
}

impl Artifact {
    /// Whether this is its name, or one of its aliases.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_str() == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// The example for a task; one without a title shows its id in place of it.
    #[must_use]
    pub fn example_for(&self, task: &TaskId, title: Option<&str>) -> Option<String> {
        let title = title.unwrap_or(task.as_str());
        Some(
            self.example
                .as_ref()?
                .replace("<task>", task.as_str())
                .replace("<title>", title),
        )
    }
}

/// A schema as it was loaded.
#[derive(Debug, Clone)]
pub struct SchemaText {
    /// The name: `plan-review` for `plan-review.schema.json`.
    pub name: String,
    /// The JSON text, as the file has it.
    pub text: Arc<str>,
    /// The digest of the text.
    pub digest: Digest,
    /// Its value, once that was asked for.
    value: Arc<OnceLock<Option<Value>>>,
    /// Its first example, once that was asked for: read without the rest, because many commands need nothing else of it.
    example: Arc<OnceLock<Option<Value>>>,
}

impl SchemaText {
    /// A schema of this name, with the digest of its text.
    #[must_use]
    pub fn new(name: String, text: &str, digest: Digest) -> Self {
        Self {
            name,
            text: text.into(),
            digest,
            value: Arc::default(),
            example: Arc::default(),
        }
    }

    /// Its value; `None` if the text is not JSON.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value
            .get_or_init(|| serde_json::from_str(&self.text).ok())
            .as_ref()
    }

    /// Whether a value says the same as one of its examples, apart from the members that are filled in for the writer:
    /// the time, the name, and what was judged.
    #[must_use]
    pub fn is_example(&self, value: &Value) -> bool {
        let Some(schema) = self.value() else {
            return false;
        };
        let mut given = Vec::new();
        for (name, shape) in schema_members(schema) {
            let mark = shape.get("x-orch-fill").and_then(Value::as_str);
            if matches!(mark, Some("time" | "of" | "name")) {
                given.push(name);
            }
        }
        let mut examples = schema
            .get("examples")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let own = without(value, &given);
        examples.any(|example| without(example, &given) == own)
    }

    /// Its first example.
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.example
            .get_or_init(|| first_example(&self.text))
            .as_ref()
    }
}

/// The members that a schema describes at its top level.
fn schema_members(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The first example of a schema.
pub fn first_example(schema: &str) -> Option<Value> {
    /// What is read of a schema; the rest is only skipped.
    #[derive(Deserialize)]
    struct Examples {
        examples: Option<Vec<Value>>,
    }
    match serde_json::from_str::<Examples>(schema) {
        Ok(found) => found.examples?.into_iter().next(),
        // If a member occurs twice, the last one counts.
        Err(_) => serde_json::from_str::<Value>(schema)
            .ok()?
            .get("examples")?
            .as_array()?
            .first()
            .cloned(),
    }
}

words! {
    /// The format by which the bytes of an artifact become a JSON value.
    pub enum Format {
        /// One JSON document.
        Json = "json",
        /// One JSON document per line, read as an array.
        Jsonl = "jsonl",
        /// Front matter, headings, check boxes and word count of a Markdown document.
        Markdown = "markdown",
        /// A JUnit XML report: tests, failures, errors, skipped.
        Junit = "junit",
        /// Any text: bytes, lines.
        Text = "text",
        /// A unified diff: bytes, lines, files touched.
        Patch = "patch",
        /// One YAML 1.2 document.
        Yaml = "yaml",
        /// One TOML document.
        Toml = "toml",
        /// A table with a header, read as an array of objects whose values are text.
        Csv = "csv",
        /// A Cobertura XML report: executed lines, branches and functions.
        Cobertura = "cobertura",
        /// An lcov tracefile: the same.
        Lcov = "lcov",
        /// A SARIF log: what linters and scanners found, by level and rule.
        Sarif = "sarif",
    }
}

/// A named state of a task.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The name, an identifier that is unique in the workflow.
    pub id: PhaseId,
    /// A title for people.
    pub title: Option<String>,
    /// The instructions for this phase: `system/agents/<agent>.md`.
    pub agent: Option<String>,
    /// Artifacts that must be present and valid while a task is in this phase.
    pub needs: Vec<ArtifactName>,
    /// Artifacts to read in this phase if they are present. They are shown; no rule depends on them.
    pub reads: Vec<ArtifactName>,
    /// Artifacts that this phase produces, including optional ones.
    pub produces: Vec<ArtifactName>,
    /// The optional ones among them; they are never expected.
    pub optional: Vec<ArtifactName>,
    /// Other names under which existing states may record this phase.
    pub aliases: Vec<String>,
    /// Whether only an explicit reopen leaves this phase.
    pub terminal: bool,
    /// Terminal phases only. `false` means that the task failed.
    pub success: bool,
    /// The expression that yields the substate.
    pub substate: Option<Guard>,
    /// The expression that yields the remarks: a list of texts for whoever works in the phase.
    pub remarks: Option<Guard>,
    /// Who works in this phase, unless a rule names someone else.
    pub owner: Owner,
    /// How often this phase may be attempted; overrides the number of the workflow.
    pub attempts: Option<u32>,
    /// Who has to approve before a rule leads on, if several people have to.
    pub approvals: Option<AskedApprovals>,
    /// Globs of paths outside the task that may change in this phase. A path that any phase names may change
    /// only in those phases; all other paths are unrestricted.
    pub touches: Patterns,
    /// Files of the repository, outside the task, without which no rule leaves the phase.
    pub requires: Vec<RepoPath>,
    /// Artifacts whose writers may not give the verdict of the phase.
    pub not_by: Vec<ArtifactName>,
    /// The verifications that `orch` runs on the code before a rule leads on.
    pub verifies: Vec<VerificationName>,
    /// Artifacts that the work of the phase undoes, so that no verdict about them has to stand.
    pub undoes: Vec<ArtifactName>,
    /// Who counts as somebody else for `not_by`.
    pub independent: Independence,
}

impl Phase {
    /// Whether a task that is in it has ended well.
    #[must_use]
    pub fn is_good_end(&self) -> bool {
        self.terminal && self.success
    }

    /// Whether a verdict about this artifact has to stand if the phase leads to a good end.
    #[must_use]
    pub fn is_held_to(&self, artifact: &ArtifactName) -> bool {
        !self.undoes.contains(artifact)
    }
}

words! {
    /// Who counts as somebody else.
    #[derive(Default)]
    pub enum Independence {
        /// Another person, or an agent in another turn.
        #[default]
        Turns = "turns",
        /// Another person, and no agent.
        People = "people",
    }
}

/// How many people have to approve, and of which teams at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedApprovals {
    /// How many different people.
    pub count: usize,
    /// The teams, by their names in the settings; each needs a person of its own.
    pub teams: Vec<String>,
}

/// A value without these members.
fn without(value: &Value, names: &[&String]) -> Value {
    let mut value = value.clone();
    if let Value::Object(members) = &mut value {
        members.retain(|name, _| !names.contains(&name));
    }
    value
}

/// The name under which guards see what people said.
pub const APPROVALS: &str = "approvals";
/// The name under which guards see the tasks that a task waits for.
pub const AFTER: &str = "after";
/// The name under which guards see the tasks that are part of a task.
pub const CHILDREN: &str = "children";
/// The name under which guards see the results of verifications.
pub const VERIFIED: &str = "verified";

impl Workflow {
    /// Whether a file of a task is one that says what a person said of a phase, by its path relative to the task.
    #[must_use]
    pub fn keeps_approval(&self, path: &str) -> bool {
        let mut asked = self.phases.iter().filter(|phase| phase.approvals.is_some());
        asked.any(|phase| {
            let within = path
                .strip_prefix(phase.id.as_str())
                .and_then(|rest| rest.strip_prefix("/by/"));
            within.is_some_and(|name| name.ends_with(".json") && !name.contains('/'))
        })
    }

    /// Whether a phase asks for several approvals.
    #[must_use]
    pub fn asks_for_approvals(&self) -> bool {
        self.phases.iter().any(|phase| phase.approvals.is_some())
    }
}

words! {
    /// Who must act next.
    pub enum Owner {
        /// A coding agent, or whatever the phase names as its agent.
        Agent = "agent",
        /// A person, for a decision, an answer or a repair.
        Human = "human",
        /// `orch` itself: a transition is due.
        Orch = "orch",
        /// An external process that is running.
        Process = "process",
        /// No one.
        None = "none",
    }
}

/// *From* phases, *when* a guard holds, *then* one outcome, *because* of a reason.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The id, unique in the workflow.
    pub id: RuleId,
    /// The phases that the rule starts from (`*` is expanded), in document order.
    pub from: Vec<PhaseId>,
    /// The guard; `true` if the rule has none.
    pub when: Guard,
    /// What happens if the guard is true.
    pub outcome: Outcome,
    /// The group that the rule stands in.
    pub group: Option<String>,
    /// The reason, a sentence without a final full stop.
    pub because: String,
    /// Bookkeeping that goes with the outcome: JSON pointers into the state, and their new values.
    pub set: Vec<(String, Guard)>,
    /// Whether the rule requires a person.
    pub by_human: bool,
    /// The order that the rule responds to; such a rule never fires by itself.
    pub on: Option<Signal>,
    /// The question whose answer ends the wait: the name of an [`Ask`].
    pub ask: Option<String>,
    /// The place of the rule in the document.
    pub place: Place,
}

/// What happens when a rule fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Move to a phase.
    To(PhaseId),
    /// Run an action.
    Run(ActionName),
    /// Wait for something, described in words.
    Wait(String),
    /// A person picks one of the actions.
    Choose(Vec<ActionName>),
}

impl Outcome {
    /// The actions that may run.
    #[must_use]
    pub fn actions(&self) -> &[ActionName] {
        match self {
            Self::Run(action) => std::slice::from_ref(action),
            Self::Choose(actions) => actions,
            Self::To(_) | Self::Wait(_) => &[],
        }
    }

    /// The same in words: `to codegen`, `wait for …`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::To(to) => format!("to {to}"),
            Self::Run(action) => format!("run {action}"),
            Self::Wait(what) => format!("wait for {what}"),
            Self::Choose(actions) => {
                let actions: Vec<&str> = actions.iter().map(ActionName::as_str).collect();
                format!("choose from {}", actions.join(", "))
            }
        }
    }
}

impl StateShape {
    /// The part of the schema that describes the value at a JSON pointer, if there is one.
    #[must_use]
    pub fn field(&self, pointer: &str) -> Option<&Value> {
        schema_field(self.schema.as_ref()?.value()?, pointer)
    }
}

/// The top-level keys that a workflow adds to `state.json`.
#[derive(Debug, Clone, Default)]
pub struct StateShape {
    /// The schema that validates every write.
    pub schema: Option<SchemaText>,
    /// The values that a new task starts with.
    pub defaults: Map<String, Value>,
    /// Lists that keep only their last items: JSON pointers, and the numbers of items.
    pub keep: Vec<(String, usize)>,
    /// How to rebuild a lost state: JSON pointers, and expressions over the artifacts.
    pub rebuild: Vec<(String, Guard)>,
    /// How the state of an older tool becomes a state of this workflow.
    pub import: Option<StateImport>,
}

/// The map from the state of an older tool to a state of this workflow.
#[derive(Debug, Clone)]
pub struct StateImport {
    /// JSON pointers that the older tool's states have, and no other state has all of them.
    pub known_by: Vec<String>,
    /// The JSON pointer to the name of the phase; the aliases of phases count.
    pub phase: String,
    /// Named expressions over `original`; each may read the earlier ones.
    pub defines: Vec<(String, Guard)>,
    /// JSON pointers into the workflow's own data, and what is put there.
    pub data: Vec<(String, ImportValue)>,
}

/// What an imported value comes from.
#[derive(Debug, Clone)]
pub enum ImportValue {
    /// The value at this JSON pointer of the original.
    Copy(String),
    /// An expression over `original` and the named expressions.
    Computed(Guard),
}

impl Workflow {
    /// The files of the repository outside a task that some phase requires.
    pub fn required_files(&self) -> impl Iterator<Item = &RepoPath> {
        self.phases.iter().flat_map(|phase| &phase.requires)
    }

    /// The phase with this id.
    #[must_use]
    pub fn phase(&self, id: &PhaseId) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == *id)
    }

    /// The index of a phase in document order.
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

    /// Whether the workflow uses actions: some rule runs one or offers one.
    #[must_use]
    pub fn has_actions(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| !rule.outcome.actions().is_empty())
    }

    /// Whether some rule reads how many actions were given up and so handles such failures.
    #[must_use]
    pub fn handles_errors(&self) -> bool {
        let mut read = self.rules.iter().flat_map(|rule| self.reads(&rule.when));
        read.any(|chain| chain.starts_with(&["run".to_owned(), "errors".to_owned()]))
    }

    /// The artifact with this name.
    #[must_use]
    pub fn artifact(&self, name: &ArtifactName) -> Option<&Artifact> {
        self.artifacts
            .iter()
            .find(|artifact| artifact.name == *name)
    }

    /// The artifact that a name means: its own name, or one of its aliases.
    #[must_use]
    pub fn artifact_named(&self, name: &str) -> Option<&Artifact> {
        let own = self
            .artifacts
            .iter()
            .find(|artifact| artifact.name.as_str() == name);
        own.or_else(|| {
            self.artifacts
                .iter()
                .find(|artifact| artifact.is_named(name))
        })
    }

    /// The own name of the artifact that a name means; the same name if none does.
    #[must_use]
    pub fn own_name<'n>(&'n self, name: &'n ArtifactName) -> &'n ArtifactName {
        self.artifact_named(name.as_str())
            .map_or(name, |artifact| &artifact.name)
    }

    /// Whether this is the name of the workflow, or one of its aliases.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_str() == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// The phase that a name means: its own id, or one of its aliases.
    #[must_use]
    pub fn phase_named(&self, name: &str) -> Option<&Phase> {
        self.phases
            .iter()
            .find(|phase| phase.id.as_str() == name)
            .or_else(|| {
                self.phases
                    .iter()
                    .find(|phase| phase.aliases.iter().any(|alias| alias == name))
            })
    }

    /// Whether a rule leads from a phase to a good end.
    #[must_use]
    pub fn may_end_well(&self, phase: &PhaseId) -> bool {
        self.rules_from(phase).any(|rule| {
            let Outcome::To(to) = &rule.outcome else {
                return false;
            };
            self.phase(to).is_some_and(Phase::is_good_end)
        })
    }

    /// The rules that can fire in a phase, in document order.
    pub fn rules_from<'a>(&'a self, phase: &'a PhaseId) -> impl Iterator<Item = &'a Rule> {
        self.rules
            .iter()
            .filter(move |rule| rule.from.contains(phase))
    }

    /// The phases that produce an artifact.
    pub fn producers<'a>(&'a self, artifact: &'a ArtifactName) -> impl Iterator<Item = &'a Phase> {
        self.phases
            .iter()
            .filter(move |phase| phase.produces.contains(artifact))
    }

    /// The paths that a guard reads, in source order; named expressions are replaced by what they read.
    #[must_use]
    pub fn reads<'a>(&'a self, guard: &'a Guard) -> Vec<&'a [String]> {
        let mut found = Vec::new();
        let mut expanded = Vec::new();
        self.collect_reads(guard, &mut expanded, &mut found);
        found
    }

    /// Visits each named expression only once. Otherwise expressions that each read the previous one twice
    /// would take exponential time.
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

    /// How often the rules may lead to a phase.
    #[must_use]
    pub fn attempts_of(&self, phase: &Phase) -> u32 {
        phase.attempts.unwrap_or(self.attempts)
    }

    /// Every phase that the rules can lead to from `start`; `start` itself only if a rule leads back.
    #[must_use]
    pub fn reachable(&self, start: &PhaseId) -> Vec<PhaseId> {
        self.reachable_before(start, None)
    }

    /// The same, by ways that end where they come to this phase.
    pub(crate) fn reachable_before(&self, start: &PhaseId, last: Option<&PhaseId>) -> Vec<PhaseId> {
        let mut found: Vec<PhaseId> = Vec::new();
        let mut open = vec![start.clone()];
        while let Some(from) = open.pop() {
            for rule in self.rules_from(&from) {
                if let Outcome::To(target) = &rule.outcome
                    && !found.contains(target)
                {
                    found.push(target.clone());
                    if Some(target) != last {
                        open.push(target.clone());
                    }
                }
            }
        }
        found.sort_by_key(|id| self.position(id));
        found
    }

    /// What a phase needs that some phase produces, but none on a way that leads to it for the first time.
    #[must_use]
    pub fn unmade_needs(&self, phase: &Phase) -> Vec<&ArtifactName> {
        if phase.id == self.initial {
            return Vec::new();
        }
        let mut before = self.reachable_before(&self.initial, Some(&phase.id));
        if !before.contains(&phase.id) {
            return Vec::new();
        }
        before.push(self.initial.clone());
        let comes_before = |producer: &Phase| {
            producer.id != phase.id
                && before.contains(&producer.id)
                && self.reachable(&producer.id).contains(&phase.id)
        };
        let needs = self.artifacts.iter().map(|artifact| &artifact.name);
        let is_unmade = |name: &&ArtifactName| {
            let mut producers = self.producers(name).peekable();
            phase.needs.contains(*name)
                && producers.peek().is_some()
                && !producers.any(comes_before)
        };
        needs.filter(is_unmade).collect()
    }

    /// Whether a rule leads from a phase to another one.
    #[must_use]
    pub fn is_left(&self, phase: &PhaseId) -> bool {
        self.rules_from(phase)
            .any(|rule| matches!(&rule.outcome, Outcome::To(to) if to != phase))
    }
}

impl Artifact {
    /// Whether a path contains a wildcard, so that the artifact may be several files.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        let of_repository = self.repository.iter().flat_map(RepositoryFiles::patterns);
        self.paths
            .iter()
            .chain(of_repository)
            .any(|path| is_pattern(path))
    }

    /// The index of the first of its patterns that the name of a file matches: a path below the task, or one of the
    /// repository after a slash.
    #[must_use]
    pub fn pattern_of(&self, name: &str) -> Option<usize> {
        match (&self.repository, name.strip_prefix('/')) {
            (Some(repository), Some(path)) => repository.pattern_of(path),
            (None, None) => self
                .paths
                .iter()
                .position(|pattern| pattern == name || Patterns::one_matches(pattern, name)),
            _ => None,
        }
    }

    /// How many patterns of files it has.
    #[must_use]
    pub fn pattern_count(&self) -> usize {
        self.paths.len() + self.repository.as_ref().map_or(0, |of| of.patterns().len())
    }
}

impl Format {
    /// Whether a file of this format can name in `of` what it judged.
    #[must_use]
    pub fn names_judged(self) -> bool {
        match self {
            Self::Json | Self::Markdown | Self::Yaml | Self::Toml => true,
            Self::Jsonl | Self::Text | Self::Patch | Self::Csv => false,
            Self::Junit | Self::Cobertura | Self::Lcov | Self::Sarif => false,
        }
    }

    /// Whether a program writes it that says what it measured.
    #[must_use]
    pub fn is_report(self) -> bool {
        matches!(
            self,
            Self::Junit | Self::Cobertura | Self::Lcov | Self::Sarif
        )
    }

    /// The text of a file with a value; `None` if files of the format are no single values, or the value has no such form.
    #[must_use]
    pub fn written(self, value: &serde_json::Value) -> Option<String> {
        match self {
            // JSON is YAML, too.
            Self::Json | Self::Yaml => Some(format!("{value:#}\n")),
            Self::Toml => toml::to_string(value).ok(),
            _ => None,
        }
    }

    /// The format that the extension of a path implies.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        let extension = path.rsplit_once('.').map(|(_, extension)| extension);
        extension.and_then(Self::of_extension).unwrap_or(Self::Text)
    }

    /// The format that an extension implies; `None` for an unknown one, whose files are read as text.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::Jsonl,
            "md" | "markdown" => Self::Markdown,
            "xml" => Self::Junit,
            "patch" | "diff" => Self::Patch,
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            "csv" => Self::Csv,
            "txt" | "text" | "log" => Self::Text,
            _ => return None,
        })
    }
}
