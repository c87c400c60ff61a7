//! The wire format of `orch suggest --json`, which is also the format of `suggestion.json`.
//!
//! Keys are camelCase and in this order; optional values are null and never left out.

use super::{Advice, DutyView, Repository, Subject, TaskView, sort};
use orch_base::{Code, Diagnostic, RepoPath, Severity, TaskPlace, argv_at};
use orch_core::decide::{Choice, Evidence, ExpectState, WayStop};
use orch_core::workflow::{Format, Owner, is_tree_name};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The envelope, which has the same form for zero, one and many suggestions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Suggestions {
    /// The repository that was read.
    pub repository: Repository,
    /// The suggestions, most urgent first.
    pub suggestions: Vec<Suggestion>,
    /// The number of suggestions that were left out.
    pub omitted: usize,
    /// Findings that do not belong to a single task.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { Suggestions = "suggestions" }

/// What to do next about one task, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// Who must do what about it.
    #[serde(flatten)]
    pub duty: DutyView,
    /// The way of the task, for people.
    #[serde(skip)]
    pub way: Vec<WayStop>,
    /// What a `wait` rule waits for; null if no such rule fired.
    pub waits_for: Option<String>,
    /// The rule that decided; null if none did.
    pub rule: Option<String>,
    /// The agent of the current phase; null if it has none.
    pub agent: Option<String>,
    /// The action that is due; null if none is.
    pub action: Option<String>,
    /// The path of the instructions; null if they are only in the binary.
    pub instructions: Option<String>,
    /// The step that sent the task back to its phase; null if it came forward.
    pub sent_back: Option<SendBackView>,
    /// The files to read: the needs of the phase, what it reads besides, and the verdicts that sent the task
    /// back.
    pub inputs: Vec<InputView>,
    /// What the workflow remarks on these files.
    pub remarks: Vec<String>,
    /// What has to be written, corrected or rewritten.
    pub expects: Vec<Expected>,
    /// Commands to choose from.
    pub options: Vec<CommandView>,
    /// The question that a person is asked; null if there is none.
    pub question: Option<QuestionView>,
    /// Every transition that the rules know from here.
    pub moves: Vec<Possible>,
    /// The files that the decision rests on.
    pub evidence: Vec<EvidenceView>,
    /// Artifacts whose absence a person has accepted.
    pub waived: Vec<String>,
    /// Findings about the task.
    pub diagnostics: Vec<Finding>,
}

/// A file that a decision rests on, or that a phase needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EvidenceView {
    /// The name of the artifact.
    pub artifact: String,
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// The blob id.
    #[cfg_attr(test, schemars(extend("pattern" = "^[0-9a-f]{40}([0-9a-f]{24})?$")))]
    pub digest: String,
    /// Whether the artifact parses and matches its schema.
    pub valid: bool,
}

/// The step that sent a task back to its phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SendBackView {
    /// The phase that was left.
    pub from: String,
    /// The rule; null if a person ordered it.
    pub rule: Option<String>,
    /// The reason.
    pub reason: String,
    /// The number of issues that no input quotes, because there are too many.
    pub omitted: usize,
}

/// A file to read in a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InputView {
    /// The file.
    #[serde(flatten)]
    pub file: EvidenceView,
    /// What it objects to, if it is a verdict that sent the task back to the phase.
    pub issues: Vec<IssueView>,
}

/// One thing that a verdict objects to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IssueView {
    /// The line in the verdict, from 1; null if it is unknown.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub line: Option<u32>,
    /// How serious it is, as the verdict says; null if it does not say.
    pub severity: Option<String>,
    /// What is wrong, in the words of the verdict.
    pub message: String,
    /// The file that it concerns, with its line if the verdict names one; null if the verdict names no file.
    pub about: Option<String>,
}

/// An artifact to write, correct or rewrite.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Expected {
    /// The name of the artifact, or of a verification.
    pub artifact: String,
    /// Who makes the file, if it is not whoever works in the phase: `process` for the result of a verification.
    pub owner: Option<Owner>,
    /// One concrete path to write, even if the artifact is a glob. For an artifact that is only committed
    /// code, the name that stands for it.
    pub path: String,
    /// The places where code may be committed instead of writing a file; empty if there are none.
    pub tree: Vec<String>,
    /// The format of the file.
    pub format: Format,
    /// The name of the schema; null if there is none.
    pub schema: Option<String>,
    /// Why the artifact does not suffice; `unmet` means that it is ready, but no rule accepts its content.
    pub state: ExpectState,
    /// The same in words.
    pub because: String,
    /// A file that counts: a document that the schema accepts, with `of` filled in, or the text of a file of
    /// another format. Null if the workflow has no example.
    pub example: Option<Value>,
    /// The map that the `of` of the report should contain.
    #[cfg_attr(
        test,
        schemars(extend("additionalProperties" = { "type": "string", "pattern": "^[0-9a-f]{40}([0-9a-f]{24})?$" }))
    )]
    pub of: BTreeMap<String, String>,
    /// What is wrong with the current bytes.
    pub problems: Vec<Finding>,
}

/// A command that a person or an agent may choose.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandView {
    /// The stable id.
    pub id: String,
    /// The command, argument by argument.
    #[cfg_attr(test, schemars(extend("minItems" = 1)))]
    pub argv: Vec<String>,
    /// Who may choose it.
    pub by: Owner,
    /// What the command does, as a sentence without a final full stop.
    pub effect: String,
}

/// A question to a person, with what may be answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuestionView {
    /// The question.
    pub title: String,
    /// The fields that an answer may set; all may be left out.
    pub fields: Vec<FieldView>,
}

/// A field of a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FieldView {
    /// The key in `orch answer TASK KEY=VALUE`.
    pub key: String,
    /// The type of the value, from the state schema, as `orch prompt` shows types; `any` if it is unknown.
    pub r#type: String,
    /// Whether the value is a list: type its items separated by commas.
    pub list: bool,
    /// The values to choose from, or the items of a list; null if any value is allowed.
    pub values: Option<Vec<Value>>,
    /// The value that a run without a person takes; null if there is none.
    pub default: Option<Value>,
}

/// A transition that the rules know.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Possible {
    /// The phase that the transition leads to.
    pub to: String,
    /// The id of the rule.
    pub rule: String,
    /// Whether the rules allow it now.
    pub allowed: bool,
    /// The reasons that it is not allowed.
    pub unmet: Vec<String>,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The path of the file, relative to the root of the repository.
    pub path: Option<String>,
    /// The line, from 1.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub column: Option<u32>,
    /// JSON Pointer of the offending value.
    pub pointer: Option<String>,
    /// How serious it is.
    pub severity: Severity,
    /// The stable code, in kebab-case.
    #[cfg_attr(test, schemars(extend("pattern" = "^[a-z0-9]+(-[a-z0-9]+)*$")))]
    pub code: &'static str,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
    /// What to do about it.
    #[serde(flatten)]
    pub advice: Advice,
}

impl Finding {
    /// Whether it only lists what another finding counts. Programs are told it, people are not.
    #[must_use]
    pub fn is_detail(&self) -> bool {
        self.code == Code::Unwritten.as_str() && self.severity == Severity::Note
    }
}

impl Suggestion {
    /// The findings for people, without those that an expected file already lists.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.diagnostics.iter().filter(|finding| {
            let mut expected = self.expects.iter();
            !finding.is_detail() && !expected.any(|one| one.problems.contains(finding))
        })
    }

    /// Makes the commands in hints and options work for whoever types them in the directory `here`.
    pub fn type_at(&mut self, here: &RepoPath) {
        let problems = self
            .expects
            .iter_mut()
            .flat_map(|expected| &mut expected.problems);
        for finding in problems.chain(&mut self.diagnostics) {
            finding.advice.type_at(here);
        }
        for option in &mut self.options {
            option.argv = argv_at(here, &option.argv);
        }
    }
}

impl Suggestions {
    /// The envelope of these tasks, most urgent first, limited to `limit` suggestions.
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
        let suggestions = ordered
            .iter()
            .take(kept)
            .map(|subject| Suggestion::of(subject))
            .collect();
        Self::of(repository, suggestions, ordered.len() - kept, diagnostics)
    }

    /// The envelope of suggestions that are already in order; `omitted` of them were left out.
    #[must_use]
    pub fn of(
        repository: Repository,
        suggestions: Vec<Suggestion>,
        omitted: usize,
        diagnostics: &[Diagnostic],
    ) -> Self {
        let diagnostics = diagnostics.iter().map(Finding::of).collect();
        Self {
            repository,
            suggestions,
            omitted,
            diagnostics,
        }
    }
}

impl Finding {
    /// The JSON form of a diagnostic.
    #[must_use]
    pub fn of(diagnostic: &Diagnostic) -> Self {
        let place = diagnostic.place.as_ref();
        Self {
            path: place.map(|place| place.path.clone()),
            line: place.and_then(|place| place.line),
            column: place.and_then(|place| place.column),
            pointer: place.and_then(|place| place.pointer.clone()),
            severity: diagnostic.severity,
            code: diagnostic.code.as_str(),
            message: diagnostic.message.clone(),
            advice: diagnostic.hint.as_ref().into(),
        }
    }

    /// `path:line:column`, as far as known; empty if the finding has no place.
    #[must_use]
    pub fn place(&self) -> String {
        let mut place = self.path.clone().unwrap_or_default();
        for number in [self.line, self.line.and(self.column)]
            .into_iter()
            .flatten()
        {
            place.push_str(&format!(":{number}"));
        }
        place
    }

    /// Where it is, how severe, its code and what is wrong, without the hint.
    #[must_use]
    pub fn line(&self) -> String {
        let place = self.place();
        let place = if place.is_empty() {
            place
        } else {
            format!("{place}: ")
        };
        format!("{place}{}[{}]: {}", self.severity, self.code, self.message)
    }
}

impl CommandView {
    /// The JSON form of a choice.
    #[must_use]
    pub fn of(choice: &Choice) -> Self {
        Self {
            id: choice.id.to_owned(),
            argv: choice.argv.clone(),
            by: choice.by,
            effect: choice.effect.clone(),
        }
    }
}

impl EvidenceView {
    /// One row for every file of the evidence.
    #[must_use]
    pub fn rows(evidence: &[Evidence], place: &TaskPlace) -> Vec<Self> {
        let mut rows = Vec::new();
        for proof in evidence {
            for (path, digest) in &proof.files {
                rows.push(Self {
                    artifact: proof.artifact.to_string(),
                    path: in_repository(place, path),
                    digest: digest.to_string(),
                    valid: proof.valid,
                });
            }
        }
        rows
    }
}

/// The path of a file of a task, relative to the root of the repository. The name that stands for a tree is
/// returned unchanged.
#[must_use]
pub fn in_repository(place: &TaskPlace, path: &str) -> String {
    if is_tree_name(path) {
        return path.to_owned();
    }
    place
        .path(path)
        .map_or_else(|_| path.to_owned(), |path| path.to_string())
}
