//! What verifications gave, for a person or a program.

use super::{Paint, Repository, Style, TransitionLine};
use orch_base::{Hint, Period};
use orch_core::verification::{FailedTest, NotPassed, VerificationResult, VerifiedOutcome};
use serde::Serialize;

/// What `orch verify` ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Verifications {
    /// The repository.
    pub repository: Repository,
    /// The id of the task; null if HEAD was verified and nothing was recorded.
    pub task: Option<String>,
    /// The commit whose code was judged.
    pub commit: String,
    /// How many changed files of the work tree were not judged.
    pub uncommitted: u64,
    /// Each verification that was asked for.
    pub verifications: Vec<VerificationLine>,
    /// The steps that recorded the results.
    pub transitions: Vec<TransitionLine>,
    /// What came of pushing them; null if that was not asked for.
    pub push: Option<PushLine>,
}

/// What came of pushing what was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PushLine {
    /// `overtaken` if the branch has moved meanwhile, `nothing` if nothing was recorded.
    #[cfg_attr(test, schemars(extend("enum" = ["pushed", "overtaken", "refused", "nothing", "detached"])))]
    pub outcome: &'static str,
    /// The remote.
    pub remote: Option<String>,
    /// The full name of its branch.
    pub branch: Option<String>,
    /// Where the branch is now, or why the push was refused.
    pub message: Option<String>,
}

impl PushLine {
    /// One of nothing.
    #[must_use]
    pub fn of_none(outcome: &'static str) -> Self {
        Self {
            outcome,
            remote: None,
            branch: None,
            message: None,
        }
    }

    /// In a line for a terminal.
    fn text(&self) -> String {
        let remote = self.remote.as_deref().unwrap_or_default();
        let branch = self.branch.as_deref().unwrap_or_default();
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let message = self.message.as_deref().unwrap_or_default();
        match self.outcome {
            "pushed" => format!("pushed to {branch} of {remote}"),
            "overtaken" => {
                let tip: String = message.chars().take(10).collect();
                format!(
                    "not pushed: {branch} of {remote} has moved to {tip} meanwhile, and the results are of the code before"
                )
            }
            "refused" => format!("not pushed to {branch} of {remote}: {message}"),
            "detached" => "nothing was recorded or pushed: HEAD is detached; to record results, check out the branch: \
                           `git checkout -B BRANCH origin/BRANCH`"
                .to_owned(),
            _ => "nothing was recorded, so nothing was pushed".to_owned(),
        }
    }
}

super::json::documents! {
    Verifications = "verifications",
}

/// One verification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct VerificationLine {
    /// The task, if orch has found it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The name of its table, with `@base` behind it for the run with protected tests.
    pub name: String,
    /// What became of it: `due` if it was not run, `fresh` if its last result stands.
    #[cfg_attr(test, schemars(extend("enum" = ["passed", "failed", "could-not-run", "due", "fresh"])))]
    pub outcome: &'static str,
    /// Why it did not pass, or could not run: words with a fixed meaning.
    pub because: Vec<&'static str>,
    /// The same for people.
    pub message: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The exit code of the last command.
    pub exit: Option<i32>,
    /// How many tests were executed.
    pub tests: Option<u64>,
    /// How many of them failed.
    pub failures: Option<u64>,
    /// The tests that failed.
    pub failed: Vec<FailedTestView>,
    /// The tests that fail, and do not fail at the base.
    pub new: Vec<String>,
    /// The tests that fail at the base too.
    pub known: Vec<String>,
    /// The tests that passed at the base, and are missing or skipped now.
    pub lost: Vec<String>,
    /// The tests that passed only when they were tried again.
    pub flaky: Vec<String>,
    /// How long it took, or took the last time, in milliseconds.
    pub milliseconds: Option<u64>,
    /// The path of the log of its commands.
    pub log: Option<String>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedTestView {
    /// The name of the test.
    pub name: String,
    /// The first lines of its message.
    pub message: Option<String>,
    /// The file where it failed.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u64>,
}

impl From<&FailedTest> for FailedTestView {
    fn from(test: &FailedTest) -> Self {
        Self {
            name: test.name.clone(),
            message: test.message.clone(),
            file: test.file.clone(),
            line: test.line,
        }
    }
}

/// How many failed tests a text shows.
const MOST_SHOWN: usize = 10;

impl VerificationLine {
    /// One that was not run.
    #[must_use]
    pub fn of_none(name: &str, outcome: &'static str) -> Self {
        Self {
            task: None,
            name: name.to_owned(),
            outcome,
            because: Vec::new(),
            message: None,
            hint: None,
            exit: None,
            tests: None,
            failures: None,
            failed: Vec::new(),
            new: Vec::new(),
            known: Vec::new(),
            lost: Vec::new(),
            flaky: Vec::new(),
            milliseconds: None,
            log: None,
        }
    }

    /// One that ran.
    #[must_use]
    pub fn of(result: &VerificationResult) -> Self {
        let run = &result.run;
        let base = run.base.as_ref();
        let has_tests = !run.reports.is_empty();
        Self {
            outcome: run.outcome.as_str(),
            because: run.because.iter().map(|why| why.as_str()).collect(),
            message: not_passed(result),
            exit: run.commands.last().and_then(|end| end.exit),
            tests: has_tests.then_some(run.counts.tests),
            failures: has_tests.then_some(run.counts.failed),
            failed: run.failures.iter().map(FailedTestView::from).collect(),
            new: base.map(|base| base.new.clone()).unwrap_or_default(),
            known: base.map(|base| base.known.clone()).unwrap_or_default(),
            lost: base.map(|base| base.lost.clone()).unwrap_or_default(),
            flaky: result.tests.flaky.clone(),
            milliseconds: Some(run.milliseconds),
            ..Self::of_none(run.name.as_str(), "failed")
        }
    }

    /// One that could not run.
    #[must_use]
    pub fn of_could_not_run(
        name: &str,
        reason: &'static str,
        message: &str,
        hint: Option<&Hint>,
    ) -> Self {
        Self {
            because: vec![reason],
            message: Some(message.to_owned()),
            hint: hint.map(|hint| hint.to_string()),
            ..Self::of_none(name, "could-not-run")
        }
    }

    /// In lines for a terminal.
    #[must_use]
    pub fn text(&self, paint: Paint) -> String {
        let style = match self.outcome {
            "passed" | "fresh" => Style::Good,
            "failed" | "could-not-run" => Style::Bad,
            _ => Style::Dim,
        };
        let what = match self.outcome {
            "could-not-run" => "could not run",
            "fresh" => "stands as it is",
            "due" => "is due",
            outcome => outcome,
        };
        let task = self.task.iter().map(|task| format!("{task}: "));
        let task: String = task.collect();
        let mut first = format!("{task}{} {}", self.name, paint.paint(style, what));
        if let Some(counts) = self.counts() {
            first.push_str(&format!(": {counts}"));
        }
        if let Some(milliseconds) = self.milliseconds {
            first.push_str(&format!(", {}", Period::from_milliseconds(milliseconds)));
        }
        let mut lines = vec![first];
        lines.extend(self.message.iter().map(|message| format!("    {message}")));
        for test in self.failed.iter().take(MOST_SHOWN) {
            lines.extend(test.lines(self.known.contains(&test.name)));
        }
        if let Some(more) = self.failed.len().checked_sub(MOST_SHOWN + 1) {
            lines.push(format!("    and {} more", more + 1));
        }
        for (names, what) in [
            (&self.lost, "passed at the base, and did not run now"),
            (&self.flaky, "passed only when tried again"),
        ] {
            lines.extend(
                names
                    .iter()
                    .take(MOST_SHOWN)
                    .map(|name| format!("    {name}: {what}")),
            );
        }
        lines.extend(self.hint.iter().map(|hint| format!("    hint: {hint}")));
        lines.extend(self.log.iter().map(|log| format!("    log: {log}")));
        lines.join("\n") + "\n"
    }

    /// How many tests there were, and how many of them failed, for people; `None` if the exit code alone decided.
    #[must_use]
    pub fn counts(&self) -> Option<String> {
        let tests = self.tests?;
        let failures = self.failures.unwrap_or_default();
        let noun = if tests == 1 { "test" } else { "tests" };
        Some(if failures == 0 {
            format!("{tests} {noun}")
        } else {
            format!("{failures} of {tests} {noun} failed")
        })
    }
}

impl FailedTestView {
    /// Where it failed, as `file:line`.
    pub(super) fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        })
    }

    /// The name, the message and the place, for people.
    fn lines(&self, is_known: bool) -> Vec<String> {
        let known = if is_known {
            " (fails at the base too)"
        } else {
            ""
        };
        let place = self
            .place()
            .map_or(String::new(), |place| format!(", {place}"));
        let mut lines = vec![format!("    {}{known}{place}", self.name)];
        let message = self.message.iter().flat_map(|message| message.lines());
        lines.extend(message.take(3).map(|line| format!("        {line}")));
        lines
    }
}

/// Why a run did not pass beyond the tests that failed, in words.
fn not_passed(result: &VerificationResult) -> Option<String> {
    let run = &result.run;
    if run.outcome == VerifiedOutcome::Passed {
        return match run.reports.is_empty() {
            true => Some("there is no report: only the exit code tells".to_owned()),
            false => None,
        };
    }
    let last = run.commands.last();
    let command = last.map_or(String::new(), |end| end.command.join(" "));
    let words = run.because.iter().filter_map(|why| {
        Some(match why {
            NotPassed::Exit => {
                let exit = last.and_then(|end| end.exit).unwrap_or_default();
                format!("`{command}` ended with exit code {exit}")
            }
            NotPassed::Signal => {
                let signal = last.and_then(|end| end.signal).unwrap_or_default();
                format!("signal {signal} ended `{command}`")
            }
            NotPassed::Failures => return None,
            NotPassed::NoReport => "a report is expected, and none was written".to_owned(),
            NotPassed::Unreadable => "a report cannot be read".to_owned(),
            NotPassed::NoTests => "no test was executed".to_owned(),
            NotPassed::Changed => match run.changed.as_slice() {
                [] => "the run moved HEAD".to_owned(),
                [path] => format!("the run changed {path}"),
                [path, others @ ..] => {
                    format!("the run changed {path} and {} more files", others.len())
                }
            },
            NotPassed::Patch => "the patch cannot be applied to the code".to_owned(),
        })
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        None
    } else {
        Some(words.join("; "))
    }
}

impl Verifications {
    /// In lines for a terminal.
    #[must_use]
    pub fn text(&self, paint: Paint) -> String {
        let mut text: String = self
            .verifications
            .iter()
            .map(|one| one.text(paint))
            .collect();
        if self.uncommitted > 0 {
            let files = if self.uncommitted == 1 {
                "file is"
            } else {
                "files are"
            };
            text.push_str(&format!(
                "only committed code was judged: {} changed {files} not in it\n",
                self.uncommitted
            ));
        }
        if let Some(push) = &self.push {
            text.push_str(&format!("{}\n", push.text()));
        }
        text
    }
}
