//! Findings as SARIF 2.1.0, the interchange format of static analysis.

use crate::uri::PATH;
use orch_base::{Diagnostic, Hint, Place};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A SARIF log with one run of `orch` at this version.
#[must_use]
pub fn sarif(diagnostics: &[Diagnostic], version: &str) -> Value {
    let codes: BTreeSet<&str> = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code.as_str())
        .collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    let rules: Vec<Value> = codes
        .iter()
        .map(|code| json!({ "id": code, "name": pascal(code) }))
        .collect();
    let results: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| result(diagnostic, &codes))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "orch", "semanticVersion": version, "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(diagnostic: &Diagnostic, codes: &[&str]) -> Value {
    let mut text = diagnostic.message.clone();
    if let Some(hint) = &diagnostic.hint {
        text.push_str(&format!("\nhint: {hint}"));
    }
    let locations: Vec<Value> = diagnostic.place.iter().map(location).collect();
    let mut result = json!({
        "ruleId": diagnostic.code.as_str(),
        "ruleIndex": codes.binary_search(&diagnostic.code.as_str()).unwrap_or_default(),
        "level": diagnostic.severity.as_str(),
        "message": { "text": text },
        "locations": locations,
    });
    let commands: Vec<&[String]> = diagnostic.hint.iter().flat_map(Hint::commands).collect();
    if !commands.is_empty() {
        result["properties"] = json!({ "commands": commands });
    }
    result
}

fn location(place: &Place) -> Value {
    let uri = utf8_percent_encode(&place.path, PATH).to_string();
    let mut physical = json!({ "artifactLocation": { "uri": uri, "uriBaseId": "%SRCROOT%" } });
    if let Some(line) = place.line {
        physical["region"] = match place.column {
            Some(column) => json!({ "startLine": line, "startColumn": column }),
            None => json!({ "startLine": line }),
        };
    }
    let mut location = json!({ "physicalLocation": physical });
    if let Some(pointer) = &place.pointer {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": pointer }]);
    }
    location
}

/// `json-syntax` as `JsonSyntax`, the form that SARIF prescribes for rule names.
fn pascal(code: &str) -> String {
    code.split('-')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Code;

    #[test]
    fn names_rules_once_and_escapes_paths() {
        let place = Place {
            path: "tasks/a b/ü%.json".to_owned(),
            line: Some(3),
            column: Some(5),
            pointer: Some("/ok".to_owned()),
            ..Place::default()
        };
        let findings = [
            Diagnostic::error(Code::SchemaMismatch, "no boolean")
                .at(place)
                .hint("write true"),
            Diagnostic::warning(Code::JsonSyntax, "odd"),
            Diagnostic::note(Code::SchemaMismatch, "again")
                .hint(Hint::run(&["orch", "schema", "x"])),
        ];
        let log = sarif(&findings, "1.2.3");
        let run = &log["runs"][0];
        assert_eq!(
            run["tool"]["driver"]["rules"][0],
            json!({ "id": "json-syntax", "name": "JsonSyntax" })
        );
        assert_eq!(
            run["tool"]["driver"]["rules"].as_array().map(Vec::len),
            Some(2)
        );
        assert_eq!(
            run["results"][0],
            json!({
                "ruleId": "schema-mismatch", "ruleIndex": 1, "level": "error",
                "message": { "text": "no boolean\nhint: write true" },
                "locations": [{
                    "physicalLocation": {
                        "artifactLocation": { "uri": "tasks/a%20b/%C3%BC%25.json", "uriBaseId": "%SRCROOT%" },
                        "region": { "startLine": 3, "startColumn": 5 },
                    },
                    "logicalLocations": [{ "fullyQualifiedName": "/ok" }],
                }],
            })
        );
        assert_eq!(run["results"][1]["level"], "warning");
        assert_eq!(run["results"][2]["level"], "note");
        assert_eq!(run["results"][1]["locations"], json!([]));
        assert_eq!(
            run["results"][2]["properties"],
            json!({ "commands": [["orch", "schema", "x"]] })
        );
    }
}
