//! The tests of an evaluation report, the format of the artifact `eval_report`.

use super::json::parse_json;
use super::junit::{ReportedFailure, ReportedTest, ReportedTestEnd, TestReport};
use orch_base::{Code, Diagnostic, Place, RepoPath};
use serde_json::Value;

/// So many failures are described.
const MOST: usize = 50;

/// Whether bytes are JSON and no XML, by how they begin.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(super::MARK).unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"{")
}

/// Reads every test of an evaluation report: the cases of its suites, suites without cases, and steps. Returns an error if
/// it is none, or if its run has not ended.
pub(super) fn tests_of_eval(path: &RepoPath, bytes: &[u8]) -> Result<TestReport, Box<Diagnostic>> {
    let data = match parse_json(path, bytes) {
        (Some(data), _) => data,
        (None, problems) => {
            let problem = problems.into_iter().next();
            return Err(Box::new(problem.unwrap_or_else(|| other(path))));
        }
    };
    let is_report = ["overall_pass", "results", "suites"]
        .iter()
        .any(|member| data.get(member).is_some());
    if !is_report {
        return Err(Box::new(other(path)));
    }
    let status = text(&data, "status");
    if matches!(status, Some("pending" | "running")) {
        let message = "the report says that its run has not ended";
        let found = Diagnostic::error(Code::NotJunit, message);
        return Err(Box::new(found.at(Place::file(path))));
    }
    let mut tests = EvalTests::default();
    for suite in items(&data, "suites") {
        tests.suite(suite);
    }
    for step in items(&data, "results") {
        let name = text(step, "step").unwrap_or("step");
        tests.add(name.to_owned(), end_of(step), step);
    }
    let is_red = status == Some("failed") || has_failed(&data);
    tests.add_totals(&data);
    if is_red && tests.report.failed == 0 {
        tests.report.failed = 1;
    }
    Ok(tests.report)
}

fn other(path: &RepoPath) -> Diagnostic {
    let message = "the file is JSON and no evaluation report: it has neither `overall_pass` nor `suites` nor `results`";
    let found = Diagnostic::error(Code::NotJunit, message);
    found
        .at(Place::file(path))
        .hint("let the test runner write JUnit XML, or a report by the schema eval-report")
}

/// The tests that have been read.
#[derive(Default)]
struct EvalTests {
    report: TestReport,
}

impl EvalTests {
    fn suite(&mut self, suite: &Value) {
        let name = named(suite, "suite");
        let before = self.report.failed;
        let mut has_cases = false;
        for case in items(suite, "cases") {
            has_cases = true;
            self.add(
                format!("{name}.{}", named(case, "case")),
                end_of(case),
                case,
            );
        }
        let end = end_of(suite);
        if !has_cases {
            self.add(name, end, suite);
        } else if end == ReportedTestEnd::Failed && self.report.failed == before {
            // It failed beside its cases.
            self.report.failed += 1;
            self.describe(name, suite);
        }
        let before = self.report.failed.saturating_sub(before);
        let declared = failures_in(suite);
        self.report.failed += declared.saturating_sub(before);
    }

    fn add(&mut self, name: String, end: ReportedTestEnd, said: &Value) {
        match end {
            ReportedTestEnd::Skipped => self.report.skipped += 1,
            ReportedTestEnd::Passed => self.report.executed += 1,
            ReportedTestEnd::Failed => {
                self.report.executed += 1;
                self.report.failed += 1;
                self.describe(name.clone(), said);
            }
        }
        self.report.tests.push(ReportedTest { name, end });
    }

    fn describe(&mut self, name: String, said: &Value) {
        if self.report.failures.len() >= MOST {
            return;
        }
        let message = match said.get("reason").or_else(|| said.get("details")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "failed".to_owned(),
            Some(value) => value.to_string(),
        };
        self.report.failures.push(ReportedFailure {
            name,
            message,
            file: None,
            line: None,
        });
    }

    /// The totals count where they say worse, or where nothing else says anything.
    fn add_totals(&mut self, data: &Value) {
        let failed = failures_in(data);
        let of_summary = |member: &str| number(data.get("summary"), member);
        self.report.failed = self.report.failed.max(failed);
        if self.report.tests.is_empty() {
            self.report.executed = of_summary("passed") + failed;
            self.report.skipped = of_summary("skipped");
        }
    }
}

fn failures_in(value: &Value) -> u64 {
    let summary = value.get("summary");
    number(summary, "failed").saturating_add(number(summary, "error"))
}

fn number(summary: Option<&Value>, member: &str) -> u64 {
    let found = summary.and_then(|summary| summary.get(member));
    found.and_then(Value::as_u64).unwrap_or_default()
}

fn items<'v>(value: &'v Value, member: &str) -> impl Iterator<Item = &'v Value> {
    let found = value.get(member).and_then(Value::as_array);
    found.into_iter().flatten()
}

fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value.get(member)?.as_str()
}

fn named(value: &Value, otherwise: &str) -> String {
    let name = text(value, "name").or_else(|| text(value, "id"));
    name.unwrap_or(otherwise).to_owned()
}

fn has_failed(value: &Value) -> bool {
    let is_nonzero = |code: &Value| !code.is_null() && code.as_i64() != Some(0);
    value.get("code").is_some_and(is_nonzero)
        || value.get("overall_pass") == Some(&Value::Bool(false))
}

/// What became of a suite, a case or a step. One that says nothing has not passed.
fn end_of(value: &Value) -> ReportedTestEnd {
    if has_failed(value) {
        return ReportedTestEnd::Failed;
    }
    match text(value, "status") {
        Some("passed" | "ok") => ReportedTestEnd::Passed,
        Some("skipped") => ReportedTestEnd::Skipped,
        None if value.get("overall_pass") == Some(&Value::Bool(true)) => ReportedTestEnd::Passed,
        _ => ReportedTestEnd::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_of;
    use serde_json::{Value, json};

    #[test]
    fn every_test_has_its_end() {
        let path = orch_base::RepoPath::new("r.json").expect("valid");
        let read = |value: &Value| tests_of(&path, format!("\n{value}").as_bytes());
        let case = |name: &str, status: &str| json!({"name": name, "status": status});
        let cases = json!([
            case("a", "passed"),
            case("b", "failed"),
            case("c", "skipped")
        ]);
        for (value, executed, failed, skipped, names) in [
            (
                json!({"overall_pass": false, "suites": [{"id": "u", "cases": cases, "status": "failed"}]}),
                2,
                1,
                1,
                &["u.a", "u.b", "u.c"][..],
            ),
            (
                json!({"results": [{"step": "lint", "status": "ok", "code": 0}, {"step": "test", "status": "ok", "code": 3}]}),
                2,
                1,
                0,
                &["lint", "test"],
            ),
            (
                json!({"overall_pass": true, "summary": {"passed": 3, "failed": 0, "skipped": 2}}),
                3,
                0,
                2,
                &[],
            ),
            (json!({"overall_pass": true}), 0, 0, 0, &[]),
            (json!({"overall_pass": true, "code": 1}), 0, 1, 0, &[]),
            (
                json!({"overall_pass": true, "suites": [{"name": "s", "overall_pass": true, "summary": {"error": 2}}]}),
                1,
                2,
                0,
                &["s"],
            ),
            (json!({"suites": [{"name": "s"}]}), 1, 1, 0, &["s"]),
        ] {
            let report = read(&value).expect("a report");
            let counts = (report.executed, report.failed, report.skipped);
            assert_eq!(counts, (executed, failed, skipped), "{value}");
            let found: Vec<&str> = report.tests.iter().map(|test| test.name.as_str()).collect();
            assert_eq!(found, names, "{value}");
            assert!(report.failures.len() as u64 <= report.failed);
        }
        for other in [
            json!({}),
            json!({"status": "running", "results": []}),
            json!({"tests": 3}),
        ] {
            assert!(read(&other).is_err(), "{other}");
        }
        assert!(tests_of(&path, b"{\"results\": [").is_err());
    }
}
