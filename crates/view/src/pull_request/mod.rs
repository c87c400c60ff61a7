//! `orch pr`: what a pull request does to tasks, as a description for whoever reviews it.
//!
//! The description is Markdown with folded parts. It contains no colour, no clock and no absolute path, so the same files and
//! records give the same bytes. What it quotes from files goes through [`foreign`], which takes the effect of everything
//! that a host would act on: tags, mentions, references, quick commands.

mod foreign;
mod markdown;
mod part;

use super::ci::CiPart;
use super::{Finding, Repository, StepView, Subject, TaskSheet};
use markdown::{described_findings, described_task};
use orch_core::decide::{ActorKind, HistoryEntry, Kind, is_person_order};
use orch_core::workflow::Workflow;
use part::{TextPart, fitted};
use serde::Serialize;

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
    pub tasks: Vec<DescribedTask>,
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

/// What a pull request says of one task: its sheet, without the code, and its log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DescribedTask {
    /// The sheet.
    #[serde(flatten)]
    pub sheet: TaskSheet,
    /// What people ordered, oldest first.
    pub orders: Vec<StepView>,
    /// The recorded steps, oldest first.
    pub steps: Vec<StepView>,
}

impl PullRequest {
    /// The description of these tasks, in at most `limit` characters. Of a range, it can be found again whichever tasks the
    /// range has later; of one task, by its id.
    #[must_use]
    pub fn new(
        repository: Repository,
        range: Option<String>,
        tasks: Vec<DescribedTask>,
        limit: usize,
    ) -> Self {
        let marked = match (&range, tasks.as_slice()) {
            (None, [only]) => only.sheet.task.id.as_str(),
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
        tasks: &[DescribedTask],
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
        tasks: &[DescribedTask],
        limit: usize,
    ) -> Self {
        let found = described_findings(passed, parts, findings);
        Self::new(EVERYTHING, Some(found), tasks, limit)
    }
}

impl DescribedTask {
    /// The description of a task, with the entries of its log, oldest first.
    pub fn of<'e>(
        sheet: TaskSheet,
        subject: &Subject<'_>,
        entries: impl Iterator<Item = &'e HistoryEntry>,
    ) -> Self {
        let mut described = Self {
            sheet,
            orders: Vec::new(),
            steps: Vec::new(),
        };
        for entry in entries {
            let task = subject.decision.task.as_str();
            let step = StepView::recorded(task, subject.place, entry, None);
            if is_worth_telling(subject.workflow, entry) {
                described.orders.push(step.clone());
            }
            described.steps.push(step);
        }
        described
    }
}

/// Whether a step is told apart from the others: a person ordered it against the rules, sent the task back, or took an
/// order back. An acceptance is what everybody expects.
fn is_worth_telling(workflow: &Workflow, entry: &HistoryEntry) -> bool {
    match entry.kind {
        Kind::Advance => false,
        Kind::Regress => entry.actor.kind == ActorKind::Human,
        Kind::Undo => true,
        _ => is_person_order(workflow, entry),
    }
}
