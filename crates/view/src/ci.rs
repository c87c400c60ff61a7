//! `orch ci`: what CI found about a pull request, and the text that it can post.

use super::{Finding, PullRequestText, VerificationLine};
use serde::Serialize;

/// What was found about a range.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CiReport {
    /// The range.
    pub range: String,
    /// Whether nothing speaks against it.
    pub passed: bool,
    /// What was examined, in order.
    pub parts: Vec<CiPart>,
    /// The verifications that were run on the last commit.
    pub verifications: Vec<VerificationLine>,
    /// The findings of all parts.
    pub findings: Vec<Finding>,
    /// What can be posted.
    #[serde(flatten)]
    pub text: PullRequestText,
}

super::json::documents! { CiReport = "ci" }

/// A part of what was examined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CiPart {
    /// What was done: `check`, `audit` or `verify NAME`.
    pub name: String,
    /// Whether it found nothing that speaks against the range.
    pub passed: bool,
    /// What it found, in a few words.
    pub summary: String,
}

impl CiPart {
    /// The part in one line for a log.
    #[must_use]
    pub fn text(&self) -> String {
        let mark = if self.passed { "ok" } else { "FAILED" };
        format!("{mark:6} {}: {}\n", self.name, self.summary)
    }
}
