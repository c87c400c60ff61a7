//! A JUnit XML report, as test runners write it: how many tests ran, which of them failed, and why.
//!
//! The listed test cases count, each by the worst that it says. What a suite declares counts where it is worse.

mod case;
mod first;
mod location;
mod tests_of;

pub use case::ReportedFailure;
pub(in crate::read) use first::read as read_first;
pub use tests_of::{ReportedTest, ReportedTestEnd, TestReport, tests_of};

use super::ReadResult;
use super::message::clean;
use super::xml::{self, Element, ReportKind, Taker};
use case::{Case, CaseMark, MarkKind, TestOutcome};
use orch_base::{Code, Diagnostic, Place, RepoPath};
use serde_json::{Value, json};

/// How many failed tests are listed.
const MAX_NAMED: usize = 50;

/// What was counted; the counts of a suite include the suites inside it.
#[derive(Default, Clone, Copy)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    /// How many test cases are listed, whether they count or not.
    listed: u64,
    /// How many marks and tries failed beyond the one that is the result of a test.
    extra: u64,
}

/// The counts that a suite declares in its attributes.
#[derive(Default, Clone, Copy)]
struct Claims {
    tests: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
    /// Those that did not run.
    skipped: u64,
}

/// A `testsuite` or `testsuites`.
#[derive(Default)]
struct Suite {
    name: String,
    /// Whether it is a `testsuite`, which the report lists.
    listed: bool,
    claims: Claims,
    counts: Counts,
    /// How many test cases are in it, and in no suite inside it.
    direct: u64,
    /// Those of them that passed in no time.
    instant: u64,
    /// Those of them without a name or a result.
    nameless: u64,
    has_suites: bool,
    /// How many tests were kept before it began.
    kept_before: usize,
}

/// A listed test case.
struct ListedCase {
    name: Option<String>,
    outcome: TestOutcome,
    is_instant: bool,
}

#[derive(Default)]
struct Report {
    /// The counts of the whole report.
    all: Counts,
    suites: Vec<Suite>,
    open: Vec<usize>,
    failed: Vec<ReportedFailure>,
    /// Every test, if they are asked for.
    every: Option<Vec<ListedCase>>,
    case: Option<Case>,
    mark: Option<OpenMark>,
    time: f64,
    /// What a suite declares against itself.
    warnings: Vec<String>,
    /// What differs and is told only once, and how often there is more of it.
    note: Option<(String, u64)>,
}

/// A mark that is read, and the element that began it.
struct OpenMark {
    mark: CaseMark,
    element: String,
    /// How many elements of the same name are open in it.
    depth: usize,
}

const KIND: ReportKind = ReportKind {
    name: "a JUnit report",
    roots: &["testsuites", "testsuite"],
    may_declare_type: false,
    syntax: Code::JunitSyntax,
    other: Code::NotJunit,
    hint: "let the test runner write a JUnit XML report, and keep other files elsewhere",
};

pub(super) fn read(path: &RepoPath, bytes: &[u8]) -> ReadResult {
    let mut report = Report::default();
    match xml::read(&KIND, path, bytes, &mut report) {
        Ok(()) => ReadResult {
            data: Some(report.value()),
            problems: report.findings(path),
        },
        Err(problem) => ReadResult::refused(*problem),
    }
}

impl Taker for Report {
    fn start(&mut self, element: &Element<'_>) {
        if let Some(open) = &mut self.mark {
            open.depth += usize::from(open.element == element.name);
            return;
        }
        match element.name {
            kind @ ("testsuites" | "testsuite") => self.start_suite(kind, element),
            "testcase" => {
                // A nested test case must not hide the result of the outer one.
                self.end_case();
                self.case = Some(Case::new(element));
            }
            name => {
                if let Some(kind) = MarkKind::of(name) {
                    let mark = CaseMark::new(kind, element);
                    self.mark = Some(OpenMark {
                        mark,
                        element: name.to_owned(),
                        depth: 0,
                    });
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.mark {
            open.mark.push(text);
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(open) = self
            .mark
            .take_if(|open| open.element == name && open.depth == 0)
        {
            return self.end_mark(open.mark);
        }
        if let Some(open) = &mut self.mark {
            open.depth -= usize::from(open.element == name);
            return;
        }
        match name {
            "testsuite" | "testsuites" => self.end_suite(),
            "testcase" => self.end_case(),
            _ => {}
        }
    }
}

impl Report {
    fn start_suite(&mut self, kind: &str, element: &Element<'_>) {
        if let Some(around) = self.innermost() {
            around.has_suites = true;
        }
        self.open.push(self.suites.len());
        self.suites.push(Suite {
            name: clean(element.get("name").unwrap_or_default()),
            listed: kind == "testsuite",
            claims: Claims {
                tests: claim(element, "tests"),
                failures: claim(element, "failures"),
                errors: claim(element, "errors"),
                skipped: ["skipped", "disabled", "ignored"]
                    .into_iter()
                    .filter_map(|name| claim(element, name))
                    .sum(),
            },
            kept_before: self.every.as_ref().map_or(0, Vec::len),
            ..Suite::default()
        });
    }

    fn end_mark(&mut self, mark: CaseMark) {
        if let Some(case) = &mut self.case {
            return case.add(mark);
        }
        // Outside any test case: runners report this way what failed before a test could start.
        let outcome = match mark.kind {
            MarkKind::Failure => TestOutcome::Failure,
            MarkKind::Error => TestOutcome::Error,
            _ => return,
        };
        let suite = self
            .innermost()
            .map_or_else(String::new, |suite| suite.shown());
        self.innermost_counts().add(outcome);
        self.name_failed(|| mark.failed(&suite));
    }

    fn end_case(&mut self) {
        let Some(case) = self.case.take() else { return };
        let outcome = case.outcome();
        self.time += case.time;
        let counts = self.innermost_counts();
        counts.listed += 1;
        counts.extra += case.extra;
        counts.add(outcome);
        counts.tests += u64::from(outcome != TestOutcome::NoTest);
        if let Some(every) = &mut self.every {
            every.push(ListedCase {
                name: case.name.clone(),
                outcome,
                is_instant: case.is_instant(),
            });
        }
        if outcome >= TestOutcome::Failure {
            self.name_failed(|| case.failed());
        }
        let Some(suite) = self.innermost() else {
            return;
        };
        suite.direct += 1;
        if outcome == TestOutcome::Passed {
            suite.nameless += u64::from(case.name.is_none());
            suite.instant += u64::from(case.is_instant());
        }
    }

    fn end_suite(&mut self) {
        let Some(index) = self.open.pop() else { return };
        let Some(suite) = self.suites.get_mut(index) else {
            return;
        };
        let unfinished = suite.unfinished();
        suite.counts.errors += unfinished;
        let uncounted = suite.uncounted(unfinished);
        suite.counts.tests -= uncounted;
        if uncounted > 0 && uncounted == suite.instant {
            // It is known which did not run.
            let kept = self.every.iter_mut().flatten().skip(suite.kept_before);
            kept.filter(|case| case.is_instant && case.outcome == TestOutcome::Passed)
                .for_each(|case| case.outcome = TestOutcome::Skipped);
        }
        let listed = suite.counts;
        let more = suite.declared_only();
        suite.counts.failures += more.failures;
        suite.counts.errors += more.errors;
        let shown = suite.shown();
        let claims = suite.claims;
        let counts = suite.counts;
        for _ in 0..unfinished.min(MAX_NAMED as u64) {
            self.name_failed(|| Case::default().failed());
        }
        for (what, claimed, listed, more) in [
            ("failures", claims.failures, listed.failures, more.failures),
            ("errors", claims.errors, listed.errors, more.errors),
        ] {
            let Some(claimed) = claimed.filter(|claimed| *claimed != listed) else {
                continue;
            };
            if more == 0 {
                self.note(format!(
                    "suite `{shown}` declares {claimed} {what} and lists {listed}: {listed} count"
                ));
                continue;
            }
            let counts = format!("declares {claimed} {what} and lists {listed}");
            if self.warnings.len() < MAX_NAMED {
                self.warnings
                    .push(format!("suite `{shown}` {counts}: {} count", listed + more));
            }
            let name = shown.clone();
            let message = counts;
            self.name_failed(|| ReportedFailure {
                name,
                message,
                file: None,
                line: None,
            });
        }
        if let Some(claimed) = claims.tests
            && !claims.explain(claimed, &counts)
        {
            let listed = counts.listed;
            let tests = counts.tests;
            self.note(format!(
                "suite `{shown}` declares {claimed} tests and lists {listed}: {tests} count"
            ));
        }
        self.innermost_counts().include(&counts);
    }

    fn name_failed(&mut self, test: impl FnOnce() -> ReportedFailure) {
        if self.failed.len() < MAX_NAMED {
            self.failed.push(test());
        }
    }

    fn note(&mut self, text: String) {
        match &mut self.note {
            Some((_, more)) => *more += 1,
            None => self.note = Some((text, 0)),
        }
    }

    fn innermost(&mut self) -> Option<&mut Suite> {
        self.suites.get_mut(*self.open.last()?)
    }

    /// The counts of the innermost open suite, or else of the whole report.
    fn innermost_counts(&mut self) -> &mut Counts {
        match self
            .open
            .last()
            .and_then(|index| self.suites.get_mut(*index))
        {
            Some(suite) => &mut suite.counts,
            None => &mut self.all,
        }
    }

    fn findings(&self, path: &RepoPath) -> Vec<Diagnostic> {
        let place = Place::file(path);
        let mut findings = Vec::new();
        for message in &self.warnings {
            let hint =
                "find out which tests the runner means: their failures count, but are not listed";
            let finding = Diagnostic::warning(Code::JunitCounts, message.as_str());
            findings.push(finding.at(place.clone()).hint(hint));
        }
        if let Some((message, more)) = &self.note {
            let more = if *more == 0 {
                String::new()
            } else {
                format!(" ({more} more like it)")
            };
            let finding = Diagnostic::note(Code::JunitCounts, format!("{message}{more}"));
            findings.push(finding.at(place.clone()));
        }
        if self.all.tests == self.all.skipped && self.all.failures + self.all.errors == 0 {
            let message = match (self.all.skipped, self.all.listed) {
                (0, 0) => "no test ran: the report lists none".to_owned(),
                (0, listed) => format!("no test ran: of {listed} listed, none counts"),
                (skipped, _) => format!("no test ran: {skipped} skipped, none executed"),
            };
            let hint = "run the tests that you meant to run, and write the report again";
            findings.push(
                Diagnostic::note(Code::NoTestRan, message)
                    .at(place)
                    .hint(hint),
            );
        }
        findings
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
            "failed": self.failed.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(),
            "failed_tests": self.failed.iter().map(ReportedFailure::value).collect::<Vec<_>>(),
        })
    }
}

impl Suite {
    fn shown(&self) -> String {
        if self.name.is_empty() {
            "(without a name)".to_owned()
        } else {
            self.name.clone()
        }
    }

    /// How many of its tests did not finish: pytest leaves a case without a name where it was interrupted, and does
    /// not count it.
    fn unfinished(&self) -> u64 {
        match self.claims.tests {
            Some(declared) if declared >= self.direct => 0,
            _ => self.nameless,
        }
    }

    /// How many test cases are listed that the suite does not count: of what jest is yet to write, and of tries that
    /// pytest repeated. What took time ran.
    fn uncounted(&self, unfinished: u64) -> u64 {
        match self.claims.tests {
            Some(declared) if !self.has_suites => (self.direct - unfinished)
                .saturating_sub(declared)
                .min(self.instant),
            _ => 0,
        }
    }

    /// The failures and errors that it declares and does not list: it must not pass as green. A failure may be
    /// listed as an error, and each mark and each try of a test may be declared.
    fn declared_only(&self) -> Counts {
        let Self { claims, counts, .. } = self;
        let failures_claimed = claims.failures.unwrap_or(counts.failures);
        let errors_claimed = claims.errors.unwrap_or(counts.errors);
        let failures = failures_claimed
            .saturating_sub(counts.failures)
            .saturating_sub(counts.errors.saturating_sub(errors_claimed))
            .saturating_sub(counts.extra);
        let errors = errors_claimed
            .saturating_sub(counts.errors)
            .saturating_sub(counts.failures.saturating_sub(failures_claimed))
            .saturating_sub(counts.extra);
        Counts {
            failures,
            errors,
            ..Counts::default()
        }
    }
}

impl Claims {
    /// Whether the declared number of tests is the listed one, but for skipped tests that are not listed.
    fn explain(&self, tests: u64, counts: &Counts) -> bool {
        let unlisted = self.skipped.saturating_sub(counts.skipped);
        tests >= counts.listed && tests - counts.listed <= unlisted
    }
}

impl Counts {
    fn add(&mut self, outcome: TestOutcome) {
        match outcome {
            TestOutcome::Failure => self.failures += 1,
            TestOutcome::Error => self.errors += 1,
            TestOutcome::Skipped => self.skipped += 1,
            TestOutcome::NoTest | TestOutcome::Passed => {}
        }
    }

    fn include(&mut self, inner: &Self) {
        self.tests += inner.tests;
        self.failures += inner.failures;
        self.errors += inner.errors;
        self.skipped += inner.skipped;
        self.listed += inner.listed;
        self.extra += inner.extra;
    }
}

/// Parses a count. A number that is too large becomes the maximum rather than nothing.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| u64::from(text.parse::<u32>().unwrap_or(u32::MAX)))
}

/// The count that an attribute states.
fn claim(element: &Element<'_>, name: &str) -> Option<u64> {
    element.get(name).and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Severity;

    fn verdict(text: &str) -> ReadResult {
        read(&RepoPath::new("r.xml").expect("valid"), text.as_bytes())
    }

    fn data(text: &str) -> Value {
        let verdict = verdict(text);
        verdict
            .data
            .unwrap_or_else(|| panic!("{text}: {:?}", verdict.problems))
    }

    #[test]
    fn counts_cases_once_across_nested_suites() {
        let data = data(
            "<?xml version='1.0'?><testsuites><testsuite name='a' tests='3'><testsuite name='b' tests='2'>\
             <testcase classname='c' name='x' time='0.5'/><testcase name='y &amp; z'><failure message='no'>t</failure></testcase>\
             </testsuite><testcase name='s'><skipped/></testcase></testsuite></testsuites>",
        );
        assert_eq!(
            (&data["tests"], &data["failures"], &data["skipped"]),
            (&json!(3), &json!(1), &json!(1))
        );
        assert_eq!(data["failed"], json!(["y & z"]));
        assert_eq!(
            data["failed_tests"],
            json!([{"name": "y & z", "message": "no"}])
        );
        assert_eq!(data["suites"][0]["tests"], 3);
    }

    /// Each report with the resulting failures, errors and tests, and the number of warnings.
    #[test]
    fn what_a_suite_claims_against_itself_counts() {
        for (text, counted, warnings) in [
            (
                "<testsuite tests='1' failures='0' errors='0'><testcase/></testsuite>",
                [0, 0, 1],
                0,
            ),
            (
                "<testsuite failures='2'><testcase name='a'/></testsuite>",
                [2, 0, 1],
                1,
            ),
            ("<testsuite errors=' 1 '/>", [0, 1, 0], 1),
            (
                "<testsuite failures='1'><testcase><failure/></testcase></testsuite>",
                [1, 0, 1],
                0,
            ),
            (
                "<testsuite failures='0'><testcase><failure/></testcase></testsuite>",
                [1, 0, 1],
                0,
            ),
            ("<testsuite tests='9'/>", [0, 0, 0], 0),
            // The declaration of the outer suite includes the inner ones, and the report includes all suites.
            (
                "<testsuites failures='3'><testsuite failures='3'><testsuite failures='2'/>\
                 <testcase><failure/></testcase></testsuite></testsuites>",
                [3, 0, 1],
                1,
            ),
            (
                "<testsuites failures='1'><testsuite failures='1'/></testsuites>",
                [1, 0, 0],
                1,
            ),
            (
                "<testsuites failures='1'><testsuite/></testsuites>",
                [1, 0, 0],
                1,
            ),
            (
                "<testsuite><testsuite failures='1'/><testsuite failures='1'/></testsuite>",
                [2, 0, 0],
                2,
            ),
            (
                "<testsuite failures='99999999999999999999'/>",
                [u32::MAX, 0, 0],
                1,
            ),
            ("<testsuite failures='some' skipped='-1'/>", [0, 0, 0], 0),
            (
                "<testsuite><testcase name='a'><failure/><testcase name='b'/></testcase></testsuite>",
                [1, 0, 2],
                0,
            ),
            // The reporter of mocha declares a failure as an error, and lists it as a failure.
            (
                "<testsuite failures='0' errors='1'><testcase name='a'><failure/></testcase></testsuite>",
                [1, 0, 1],
                0,
            ),
        ] {
            let verdict = verdict(text);
            let data = verdict.data.expect("a report");
            let found = ["failures", "errors", "tests"].map(|name| data[name].clone());
            assert_eq!(found, counted.map(Value::from), "{text}");
            let count = verdict
                .problems
                .iter()
                .filter(|problem| problem.severity == Severity::Warning)
                .count();
            assert_eq!(count, warnings, "{text}: {:?}", verdict.problems);
            let failing: u32 = counted[..2]
                .iter()
                .fold(0, |sum, count| sum.saturating_add(*count));
            assert_eq!(failing > 0, data["failed_tests"] != json!([]), "{text}");
        }
    }

    /// Each body of a suite with its failed tests, and whether a test ran.
    #[test]
    fn a_test_counts_by_the_worst_that_its_runner_says() {
        for (attributes, cases, failed, ran) in [
            ("", "<testcase name='a'/>", &[][..], true),
            // Several marks in one test: pytest, googletest.
            (
                "",
                "<testcase name='a'><skipped/><failure/></testcase>",
                &["a"],
                true,
            ),
            (
                "",
                "<testcase name='a'><error/><skipped/></testcase>",
                &["a"],
                true,
            ),
            (
                "",
                "<testcase name='a'><system-out>&lt;failure/&gt;</system-out></testcase>",
                &[],
                true,
            ),
            // CTest.
            (
                "",
                "<testcase name='a' status='notrun'><skipped message='Unable to find executable'/></testcase>",
                &["a"],
                true,
            ),
            (
                "",
                "<testcase name='a' status='notrun'><skipped message='Fixture dependency failed'/></testcase>",
                &["a"],
                true,
            ),
            (
                "",
                "<testcase name='a' status='notrun'><skipped message='SKIP_RETURN_CODE=77'/></testcase>",
                &[],
                false,
            ),
            ("", "<testcase name='a' status='disabled'/>", &[], false),
            ("", "<testcase name='a' status='fail'/>", &["a"], true),
            // googletest, with its results and without.
            (
                "",
                "<testcase name='a' status='notrun' result='suppressed'/>",
                &[],
                false,
            ),
            (
                "",
                "<testcase name='a' status='notrun' result='skipped'><skipped message='x'/></testcase>",
                &[],
                false,
            ),
            ("", "<testcase name='a' status='notrun'/>", &[], false),
            (
                "",
                "<testcase name='a' status='run' result='completed'/>",
                &[],
                true,
            ),
            // EUnit.
            (
                "",
                "<testcase name='a'><skipped type='timeout'>in f</skipped></testcase>",
                &["a"],
                true,
            ),
            (
                "",
                "<testcase name='a'><skipped type='pytest.skip'/></testcase>",
                &[],
                false,
            ),
            // node: a test that is yet to pass fails no run.
            (
                "",
                "<testcase name='a'><skipped type='todo'/><failure/></testcase>",
                &[],
                false,
            ),
            // jest does not count what is yet to be written.
            (
                "tests='0'",
                "<testcase name='a' time='0'/><testcase name='b' time='0'/>",
                &[],
                false,
            ),
            (
                "tests='1' skipped='1'",
                "<testcase name='a' time='0'/><testcase name='b'><skipped/></testcase>",
                &[],
                false,
            ),
            (
                "tests='1'",
                "<testcase name='a' time='0.002'/><testcase name='b' time='0'/>",
                &[],
                true,
            ),
            ("tests='0'", "<testcase name='a' time='0.002'/>", &[], true),
            // pytest: repeated tries, and a run that was interrupted.
            (
                "tests='1'",
                "<testcase name='a' time='0.1'/><testcase name='a' time='0.2'/>",
                &[],
                true,
            ),
            (
                "tests='1'",
                "<testcase name='a'/><testcase time='0.1'/>",
                &["(a test without a name)"],
                true,
            ),
            (
                "",
                "<testcase time='0.1'/>",
                &["(a test without a name)"],
                true,
            ),
            // pytest declares subtests, and marks the test once more.
            (
                "failures='2' tests='4'",
                "<testcase name='a'><failure/><failure/></testcase>",
                &["a"],
                true,
            ),
            // Surefire: the first declares the try that failed, the second was never green.
            (
                "failures='1'",
                "<testcase name='a'><flakyFailure><stackTrace/><system-out/></flakyFailure></testcase>",
                &[],
                true,
            ),
            (
                "failures='3'",
                "<testcase name='a'><failure/><rerunFailure/><rerunFailure/></testcase>",
                &["a"],
                true,
            ),
            (
                "errors='1'",
                "<testcase name='a'><flakyError/></testcase>",
                &[],
                true,
            ),
            (
                "",
                "<testcase name='a'><rerunError/></testcase>",
                &["a"],
                true,
            ),
            (
                "failures='1'",
                "<testcase name='a'><flakyFailure/><failure/></testcase>",
                &["a"],
                true,
            ),
            // PHPUnit: no test in a class, and a test that uses what is deprecated.
            (
                "tests='1'",
                "<testcase name='Warning' assertions='0'><warning>No tests found</warning></testcase>",
                &[],
                false,
            ),
            (
                "tests='1'",
                "<testcase name='a' assertions='1'><warning>deprecated</warning></testcase>",
                &[],
                true,
            ),
            // libtest declares ignored tests without listing them.
            ("tests='2' skipped='2'", "", &[], false),
        ] {
            let text = format!("<testsuite name='s' {attributes}>{cases}</testsuite>");
            let verdict = verdict(&text);
            let found = verdict.data.expect("a report");
            let names = found["failed"].as_array().expect("names");
            assert_eq!(names, failed, "{text}");
            let bad = found["failures"]
                .as_u64()
                .zip(found["errors"].as_u64())
                .map(|(a, b)| a + b);
            assert_eq!(bad, Some(failed.len() as u64), "{text}");
            let has_run = bad > Some(0) || found["tests"].as_u64() > found["skipped"].as_u64();
            assert_eq!(has_run, ran, "{text}");
            let says_so = verdict
                .problems
                .iter()
                .any(|problem| problem.code == Code::NoTestRan);
            assert_eq!(says_so, !ran, "{text}");
            let is_blamed = verdict
                .problems
                .iter()
                .any(|problem| problem.severity > Severity::Note);
            assert!(!is_blamed, "{text}: {:?}", verdict.problems);
        }
    }

    #[test]
    fn a_failure_is_quoted_with_its_file_and_line() {
        for (case, expected) in [
            (
                "<testcase classname='test_a' name='f'><failure message='assert 1 == 2'>def f():\n\
                 test_a.py:4: AssertionError</failure></testcase>",
                json!({"name": "test_a.f", "message": "assert 1 == 2", "file": "test_a.py", "line": 4}),
            ),
            (
                "<testcase name='F' file='g.cpp' line='2'><failure message='g.cpp:3&#x0A;Expected: 1'/></testcase>",
                json!({"name": "F", "message": "g.cpp:3\nExpected: 1", "file": "g.cpp", "line": 3}),
            ),
            (
                "<testcase name='f' classname='A'><failure>A::f\nFailed asserting.\n\n/r/A.php:2</failure></testcase>",
                json!({"name": "A.f", "message": "Failed asserting.\n/r/A.php:2", "file": "/r/A.php", "line": 2}),
            ),
            (
                "<testcase name='f'><failure>Error: \u{1b}[31mno\u{1b}[39m\u{0}\n  at x (/r/a.js:1:4)</failure></testcase>",
                json!({"name": "f", "message": "Error: no\u{fffd}", "file": "/r/a.js", "line": 1}),
            ),
            // CTest says why only in what the test printed.
            (
                "<testcase name='f' status='fail'><failure message=''/><system-out>a\nx.c:7: no</system-out></testcase>",
                json!({"name": "f", "message": "a\nx.c:7: no", "file": "x.c", "line": 7}),
            ),
            (
                "<testcase name='f' file='a.py'><skipped type='timeout'/></testcase>",
                json!({"name": "f", "message": "timeout", "file": "a.py"}),
            ),
            (
                "<error>no fixture</error>",
                json!({"name": "s", "message": "no fixture"}),
            ),
            (
                "<testcase name='f' status='failed'/>",
                json!({"name": "f", "message": "`failed`"}),
            ),
        ] {
            let found = data(&format!("<testsuite name='s'>{case}</testsuite>"));
            assert_eq!(found["failed_tests"], json!([expected]), "{case}");
        }
    }

    #[test]
    fn bad_reports_are_reported() {
        for (text, code, expected) in [
            (
                "<testsuite><testcase name='a'/>",
                "junit-syntax",
                "ends early",
            ),
            (
                "<testsuite></testsuites>",
                "junit-syntax",
                "not well-formed",
            ),
            (
                "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>",
                "junit-syntax",
                "document type",
            ),
            ("<testsuite/>\nerror: no", "junit-syntax", "text after"),
            ("<testsuite/>\u{0}", "junit-syntax", "text after"),
            ("> test\n<testsuite/>", "junit-syntax", "text before"),
            ("<testsuite/><testsuite/>", "junit-syntax", "second root"),
            ("<testsuite name='&nbsp;'/>", "junit-syntax", "`&nbsp;`"),
            ("<testsuite>&nbsp;</testsuite>", "junit-syntax", "`&nbsp;`"),
            ("<testsuite name='a & b'/>", "junit-syntax", "unescaped `&`"),
            ("<testsuite name='a<b'/>", "junit-syntax", "unescaped `<`"),
            ("<testsuite tests=1/>", "junit-syntax", "attribute"),
            ("<testsuite a='1' a='2'/>", "junit-syntax", "attribute"),
            (
                "<testsuite>\n<<<<<<< a\n=======\n>>>>>>> b\n</testsuite>",
                "conflict-markers",
                "markers",
            ),
            ("<html></html>", "not-junit", "HTML"),
            (
                "<!DOCTYPE coverage SYSTEM 'x'><coverage branches-valid='0'/>",
                "not-junit",
                "Cobertura",
            ),
            ("<coverage generated='1'/>", "not-junit", "Clover"),
            (
                "<!DOCTYPE report PUBLIC 'x' 'y'><report name='x'/>",
                "not-junit",
                "JaCoCo",
            ),
            ("<checkstyle/>", "not-junit", "Checkstyle"),
            ("<other><testsuite/></other>", "not-junit", "`<other>`"),
            ("hello", "not-junit", "no XML"),
            ("<?xml version='1.0'?>", "not-junit", "no root"),
        ] {
            let verdict = verdict(text);
            let first = verdict.problems.first().expect("a finding");
            assert_eq!(first.code.as_str(), code, "{text}");
            assert!(
                first.message.contains(expected) && first.hint.is_some(),
                "{text}: {first}"
            );
            assert!(verdict.data.is_none(), "{text}");
        }
    }

    #[test]
    fn what_runners_write_around_their_report_is_read() {
        for text in [
            "\u{feff}<?xml version='1.0'?><testsuite><testcase name='a'/></testsuite>",
            "\n<?xml version='1.0'?>\n<!-- x -- y --><testsuite><testcase name='a'/></testsuite>\n\n",
            "<testsuite><testcase name='a \u{0}\u{1b}[31m &#0; &#x1b;'/></testsuite>",
            "<j:testsuite xmlns:j='x'><j:testcase name='a'/></j:testsuite>",
            "<testsuite><testcase name='a'><system-out><![CDATA[<<<<<<< a\n>>>>>>> b]]></system-out></testcase></testsuite>",
        ] {
            assert_eq!(data(text)["tests"], 1, "{text}");
        }
    }
}
