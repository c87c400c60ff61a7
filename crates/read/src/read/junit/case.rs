//! One test case: what its element and the marks in it say of it.

use super::location;
use crate::read::message::{clean, shortened};
use crate::read::xml::Element;
use serde_json::{Value, json};
use std::str::FromStr;

/// How many lines of a text stand for a message.
const LINES: usize = 5;
/// How much of the text in a mark is kept, in bytes: enough for the deepest stack.
const MOST_TEXT: usize = 64 << 10;

/// Types of `<skipped>` by which EUnit and others say that a test was cancelled, which nobody wanted.
const CANCELLED: [&str; 18] = [
    "timeout",
    "timed_out",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "setup_failed",
    "cleanup_failed",
    "generator_failed",
    "instantiation_failed",
    "module_not_found",
    "no_such_function",
    "bad_test",
    "bad_generator",
    "blame",
    "exit",
    "startup",
    "unknown",
];
/// What `result` or `status` says of a test that failed.
const FAILED: [&str; 9] = [
    "fail", "failed", "failure", "error", "errored", "broken", "crashed", "timeout", "timedout",
];
/// What `result` or `status` says of a test that did not run.
const NOT_RUN: [&str; 10] = [
    "disabled",
    "ignored",
    "inconclusive",
    "notexecuted",
    "notrun",
    "not_run",
    "pending",
    "skipped",
    "suppressed",
    "untested",
];
/// How CTest begins the reason of a test that skipped itself. Every other reason of a test that did not run is a
/// failure.
const CTEST_SKIP: &str = "SKIP_";

/// What PHPUnit says in place of the tests of a class that has none.
const NO_TESTS: &str = "No tests found";

/// What happened to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestOutcome {
    /// It is no test, but a remark of the runner.
    NoTest,
    Passed,
    Skipped,
    Failure,
    Error,
}

/// An element that says something of a test, or what the test printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkKind {
    Failure,
    Error,
    Skipped,
    Warning,
    /// A try that failed before one that passed.
    Flaky,
    /// A try that failed after one that had failed.
    Rerun,
    Output,
}

/// One such element.
#[derive(Debug, Clone)]
pub(super) struct CaseMark {
    pub kind: MarkKind,
    message: Option<String>,
    category: Option<String>,
    text: String,
}

/// What a report says of a failure: of a test, or of what else is wrong with a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedFailure {
    /// The name of the test, or of the suite.
    pub name: String,
    /// The first lines of its message.
    pub message: String,
    /// The file where it happened.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u64>,
}

/// A test case while it is read.
#[derive(Debug, Default)]
pub(super) struct Case {
    /// Its class and its name; `None` if it has no name.
    pub name: Option<String>,
    class: String,
    file: Option<String>,
    line: Option<u64>,
    status: Option<String>,
    result: Option<String>,
    assertions: Option<u64>,
    pub time: f64,
    /// The worst failure or error.
    worst: Option<(TestOutcome, CaseMark)>,
    skipped: Option<CaseMark>,
    warning: Option<CaseMark>,
    /// The end of what it printed.
    output: String,
    /// How many marks and tries failed beyond the one that is its result.
    pub extra: u64,
}

impl MarkKind {
    pub(super) fn of(element: &str) -> Option<Self> {
        Some(match element {
            "failure" => Self::Failure,
            "error" => Self::Error,
            "skipped" => Self::Skipped,
            "warning" => Self::Warning,
            "flakyFailure" | "flakyError" => Self::Flaky,
            "rerunFailure" | "rerunError" => Self::Rerun,
            "system-out" | "system-err" => Self::Output,
            _ => return None,
        })
    }
}

impl CaseMark {
    pub(super) fn new(kind: MarkKind, element: &Element<'_>) -> Self {
        Self {
            kind,
            message: element.owned("message"),
            category: element.owned("type"),
            text: String::new(),
        }
    }

    /// Adds text. Only the end of what a test printed is kept.
    pub(super) fn push(&mut self, text: &str) {
        if self.kind == MarkKind::Output {
            self.text.push_str(text);
            let cut = self.text.len().saturating_sub(MOST_TEXT);
            self.text.drain(..self.text.ceil_char_boundary(cut));
        } else {
            let room = MOST_TEXT.saturating_sub(self.text.len());
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
        }
    }

    fn is_of_type(&self, names: &[&str]) -> bool {
        let category = self.category.as_deref().unwrap_or_default();
        names.iter().any(|name| category.eq_ignore_ascii_case(name))
    }

    /// What it says, in a few lines.
    fn message(&self, case_name: &str) -> Option<String> {
        let texts = [
            self.message.as_deref(),
            Some(&self.text),
            self.category.as_deref(),
        ];
        for text in texts.into_iter().flatten() {
            let text = clean(text);
            let lines: Vec<&str> = plain_lines(&text)
                .filter(|line| !is_name(line, case_name))
                .take_while(is_no_stack)
                .collect();
            let first = lines[..lines.len().min(LINES)].join("\n");
            if !first.is_empty() {
                return Some(first);
            }
        }
        None
    }

    /// The failure of a suite, outside its tests.
    pub(super) fn failed(&self, suite: &str) -> ReportedFailure {
        Case {
            name: Some(suite.to_owned()),
            ..Case::default()
        }
        .failed_by(Some(self))
    }
}

impl Case {
    pub(super) fn new(element: &Element<'_>) -> Self {
        let class = clean(element.get("classname").unwrap_or_default());
        let test = element.get("name").map(clean);
        let name = test
            .as_ref()
            .map(|test| match class.is_empty() || *test == class {
                true => test.clone(),
                false => format!("{class}.{test}"),
            });
        let time: Option<f64> = number(element, "time");
        Self {
            name,
            class,
            file: element.owned("file"),
            line: number(element, "line"),
            status: element.text("status").map(str::to_ascii_lowercase),
            result: element.text("result").map(str::to_ascii_lowercase),
            assertions: number(element, "assertions"),
            time: time.filter(|time| time.is_finite()).unwrap_or(0.0),
            ..Self::default()
        }
    }

    /// Adds a mark. If there are two of the same kind, the first one is quoted.
    pub(super) fn add(&mut self, mark: CaseMark) {
        match mark.kind {
            MarkKind::Failure => self.worsen(TestOutcome::Failure, mark),
            MarkKind::Error => self.worsen(TestOutcome::Error, mark),
            MarkKind::Rerun => self.worsen(TestOutcome::Failure, mark),
            MarkKind::Flaky => self.extra += 1,
            MarkKind::Skipped => _ = self.skipped.get_or_insert(mark),
            MarkKind::Warning => _ = self.warning.get_or_insert(mark),
            MarkKind::Output if !mark.text.trim().is_empty() => self.output = mark.text,
            MarkKind::Output => {}
        }
    }

    fn worsen(&mut self, outcome: TestOutcome, mark: CaseMark) {
        self.extra += u64::from(self.worst.is_some());
        if self
            .worst
            .as_ref()
            .is_none_or(|(known, _)| *known < outcome)
        {
            self.worst = Some((outcome, mark));
        }
    }

    /// Whether its result or its status is one of these words.
    fn says(&self, words: &[&str]) -> bool {
        let mut said = self.result.iter().chain(&self.status);
        said.any(|word| words.contains(&word.as_str()))
    }

    /// Whether it has a name and took no time.
    pub(super) fn is_instant(&self) -> bool {
        self.name.is_some() && self.time == 0.0
    }

    /// What happened to the test: the worst that it says.
    pub(super) fn outcome(&self) -> TestOutcome {
        // A test that is yet to be written, or to pass, fails no run.
        if self
            .skipped
            .as_ref()
            .is_some_and(|mark| mark.is_of_type(&["todo"]))
        {
            return TestOutcome::Skipped;
        }
        if let Some((outcome, _)) = &self.worst {
            return *outcome;
        }
        if let Some(mark) = &self.skipped {
            return match () {
                () if mark.is_of_type(&CANCELLED) => TestOutcome::Error,
                () if self.was_prevented(mark) => TestOutcome::Failure,
                () => TestOutcome::Skipped,
            };
        }
        if self.warning.is_some() && self.is_remark() {
            return TestOutcome::NoTest;
        }
        match () {
            () if self.says(&FAILED) => TestOutcome::Failure,
            () if self.says(&NOT_RUN) => TestOutcome::Skipped,
            () => TestOutcome::Passed,
        }
    }

    /// Whether CTest could not run it. googletest says `notrun` too, of disabled tests, and has a `result`.
    fn was_prevented(&self, mark: &CaseMark) -> bool {
        self.status.as_deref() == Some("notrun")
            && self.result.is_none()
            && !mark
                .message
                .as_deref()
                .is_some_and(|message| message.starts_with(CTEST_SKIP))
    }

    /// Whether PHPUnit warns here that there is no test, rather than in a test that ran.
    fn is_remark(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        self.assertions.unwrap_or(0) == 0
            && (name.rsplit('.').next() == Some("Warning")
                || self
                    .warning
                    .as_ref()
                    .is_some_and(|mark| mark.text.contains(NO_TESTS)))
    }

    pub(super) fn failed(&self) -> ReportedFailure {
        self.failed_by(
            self.worst
                .as_ref()
                .map(|(_, mark)| mark)
                .or(self.skipped.as_ref()),
        )
    }

    fn failed_by(&self, mark: Option<&CaseMark>) -> ReportedFailure {
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| "(a test without a name)".to_owned());
        let output = clean(&self.output);
        let tail: Vec<&str> = plain_lines(&output).collect();
        let printed = tail[tail.len().saturating_sub(LINES)..].join("\n");
        let message =
            mark.and_then(|mark| mark.message(&name))
                .unwrap_or(match (printed.is_empty(), mark) {
                    (false, _) => printed,
                    (true, Some(_)) => "failed without a message".to_owned(),
                    (true, None) if self.name.is_none() => {
                        "did not finish: the run was interrupted".to_owned()
                    }
                    (true, None) => {
                        format!(
                            "`{}`",
                            self.result
                                .as_ref()
                                .or(self.status.as_ref())
                                .map_or("failed", String::as_str)
                        )
                    }
                });
        let names = [&self.class, self.file.as_deref().unwrap_or_default(), &name];
        let marks = mark.map(|mark| {
            [
                mark.text.as_str(),
                mark.message.as_deref().unwrap_or_default(),
            ]
        });
        let texts = marks.into_iter().flatten().chain([self.output.as_str()]);
        let place = texts
            .into_iter()
            .find_map(|text| location::find(&clean(text), &names));
        let (file, line) = match place {
            Some(place) => (Some(place.file), Some(place.line)),
            None => (self.file.as_deref().map(clean), self.line),
        };
        ReportedFailure {
            name,
            message: shortened(&message),
            file,
            line,
        }
    }
}

impl ReportedFailure {
    pub(super) fn value(&self) -> Value {
        let mut value = json!({"name": self.name, "message": self.message});
        if let Some(file) = &self.file {
            value["file"] = file.as_str().into();
            if let Some(line) = self.line {
                value["line"] = line.into();
            }
        }
        value
    }
}

fn plain_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Whether a line of a message is the name of the test, which PHPUnit writes before what it says.
fn is_name(line: &str, name: &str) -> bool {
    line == name
        || line
            .split_once("::")
            .is_some_and(|(class, test)| name.ends_with(&format!("{class}.{test}")))
}

fn is_no_stack(line: &&str) -> bool {
    !line.starts_with("at ") && !line.starts_with("Stack trace")
}

/// The number that an attribute states.
fn number<T: FromStr>(element: &Element<'_>, name: &str) -> Option<T> {
    element.get(name)?.trim().parse().ok()
}
