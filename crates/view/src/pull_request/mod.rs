//! `orch pr`: what a pull request does to tasks, as a description for whoever reviews it.
//!
//! The description is Markdown with folded parts. It contains no colour, no clock and no absolute path, so the same files and
//! records give the same bytes. What it quotes from files goes through [`foreign`], which takes the effect of everything
//! that a host would act on: tags, mentions, references, quick commands.

mod foreign;
mod markdown;
mod part;

use super::ci::CiPart;
use super::issue::issue_view;
use super::wire::in_repository;
use super::{
    DutyView, Finding, IssueView, Repository, StepView, Subject, TaskView, VerificationLine,
};
use markdown::{described_findings, described_task};
use orch_base::{Digest, Place};
use orch_core::decide::{Derived, HistoryEntry, Kind, QuotedIssue, is_person_order};
use orch_core::workflow::{Artifact, Role};
use part::{TextPart, fitted};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// What the marker of a text names that is about a range. No task has such an id.
const EVERYTHING: &str = "*";

/// How many characters GitHub permits in a description.
pub const GITHUB_CHARACTERS: usize = 65_536;

/// The description of a pull request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PullRequest {
    /// The repository that was read.
    pub repository: Repository,
    /// The range whose tasks it describes; null if they were named.
    pub range: Option<String>,
    /// The tasks.
    pub tasks: Vec<TaskDescription>,
    /// The description as a text.
    #[serde(flatten)]
    pub text: PullRequestText,
}

super::json::documents! { PullRequest = "pull-request" }

/// A text to post at a pull request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PullRequestText {
    /// Its last line, by which a program finds what it has to replace.
    pub marker: String,
    /// The text, as Markdown.
    pub markdown: String,
    /// Whether parts were left out because it was too long.
    pub cut: bool,
}

/// What a pull request says of one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskDescription {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// Who must do what about it.
    #[serde(flatten)]
    pub duty: DutyView,
    /// What was wanted, in the words of whoever wanted it.
    pub brief: Vec<DescribedFile>,
    /// The plan, and whatever else phases produced that is neither code nor judges something.
    pub documents: Vec<DescribedFile>,
    /// The verdicts.
    pub verdicts: Vec<DescribedFile>,
    /// The results of the verifications that `orch` ran.
    pub verifications: Vec<DescribedVerification>,
    /// The reports that others wrote.
    pub reports: Vec<DescribedFile>,
    /// What people ordered, oldest first.
    pub orders: Vec<StepView>,
    /// Artifacts whose absence a person has accepted.
    pub waived: Vec<String>,
    /// Whether the task is finished, so that `restsOn` is what its approval named.
    pub approved: bool,
    /// What the approval rests on, or would rest on.
    pub rests_on: Vec<DescribedGround>,
    /// The recorded steps, oldest first.
    pub steps: Vec<StepView>,
}

/// A file of a task, with its contents.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DescribedFile {
    /// The name of the artifact.
    pub artifact: String,
    /// The path, relative to the root of the repository.
    pub path: String,
    /// The blob id; null if the file cannot be read.
    pub digest: Option<String>,
    /// Why it does not count; null if it does.
    pub not_counted: Option<String>,
    /// Who wrote the artifact, as far as known.
    pub writers: Vec<String>,
    /// What it contains: a value if the file is data that can be read, otherwise its text.
    pub content: Value,
    /// What it objects to.
    pub issues: Vec<IssueView>,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DescribedVerification {
    /// What it gave.
    #[serde(flatten)]
    pub line: VerificationLine,
    /// Whether the code is still the one that it judged; null if this is not known.
    pub same_code: Option<bool>,
}

/// Something that an approval rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DescribedGround {
    /// The name of the artifact.
    pub artifact: String,
    /// Its digest.
    pub digest: String,
    /// Whether `orch` made it by running something.
    pub ran: bool,
    /// Why it does not stand; null if it does.
    pub why_not: Option<String>,
}

/// What was read of a task.
pub struct DescribedTask<'a> {
    /// The task and its decision.
    pub subject: Subject<'a>,
    /// Its files, by artifact in the order of the workflow.
    pub files: Vec<ReadFile<'a>>,
    /// What they object to, each with its place.
    pub issues: Vec<(QuotedIssue, Place)>,
    /// The results of its verifications.
    pub verifications: Vec<DescribedVerification>,
    /// Its log, oldest first.
    pub entries: Vec<Arc<HistoryEntry>>,
}

/// A file of an artifact as it was read.
pub struct ReadFile<'a> {
    /// The artifact.
    pub artifact: &'a Artifact,
    /// The name of the file within the task.
    pub name: &'a str,
    /// Its blob id.
    pub digest: Option<Digest>,
    /// What it contains.
    pub content: Value,
}

impl PullRequest {
    /// The description of these tasks, in at most `limit` characters. Of a range, it can be found again whichever tasks the
    /// range has later; of one task, by its id.
    #[must_use]
    pub fn new(
        repository: Repository,
        range: Option<String>,
        tasks: Vec<TaskDescription>,
        limit: usize,
    ) -> Self {
        let marked = match (&range, tasks.as_slice()) {
            (None, [only]) => only.task.id.as_str(),
            _ => EVERYTHING,
        };
        let text = PullRequestText::new(marked, None, &tasks, limit);
        Self {
            repository,
            range,
            tasks,
            text,
        }
    }
}

impl PullRequestText {
    fn new(
        marked: &str,
        first: Option<(String, Vec<TextPart>)>,
        tasks: &[TaskDescription],
        limit: usize,
    ) -> Self {
        let marker = format!("<!-- orch:{marked} -->");
        let mut described: Vec<(String, Vec<TextPart>)> = first.into_iter().collect();
        if tasks.is_empty() {
            described.push((
                "No task of orch has changed here.\n\n".to_owned(),
                Vec::new(),
            ));
        }
        described.extend(tasks.iter().map(described_task));
        let (markdown, cut) = fitted(described, &marker, limit);
        Self {
            marker,
            markdown,
            cut,
        }
    }

    /// What CI found, and the description of the tasks of its range.
    #[must_use]
    pub fn of_ci(
        passed: bool,
        parts: &[CiPart],
        findings: &[Finding],
        tasks: &[TaskDescription],
        limit: usize,
    ) -> Self {
        let found = described_findings(passed, parts, findings);
        Self::new(EVERYTHING, Some(found), tasks, limit)
    }
}

impl TaskDescription {
    /// The description of a task.
    #[must_use]
    pub fn of(read: &DescribedTask<'_>) -> Self {
        let subject = &read.subject;
        let decision = subject.decision;
        let with_role = |role: Role| -> Vec<DescribedFile> {
            let files = read.files.iter();
            files
                .filter(|file| file.artifact.role() == role)
                .map(|file| DescribedFile::of(file, read))
                .collect()
        };
        let step = |entry: &HistoryEntry| {
            StepView::recorded(decision.task.as_str(), subject.place, entry, None)
        };
        let is_order = |entry: &HistoryEntry| {
            is_person_order(subject.workflow, entry) || entry.kind == Kind::Undo
        };
        let orders = read.entries.iter().filter(|entry| is_order(entry));
        Self {
            task: TaskView::of(decision, subject.title, &subject.path),
            duty: DutyView::of(subject),
            brief: with_role(Role::Brief),
            documents: with_role(Role::Document),
            verdicts: with_role(Role::Verdict),
            verifications: read.verifications.clone(),
            reports: with_role(Role::Report),
            orders: orders.map(|entry| step(entry)).collect(),
            waived: decision.waived.iter().map(ToString::to_string).collect(),
            approved: decision.is_done(),
            rests_on: rests_on(read),
            steps: read.entries.iter().map(|entry| step(entry)).collect(),
        }
    }
}

/// What the approval of a finished task names, or else the verdicts and reports on which earlier phases were left.
fn rests_on(read: &DescribedTask<'_>) -> Vec<DescribedGround> {
    let decision = read.subject.decision;
    let last_move = read.entries.iter().rfind(|entry| !entry.kind.stays());
    let named = last_move.filter(|_| decision.is_done());
    if let Some(approval) = named.filter(|entry| !entry.rests_on.is_empty()) {
        let grounds = approval.rests_on.iter();
        return grounds
            .map(|ground| DescribedGround {
                artifact: ground.artifact.to_string(),
                digest: ground.digest.to_string(),
                ran: ground.ran,
                why_not: None,
            })
            .collect();
    }
    let grounds = decision.grounds.iter();
    grounds
        .map(|ground| DescribedGround {
            artifact: ground.artifact.to_string(),
            digest: ground.digest.to_string(),
            ran: ground.artifact.as_str() == orch_core::workflow::VERIFIED,
            why_not: ground.why_not.clone(),
        })
        .collect()
}

impl DescribedFile {
    fn of(file: &ReadFile<'_>, read: &DescribedTask<'_>) -> Self {
        let name = &file.artifact.name;
        let derived: Option<&Derived> = read
            .subject
            .decision
            .artifacts
            .iter()
            .find(|derived| derived.name == *name);
        let own = derived
            .into_iter()
            .flat_map(|derived| &derived.files)
            .find(|one| one.path == file.name);
        let not_counted = match own {
            Some(own) if !own.valid => Some("it is malformed".to_owned()),
            Some(own) => own.not_counted.clone(),
            None => None,
        };
        let writers = derived
            .map(|derived| derived.writers.as_slice())
            .unwrap_or_default();
        let issues = read
            .issues
            .iter()
            .filter(|(issue, _)| issue.artifact == *name && issue.path == file.name);
        Self {
            artifact: name.to_string(),
            path: in_repository(read.subject.place, file.name),
            digest: file.digest.map(|digest| digest.to_string()),
            not_counted,
            writers: writers.iter().map(ToString::to_string).collect(),
            content: file.content.clone(),
            issues: issues
                .map(|(issue, place)| issue_view(issue, Some(place)))
                .collect(),
        }
    }
}
