//! The result of a verification as an in-toto Statement with the predicate "test result".
//!
//! Sources: in-toto Attestation Framework v1, `spec/v1/statement.md`, `spec/v1/resource_descriptor.md` and
//! `spec/predicates/test-result.md`. A strict reader of its messages accepts what is written here: what `orch` says beside
//! stands in the annotations of the one configuration. A digest set with several members is one artifact, so a commit and
//! its tree are two subjects.

use super::{MOST_LISTED, TestNames, TestedCode, VerificationResult, VerifiedOutcome, VerifiedRun};
use orch_base::Digest;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

/// The type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of its predicate.
pub const PREDICATE_TYPE: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// The key of the annotation in which the rest stands.
pub const ANNOTATION: &str = "urn:x-orch:verification:1";

/// Why a text is no result of a verification, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidStatement {
    /// It is no such document.
    Form(String),
    /// It is one, and contradicts itself.
    Contradiction(String),
}

impl fmt::Display for InvalidStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Form(why) | Self::Contradiction(why)) = self;
        f.write_str(why)
    }
}

/// The text of the file with a result. Each member has a line, and so has each list of names.
#[must_use]
pub fn statement(result: &VerificationResult) -> String {
    let tests = &result.tests;
    let word = word_of(result);
    let listed: &[String] = match result.run.passed {
        None => &tests.passed,
        Some(_) => &[],
    };
    let subjects: Vec<Value> = subjects(result.tested)
        .into_iter()
        .map(|(name, kind, digest)| json!({"name": name, "digest": {kind: digest}}))
        .collect();
    let members = serde_json::to_value(&result.run).unwrap_or_default();
    let said = match members {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let mut text = String::from("{\n");
    let _ = writeln!(text, "  \"_type\": {},", json!(STATEMENT_TYPE));
    let _ = writeln!(text, "  \"subject\": {},", Value::Array(subjects));
    let _ = writeln!(text, "  \"predicateType\": {},", json!(PREDICATE_TYPE));
    let _ = writeln!(text, "  \"predicate\": {{");
    let _ = writeln!(text, "    \"result\": {},", json!(word));
    let _ = writeln!(text, "    \"configuration\": [{{");
    let _ = writeln!(text, "      \"name\": {},", json!(result.run.name));
    let _ = writeln!(
        text,
        "      \"digest\": {},",
        json!({BLOB: result.run.table})
    );
    let _ = writeln!(text, "      \"annotations\": {{{}: {{", json!(ANNOTATION));
    let lines: Vec<String> = said
        .iter()
        .map(|(name, value)| format!("        {}: {value}", json!(name)))
        .collect();
    let _ = writeln!(text, "{}", lines.join(",\n"));
    let _ = writeln!(text, "      }}}}");
    let _ = writeln!(text, "    }}],");
    let _ = writeln!(text, "    \"passedTests\": {},", json!(listed));
    let _ = writeln!(text, "    \"warnedTests\": {},", json!(tests.flaky));
    let _ = writeln!(text, "    \"failedTests\": {}", json!(tests.failed));
    text.push_str("  }\n}\n");
    text
}

/// The word of the predicate for a result. What passed only when it was tried again is warned of.
fn word_of(result: &VerificationResult) -> &'static str {
    let is_first = result.tests.flaky.is_empty() && result.run.tries.is_empty();
    match (result.run.outcome, is_first) {
        (VerifiedOutcome::Passed, true) => "PASSED",
        (VerifiedOutcome::Passed, false) => "WARNED",
        (VerifiedOutcome::Failed, _) => "FAILED",
    }
}

/// The digest of the names of tests that passed, where there are more than [`MOST_LISTED`].
#[must_use]
pub fn unlisted(passed: &[String], digest: impl FnOnce(&[u8]) -> Digest) -> Option<Digest> {
    if passed.len() <= MOST_LISTED {
        return None;
    }
    let lines: String = passed.iter().map(|name| format!("{name}\n")).collect();
    Some(digest(lines.as_bytes()))
}

const COMMIT: &str = "gitCommit";
const TREE: &str = "gitTree";
const BLOB: &str = "gitBlob";

/// The name, the kind of digest and the digest of each subject.
fn subjects(tested: TestedCode) -> Vec<(&'static str, &'static str, Digest)> {
    match tested {
        TestedCode::Commit { commit, tree } => {
            vec![("commit", COMMIT, commit), ("tree", TREE, tree)]
        }
        TestedCode::Patch { patch, tree } => vec![("patch", BLOB, patch), ("tree", TREE, tree)],
        TestedCode::Tree { tree } => vec![("tree", TREE, tree)],
    }
}

/// Reads such a text. Members that it does not know are an error: nothing may stand there that `orch` did not write.
///
/// # Errors
///
/// The text is no JSON, or not what [`statement`] writes, or it contradicts itself.
pub fn read_statement(text: &str) -> Result<VerificationResult, InvalidStatement> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| InvalidStatement::Form(error.to_string()))?;
    statement_of(&value)
}

/// The same of a value that has been parsed.
///
/// # Errors
///
/// As [`read_statement`].
pub fn statement_of(value: &Value) -> Result<VerificationResult, InvalidStatement> {
    let file = WrittenStatement::deserialize(value)
        .map_err(|error| InvalidStatement::Form(error.to_string()))?;
    let [configuration] = file.predicate.configuration;
    let run = configuration.annotations.run;
    let tests = TestNames {
        passed: file.predicate.passed,
        failed: file.predicate.failed,
        flaky: file.predicate.flaky,
    };
    let result = VerificationResult {
        tested: tested(&file.subject)?,
        tests,
        run,
    };
    let is_typed = file.kind == STATEMENT_TYPE && file.predicate_kind == PREDICATE_TYPE;
    if !is_typed {
        return Err(InvalidStatement::Form(
            "it has the type of another document".to_owned(),
        ));
    }
    let is_named = configuration.name == result.run.name.as_str()
        && configuration.digest.get(BLOB) == Some(&result.run.table)
        && configuration.digest.len() == 1;
    if !is_named {
        return Err(InvalidStatement::Contradiction(
            "its configuration names another table".to_owned(),
        ));
    }
    contradiction(&file.predicate.result, &result).map_or(Ok(result), |what| {
        Err(InvalidStatement::Contradiction(what))
    })
}

/// What in a result contradicts the rest of it, in words.
fn contradiction(word: &str, result: &VerificationResult) -> Option<String> {
    let run = &result.run;
    let tests = &result.tests;
    let has_passed = run.outcome == VerifiedOutcome::Passed;
    let expected = word_of(result);
    if word != expected {
        return Some(format!(
            "its result is {word}, and what it rests on says {expected}"
        ));
    }
    if has_passed != run.because.is_empty() {
        return Some("its outcome and its reasons contradict each other".to_owned());
    }
    let has_bad_end = run.commands.iter().any(|end| end.exit != Some(0));
    if has_passed && has_bad_end {
        return Some("it passed, and a command did not end with 0".to_owned());
    }
    let names = |names: &[String]| names.len() as u64;
    let passed = names(&tests.passed) + names(&tests.flaky);
    let is_counted = run.counts.failed >= names(&tests.failed)
        && run.counts.tests == run.counts.passed + run.counts.failed
        && (run.passed.is_some() || run.counts.passed >= passed);
    if !is_counted {
        return Some("its counts and its lists contradict each other".to_owned());
    }
    if has_passed && run.counts.failed > 0 {
        return Some("it passed, and a test failed".to_owned());
    }
    None
}

/// What the subjects say.
fn tested(subjects: &[StatementSubject]) -> Result<TestedCode, InvalidStatement> {
    let find = |name: &str, kind: &str| {
        subjects
            .iter()
            .find(|subject| subject.name == name && subject.digest.len() == 1)
            .and_then(|subject| subject.digest.get(kind).copied())
    };
    let tree = find("tree", TREE);
    let found = match (subjects.len(), tree) {
        (1, Some(tree)) => Some(TestedCode::Tree { tree }),
        (2, Some(tree)) => match (find("commit", COMMIT), find("patch", BLOB)) {
            (Some(commit), None) => Some(TestedCode::Commit { commit, tree }),
            (None, Some(patch)) => Some(TestedCode::Patch { patch, tree }),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| {
        InvalidStatement::Form(
            "its subjects are no commit and tree, patch and tree, or tree".to_owned(),
        )
    })
}

/// The members as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStatement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<StatementSubject>,
    #[serde(rename = "predicateType")]
    predicate_kind: String,
    predicate: Predicate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementSubject {
    name: String,
    digest: BTreeMap<String, Digest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Predicate {
    result: String,
    configuration: [Configuration; 1],
    #[serde(rename = "passedTests")]
    passed: Vec<String>,
    #[serde(rename = "warnedTests")]
    flaky: Vec<String>,
    #[serde(rename = "failedTests")]
    failed: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    name: String,
    digest: BTreeMap<String, Digest>,
    annotations: Annotations,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    #[serde(rename = "urn:x-orch:verification:1")]
    run: VerifiedRun,
}
