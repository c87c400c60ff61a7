//! What the artifacts of a task say.

use super::SheetSource;
use super::outline::{SheetSection, cut, outline_of, outline_of_markdown, outline_of_text};
use crate::explain::facts;
use crate::issue::issue_view;
use crate::wire::in_repository;
use crate::{Finding, IssueView};
use orch_base::words;
use orch_core::decide::{Derived, DerivedFile, FileFact, QuotedIssue, is_verdict, issues};
use orch_core::workflow::{Artifact, Format};
use serde::Serialize;
use serde_json::{Value, json};

/// How many lines of a file are shown.
const MOST_LINES: usize = 400;
/// How many files of an artifact are shown.
const MOST_FILES: usize = 20;
/// The artifact that says what is wanted.
const BRIEF: &str = "brief";
/// The members by which data says whether it accepts, in order of precedence.
const VERDICTS: [&str; 3] = ["verdict", "decision", "status"];
/// How a word begins that accepts.
const ACCEPTS: [&str; 4] = ["accept", "approv", "pass", "ok"];
/// How a word begins that refuses.
const REFUSES: [&str; 7] = [
    "reject", "refus", "need", "block", "fail", "request", "changes",
];

words! {
    /// What an artifact is to whoever decides. Sheets list artifacts in this order.
    pub enum ShownRole {
        /// It says what is wanted.
        Brief = "brief",
        /// It is made in the course of the work, such as a plan.
        Document = "document",
        /// It says whether something is good enough.
        Verdict = "verdict",
        /// It reports what was measured.
        Report = "report",
    }
}

/// An artifact that is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShownArtifact {
    /// The name of the artifact in the workflow.
    pub artifact: String,
    /// Its description in the workflow; null if it has none.
    pub title: Option<String>,
    /// What it is to whoever decides.
    pub role: ShownRole,
    /// `ready`, `stale` or `invalid`.
    #[cfg_attr(test, schemars(extend("enum" = ["ready", "stale", "invalid"])))]
    pub standing: &'static str,
    /// Why it is not fresh; null if it is.
    pub because: Option<String>,
    /// Who wrote its files, as far as known.
    pub writers: Vec<String>,
    /// The digest of its files.
    pub digest: Option<String>,
    /// Its files.
    pub files: Vec<ShownFile>,
    /// How many files are left out.
    pub omitted: usize,
}

/// A file of an artifact.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShownFile {
    /// The path, relative to the root of the repository.
    pub path: String,
    /// Why it does not count; null if it does.
    pub not_counted: Option<String>,
    /// Its verdict; null if it is none.
    pub verdict: Option<SaidVerdict>,
    /// What it objects to.
    pub issues: Vec<IssueView>,
    /// What else it says.
    pub sections: Vec<SheetSection>,
    /// How many lines of the sections are left out.
    pub omitted: usize,
    /// What is wrong with the file.
    pub problems: Vec<Finding>,
}

/// What a verdict says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaidVerdict {
    /// Whether it accepts; null if that cannot be told without the rules.
    pub accepts: Option<bool>,
    /// The word that it uses.
    pub word: String,
}

/// The artifacts that are there, apart from the code and the results of verifications.
pub(super) fn shown(source: &SheetSource<'_>) -> Vec<ShownArtifact> {
    let issues = match source.state {
        Some(state) => issues(source.subject.workflow, state, source.facts),
        None => Vec::new(),
    };
    let mut found = Vec::new();
    for derived in &source.subject.decision.artifacts {
        let artifact = source.subject.workflow.artifact(&derived.name);
        let Some(artifact) = artifact.filter(|artifact| derived.present && !is_code(artifact))
        else {
            continue;
        };
        found.push(artifact_of(source, artifact, derived, &issues));
    }
    found.sort_by_key(|artifact| artifact.role);
    found
}

fn is_code(artifact: &Artifact) -> bool {
    artifact.format == Format::Patch || artifact.tree.is_some()
}

fn role_of(artifact: &Artifact) -> ShownRole {
    if artifact.name.as_str() == BRIEF {
        ShownRole::Brief
    } else if is_verdict(artifact) {
        ShownRole::Verdict
    } else if artifact.format == Format::Junit || !artifact.judges.is_empty() {
        ShownRole::Report
    } else {
        ShownRole::Document
    }
}

fn artifact_of(
    source: &SheetSource<'_>,
    artifact: &Artifact,
    derived: &Derived,
    issues: &[QuotedIssue],
) -> ShownArtifact {
    let facts = facts(source.subject, derived);
    let (standing, _) = facts.standing();
    let files = derived.files.iter().take(MOST_FILES);
    ShownArtifact {
        artifact: facts.artifact,
        title: artifact.title.clone(),
        role: role_of(artifact),
        standing,
        because: facts.stale_because.filter(|_| derived.valid),
        writers: facts.writers,
        digest: facts.digest,
        files: files
            .map(|file| file_of(source, artifact, file, issues))
            .collect(),
        omitted: derived.files.len().saturating_sub(MOST_FILES),
    }
}

fn file_of(
    source: &SheetSource<'_>,
    artifact: &Artifact,
    derived: &DerivedFile,
    issues: &[QuotedIssue],
) -> ShownFile {
    let facts = source.facts.artifacts.get(&artifact.name);
    let fact = facts
        .into_iter()
        .flatten()
        .find(|fact| fact.path == derived.path);
    let own = issues
        .iter()
        .filter(|issue| issue.artifact == artifact.name && issue.path == derived.path);
    let issues: Vec<IssueView> = own.map(|issue| issue_view(issue, None)).collect();
    let path = in_repository(source.subject.place, &derived.path);
    let data = fact.and_then(|fact| fact.data.as_deref());
    let verdict = data
        .filter(|_| is_verdict(artifact))
        .and_then(|data| verdict_of(data, &issues));
    let mut sections = sections_of(source, artifact, &path, fact, !issues.is_empty());
    let problems = fact.map(|fact| fact.problems.iter().map(Finding::of).collect());
    ShownFile {
        path,
        not_counted: derived.not_counted.clone(),
        verdict,
        issues,
        omitted: cut(&mut sections, MOST_LINES),
        sections,
        problems: problems.unwrap_or_default(),
    }
}

/// What a file says beside its verdict and its issues; of one that cannot be read as its format, the text.
fn sections_of(
    source: &SheetSource<'_>,
    artifact: &Artifact,
    path: &str,
    fact: Option<&FileFact>,
    has_issues: bool,
) -> Vec<SheetSection> {
    let bytes = source.contents.get(path).copied().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let data = fact.and_then(|fact| fact.data.as_deref());
    match (artifact.format, data) {
        (Format::Markdown, _) => outline_of_markdown(&text),
        (Format::Junit, Some(data)) => outline_of_tests(data, has_issues),
        (Format::Json | Format::Yaml | Format::Toml, Some(data)) => {
            let mut shown = Vec::new();
            if is_verdict(artifact) {
                shown.extend(["ok", "verdict", "decision"]);
            }
            if has_issues {
                shown.push("issues");
            }
            let title = data.get("title").and_then(Value::as_str);
            if title.is_some() && title == source.subject.title {
                shown.push("title");
            }
            outline_of(data, artifact.schema.as_ref(), &shown)
        }
        _ => outline_of_text(&text),
    }
}

/// The counts of a test report in one line, and the tests that failed, unless its issues name them.
fn outline_of_tests(data: &Value, has_issues: bool) -> Vec<SheetSection> {
    let count = |name: &str| data.get(name).and_then(Value::as_u64).unwrap_or_default();
    let counts = format!(
        "{} tests, {} failures, {} errors, {} skipped",
        count("tests"),
        count("failures"),
        count("errors"),
        count("skipped")
    );
    let mut sections = outline_of_text(&counts);
    if let Some(failed) = data.get("failed_tests").filter(|_| !has_issues) {
        sections.extend(outline_of(&json!({"failed": failed}), None, &[]));
    }
    sections
}

/// What data says as a verdict; `None` if it says nothing.
fn verdict_of(data: &Value, issues: &[IssueView]) -> Option<SaidVerdict> {
    let top = data.get("aggregate").filter(|_| data.get("ok").is_none());
    let data = top.unwrap_or(data);
    let word = VERDICTS
        .iter()
        .find_map(|name| data.get(*name)?.as_str())
        .map(str::to_owned);
    let ok = data.get("ok").and_then(Value::as_bool);
    let by_word = word.as_deref().and_then(accepts);
    let is_blocked = issues
        .iter()
        .any(|issue| issue.severity.as_deref() == Some("blocking"));
    let accepts = match (ok, by_word) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), _) | (_, Some(true)) => Some(!is_blocked),
        (None, None) => None,
    };
    let said = match accepts? {
        true => "accepts",
        false if is_blocked && ok == Some(true) => "ok, but with a blocking issue",
        false => "refuses",
    };
    Some(SaidVerdict {
        accepts,
        word: word.unwrap_or_else(|| said.to_owned()),
    })
}

/// Whether a word accepts; `None` if it says neither.
fn accepts(word: &str) -> Option<bool> {
    let word = word.trim().to_lowercase();
    let begins = |with: &[&str]| with.iter().any(|begin| word.starts_with(begin));
    if begins(&ACCEPTS) {
        Some(true)
    } else if begins(&REFUSES) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_told_from_what_it_says() {
        let blocking = IssueView {
            line: None,
            severity: Some("blocking".to_owned()),
            message: "no".to_owned(),
            about: None,
        };
        let blocking = std::slice::from_ref(&blocking);
        for (data, issues, expected) in [
            (json!({"ok": true}), &[][..], Some((Some(true), "accepts"))),
            (json!({"ok": false}), &[], Some((Some(false), "refuses"))),
            (
                json!({"ok": true}),
                blocking,
                Some((Some(false), "ok, but with a blocking issue")),
            ),
            (
                json!({"aggregate": {"ok": true, "decision": "accepted"}}),
                &[],
                Some((Some(true), "accepted")),
            ),
            (
                json!({"ok": true, "decision": "needs_changes"}),
                &[],
                Some((Some(false), "needs_changes")),
            ),
            (
                json!({"verdict": "rejected"}),
                &[],
                Some((Some(false), "rejected")),
            ),
            (json!({"verdict": "deferred"}), &[], None),
            (json!({"text": "x"}), &[], None),
        ] {
            let said = verdict_of(&data, issues);
            let said = said.as_ref().map(|said| (said.accepts, said.word.as_str()));
            assert_eq!(said, expected, "{data}");
        }
    }
}
