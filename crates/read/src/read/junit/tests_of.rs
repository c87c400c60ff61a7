//! Every test of a report by its name, for who compares two runs.

use super::case::{ReportedFailure, TestOutcome};
use super::{KIND, ListedCase, Report};
use crate::read::xml;
use orch_base::{Diagnostic, RepoPath};

/// What a report says of each of its tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestReport {
    /// The tests that have a name, in the order of the report. One may be there several times.
    pub tests: Vec<ReportedTest>,
    /// How many tests were executed. What a suite declares counts where it is worse.
    pub executed: u64,
    /// How many failures and errors there are.
    pub failed: u64,
    /// How many tests were not executed.
    pub skipped: u64,
    /// What is said of the failures, of the first 50.
    pub failures: Vec<ReportedFailure>,
}

/// A test and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedTest {
    /// Its class and its name.
    pub name: String,
    /// What became of it.
    pub end: ReportedTestEnd,
}

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportedTestEnd {
    /// It was not executed.
    Skipped,
    /// It passed.
    Passed,
    /// It failed.
    Failed,
}

/// Reads every test of a JUnit report. Returns an error if it is none.
pub fn tests_of(path: &RepoPath, bytes: &[u8]) -> Result<TestReport, Box<Diagnostic>> {
    let mut report = Report {
        every: Some(Vec::new()),
        ..Report::default()
    };
    xml::read(&KIND, path, bytes, &mut report)?;
    let all = report.all;
    let every = report.every.unwrap_or_default().into_iter();
    Ok(TestReport {
        tests: every.filter_map(reported).collect(),
        executed: all.tests.saturating_sub(all.skipped),
        failed: all.failures.saturating_add(all.errors),
        skipped: all.skipped,
        failures: report.failed,
    })
}

fn reported(case: ListedCase) -> Option<ReportedTest> {
    let end = match case.outcome {
        TestOutcome::NoTest => return None,
        TestOutcome::Skipped => ReportedTestEnd::Skipped,
        TestOutcome::Passed => ReportedTestEnd::Passed,
        TestOutcome::Failure | TestOutcome::Error => ReportedTestEnd::Failed,
    };
    let name = case.name?;
    Some(ReportedTest { name, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_has_its_end() {
        let path = RepoPath::new("r.xml").expect("valid");
        let many: String = (0..60)
            .map(|number| {
                format!(
                    "<testcase classname='c' name='t{number}'><failure message='no'/></testcase>"
                )
            })
            .collect();
        let text = format!(
            "<testsuites><testsuite name='s' errors='1'><testcase name='ok'/><testcase name='left'><skipped/></testcase>\
             {many}</testsuite></testsuites>"
        );
        let report = tests_of(&path, text.as_bytes()).expect("a report");
        assert_eq!(
            (report.tests.len(), report.executed, report.failed),
            (62, 61, 61)
        );
        assert_eq!((report.skipped, report.failures.len()), (1, 50));
        assert_eq!(report.tests[0].end, ReportedTestEnd::Passed);
        assert_eq!(report.tests[1].end, ReportedTestEnd::Skipped);
        assert_eq!(report.tests[61].name, "c.t59");
        // As jest-junit writes tests that are yet to be written: its suite does not count them.
        for (tests, time, ends) in [
            (
                1,
                "0.01",
                [ReportedTestEnd::Skipped, ReportedTestEnd::Passed],
            ),
            (1, "0", [ReportedTestEnd::Passed; 2]),
            (2, "0.01", [ReportedTestEnd::Passed; 2]),
        ] {
            let text = format!(
                "<testsuites><testsuite tests='1'><testcase name='a' time='0'/></testsuite><testsuite tests='{tests}'>\
                 <testcase name='b' time='0'/><testcase name='c' time='{time}'/></testsuite></testsuites>"
            );
            let report = tests_of(&path, text.as_bytes()).expect("a report");
            let found: Vec<ReportedTestEnd> = report.tests.iter().map(|test| test.end).collect();
            assert_eq!(found[1..], ends, "{text}");
            assert_eq!(found[0], ReportedTestEnd::Passed, "{text}");
        }
        for broken in ["", "<testsuite>", "<html/>", "plain"] {
            assert!(tests_of(&path, broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
