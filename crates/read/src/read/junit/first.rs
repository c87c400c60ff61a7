//! A JUnit XML report as it was read when events of the first version were recorded. They are judged by it, so it
//! stays as it is.

use super::number;
use crate::read::ReadResult;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

/// How many failed tests are listed by name.
const MAX_NAMED: usize = 50;

#[derive(Default, Clone)]
struct FirstCounts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

/// The counts that a suite declares in its attributes.
#[derive(Default)]
struct FirstClaims {
    tests: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
}

/// A `testsuite` or `testsuites`; its counts include the suites inside it.
#[derive(Default)]
struct FirstSuite {
    name: String,
    /// Whether it is a `testsuite`, which the report lists.
    listed: bool,
    claims: FirstClaims,
    counts: FirstCounts,
}

#[derive(Default)]
struct FirstReport {
    /// The counts of the whole report.
    all: FirstCounts,
    suites: Vec<FirstSuite>,
    open: Vec<usize>,
    failed: Vec<String>,
    case: Option<(String, Option<&'static str>)>,
    time: f64,
    problems: Vec<String>,
}

/// Reads a report. Rejects document type declarations, so that no entity can expand.
pub(in crate::read) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let mut reader = Reader::from_str(text);
    let mut report = FirstReport::default();
    let mut depth = 0_i64;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
        match reader.read_event() {
            Err(error) => {
                let message = format!("the report is not well-formed XML: {error}");
                return refuse(path, text, at, message, "was the file truncated?");
            }
            Ok(Event::DocType(_)) => {
                let message = "the report declares a document type".to_owned();
                return refuse(path, text, at, message, "remove the DOCTYPE declaration");
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
                let message = "the report ends early".to_owned();
                return refuse(path, text, at, message, "was the file truncated?");
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
        }
    }
    if report.suites.is_empty() {
        let message = "the file is not a JUnit report: it has no `testsuite`";
        return ReadResult::refused(
            Diagnostic::error(Code::NotJunit, message)
                .at(Place::file(path))
                .hint("write a JUnit XML report"),
        );
    }
    let mut problems = Vec::new();
    for message in &report.problems {
        let finding = Diagnostic::warning(Code::JunitCounts, message.as_str())
            .at(Place::file(path))
            .hint("the listed tests count; of failures and errors, the larger number counts");
        problems.push(finding);
    }
    ReadResult {
        data: Some(report.value()),
        problems,
    }
}

fn refuse(path: &RepoPath, text: &str, at: usize, message: String, hint: &str) -> ReadResult {
    let problem = Diagnostic::error(Code::JunitSyntax, message)
        .at(Place::at(path.as_str(), text, at, 1))
        .hint(hint);
    ReadResult::refused(problem)
}

impl FirstReport {
    fn start(&mut self, element: &BytesStart<'_>) {
        match element.local_name().as_ref() {
            kind @ ("testsuites" | "testsuite") => {
                self.open.push(self.suites.len());
                self.suites.push(FirstSuite {
                    name: attribute(element, "name").unwrap_or_default(),
                    listed: kind == "testsuite",
                    claims: FirstClaims {
                        tests: claim(element, "tests"),
                        failures: claim(element, "failures"),
                        errors: claim(element, "errors"),
                    },
                    counts: FirstCounts::default(),
                });
            }
            "testcase" => {
                // A nested test case must not hide the result of the outer one.
                self.end_case();
                let class = attribute(element, "classname").unwrap_or_default();
                let name = attribute(element, "name").unwrap_or_default();
                let whole = if class.is_empty() {
                    name
                } else {
                    format!("{class}.{name}")
                };
                self.time += attribute(element, "time")
                    .and_then(|time| time.parse::<f64>().ok())
                    .unwrap_or(0.0);
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
        let Some((name, outcome)) = self.case.take() else {
            return;
        };
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
        let Some(suite) = self.open.pop().and_then(|index| self.suites.get_mut(index)) else {
            return;
        };
        let FirstSuite {
            name,
            claims,
            counts,
            ..
        } = suite;
        for (what, claimed, counted) in [
            ("tests", claims.tests, counts.tests),
            ("failures", claims.failures, counts.failures),
            ("errors", claims.errors, counts.errors),
        ] {
            if let Some(claimed) = claimed.filter(|claimed| *claimed != counted)
                && self.problems.len() < MAX_NAMED
            {
                self.problems.push(format!(
                    "suite `{name}` declares {claimed} {what} but contains {counted}"
                ));
            }
        }
        counts.failures = counts.failures.max(claims.failures.unwrap_or(0));
        counts.errors = counts.errors.max(claims.errors.unwrap_or(0));
        let counts = counts.clone();
        self.innermost().include(&counts);
    }

    /// The counts of the innermost open suite, or else of the whole report.
    fn innermost(&mut self) -> &mut FirstCounts {
        match self
            .open
            .last()
            .and_then(|index| self.suites.get_mut(*index))
        {
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

impl FirstCounts {
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

/// The count that an attribute states.
fn claim(element: &BytesStart<'_>, name: &str) -> Option<u64> {
    number(&attribute(element, name)?)
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element.try_get_attribute(name).ok()??;
    let raw = attribute.value.into_owned();
    Some(quick_xml::escape::unescape(&raw).map_or(raw.clone(), std::borrow::Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each report with the number of its failures, errors and tests.
    #[test]
    fn reports_of_the_first_version_count_as_they_did() {
        for (text, counted) in [
            (
                "<testsuite><testcase/><error>no fixture</error></testsuite>",
                [0, 1, 1],
            ),
            (
                "<testsuite><testcase><skipped/><failure/></testcase></testsuite>",
                [0, 0, 1],
            ),
            (
                "<testsuite><testcase status='notrun'><skipped/></testcase></testsuite> text",
                [0, 0, 1],
            ),
            (
                "<testsuite failures='2'><testcase><failure/></testcase></testsuite>",
                [2, 0, 1],
            ),
        ] {
            let data = read(&RepoPath::new("r.xml").expect("valid"), text)
                .data
                .expect("a report");
            let found = ["failures", "errors", "tests"].map(|name| data[name].clone());
            assert_eq!(found, counted.map(Value::from), "{text}");
        }
    }
}
