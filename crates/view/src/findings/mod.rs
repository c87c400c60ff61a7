//! Findings as JSON, as source snippets, as GitHub annotations, as a report of GitLab, and as SARIF.

mod github;
mod gitlab;
mod sarif;
mod snippet;

pub use github::github;
pub use gitlab::gitlab;
pub use sarif::sarif;
pub use snippet::{snippet, snippets};

use super::Finding;
use super::layout::counted;
use orch_base::{Diagnostic, Severity};
use serde::Serialize;

/// The envelope of findings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Findings {
    /// The findings, in the given order.
    pub findings: Vec<Finding>,
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The number of notes.
    pub notes: usize,
}

super::json::documents! { Findings = "findings" }

impl Findings {
    /// The envelope of these findings.
    #[must_use]
    pub fn new(diagnostics: &[Diagnostic]) -> Self {
        Self {
            findings: diagnostics.iter().map(Finding::of).collect(),
            errors: number(diagnostics, Severity::Error),
            warnings: number(diagnostics, Severity::Warning),
            notes: number(diagnostics, Severity::Note),
        }
    }
}

/// A summary such as `2 errors, 1 warning`, or `no problem` if there is nothing worse than a note.
#[must_use]
pub fn summary(diagnostics: &[Diagnostic]) -> String {
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning")];
    let parts: Vec<String> = counts
        .into_iter()
        .map(|(severity, noun)| (number(diagnostics, severity), noun))
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun))
        .collect();
    if parts.is_empty() {
        "no problem".to_owned()
    } else {
        parts.join(", ")
    }
}

fn number(diagnostics: &[Diagnostic], severity: Severity) -> usize {
    diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == severity)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Code;

    #[test]
    fn counts_by_severity() {
        let diagnostics = [
            Diagnostic::error(Code::Empty, "x"),
            Diagnostic::error(Code::NotUtf8, "y"),
            Diagnostic::note(Code::PhaseAlias, "z"),
        ];
        let findings = Findings::new(&diagnostics);
        assert_eq!(
            (findings.errors, findings.warnings, findings.notes),
            (2, 0, 1)
        );
        assert_eq!(summary(&diagnostics), "2 errors");
        assert_eq!(summary(&diagnostics[2..]), "no problem");
    }
}
