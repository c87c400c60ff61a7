//! What `orch doctor` found.

use super::{Finding, Paint, Repository, Style};
use orch_base::{RepoPath, Severity};
use serde::Serialize;

/// The state of a repository and of its surroundings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// The repository.
    pub repository: Repository,
    /// The versions of the programs and libraries.
    pub versions: Versions,
    /// What was examined, in a fixed order.
    pub checks: Vec<DoctorCheck>,
    /// What was repaired, with `--fix`.
    pub fixed: Vec<String>,
}

super::json::documents! { DoctorReport = "doctor" }

/// The versions of the programs and libraries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Versions {
    /// The version of orch.
    pub orch: String,
    /// The version of the `git` command; null if it cannot be started.
    pub git: Option<String>,
    /// The version of libgit2 in orch.
    pub libgit2: String,
}

/// One thing that was examined.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorCheck {
    /// The name of what was examined.
    pub check: &'static str,
    /// The worst of the findings; `good` if there is none.
    #[cfg_attr(test, schemars(extend("enum" = ["good", "note", "warning", "error"])))]
    pub result: &'static str,
    /// What there is, in words.
    pub summary: String,
    /// What is wrong, with what to do about it.
    pub findings: Vec<Finding>,
}

impl DoctorCheck {
    /// What was examined, with what was found.
    #[must_use]
    pub fn new(check: &'static str, summary: String, findings: Vec<Finding>) -> Self {
        let worst = findings.iter().map(|finding| finding.severity).max();
        Self {
            check,
            result: worst.map_or("good", Severity::as_str),
            summary,
            findings,
        }
    }
}

impl DoctorReport {
    /// The report as text: a line per check, its findings below it, and what was repaired. Commands are for whoever types
    /// them in the directory `here`.
    #[must_use]
    pub fn text(&self, paint: Paint, here: &RepoPath) -> String {
        let Versions { orch, git, libgit2 } = &self.versions;
        let git = git.as_deref().unwrap_or("not found");
        let mut out = format!("orch {orch}, git {git}, libgit2 {libgit2}\n");
        let width = self
            .checks
            .iter()
            .map(|check| check.check.len())
            .max()
            .unwrap_or_default();
        for check in &self.checks {
            let style = match check.result {
                "error" => Style::Bad,
                "warning" => Style::Warn,
                "note" => Style::Dim,
                _ => Style::Good,
            };
            let result = paint.paint(style, &format!("{:<7}", check.result));
            out.push_str(&format!(
                "{result}  {:<width$}  {}\n",
                check.check, check.summary
            ));
            for finding in &check.findings {
                let place = finding.place();
                let place = if place.is_empty() {
                    place
                } else {
                    format!("{place}: ")
                };
                out.push_str(&format!(
                    "         {place}{} [{}]\n",
                    finding.message, finding.code
                ));
                if let Some(hint) = finding.advice.hint() {
                    out.push_str(&format!(
                        "         {} {}\n",
                        paint.paint(Style::Command, "hint:"),
                        hint.at(here)
                    ));
                }
            }
        }
        for fixed in &self.fixed {
            out.push_str(&format!(
                "{}  {fixed}\n",
                paint.paint(Style::Good, "fixed  ")
            ));
        }
        out
    }

    /// The result in a few words.
    #[must_use]
    pub fn summary(&self) -> String {
        let noted = self
            .checks
            .iter()
            .filter(|check| ["error", "warning"].contains(&check.result));
        match noted.count() {
            0 => "nothing needs attention".to_owned(),
            1 => "1 check needs attention".to_owned(),
            many => format!("{many} checks need attention"),
        }
    }
}
