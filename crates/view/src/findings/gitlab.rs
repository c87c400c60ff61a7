//! Findings as a code quality report of GitLab, which displays them in a merge request at their lines.

use orch_base::{Diagnostic, Digest, Severity};
use serde_json::{Value, json};

/// The file that stands for findings without a place, since the report wants one.
const NOWHERE: &str = "orch.toml";

/// The array of a report. The fingerprint of a finding is the same wherever its line moves, and tells it from others.
#[must_use]
pub fn gitlab(diagnostics: &[Diagnostic]) -> Value {
    diagnostics.iter().map(entry).collect()
}

fn entry(diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "major",
        Severity::Warning => "minor",
        Severity::Note => "info",
    };
    let (path, line) = match &diagnostic.place {
        Some(place) => (place.path.as_str(), place.line),
        None => (NOWHERE, None),
    };
    let mut description = diagnostic.message.clone();
    if let Some(hint) = &diagnostic.hint {
        description.push_str(&format!("; hint: {hint}"));
    }
    let told = format!("{}\n{path}\n{}", diagnostic.code, diagnostic.message);
    json!({
        "description": description,
        "check_name": diagnostic.code.as_str(),
        "fingerprint": Digest::of_blob(told.as_bytes()).to_string(),
        "severity": severity,
        "location": { "path": path, "lines": { "begin": line.unwrap_or(1) } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::{Code, Place};

    #[test]
    fn a_report_has_what_gitlab_requires() {
        let place = Place {
            path: "a.json".to_owned(),
            line: Some(3),
            ..Place::default()
        };
        let there = Diagnostic::error(Code::JsonSyntax, "wrong")
            .at(place)
            .hint("fix it");
        let moved = Diagnostic::error(Code::JsonSyntax, "wrong").at(Place {
            path: "a.json".to_owned(),
            line: Some(9),
            ..Place::default()
        });
        let report = gitlab(&[there, moved, Diagnostic::note(Code::Empty, "y")]);
        assert_eq!(report[0]["description"], "wrong; hint: fix it");
        assert_eq!(report[0]["check_name"], "json-syntax");
        assert_eq!(report[0]["severity"], "major");
        assert_eq!(
            report[0]["location"],
            json!({"path": "a.json", "lines": {"begin": 3}})
        );
        assert_eq!(report[0]["fingerprint"], report[1]["fingerprint"]);
        assert_ne!(report[0]["fingerprint"], report[2]["fingerprint"]);
        assert_eq!(
            report[2]["location"],
            json!({"path": "orch.toml", "lines": {"begin": 1}})
        );
    }
}
