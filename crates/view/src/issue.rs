//! What a verdict objects to, in words.

use super::layout::{one_line, shorten};
use super::wire::{EvidenceView, InputView, IssueView, SendBackView};
use super::{Style, Subject};
use orch_base::Place;
use orch_core::decide::{Decision, QuotedIssue};
use serde_json::{Map, Value};

/// The members of an issue that may say what is wrong, in order of precedence.
const MESSAGES: [&str; 6] = [
    "message",
    "description",
    "text",
    "reason",
    "details",
    "summary",
];
/// The members of an issue that may name the file that it concerns.
const FILES: [&str; 3] = ["file", "path", "location"];
/// The members of an issue that may name it, for one that says nothing else.
const NAMES: [&str; 4] = ["name", "step", "id", "title"];
/// How many characters of an issue are quoted.
const LONGEST: usize = 240;
/// How many remarks are shown.
const MOST_REMARKS: usize = 10;

/// The files to read, each with what it objects to.
pub(super) fn inputs(subject: &Subject<'_>) -> Vec<InputView> {
    let quoted = subject
        .decision
        .sent_back
        .iter()
        .flat_map(|sent_back| &sent_back.issues);
    let places = subject
        .issue_places
        .iter()
        .map(Some)
        .chain(std::iter::repeat(None));
    let issues: Vec<(&QuotedIssue, Option<&Place>)> = quoted.zip(places).collect();
    let mut rows = Vec::new();
    for evidence in &subject.decision.inputs {
        let files = EvidenceView::rows(std::slice::from_ref(evidence), subject.place);
        for (file, (path, _)) in files.into_iter().zip(&evidence.files) {
            let issues = issues
                .iter()
                .filter(|(issue, _)| issue.artifact == evidence.artifact && issue.path == *path);
            rows.push(InputView {
                file,
                issues: issues
                    .map(|(issue, place)| view(issue, *place, LONGEST))
                    .collect(),
            });
        }
    }
    rows
}

/// What the workflow remarks: at most ten texts, each on one line.
pub(super) fn remarks(decision: &Decision) -> Vec<String> {
    let mut texts: Vec<String> = decision
        .remarks
        .iter()
        .take(MOST_REMARKS)
        .map(|text| shorten(text, LONGEST))
        .collect();
    if decision.remarks.len() > MOST_REMARKS {
        texts.push(format!(
            "{} more remarks",
            decision.remarks.len() - MOST_REMARKS
        ));
    }
    texts
}

/// The step that sent the task back; `None` if it came forward.
pub(super) fn sent_back(subject: &Subject<'_>) -> Option<SendBackView> {
    let sent_back = subject.decision.sent_back.as_ref()?;
    Some(SendBackView {
        from: sent_back.from.to_string(),
        rule: sent_back.rule.clone(),
        reason: sent_back.reason.clone(),
        omitted: sent_back.omitted,
    })
}

impl SendBackView {
    /// Which phase sent the task back, and why, on one line.
    pub(super) fn text(&self) -> String {
        format!("sent back from `{}`: {}", self.from, one_line(&self.reason))
    }
}

impl IssueView {
    /// Whether it keeps its verdict from accepting.
    pub(super) fn is_blocking(&self) -> bool {
        self.severity.as_deref() == Some("blocking")
    }

    /// The style in which it is shown. One that does not say how serious it is may be blocking.
    pub(super) fn style(&self) -> Style {
        match self.severity {
            Some(_) if !self.is_blocking() => Style::Warn,
            _ => Style::Bad,
        }
    }

    /// The line of the verdict in `path` that contains the issue.
    pub(super) fn place(&self, path: &str) -> String {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{}{line}", one_line(path))
    }

    /// How serious it is, what is wrong, and what it concerns, on one line.
    pub(super) fn text(&self) -> String {
        let severity = self
            .severity
            .as_ref()
            .map_or(String::new(), |severity| format!("{severity}: "));
        let about = self
            .about
            .as_ref()
            .map_or(String::new(), |about| format!(" (`{about}`)"));
        format!("{severity}{}{about}", self.message)
    }
}

/// The first of these members that an issue has, as a text of at most `longest` columns.
fn text(members: &Map<String, Value>, names: &[&str], longest: usize) -> Option<String> {
    let value = names.iter().find_map(|name| members.get(*name))?;
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    if text.trim().is_empty() {
        return None;
    }
    Some(shorten(&text, longest))
}

/// An issue with all that it says, and its place in the file that has it.
pub(super) fn issue_view(issue: &QuotedIssue, place: Option<&Place>) -> IssueView {
    view(issue, place, 0)
}

/// An issue, with texts of at most `longest` columns; 0 means no limit.
fn view(issue: &QuotedIssue, place: Option<&Place>, longest: usize) -> IssueView {
    let none = Map::new();
    let members = issue.value.as_object().unwrap_or(&none);
    let message = match issue.value.as_str() {
        Some(whole) => shorten(whole, longest),
        None => match (
            text(members, &NAMES, longest),
            text(members, &MESSAGES, longest),
        ) {
            (Some(name), Some(message)) => format!("{name}: {message}"),
            (_, Some(message)) => message,
            _ => shorten(&issue.value.to_string(), longest),
        },
    };
    let line = members.get("line").and_then(Value::as_u64);
    let about = text(members, &FILES, longest)
        .map(|file| line.map_or(file.clone(), |line| format!("{file}:{line}")));
    IssueView {
        line: place.and_then(|place| place.line),
        severity: text(members, &["severity"], longest),
        message,
        about,
    }
}
