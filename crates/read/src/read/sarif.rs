//! A SARIF log, as linters and scanners write it (OASIS, Static Analysis Results Interchange Format 2.1.0): how much was
//! found, and whether the tools could do their work.

use super::message::{clean, shortened};
use super::{MARK, ReadResult};
use orch_base::{Code, Diagnostic, Place, RepoPath};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How many results are listed.
const MAX_LISTED: usize = 50;
/// How many different rules are counted by name.
const MAX_RULES: usize = 10_000;
const HINT: &str = "let the linter write SARIF 2.1.0, and keep other files elsewhere";

/// The parts of a log that are read. Any of them may be null.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifLog {
    version: Option<String>,
    runs: Option<Vec<SarifRun>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun {
    tool: Option<SarifTool>,
    /// Absent where the tool did not look for results (section 3.14.23).
    results: Option<Vec<SarifResult>>,
    invocations: Option<Vec<SarifInvocation>>,
    external_property_file_references: Option<SarifExternal>,
}

#[derive(Deserialize)]
struct SarifExternal {
    results: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
struct SarifTool {
    driver: Option<SarifComponent>,
    extensions: Option<Vec<SarifComponent>>,
}

#[derive(Deserialize)]
struct SarifComponent {
    name: Option<String>,
    version: Option<String>,
    rules: Option<Vec<SarifRule>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifRule {
    id: Option<String>,
    default_configuration: Option<SarifConfiguration>,
}

#[derive(Deserialize)]
struct SarifConfiguration {
    level: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifInvocation {
    execution_successful: Option<bool>,
    tool_execution_notifications: Option<Vec<SarifResult>>,
    tool_configuration_notifications: Option<Vec<SarifResult>>,
}

/// A result, or a notification, which has some of its members.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: Option<String>,
    rule_index: Option<i64>,
    rule: Option<SarifReference>,
    descriptor: Option<SarifReference>,
    kind: Option<String>,
    level: Option<String>,
    message: Option<SarifMessage>,
    locations: Option<Vec<SarifLocation>>,
    suppressions: Option<Vec<SarifSuppression>>,
    baseline_state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifReference {
    id: Option<String>,
    index: Option<i64>,
    tool_component: Option<SarifComponentReference>,
}

#[derive(Deserialize)]
struct SarifComponentReference {
    index: Option<i64>,
}

#[derive(Deserialize)]
struct SarifMessage {
    text: Option<String>,
}

#[derive(Deserialize)]
struct SarifSuppression {
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: Option<SarifPhysical>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifPhysical {
    artifact_location: Option<SarifArtifact>,
    region: Option<SarifRegion>,
}

#[derive(Deserialize)]
struct SarifArtifact {
    uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: Option<u64>,
}

/// Reads a log. Some programs begin it with a byte order mark.
pub(super) fn read(path: &RepoPath, bytes: &[u8]) -> ReadResult {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let text = match super::text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return ReadResult::refused(*problem),
    };
    let log: SarifLog = match serde_json::from_str(text) {
        Ok(log) => log,
        Err(error) => return ReadResult::refused(fault(path, text, &error)),
    };
    let (Some("2.1.0"), Some(runs)) = (log.version.as_deref(), &log.runs) else {
        let what = match &log.version {
            Some(version) if log.runs.is_some() => format!("its version is {version}, not 2.1.0"),
            _ => "it has no `version` and `runs`".to_owned(),
        };
        let message = format!("the file is not a SARIF log: {what}");
        let finding = Diagnostic::error(Code::NotSarif, message);
        return ReadResult::refused(finding.at(Place::file(path)).hint(HINT));
    };
    let mut counts = SarifCounts::default();
    for run in runs {
        counts.run(run);
    }
    if counts.is_external {
        let message = "the results stand in other files, which the log names";
        let finding = Diagnostic::error(Code::NotSarif, message);
        let hint = "let the linter write one file";
        return ReadResult::refused(finding.at(Place::file(path)).hint(hint));
    }
    ReadResult {
        problems: counts.findings(path, runs.len()),
        data: Some(counts.value()),
    }
}

fn fault(path: &RepoPath, text: &str, error: &serde_json::Error) -> Diagnostic {
    if let Some(conflict) = super::conflict(path, text) {
        return conflict;
    }
    let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
    let column = u32::try_from(error.column().max(1)).ok();
    let place = Place::on_line(path.as_str(), text, line, column);
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        let message = format!("the file is not a SARIF log: {said}");
        return Diagnostic::error(Code::NotSarif, message)
            .at(place)
            .hint(HINT);
    }
    let message = format!("the file is not JSON: {said}");
    let hint = "was the file truncated, or was other output redirected into it? Write it again";
    Diagnostic::error(Code::JsonSyntax, message)
        .at(place)
        .hint(hint)
}

/// How bad a result is (section 3.27.10).
#[derive(Clone, Copy, PartialEq, Eq)]
enum SarifLevel {
    None,
    Note,
    Warning,
    Error,
}

impl SarifLevel {
    fn of(text: &str) -> Self {
        match text {
            "error" => Self::Error,
            "note" => Self::Note,
            "none" => Self::None,
            _ => Self::Warning,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What was counted.
#[derive(Default)]
struct SarifCounts {
    /// Runs that looked for results and came to their end.
    scans: u64,
    /// Runs that say that they failed.
    failed: u64,
    results: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    new: u64,
    suppressed: u64,
    rules: Map<String, Value>,
    tools: Vec<Value>,
    listed: Vec<Value>,
    is_external: bool,
}

impl SarifCounts {
    fn run(&mut self, run: &SarifRun) {
        let external = run.external_property_file_references.as_ref();
        let external = external.and_then(|external| external.results.as_ref());
        self.is_external |= external.is_some_and(|files| !files.is_empty());
        if let Some(driver) = run.tool.as_ref().and_then(|tool| tool.driver.as_ref()) {
            self.tools
                .push(json!({"name": driver.name, "version": driver.version}));
        }
        let has_failed = self.failures(run);
        self.failed += u64::from(has_failed);
        let Some(results) = &run.results else { return };
        self.scans += u64::from(!has_failed);
        for result in results {
            self.result(run, result);
        }
    }

    /// Counts what the tool says of itself: a file that it could not read is an error, and no result. Says whether the
    /// run failed.
    fn failures(&mut self, run: &SarifRun) -> bool {
        let mut has_failed = false;
        for invocation in run.invocations.iter().flatten() {
            let errors_before = self.errors;
            let lists = [
                &invocation.tool_execution_notifications,
                &invocation.tool_configuration_notifications,
            ];
            for notification in lists.into_iter().flatten().flatten() {
                // Without a level it is a warning (section 3.58.6).
                if notification.level.as_deref() == Some("error") {
                    let id = notification.descriptor.as_ref();
                    let id = id.and_then(|descriptor| descriptor.id.clone());
                    self.errors += 1;
                    self.list(notification, id, SarifLevel::Error);
                }
            }
            if invocation.execution_successful == Some(false) {
                has_failed = true;
                self.errors += u64::from(self.errors == errors_before);
            }
        }
        has_failed
    }

    fn result(&mut self, run: &SarifRun, result: &SarifResult) {
        // What is gone since the baseline is no result of this run.
        if result.baseline_state.as_deref() == Some("absent") {
            return;
        }
        if is_suppressed(result) {
            self.suppressed += 1;
            return;
        }
        let rule = rule_of(run, result);
        let level = level_of(result, rule);
        if level == SarifLevel::None {
            return;
        }
        self.results += 1;
        match level {
            SarifLevel::Error => self.errors += 1,
            SarifLevel::Warning => self.warnings += 1,
            _ => self.notes += 1,
        }
        let is_new = result
            .baseline_state
            .as_deref()
            .is_none_or(|state| state == "new");
        self.new += u64::from(is_new);
        let id = rule_id(result).or(rule.and_then(|rule| rule.id.as_deref()));
        if let Some(id) = id
            && (self.rules.len() < MAX_RULES || self.rules.contains_key(id))
        {
            let known = self.rules.get(id).and_then(Value::as_u64);
            self.rules
                .insert(id.to_owned(), json!(known.unwrap_or(0) + 1));
        }
        self.list(result, id.map(str::to_owned), level);
    }

    fn list(&mut self, result: &SarifResult, rule: Option<String>, level: SarifLevel) {
        if self.listed.len() >= MAX_LISTED {
            return;
        }
        let message = result.message.as_ref();
        let message = message.and_then(|message| message.text.as_deref());
        let mut listed = Map::new();
        listed.insert("rule".to_owned(), json!(rule.unwrap_or_default()));
        listed.insert("level".to_owned(), json!(level.as_str()));
        let message = shortened(&clean(message.unwrap_or_default().trim()));
        listed.insert("message".to_owned(), json!(message));
        let place = result.locations.iter().flatten().next();
        let place = place.and_then(|place| place.physical_location.as_ref());
        if let Some(place) = place {
            let uri = place.artifact_location.as_ref();
            if let Some(uri) = uri.and_then(|file| file.uri.as_deref()) {
                listed.insert("file".to_owned(), json!(uri));
            }
            let region = place.region.as_ref();
            if let Some(line) = region.and_then(|region| region.start_line) {
                listed.insert("line".to_owned(), json!(line));
            }
        }
        self.listed.push(Value::Object(listed));
    }

    fn findings(&self, path: &RepoPath, runs: usize) -> Vec<Diagnostic> {
        if self.scans > 0 || self.failed > 0 {
            return Vec::new();
        }
        let message = match runs {
            0 => "nothing was measured: the log has no run",
            _ => "nothing was measured: no run of the log has a list of results",
        };
        let hint =
            "let the tool scan the code; a scan that finds nothing has an empty list of results";
        let finding = Diagnostic::note(Code::NothingMeasured, message);
        vec![finding.at(Place::file(path)).hint(hint)]
    }

    fn value(self) -> Value {
        json!({
            "scans": self.scans,
            "failed": self.failed,
            "results": self.results,
            "errors": self.errors,
            "warnings": self.warnings,
            "notes": self.notes,
            "new": self.new,
            "suppressed": self.suppressed,
            "rules": self.rules,
            "tools": self.tools,
            "listed": self.listed,
        })
    }
}

/// Whether a person or a comment in the code has accepted it: one that is refused or not yet reviewed has not (section
/// 3.35.3).
fn is_suppressed(result: &SarifResult) -> bool {
    let suppressions = result.suppressions.as_deref().unwrap_or_default();
    let accepted = |suppression: &SarifSuppression| {
        let status = suppression.status.as_deref();
        status.is_none_or(|status| status == "accepted")
    };
    !suppressions.is_empty() && suppressions.iter().all(accepted)
}

fn rule_id(result: &SarifResult) -> Option<&str> {
    let of_reference = result.rule.as_ref().and_then(|rule| rule.id.as_deref());
    result.rule_id.as_deref().or(of_reference)
}

/// The rule of a result: by its index in its component of the tool, or by its id.
fn rule_of<'r>(run: &'r SarifRun, result: &SarifResult) -> Option<&'r SarifRule> {
    let tool = run.tool.as_ref()?;
    let extensions = tool.extensions.as_deref().unwrap_or_default();
    let reference = result.rule.as_ref();
    let component = reference.and_then(|rule| rule.tool_component.as_ref());
    let component = component.and_then(|component| usize::try_from(component.index?).ok());
    let index = result.rule_index.or(reference.and_then(|rule| rule.index));
    let at = |component: Option<&'r SarifComponent>, index: i64| {
        component?.rules.as_ref()?.get(usize::try_from(index).ok()?)
    };
    let by_index = match (component, index) {
        (Some(component), Some(index)) => at(extensions.get(component), index),
        (None, Some(index)) => at(tool.driver.as_ref(), index),
        (_, None) => None,
    };
    if by_index.is_some() {
        return by_index;
    }
    let id = rule_id(result)?;
    let components = tool.driver.iter().chain(extensions);
    let mut rules = components.flat_map(|component| component.rules.iter().flatten());
    // `CA1000/1` is a part of the rule `CA1000` (section 3.27.5).
    rules.find(|rule| {
        let known = rule.id.as_deref().unwrap_or_default();
        let rest = id.strip_prefix(known).unwrap_or("-");
        !known.is_empty() && (rest.is_empty() || rest.starts_with('/'))
    })
}

/// The level of a result: its own, otherwise that of its rule, otherwise `warning` (section 3.27.10).
fn level_of(result: &SarifResult, rule: Option<&SarifRule>) -> SarifLevel {
    if result.kind.as_deref().is_some_and(|kind| kind != "fail") {
        return SarifLevel::None;
    }
    let of_rule = rule.and_then(|rule| rule.default_configuration.as_ref());
    let of_rule = of_rule.and_then(|configuration| configuration.level.as_deref());
    let level = result.level.as_deref().or(of_rule);
    level.map_or(SarifLevel::Warning, SarifLevel::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::from_str;

    fn log(runs: &str) -> String {
        format!("{{\"version\": \"2.1.0\", \"runs\": [{runs}]}}")
    }

    fn verdict(text: &str) -> ReadResult {
        let path = RepoPath::new("lint.sarif").expect("valid");
        read(&path, text.as_bytes())
    }

    fn data(text: &str) -> Value {
        let verdict = verdict(text);
        verdict
            .data
            .unwrap_or_else(|| panic!("{text}: {:?}", verdict.problems))
    }

    /// What is counted of the results of a run whose tool has these rules: errors, warnings, notes, new, suppressed.
    #[test]
    fn each_result_counts_by_its_level() {
        let rules = r#""tool": {"driver": {"name": "t", "rules": [
            {"id": "E", "defaultConfiguration": {"level": "error"}},
            {"id": "N", "defaultConfiguration": {"level": "note"}},
            {"id": "B"}]},
            "extensions": [{"name": "x", "rules": [{"id": "X", "defaultConfiguration": {"level": "error"}}]}]}"#;
        for (results, expected) in [
            ("", [0, 0, 0, 0, 0]),
            (r#"{"level": "error"}, {"level": "note"}"#, [1, 0, 1, 2, 0]),
            // The rule says it: by its index, its id, or as a part of it.
            (r#"{"ruleIndex": 0}"#, [1, 0, 0, 1, 0]),
            (r#"{"ruleId": "N"}"#, [0, 0, 1, 1, 0]),
            (r#"{"ruleId": "E/1"}"#, [1, 0, 0, 1, 0]),
            (r#"{"ruleId": "E1"}"#, [0, 1, 0, 1, 0]),
            (r#"{"ruleId": "X"}"#, [1, 0, 0, 1, 0]),
            (
                r#"{"rule": {"index": 0, "toolComponent": {"index": 0}}}"#,
                [1, 0, 0, 1, 0],
            ),
            // Nobody says it.
            (r#"{"ruleId": "B", "ruleIndex": -1}"#, [0, 1, 0, 1, 0]),
            (r#"{}"#, [0, 1, 0, 1, 0]),
            // No fault at all.
            (
                r#"{"kind": "pass", "level": "error"}, {"level": "none"}"#,
                [0, 0, 0, 0, 0],
            ),
            (r#"{"kind": "fail", "level": "error"}"#, [1, 0, 0, 1, 0]),
            // Accepted, gone, or known from before.
            (
                r#"{"level": "error", "suppressions": [{"kind": "inSource"}]}"#,
                [0, 0, 0, 0, 1],
            ),
            (
                r#"{"level": "error", "suppressions": [{"kind": "external", "status": "underReview"}]}"#,
                [1, 0, 0, 1, 0],
            ),
            (
                r#"{"level": "error", "suppressions": []}, {"suppressions": null}"#,
                [1, 1, 0, 2, 0],
            ),
            (
                r#"{"level": "error", "baselineState": "absent"}"#,
                [0, 0, 0, 0, 0],
            ),
            (
                r#"{"level": "error", "baselineState": "unchanged"}"#,
                [1, 0, 0, 0, 0],
            ),
        ] {
            let text = log(&format!("{{{rules}, \"results\": [{results}]}}"));
            let data = data(&text);
            let found = ["errors", "warnings", "notes", "new", "suppressed"];
            assert_eq!(found.map(|name| data[name].clone()), expected, "{results}");
            assert_eq!(data["scans"], 1, "{results}");
        }
    }

    #[test]
    fn what_a_tool_could_not_do_is_an_error() {
        let broken = r#"{"results": [], "invocations": [{"executionSuccessful": false,
            "toolConfigurationNotifications": [{"level": "error", "descriptor": {"id": "ESL0999"},
                "message": {"text": "Parsing error"}, "locations": [{"physicalLocation":
                {"artifactLocation": {"uri": "a.js"}, "region": {"startLine": 3}}}]}, {"level": "note"}]}]}"#;
        let found = data(&log(broken));
        let counts = ["errors", "results", "failed", "scans"];
        assert_eq!(counts.map(|name| found[name].clone()), [1, 0, 1, 0]);
        assert_eq!(
            found["listed"],
            from_str::<Value>(
                r#"[{"rule": "ESL0999", "level": "error", "message": "Parsing error", "file": "a.js", "line": 3}]"#
            )
            .expect("JSON")
        );
        let silent = r#"{"results": [], "invocations": [{"executionSuccessful": false}]}"#;
        assert_eq!(data(&log(silent))["errors"], 1);
        let told = r#"{"results": [], "invocations": [{"executionSuccessful": true,
            "toolExecutionNotifications": [{"level": "error"}]}]}"#;
        let told = data(&log(told));
        assert_eq!((&told["errors"], &told["scans"]), (&json!(1), &json!(1)));
    }

    #[test]
    fn a_log_without_a_list_of_results_measured_nothing() {
        for (runs, scans, codes) in [
            ("", 0, vec!["nothing-measured"]),
            ("{}", 0, vec!["nothing-measured"]),
            (r#"{"results": null}"#, 0, vec!["nothing-measured"]),
            (r#"{"results": []}"#, 1, vec![]),
            (r#"{"results": []}, {}"#, 1, vec![]),
        ] {
            let verdict = verdict(&log(runs));
            let found = verdict.problems.iter().map(|found| found.code.as_str());
            assert_eq!(found.collect::<Vec<_>>(), codes, "{runs}");
            assert_eq!(verdict.data.expect("data")["scans"], scans, "{runs}");
        }
    }

    #[test]
    fn what_is_no_log_is_refused_with_its_place() {
        let external = log(r#"{"externalPropertyFileReferences": {"results": [{}]}}"#);
        for (text, code, place, said) in [
            ("{\"a\": 1}", "not-sarif", "lint.sarif", "no `version`"),
            (
                "{\"version\": \"2.0.0\", \"runs\": []}",
                "not-sarif",
                "lint.sarif",
                "2.0.0",
            ),
            (
                "{\"version\": \"2.1.0\",\n \"runs\": {}}",
                "not-sarif",
                "lint.sarif:2:9",
                "invalid type",
            ),
            ("[]", "not-sarif", "lint.sarif:1", ""),
            ("{\"version\"", "json-syntax", "lint.sarif:1:10", ""),
            (&external, "not-sarif", "lint.sarif", "other files"),
        ] {
            let verdict = verdict(text);
            let first = verdict.problems.first().expect("a finding");
            let found = first.place.as_ref().map(ToString::to_string);
            assert!(
                first.message.contains(said) && first.hint.is_some(),
                "{first}"
            );
            assert_eq!(first.code.as_str(), code, "{text}");
            assert!(
                found.unwrap_or_default().starts_with(place),
                "{text}: {first}"
            );
            assert!(verdict.data.is_none());
        }
        assert_eq!(data(&format!("\u{feff}{}", log("")))["scans"], 0);
    }
}
