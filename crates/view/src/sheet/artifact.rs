//! What the artifacts of a task say.

use super::SheetSource;
use super::outline::{SheetSection, cut, outline_of, outline_of_markdown, outline_of_text};
use crate::explain::facts;
use crate::issue::issue_view;
use crate::layout::counted;
use crate::verdict::SaidVerdict;
use crate::wire::in_repository;
use crate::{Finding, IssueView};
use orch_core::decide::{Derived, DerivedFile, FileFact};
use orch_core::workflow::{Artifact, ArtifactRole, Format};
use serde::Serialize;
use serde_json::{Value, json};

/// How many lines of a file are shown.
const MOST_LINES: usize = 400;
/// How many files of an artifact are shown.
const MOST_FILES: usize = 20;
/// An artifact that is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShownArtifact {
    /// The name of the artifact in the workflow.
    pub artifact: String,
    /// Its description in the workflow; null if it has none.
    pub title: Option<String>,
    /// What it is to whoever decides.
    pub role: ArtifactRole,
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

/// The artifacts that are there, apart from the code and the results of verifications.
pub(super) fn shown(source: &SheetSource<'_>) -> Vec<ShownArtifact> {
    let mut found = Vec::new();
    for derived in &source.subject.decision.artifacts {
        let artifact = source.subject.workflow.artifact(&derived.name);
        let Some(artifact) =
            artifact.filter(|artifact| derived.present && artifact.role() != ArtifactRole::Code)
        else {
            continue;
        };
        found.push(artifact_of(source, artifact, derived));
    }
    found.sort_by_key(|artifact| artifact.role);
    found
}

fn artifact_of(source: &SheetSource<'_>, artifact: &Artifact, derived: &Derived) -> ShownArtifact {
    let facts = facts(source.subject, derived);
    let (standing, _) = facts.standing();
    let files = derived.files.iter().take(MOST_FILES);
    ShownArtifact {
        artifact: facts.artifact,
        title: artifact.title.clone(),
        role: artifact.role(),
        standing,
        because: facts.stale_because.filter(|_| derived.valid),
        writers: facts.writers,
        digest: facts.digest,
        files: files.map(|file| file_of(source, artifact, file)).collect(),
        omitted: derived.files.len().saturating_sub(MOST_FILES),
    }
}

fn file_of(source: &SheetSource<'_>, artifact: &Artifact, derived: &DerivedFile) -> ShownFile {
    let facts = source.facts.artifacts.get(&artifact.name);
    let fact = facts
        .into_iter()
        .flatten()
        .find(|fact| fact.path == derived.path);
    let own = source
        .issues
        .iter()
        .filter(|(issue, _)| issue.artifact == artifact.name && issue.path == derived.path);
    let issues: Vec<IssueView> = own
        .map(|(issue, place)| issue_view(issue, place.as_ref()))
        .collect();
    let path = in_repository(source.subject.place, &derived.path);
    let data = fact.and_then(|fact| fact.data.as_deref());
    let verdict = data
        .filter(|_| artifact.is_verdict())
        .and_then(|data| SaidVerdict::of(data, &issues));
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
        (Format::Cobertura | Format::Lcov, Some(data)) => outline_of_coverage(data),
        (Format::Sarif, Some(data)) => outline_of_results(data, has_issues),
        (Format::Json | Format::Yaml | Format::Toml, Some(data)) => {
            let mut shown = Vec::new();
            if artifact.is_verdict() {
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

/// What was executed, in one line.
fn outline_of_coverage(data: &Value) -> Vec<SheetSection> {
    let mut said = Vec::new();
    for name in ["lines", "branches", "functions"] {
        let part = &data[name];
        let total = part["total"].as_u64().unwrap_or_default();
        if total > 0 {
            let percent = part["percent"].as_f64().unwrap_or_default();
            said.push(format!("{percent:.1} % of {total} {name}"));
        }
    }
    if said.is_empty() {
        return outline_of_text("nothing was measured");
    }
    outline_of_text(&format!("executed: {}", said.join(", ")))
}

/// The counts of a SARIF log in one line, and its first results, unless its issues name them.
fn outline_of_results(data: &Value, has_issues: bool) -> Vec<SheetSection> {
    let count = |name: &str| {
        let count = data[name].as_u64().unwrap_or_default();
        usize::try_from(count).unwrap_or(usize::MAX)
    };
    let counts = format!(
        "{}, {}, {}, {} suppressed",
        counted(count("errors"), "error"),
        counted(count("warnings"), "warning"),
        counted(count("notes"), "note"),
        count("suppressed")
    );
    let mut sections = outline_of_text(&counts);
    if !has_issues {
        sections.extend(outline_of(&json!({"listed": data["listed"]}), None, &[]));
    }
    sections
}

/// The counts of a test report in one line, and the tests that failed, unless its issues name them.
fn outline_of_tests(data: &Value, has_issues: bool) -> Vec<SheetSection> {
    let count = |name: &str| {
        let count = data.get(name).and_then(Value::as_u64);
        usize::try_from(count.unwrap_or_default()).unwrap_or(usize::MAX)
    };
    let counts = format!(
        "{}, {}, {}, {} skipped",
        counted(count("tests"), "test"),
        counted(count("failures"), "failure"),
        counted(count("errors"), "error"),
        count("skipped")
    );
    let mut sections = outline_of_text(&counts);
    if let Some(failed) = data.get("failed_tests").filter(|_| !has_issues) {
        sections.extend(outline_of(&json!({"failed": failed}), None, &[]));
    }
    sections
}
