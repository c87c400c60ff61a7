//! Verifications: runs a command of the project on exactly the code that is judged, and says what became of it.
//!
//! A run has a checkout of its own: a clone with its own objects, at one path that never changes, in a cache directory
//! outside the repository. Nothing of the user's work tree, settings of git or environment reaches it beyond what the table
//! names and a fixed list of variables. The outcome is a [`VerificationResult`] for the code, and one for the same code with
//! the protected tests of the base; or the reason why it could not run, which is no result. Nothing here decides or records.

mod attempts;
mod base;
mod caches;
mod checkout;
mod claim;
mod commands;
mod created;
mod environment;
mod given;
mod masks;
mod places;
mod reports;
mod session;
mod setup;
#[cfg(test)]
mod tests;
mod tried;

pub use attempts::{AttemptStanding, VerifyAttempt};
pub use claim::ClaimedCheckout;
pub use environment::{unfound_program, variables_read};
pub use places::{CachedCheckout, cached_checkouts, checkouts_directory, remove_cached_checkouts};

use orch_base::{Digest, Hint, Patterns, Period, TaskId, VerificationName};
use orch_core::verification::{
    NotRun, VerificationResult, VerifiedBase, VerifiedCode, VerifyTable,
};
use orch_git::Store;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What to run, on what.
pub struct VerifyRequest<'a> {
    /// The repository. Only its objects, its submodules and its ignored files are read; only a key is written, in its
    /// directory of `orch`.
    pub store: &'a Store,
    /// The task for which it runs.
    pub task: &'a TaskId,
    /// The name of the table.
    pub name: &'a VerificationName,
    /// The table.
    pub table: &'a VerifyTable,
    /// What is checked out.
    pub judged: Judged<'a>,
    /// The same as the event will say it.
    pub code: VerifiedCode,
    /// What its tests are compared with.
    pub base: Option<VerifiedBase>,
    /// The protected paths that the plan names: they stay as they are.
    pub exempt: &'a Patterns,
    /// How many changed files of the work tree are not judged.
    pub uncommitted: u64,
    /// Whether no cache is used.
    pub fresh: bool,
    /// Run only the protected tests of the base, and only if that gives this tree. Otherwise everything is run.
    pub only: Option<Digest>,
}

/// What is checked out.
#[derive(Debug, Clone, Copy)]
pub enum Judged<'a> {
    /// The tree of a commit.
    Commit(Digest),
    /// The tree that a patch gives on a commit.
    Patch {
        /// The commit.
        on: Digest,
        /// The blob of the patch.
        blob: Digest,
        /// Its bytes.
        bytes: &'a [u8],
    },
}

/// Where runs take place, and with which variables.
pub struct VerifyPlace {
    /// The directory of all checkouts: see [`cache_directory`].
    pub cache: PathBuf,
    /// How many checkouts a repository has at most.
    pub most: usize,
    /// The environment of the caller.
    pub environment: BTreeMap<String, String>,
    /// The time that a program has between SIGTERM and SIGKILL: see [`VerifyPlace::GRACE`].
    pub grace: Period,
}

impl VerifyPlace {
    /// How long a program has to end that was asked to.
    pub const GRACE: Period = Period::from_seconds(5);
    /// How many checkouts a repository has at most, if the settings say nothing.
    pub const MOST: usize = 8;
}

/// The directory of all checkouts by the environment of a caller: `orch/verify` in `XDG_CACHE_HOME`, or else in `~/.cache`.
/// `None` if the environment names no home directory.
#[must_use]
pub fn cache_directory(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = environment.get(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let caches = absolute("XDG_CACHE_HOME");
    let caches = caches.or_else(|| Some(absolute("HOME")?.join(".cache")));
    Some(caches?.join("orch").join("verify"))
}

/// What happens during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyEvent<'e> {
    /// Another process uses the checkout, and this one waits.
    Waits,
    /// A part of the run begins.
    Begins(VerifyPart<'e>),
    /// A command has printed a line.
    Line(&'e str),
    /// The time since the command was started.
    Tick(Duration),
}

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyPart<'e> {
    /// The checkout of the judged code, of the base, or of the protected tests is made.
    Checkout(VerifySubject),
    /// `setup` runs.
    Setup(VerifySubject),
    /// A command runs, in this try, counted from 1.
    Command(VerifySubject, &'e [String], u32),
}

/// What a part of a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifySubject {
    /// The base, whose tests are compared.
    Base,
    /// The judged code.
    Code,
    /// The judged code with the protected files of the base.
    Protected,
}

impl VerifySubject {
    /// The word for it in the names of files.
    fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Code => "code",
            Self::Protected => "protected",
        }
    }
}

/// How a run is watched and stopped.
pub struct VerifyWatch<'w> {
    /// Whether it has to stop; asked often.
    pub wants_stop: &'w dyn Fn() -> bool,
    /// Receives what happens. It must return quickly.
    pub hear: &'w mut dyn FnMut(VerifyEvent<'_>),
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum VerifyOutcome {
    /// It ran.
    Ran(Box<RanVerification>),
    /// It could not run: there is no result.
    CouldNotRun(CouldNotRun),
}

/// The results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RanVerification {
    /// That of the judged code.
    pub result: VerificationResult,
    /// That of the same code with the protected files of the base, if the table has `protect` and there is a base. Its name
    /// ends with `@base`.
    pub protected: Option<Result<VerificationResult, CouldNotRun>>,
    /// The log of the commands.
    pub log: PathBuf,
}

/// Why a verification could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CouldNotRun {
    /// The kind of reason.
    pub reason: NotRun,
    /// What happened, in words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<Hint>,
    /// The log of what ran, if anything did.
    pub log: Option<PathBuf>,
}

impl CouldNotRun {
    fn new(reason: NotRun, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            hint: None,
            log: None,
        }
    }
}

/// Runs a verification in a checkout that was claimed for its task and name.
#[must_use]
pub fn verify(
    request: &VerifyRequest<'_>,
    place: &VerifyPlace,
    claim: &ClaimedCheckout,
    watch: &mut VerifyWatch<'_>,
) -> VerifyOutcome {
    match session::run(request, place, claim, watch) {
        Ok(ran) => VerifyOutcome::Ran(Box::new(ran)),
        Err(why) => VerifyOutcome::CouldNotRun(why),
    }
}
