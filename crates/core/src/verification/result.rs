//! What a run of a verification gave.

use super::{VerifiedBase, VerifiedCode, VerifiedOutcome};
use orch_base::{Digest, TaskId, VerificationName, words};
use serde::{Deserialize, Serialize};

/// What a run of a verification gave. Names of tests are as the reports have them, each once and in order.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationResult {
    /// The names of the tests by what became of them.
    pub tests: TestNames,
    /// What was run.
    pub tested: TestedCode,
    /// Everything else.
    pub run: VerifiedRun,
}

/// The names of the tests by what became of them in the last try.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestNames {
    /// They passed.
    pub passed: Vec<String>,
    /// They failed.
    pub failed: Vec<String>,
    /// They failed first, and passed when they were tried again.
    pub flaky: Vec<String>,
}

impl TestNames {
    /// The names of all tests that ran, whatever became of them.
    pub fn ran(&self) -> impl Iterator<Item = &String> {
        self.passed.iter().chain(&self.flaky).chain(&self.failed)
    }
}

/// The code that was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestedCode {
    /// A commit, and its tree.
    Commit {
        /// The id of the commit.
        commit: Digest,
        /// The id of its tree.
        tree: Digest,
    },
    /// The tree that a patch gives, on a commit.
    Patch {
        /// The blob of the patch.
        patch: Digest,
        /// The id of the tree.
        tree: Digest,
    },
    /// A tree that no commit has: that of a commit with the protected tests of the base.
    Tree {
        /// The id of the tree.
        tree: Digest,
    },
}

/// What `orch` says of a run beside the names of its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifiedRun {
    /// The task.
    pub task: TaskId,
    /// The name of the table in the settings, with `@base` behind it for the run with protected tests.
    pub name: VerificationName,
    /// The code that was judged, as the event has it.
    pub code: VerifiedCode,
    /// The digest of the table.
    pub table: Digest,
    /// The number of the rules.
    pub rules: u32,
    /// Whether it passed.
    pub outcome: VerifiedOutcome,
    /// Why it did not; empty if it passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<NotPassed>,
    /// How each command of the last try ended that was started, in their order.
    pub commands: Vec<CommandEnd>,
    /// The tries before the last one, which failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tries: Vec<EarlierTry>,
    /// How many tests there were.
    pub counts: TestCounts,
    /// What the reports say of each test that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedTest>,
    /// The digest of the sorted names of the tests that passed, each with a line feed, where there are too many to list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Digest>,
    /// The reports that were read, relative to the root of the repository; the digests are of their texts with places and
    /// secrets masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<NamedDigest>,
    /// The log of the commands, masked in the same way.
    pub log: Digest,
    /// How many changed files of the work tree were not judged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncommitted: u64,
    /// The names of processes that were left and have been ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<String>,
    /// The files of the judged code that the run changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What the run left beside reports and kept directories: new files, and directories of which the code has nothing, with
    /// `/` behind. Of many, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<String>,
    /// How many more it left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub created_more: u64,
    /// A keyed digest of the values of `env` and of the copied files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// How long the commands took, in milliseconds.
    pub milliseconds: u64,
    /// What its result was compared with, and what that gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseTests>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

words! {
    /// Why a run did not pass.
    pub enum NotPassed {
        /// A command ended with another exit code than 0.
        Exit = "exit",
        /// A command was ended by a signal.
        Signal = "signal",
        /// A report names a test that failed.
        Failures = "failures",
        /// A report is expected, and none was written.
        NoReport = "no-report",
        /// A report cannot be read.
        Unreadable = "unreadable-report",
        /// The reports have no test that was executed.
        NoTests = "no-tests",
        /// The run changed the code that it judged, or moved HEAD.
        Changed = "changed",
        /// The patch cannot be applied to the code.
        Patch = "patch",
    }
}

words! {
    /// Why a verification could not run. It has no result then.
    pub enum NotRun {
        /// Its table names what cannot be: a report that git tracks, or a kept directory outside the checkout.
        Table = "table",
        /// The checkout cannot be made.
        Checkout = "checkout",
        /// The repository lacks commits or objects that are needed.
        Shallow = "shallow",
        /// A submodule cannot be filled.
        Submodule = "submodule",
        /// A file is a pointer of Git LFS, and its contents are missing.
        Pointer = "lfs-pointer",
        /// A file of `files` is missing, or git does not ignore it.
        Files = "files",
        /// `setup` failed.
        Setup = "setup",
        /// A command cannot be started.
        Command = "command-not-found",
        /// The system permits no network namespace.
        Network = "network",
        /// A time limit ended it.
        Limit = "limit",
        /// It was stopped on request.
        Stopped = "stopped",
        /// Another process runs it.
        Busy = "busy",
        /// Files of `orch` cannot be read or written.
        System = "system",
    }
}

/// A try that failed, before the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierTry {
    /// Why it did not pass.
    pub because: Vec<NotPassed>,
    /// How each command that was started ended, in their order.
    pub commands: Vec<CommandEnd>,
    /// The names of the tests that failed.
    pub failed: Vec<String>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEnd {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its exit code, unless a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The number of the signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// How many tests there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestCounts {
    /// Those that were executed.
    pub tests: u64,
    /// Those of them that passed, also on another try.
    pub passed: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Those that were not executed.
    pub skipped: u64,
}

/// What a report says of a test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedTest {
    /// The name of the test.
    pub name: String,
    /// The first lines of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The path of the file where it failed, relative to the root of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A file by its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDigest {
    /// Its path.
    pub path: String,
    /// The digest of its contents.
    pub digest: Digest,
}

/// What the base gave, and how the judged code differs from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseTests {
    /// The base.
    pub at: VerifiedBase,
    /// Why it could not run, in words; then nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The names that passed there, and are now missing or skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The names that fail now and do not fail there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// The names that fail in both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

words! {
    /// What came of running a recorded verification again.
    pub enum RerunOutcome {
        /// The same tests passed and failed.
        Same = "same",
        /// Others did.
        Other = "other",
        /// It could not be run again here.
        NotAvailable = "not-available",
    }
}
