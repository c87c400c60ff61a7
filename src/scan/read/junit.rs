//! A JUnit XML report: tests, failures, errors and skipped tests, counted from the test cases.

use super::ReadResult;
use crate::base::{Code, Diagnostic, Place, RepoPath};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

/// How many failed tests are listed by name.
const MAX_NAMED: usize = 50;

#[derive(Default, Clone)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

/// The counts that a suite declares in its attributes.
#[derive(Default)]
struct Claims {
    tests: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
}

/// A `testsuite` or `testsuites`; its counts include the suites inside it.
#[derive(Default)]
struct Suite {
    name: String,
    /// Whether it is a `testsuite`, which the report lists.
    listed: bool,
    claims: Claims,
    counts: Counts,
}

#[derive(Default)]
struct Report {
    /// The counts of the whole report.
    all: Counts,
    suites: Vec<Suite>,
    open: Vec<usize>,
    failed: Vec<String>,
    case: Option<(String, Option<&'static str>)>,
    time: f64,
    problems: Vec<String>,
}

/// Reads a report. Rejects document type declarations, so that no entity can expand.
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let mut reader = Reader::from_str(text);
    let mut report = Report::default();
    let mut depth = 0_i64;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
        let refuse = |message: String, hint: &str| {
            let place = Place::at(path.as_str(), text, at, 1);
            ReadResult::refused(Diagnostic::error(Code::JunitSyntax, message).at(place).hint(hint))
        };
        match reader.read_event() {
            Err(error) => {
                return refuse(
                    format!("the report is not well-formed XML: {error}"),
                    "was the file truncated?",
                );
            }
            Ok(Event::DocType(_)) => {
                return refuse(
                    "the report declares a document type".to_owned(),
                    "remove the DOCTYPE declaration",
                );
            }
            Ok(Event::Start(element)) => {
                depth += 1;
                report.start(&element);
            }
            Ok(Event::Empty(element)) => {
                report.start(&element);
                report.end(element.local_name().as_ref());
            }
            Ok(Event::End(element)) => {
                depth -= 1;
                report.end(element.local_name().as_ref());
            }
            Ok(Event::Eof) if depth != 0 => {
                return refuse("the report ends early".to_owned(), "was the file truncated?");
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
        }
    }
    if report.suites.is_empty() {
        let message = "the file is not a JUnit report: it has no `testsuite`";
        return ReadResult::refused(
            Diagnostic::error(Code::NotJunit, message).at(Place::file(path)).hint("write a JUnit XML report"),
        );
    }
    let odd = |message: &String| {
        Diagnostic::warning(Code::JunitCounts, message.as_str())
            .at(Place::file(path))
            .hint("the listed tests count; of failures and errors, the larger number counts")
    };
    let problems = report.problems.iter().map(odd).collect();
    ReadResult { data: Some(report.value()), problems }
}

impl Report {
    fn start(&mut self, element: &BytesStart<'_>) {
        match element.local_name().as_ref() {
            kind @ ("testsuites" | "testsuite") => {
                let claim = |name| attribute(element, name).and_then(|text| number(&text));
                self.open.push(self.suites.len());
                self.suites.push(Suite {
                    name: attribute(element, "name").unwrap_or_default(),
                    listed: kind == "testsuite",
                    claims: Claims {
                        tests: claim("tests"),
                        failures: claim("failures"),
                        errors: claim("errors"),
                    },
                    counts: Counts::default(),
                });
            }
            "testcase" => {
                // A nested test case must not hide the result of the outer one.
                self.end_case();
                let class = attribute(element, "classname").unwrap_or_default();
                let name = attribute(element, "name").unwrap_or_default();
                let whole = if class.is_empty() { name } else { format!("{class}.{name}") };
                self.time +=
                    attribute(element, "time").and_then(|time| time.parse::<f64>().ok()).unwrap_or(0.0);
                self.case = Some((whole, None));
            }
            "failure" => self.mark("failure"),
            "error" => self.mark("error"),
            "skipped" => self.mark("skipped"),
            _ => {}
        }
    }

    fn mark(&mut self, outcome: &'static str) {
        match &mut self.case {
            Some((_, marked @ None)) => *marked = Some(outcome),
            Some(_) => {}
            // Outside any test case: runners report this way what failed before a test could start.
            None if outcome == "skipped" => {}
            None => self.innermost().add(outcome),
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "testsuite" | "testsuites" => self.end_suite(),
            "testcase" => self.end_case(),
            _ => {}
        }
    }

    fn end_case(&mut self) {
        let Some((name, outcome)) = self.case.take() else { return };
        let counts = self.innermost();
        counts.tests += 1;
        if let Some(outcome) = outcome {
            counts.add(outcome);
        }
        if matches!(outcome, Some("failure" | "error")) && self.failed.len() < MAX_NAMED {
            self.failed.push(name);
        }
    }

    /// A suite that declares more failures than it lists must not pass as green. A test that is declared but
    /// not listed does not count as passed.
    fn end_suite(&mut self) {
        let Some(suite) = self.open.pop().and_then(|index| self.suites.get_mut(index)) else { return };
        let Suite { name, claims, counts, .. } = suite;
        for (what, claimed, counted) in [
            ("tests", claims.tests, counts.tests),
            ("failures", claims.failures, counts.failures),
            ("errors", claims.errors, counts.errors),
        ] {
            if let Some(claimed) = claimed.filter(|claimed| *claimed != counted)
                && self.problems.len() < MAX_NAMED
            {
                self.problems
                    .push(format!("suite `{name}` declares {claimed} {what} but contains {counted}"));
            }
        }
        counts.failures = counts.failures.max(claims.failures.unwrap_or(0));
        counts.errors = counts.errors.max(claims.errors.unwrap_or(0));
        let counts = counts.clone();
        self.innermost().include(&counts);
    }

    /// The counts of the innermost open suite, or else of the whole report.
    fn innermost(&mut self) -> &mut Counts {
        match self.open.last().and_then(|index| self.suites.get_mut(*index)) {
            Some(suite) => &mut suite.counts,
            None => &mut self.all,
        }
    }

    fn value(&self) -> Value {
        let suites: Vec<Value> = self
            .suites
            .iter()
            .filter(|suite| suite.listed)
            .map(|suite| {
                let counts = &suite.counts;
                json!({
                    "name": suite.name, "tests": counts.tests, "failures": counts.failures,
                    "errors": counts.errors, "skipped": counts.skipped,
                })
            })
            .collect();
        json!({
            "tests": self.all.tests,
            "failures": self.all.failures,
            "errors": self.all.errors,
            "skipped": self.all.skipped,
            "time": self.time,
            "suites": suites,
            "failed": self.failed,
        })
    }
}

impl Counts {
    fn add(&mut self, outcome: &str) {
        match outcome {
            "failure" => self.failures += 1,
            "error" => self.errors += 1,
            _ => self.skipped += 1,
        }
    }

    fn include(&mut self, inner: &Self) {
        self.tests += inner.tests;
        self.failures += inner.failures;
        self.errors += inner.errors;
        self.skipped += inner.skipped;
    }
}

/// Parses a count. A number that is too large becomes the maximum rather than nothing.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| u64::from(text.parse::<u32>().unwrap_or(u32::MAX)))
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element.try_get_attribute(name).ok()??;
    let raw = attribute.value.into_owned();
    Some(quick_xml::escape::unescape(&raw).map_or(raw.clone(), std::borrow::Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> ReadResult {
        read(&RepoPath::new("r.xml").expect("valid"), text)
    }

    #[test]
    fn counts_cases_once_across_nested_suites() {
        let data = verdict(
            "<?xml version='1.0'?><testsuites><testsuite name='a' tests='3'><testsuite name='b' tests='2'>\
             <testcase classname='c' name='x' time='0.5'/><testcase name='y &amp; z'><failure message='no'>t</failure></testcase>\
             </testsuite><testcase name='s'><skipped/></testcase></testsuite></testsuites>",
        )
        .data
        .expect("a report");
        assert_eq!((&data["tests"], &data["failures"], &data["skipped"]), (&json!(3), &json!(1), &json!(1)));
        assert_eq!(data["failed"], json!(["y & z"]));
        assert_eq!(data["suites"][0]["tests"], 3);
    }

    #[test]
    fn an_error_outside_a_test_case_counts() {
        let data = verdict("<testsuite><testcase name='a'/><error>no fixture</error></testsuite>")
            .data
            .expect("a report");
        assert_eq!((&data["tests"], &data["errors"]), (&json!(1), &json!(1)));
    }

    /// Each report with the resulting failures, errors and tests, and the number of warnings.
    #[test]
    fn what_a_suite_claims_against_itself_counts() {
        for (text, counted, warnings) in [
            ("<testsuite tests='1' failures='0' errors='0'><testcase/></testsuite>", [0, 0, 1], 0),
            ("<testsuite failures='2'><testcase/></testsuite>", [2, 0, 1], 1),
            ("<testsuite errors=' 1 '/>", [0, 1, 0], 1),
            ("<testsuite failures='1'><testcase><failure/></testcase></testsuite>", [1, 0, 1], 0),
            ("<testsuite failures='0'><testcase><failure/></testcase></testsuite>", [1, 0, 1], 1),
            ("<testsuite tests='9'/>", [0, 0, 0], 1),
            // The declaration of the outer suite includes the inner ones, and the report includes all suites.
            (
                "<testsuites failures='3'><testsuite failures='3'><testsuite failures='2'/>\
                 <testcase><failure/></testcase></testsuite></testsuites>",
                [3, 0, 1],
                1,
            ),
            ("<testsuites failures='1'><testsuite failures='1'/></testsuites>", [1, 0, 0], 1),
            ("<testsuites failures='1'><testsuite/></testsuites>", [1, 0, 0], 1),
            ("<testsuite><testsuite failures='1'/><testsuite failures='1'/></testsuite>", [2, 0, 0], 2),
            ("<testsuite failures='99999999999999999999'/>", [u32::MAX, 0, 0], 1),
            ("<testsuite failures='some'/>", [0, 0, 0], 0),
            ("<testsuite><testcase><failure/><testcase/></testcase></testsuite>", [1, 0, 2], 0),
        ] {
            let verdict = verdict(text);
            let data = verdict.data.expect("a report");
            let found = ["failures", "errors", "tests"].map(|name| data[name].clone());
            assert_eq!(found, counted.map(Value::from), "{text}");
            assert_eq!(verdict.problems.len(), warnings, "{text}: {:?}", verdict.problems);
        }
    }

    #[test]
    fn bad_reports_are_reported() {
        for (text, code) in [
            ("<testsuite><testcase name='a'/>", "junit-syntax"),
            ("<testsuite></testsuites>", "junit-syntax"),
            ("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>", "junit-syntax"),
            ("<html></html>", "not-junit"),
            ("hello", "not-junit"),
        ] {
            assert_eq!(verdict(text).problems[0].code.as_str(), code, "{text}");
        }
        assert_eq!(
            verdict("<testsuite tests='2'><testcase name='a'/></testsuite>").problems[0].code,
            Code::JunitCounts
        );
    }
}
