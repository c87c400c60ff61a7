//! A JUnit XML report: tests, failures, errors, skipped, counted from the test cases themselves.

use super::Verdict;
use crate::base::{Diagnostic, Place, RepoPath};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

/// How many failed tests are named.
const MAX_NAMED: usize = 50;

#[derive(Default, Clone)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

#[derive(Default)]
struct Suite {
    name: String,
    counts: Counts,
    declared: Option<u64>,
}

#[derive(Default)]
struct Report {
    all: Counts,
    suites: Vec<Suite>,
    open: Vec<usize>,
    failed: Vec<String>,
    case: Option<(String, Option<&'static str>)>,
    time: f64,
    seen_root: bool,
}

/// Reads a report. Document type declarations are refused, so that no entity can expand.
pub(super) fn read(path: &RepoPath, text: &str) -> Verdict {
    let mut reader = Reader::from_str(text);
    let mut report = Report::default();
    let mut depth = 0_i64;
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
        let refuse = |message: String, hint: &str| {
            let place = Place::at(path.as_str(), text, at, 1);
            Verdict::refused(Diagnostic::error("junit-syntax", message).at(place).hint(hint))
        };
        match reader.read_event() {
            Err(error) => return refuse(format!("it is not XML: {error}"), "was it cut off?"),
            Ok(Event::DocType(_)) => {
                return refuse("it declares a document type".to_owned(), "a report needs none; remove it");
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
            Ok(Event::Eof) if depth != 0 => return refuse("it ends early".to_owned(), "was it cut off?"),
            Ok(Event::Eof) => break,
            Ok(_) => {}
        }
    }
    if !report.seen_root {
        let message = "it is no JUnit report: it has no `testsuite`";
        return Verdict::refused(
            Diagnostic::error("not-junit", message).at(Place::file(path)).hint("write a JUnit XML report"),
        );
    }
    let odd = report
        .suites
        .iter()
        .filter(|suite| suite.declared.is_some_and(|declared| declared != suite.counts.tests));
    let problems = odd
        .map(|suite| {
            let message = format!(
                "suite `{}` declares {} tests but holds {}",
                suite.name,
                suite.declared.unwrap_or(0),
                suite.counts.tests
            );
            Diagnostic::warning("junit-counts", message)
                .at(Place::file(path))
                .hint("the test cases themselves count")
        })
        .collect();
    Verdict { data: Some(report.value()), problems }
}

impl Report {
    fn start(&mut self, element: &BytesStart<'_>) {
        match element.local_name().as_ref() {
            "testsuites" => self.seen_root = true,
            "testsuite" => {
                self.seen_root = true;
                let suite = Suite {
                    name: attribute(element, "name").unwrap_or_default(),
                    declared: attribute(element, "tests").and_then(|count| count.parse().ok()),
                    counts: Counts::default(),
                };
                self.open.push(self.suites.len());
                self.suites.push(suite);
            }
            "testcase" => {
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
            // Outside any test case, as runners write what broke before a test could start.
            None if outcome == "failure" => self.all.failures += 1,
            None if outcome == "error" => self.all.errors += 1,
            None => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "testsuite" => {
                self.open.pop();
            }
            "testcase" => {
                let Some((name, outcome)) = self.case.take() else { return };
                self.all.add(outcome);
                // A suite's own number covers the suites inside it.
                for index in &self.open {
                    self.suites[*index].counts.add(outcome);
                }
                if matches!(outcome, Some("failure" | "error")) && self.failed.len() < MAX_NAMED {
                    self.failed.push(name);
                }
            }
            _ => {}
        }
    }

    fn value(&self) -> Value {
        let suites: Vec<Value> = self
            .suites
            .iter()
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
    fn add(&mut self, outcome: Option<&str>) {
        self.tests += 1;
        match outcome {
            Some("failure") => self.failures += 1,
            Some("error") => self.errors += 1,
            Some("skipped") => self.skipped += 1,
            _ => {}
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element.try_get_attribute(name).ok()??;
    let raw = attribute.value.into_owned();
    Some(quick_xml::escape::unescape(&raw).map_or(raw.clone(), std::borrow::Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Verdict {
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

    #[test]
    fn bad_reports_are_told() {
        for (text, code) in [
            ("<testsuite><testcase name='a'/>", "junit-syntax"),
            ("<testsuite></testsuites>", "junit-syntax"),
            ("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>", "junit-syntax"),
            ("<html></html>", "not-junit"),
            ("hello", "not-junit"),
        ] {
            assert_eq!(verdict(text).problems[0].code, code, "{text}");
        }
        assert_eq!(
            verdict("<testsuite tests='2'><testcase name='a'/></testsuite>").problems[0].code,
            "junit-counts"
        );
    }
}
