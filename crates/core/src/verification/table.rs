//! `[verify.NAME]`: a command of the project whose outcome `orch` makes itself.

use orch_base::{Digest, ObjectFormat, Patterns, Period};
use serde::{Serialize, Serializer};

/// The table `[verify.NAME]` of the settings. Fields are named after their keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifyTable {
    /// The program that prepares a checkout, and its arguments; without one it is empty.
    pub setup: Vec<String>,
    /// Globs of the files whose change makes `setup` run again.
    pub setup_key: Patterns,
    /// The programs to run one after the other, each with its arguments: until one fails. At least one.
    pub commands: Vec<Vec<String>>,
    /// Globs of the reports that the commands write. Without one, only exit codes tell.
    pub report: Patterns,
    /// Globs of the code that it is about. Without one it is about everything outside of tasks.
    pub paths: Patterns,
    /// How long all commands together may take, and how long `setup` may.
    #[serde(serialize_with = "milliseconds")]
    pub timeout: Period,
    /// Directories that stay from one run to the next as caches. Each begins with `/`, the root of the repository.
    pub keep: Vec<String>,
    /// Globs of the tests that a second run takes from the base.
    pub protect: Patterns,
    /// The names of the variables that are passed on beside the usual ones.
    pub env: Vec<String>,
    /// Paths of files that git ignores, which are copied from the work tree.
    pub files: Vec<String>,
    /// Whether the commands reach the network.
    pub network: bool,
    /// How often a run that fails is tried again.
    pub retries: u32,
    /// Whether a report without a test passes.
    pub allow_empty: bool,
}

impl VerifyTable {
    /// What the default of `timeout` is.
    pub const TIMEOUT: Period = Period::from_seconds(20 * 60);

    /// Its digest, in the format of a repository: of all keys as they are in force.
    #[must_use]
    pub fn digest(&self, format: ObjectFormat) -> Digest {
        let text = serde_json::to_string(self).unwrap_or_default();
        format.blob(text.as_bytes())
    }
}

fn milliseconds<S: Serializer>(period: &Period, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(period.milliseconds())
}
