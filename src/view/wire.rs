//! The wire format of `orch suggest --json`, which is also `suggestion.json`.
//!
//! Keys are camelCase and in this order; optional values are null, never left out.

use super::json::SCHEMA_VERSION;
use super::{Direction, Do, Kind, Repository, Subject, sort};
use crate::base::{Diagnostic, RepoPath};
use crate::decide::{Choice, Evidence};
use crate::workflow::is_tree_name;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The envelope: the same shape for zero, one and many suggestions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestions {
    /// The version of this shape.
    pub schema_version: u32,
    /// `suggestions`.
    pub kind: &'static str,
    /// What was looked at.
    pub repository: Repository,
    /// The suggestions, the most urgent first.
    pub suggestions: Vec<Suggestion>,
    /// How many more there are.
    pub omitted: usize,
    /// Findings that belong to no single task.
    pub diagnostics: Vec<Finding>,
}

/// What to do next about one task, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// The task.
    pub task: String,
    /// Its title.
    pub title: Option<String>,
    /// Its directory.
    pub path: String,
    /// The workflow that judged it.
    pub workflow: String,
    /// The revision of its state.
    pub rev: u64,
    /// The phase it is in; null where the state names none.
    pub current_phase: Option<String>,
    /// Which attempt at that phase this is.
    pub attempt: u32,
    /// A transition's target, the phase that has to be done, or the last consistent one.
    pub suggested_next: Option<String>,
    /// Where that phase lies.
    pub direction: Direction,
    /// What kind of decision this is.
    pub kind: Kind,
    /// Who must act.
    pub owner: &'static str,
    /// What has to be done.
    pub r#do: Do,
    /// Why.
    pub reason: String,
    /// What a rule waits for, in words; null where no rule says so.
    pub waits_for: Option<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// The agent that does the current phase.
    pub agent: Option<String>,
    /// The action that is due.
    pub action: Option<String>,
    /// Where the instructions lie; null where they are only in the binary.
    pub instructions: Option<String>,
    /// What the phase builds on.
    pub inputs: Vec<Input>,
    /// What has to be written, mended or renewed.
    pub expects: Vec<Expected>,
    /// Commands to choose from.
    pub options: Vec<CommandView>,
    /// Every move that the rules know from here.
    pub moves: Vec<Possible>,
    /// The files that the decision rests on.
    pub evidence: Vec<Proof>,
    /// Artifacts whose absence a person has accepted.
    pub waived: Vec<String>,
    /// Findings about the task.
    pub diagnostics: Vec<Finding>,
    /// The commit in which the state was last committed.
    pub committed: Option<String>,
}

/// A file that the phase builds on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Input {
    /// The artifact.
    pub artifact: String,
    /// The file.
    pub path: String,
    /// Its blob id.
    pub digest: String,
}

/// A file that a decision or transition rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proof {
    /// The artifact.
    pub artifact: String,
    /// The file.
    pub path: String,
    /// Its blob id.
    pub digest: String,
    /// Whether the artifact parses and its schema accepts it.
    pub valid: bool,
}

/// Something to write, mend or renew.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    /// The artifact.
    pub artifact: String,
    /// One concrete path to write, also where the artifact is a glob. What is committed code and nothing
    /// else has none; the name that stands for it is here.
    pub path: String,
    /// Where code may be committed instead of a file; empty where it may not.
    pub tree: Vec<String>,
    /// How it is read.
    pub format: &'static str,
    /// The name of the schema that has to accept it.
    pub schema: Option<String>,
    /// `missing`, `invalid`, `stale`, or `unmet`: ready, but no rule accepts what it says.
    pub state: &'static str,
    /// Why, in words.
    pub because: String,
    /// An example that the schema accepts.
    pub example: Option<Value>,
    /// What the `of` of the report should say.
    pub of: BTreeMap<String, String>,
    /// What is wrong with the present bytes.
    pub problems: Vec<Finding>,
}

/// A command that somebody may choose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandView {
    /// A stable id.
    pub id: String,
    /// The command, argument by argument.
    pub argv: Vec<String>,
    /// Who may choose it.
    pub by: &'static str,
    /// What it does.
    pub effect: String,
}

/// A move that the rules know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Possible {
    /// Where it leads.
    pub to: String,
    /// The rule.
    pub rule: String,
    /// Whether the rules allow it now.
    pub allowed: bool,
    /// What keeps it from being allowed.
    pub unmet: Vec<String>,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The file.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column in characters, from 1.
    pub column: Option<u32>,
    /// JSON Pointer of the offending value.
    pub pointer: Option<String>,
    /// `note`, `warning` or `error`.
    pub severity: String,
    /// The stable code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Suggestions {
    /// The envelope of these tasks, the most urgent first, of which at most `limit` are kept.
    #[must_use]
    pub fn new(
        repository: Repository,
        subjects: &[Subject<'_>],
        limit: Option<usize>,
        diagnostics: &[Diagnostic],
    ) -> Self {
        let mut ordered: Vec<&Subject<'_>> = subjects.iter().collect();
        sort(&mut ordered);
        let kept = limit.unwrap_or(usize::MAX).min(ordered.len());
        Self {
            schema_version: SCHEMA_VERSION,
            kind: "suggestions",
            repository,
            suggestions: ordered.iter().take(kept).map(|subject| Suggestion::of(subject)).collect(),
            omitted: ordered.len() - kept,
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }
}

impl Finding {
    /// The wire shape of a diagnostic.
    #[must_use]
    pub fn of(diagnostic: &Diagnostic) -> Self {
        let place = diagnostic.place.as_ref();
        Self {
            path: place.map(|place| place.path.clone()),
            line: place.and_then(|place| place.line),
            column: place.and_then(|place| place.column),
            pointer: place.and_then(|place| place.pointer.clone()),
            severity: diagnostic.severity.to_string(),
            code: diagnostic.code.as_str(),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    }

    /// `path:line:column`, as far as it is known; empty where the finding is nowhere.
    #[must_use]
    pub fn place(&self) -> String {
        let mut place = self.path.clone().unwrap_or_default();
        for number in [self.line, self.line.and(self.column)].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        place
    }
}

impl CommandView {
    /// The wire shape of a choice.
    #[must_use]
    pub fn of(choice: &Choice) -> Self {
        Self {
            id: choice.id.to_owned(),
            argv: choice.argv.clone(),
            by: choice.by.as_str(),
            effect: choice.effect.clone(),
        }
    }
}

impl Proof {
    /// One row for every file of the evidence.
    #[must_use]
    pub fn rows(evidence: &[Evidence], directory: &RepoPath) -> Vec<Self> {
        let row = |proof: &Evidence, path: &str, digest: String| Self {
            artifact: proof.artifact.to_string(),
            path: in_repository(directory, path),
            digest,
            valid: proof.valid,
        };
        evidence
            .iter()
            .flat_map(|proof| {
                proof.files.iter().map(move |(path, digest)| row(proof, path, digest.to_string()))
            })
            .collect()
    }
}

/// The path of a file of a task, relative to the root of the repository. What stands for a tree is none.
#[must_use]
pub fn in_repository(directory: &RepoPath, path: &str) -> String {
    if directory.as_str().is_empty() || is_tree_name(path) {
        return path.to_owned();
    }
    format!("{directory}/{path}")
}
