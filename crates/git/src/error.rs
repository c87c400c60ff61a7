//! Errors of the repository: their codes, messages and hints.

use git2::ErrorCode;
use orch_base::{Code, Error, Hint};
use orch_files::refusal;
use std::io;
use std::path::Path;

/// Converts the error of opening a repository at this path.
pub(super) fn opening(path: &Path, error: git2::Error) -> Error {
    let message = error.message();
    if error.code() == ErrorCode::Owner {
        // The directory to declare safe is the root of the repository, not the start directory.
        let top = path
            .ancestors()
            .find(|above| above.join(".git").exists())
            .unwrap_or(path);
        let hint = Hint::run(&[
            "git",
            "config",
            "--global",
            "--add",
            "safe.directory",
            &top.to_string_lossy(),
        ]);
        let message = format!(
            "the repository at {} belongs to another user",
            top.display()
        );
        return Error::new(Code::UntrustedOwner, message).with_hint(hint);
    }
    match message.split_once("unsupported extension name ") {
        Some((_, name)) => unsupported(&format!("`{name}`")),
        None => libgit2(error),
    }
}

/// The repository uses something that `orch` does not know.
pub(super) fn unsupported(what: &str) -> Error {
    let message = format!("the repository uses {what}, which orch does not support");
    let hint = "install a newer orch, or use a repository without it";
    Error::new(Code::UnsupportedRepository, message).with_hint(hint)
}

/// Converts the fault of a git command that reads or moves references in a reftable.
pub(super) fn table_fault(fault: GitFault) -> Error {
    let hint = "install git 2.45 or newer, which the reftable of this repository needs";
    match &fault {
        GitFault::NoProgram { .. } => Error::from(fault).with_hint(hint),
        GitFault::Refused { message, .. } if message.contains("unknown repository extension") => {
            let message =
                "the repository uses the reftable format, which this git does not support";
            Error::new(Code::UnsupportedRepository, message).with_hint(hint)
        }
        // git does not say more.
        GitFault::Refused { message, .. } if message.contains("I/O error") => {
            let hint = "check whether the disk is full, and the permissions of .git/reftable";
            Error::from(fault).with_hint(hint)
        }
        GitFault::Refused { .. } => fault.into(),
    }
}

/// The repository at this path has no work tree.
pub(super) fn bare(path: &Path) -> Error {
    let message = format!("the repository at {} has no work tree", path.display());
    let hint = Hint::from("run orch in a work tree of this repository: ")
        .command(&["git", "worktree", "add", "DIR"]);
    Error::new(Code::BareRepository, message).with_hint(hint)
}

/// The environment names a repository that cannot be used.
pub(super) fn environment(why: String) -> Error {
    let hint = "unset GIT_DIR, or set GIT_WORK_TREE to its work tree";
    Error::new(Code::GitEnvironment, why).with_hint(hint)
}

/// There is no such commit.
pub(super) fn unknown_revision(revision: &str) -> Error {
    let hint = "see `git log`; a shallow clone has only part of the history";
    Error::new(
        Code::UnknownRevision,
        format!("there is no commit `{revision}`"),
    )
    .with_hint(hint)
}

/// A revision may be the beginning of several names of objects.
pub(super) fn ambiguous_revision(revision: &str) -> Error {
    let hint = "write more digits of the commit, or the name of a branch";
    Error::new(
        Code::UnknownRevision,
        format!("`{revision}` does not name one commit"),
    )
    .with_hint(hint)
}

/// git has no identity for commits. `is_hidden` says whether the environment hides the settings of the user.
pub(super) fn no_identity(is_hidden: bool) -> Error {
    let hint = if is_hidden {
        let why = "GIT_CONFIG_GLOBAL hides your settings, as the shell of Gemini CLI does; name yourself here: ";
        Hint::from(why)
            .command(&["git", "config", "user.name", "NAME"])
            .and(&["git", "config", "user.email", "MAIL"])
    } else {
        name_yourself()
    };
    Error::new(Code::NoIdentity, "git does not know who you are").with_hint(hint)
}

/// git cannot read the date in this variable.
pub(super) fn unreadable_date(variable: &str, date: &str) -> Error {
    let hint =
        format!("unset {variable}, or write it as `2026-01-31T12:00:00+01:00` or `@SECONDS +0100`");
    Error::new(
        Code::GitEnvironment,
        format!("{variable}: git cannot read the date `{date}`"),
    )
    .with_hint(hint)
}

/// The commands that give git an identity for commits.
pub(super) fn name_yourself() -> Hint {
    Hint::run(&["git", "config", "user.name", "NAME"]).and(&["git", "config", "user.email", "MAIL"])
}

/// The signing program failed with this message.
pub(super) fn signing(message: &str) -> Error {
    let hint = Hint::from("check user.signingKey and gpg.format; to turn signing off here: ")
        .command(&["git", "config", "commit.gpgSign", "false"]);
    Error::new(
        Code::SigningFailed,
        format!("cannot sign the commit: {message}"),
    )
    .with_hint(hint)
}

/// A `git commit` is open in this process; moving the branch would make it fail.
pub(super) fn commit_open(command: &str, process: &str) -> Error {
    Error::new(
        Code::CommitOpen,
        format!("a `git {command}` is open (process {process})"),
    )
    .with_hint("finish or abort it, then try again")
}

/// The error for one of libgit2, whose text says in words what the system refused.
pub(crate) fn libgit2(error: git2::Error) -> Error {
    let hint = refusal(kind_in(error.message()));
    Error::new(Code::Git, format!("git: {}", error.message())).with_hint_of(hint)
}

/// Why a `git` command failed.
#[derive(Debug)]
pub(super) enum GitFault {
    /// There is no `git` program.
    NoProgram {
        /// The git subcommand that was needed.
        command: String,
    },
    /// It exited with an error.
    Refused {
        /// The git subcommand that failed.
        command: String,
        /// What it printed on stderr.
        message: String,
    },
}

impl From<GitFault> for Error {
    fn from(fault: GitFault) -> Self {
        match fault {
            GitFault::NoProgram { command } => {
                let message = format!("git {command}: `git` is not on the PATH");
                let hint = "install git; without it suggest, explain, status and check work, and \
                            `[git] commit = \"off\"` in orch.toml applies transitions without committing them";
                Self::new(Code::NoGit, message).with_hint(hint)
            }
            GitFault::Refused { command, message } => {
                let hint = refusal(kind_in(&message));
                Self::new(Code::Git, format!("git {command}: {message}")).with_hint_of(hint)
            }
        }
    }
}

/// Finds the system error in a message of libgit2 or git.
fn kind_in(message: &str) -> io::ErrorKind {
    let said = [
        ("No space left on device", io::ErrorKind::StorageFull),
        ("Disk quota exceeded", io::ErrorKind::QuotaExceeded),
        ("Read-only file system", io::ErrorKind::ReadOnlyFilesystem),
        ("Permission denied", io::ErrorKind::PermissionDenied),
    ];
    said.iter()
        .find(|(words, _)| message.contains(words))
        .map_or(io::ErrorKind::Other, |(_, kind)| *kind)
}
