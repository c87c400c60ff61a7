//! What an event says of a verification: its code, its table, its base and its outcome.

use orch_base::{Digest, VerificationName, words};
use serde::{Deserialize, Serialize};

/// A run of one command of the project on the code that it judges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// The name of its table in the settings.
    pub name: VerificationName,
    /// The code that it judged.
    pub code: VerifiedCode,
    /// The digest of its table in the settings.
    pub table: Digest,
    /// The number of the rules of `orch` for verifications by which it was run.
    pub rules: u32,
    /// What its result was compared with, if there was anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<VerifiedBase>,
    /// The lost tests that a person had confirmed, and that ran here: should they go again, they count as lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<String>,
    /// Its outcome.
    pub result: VerifiedResult,
}

impl Verification {
    /// The path of the file with its result, relative to the task directory.
    #[must_use]
    pub fn path(&self) -> String {
        result_path(&self.name)
    }
}

/// The directory of the files with results, and how their names end.
const RESULTS: &str = "eval/verify/";
const RESULT_END: &str = ".json";

/// The path of the file with the result of a verification, relative to the task directory.
#[must_use]
pub fn result_path(name: &VerificationName) -> String {
    format!("{RESULTS}{name}{RESULT_END}")
}

/// The verification of which a file is the result, by its path relative to the task directory.
#[must_use]
pub fn result_of(path: &str) -> Option<VerificationName> {
    let name = path.strip_prefix(RESULTS)?.strip_suffix(RESULT_END)?;
    VerificationName::new(name).ok()
}

/// The code that a verification judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VerifiedCode {
    /// The committed code under the paths of the verification.
    Commit(Digest),
    /// A patch, and the code to which it was applied.
    Patch(PatchedCode),
}

impl VerifiedCode {
    /// The committed code that it judged, or to which the patch was applied.
    #[must_use]
    pub fn committed(self) -> Digest {
        match self {
            Self::Commit(code) => code,
            Self::Patch(patched) => patched.on,
        }
    }
}

/// A patch and the code to which it was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchedCode {
    /// The blob of the patch.
    pub patch: Digest,
    /// The code to which it was applied.
    pub on: Digest,
}

/// The commit with which a verification was compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedBase {
    /// The id of the commit.
    pub commit: Digest,
    /// The digest of its code.
    pub code: Digest,
    /// How it was found.
    pub by: FoundBy,
}

words! {
    /// How the base of a task is found.
    pub enum FoundBy {
        /// The merge base with the base branch.
        Branch = "branch",
        /// The parent of the commit that created the task.
        Create = "create",
    }
}

/// The outcome of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedResult {
    /// Whether it passed.
    pub outcome: VerifiedOutcome,
    /// The digest of the file with the result.
    pub digest: Digest,
}

words! {
    /// Whether a verification passed. One that could not run is not recorded.
    pub enum VerifiedOutcome {
        /// It passed.
        Passed = "passed",
        /// It failed.
        Failed = "failed",
    }
}

impl VerifiedOutcome {
    /// Whether this is the outcome of a result file that has this word. What passed only on another try is warned of.
    #[must_use]
    pub fn is_said_by(self, word: &str) -> bool {
        match word.to_ascii_uppercase().as_str() {
            "PASSED" | "WARNED" => self == Self::Passed,
            "FAILED" => self == Self::Failed,
            _ => false,
        }
    }
}
