//! What can go wrong with a repository: which code it has, and what to do about it.

use crate::base::{Code, Error, command};
use git2::ErrorCode;
use std::io;
use std::path::Path;

impl Error {
    /// A file that could not be read or written.
    pub fn io(path: &Path, source: io::Error) -> Self {
        let message = format!("{}: {source}", path.display());
        Self::new(Code::Io, message).with_hint(refusal(source.kind()))
    }

    /// Another process holds this lock.
    pub fn busy(what: impl Into<String>) -> Self {
        Self::new(Code::Busy, what).with_hint("try again".to_owned())
    }

    /// The branch moved since it was read.
    pub fn moved() -> Self {
        Self::new(Code::BranchMoved, "the branch moved meanwhile").with_hint("try again".to_owned())
    }
}

/// An error of git that a repository was opened with, at this path.
pub(super) fn opening(path: &Path, error: git2::Error) -> Error {
    let message = error.message();
    if error.code() == ErrorCode::Owner {
        // What has to be declared safe is the top, wherever below it somebody stands.
        let top = path.ancestors().find(|above| above.join(".git").exists()).unwrap_or(path);
        let hint = command(&["git", "config", "--global", "--add", "safe.directory", &top.to_string_lossy()]);
        let message = format!("the repository at {} belongs to another user", top.display());
        return Error::new(Code::UntrustedOwner, message).with_hint(hint);
    }
    if message.contains("object format") || message.contains("objectformat") {
        return unsupported("the SHA-256 object format");
    }
    if message.contains("refstorage") {
        return unsupported("the reftable format");
    }
    error.into()
}

fn unsupported(what: &str) -> Error {
    Error::new(
        Code::UnsupportedRepository,
        format!("the repository uses {what}, which orch does not support"),
    )
    .with_hint("use a repository with SHA-1 and the files ref format".to_owned())
}

/// The repository at this path has no work tree.
pub(super) fn bare(path: &Path) -> Error {
    let message = format!("the repository at {} has no work tree", path.display());
    let hint = "run orch in a work tree of it: git worktree add DIR".to_owned();
    Error::new(Code::BareRepository, message).with_hint(hint)
}

/// The environment names a repository that cannot be meant.
pub(super) fn environment(why: String) -> Error {
    let hint = "unset GIT_DIR, or say with GIT_WORK_TREE where its work tree is".to_owned();
    Error::new(Code::GitEnvironment, why).with_hint(hint)
}

/// No commit has this name.
pub(super) fn unknown_revision(revision: &str) -> Error {
    let hint = "see `git log`; a shallow clone ends where its history does".to_owned();
    Error::new(Code::UnknownRevision, format!("there is no commit `{revision}` here")).with_hint(hint)
}

/// There is nobody to commit as.
pub(super) fn no_identity() -> Error {
    let hint = "git config user.name NAME && git config user.email MAIL".to_owned();
    Error::new(Code::NoIdentity, "git does not know who you are").with_hint(hint)
}

/// Commits are to be signed, and the signing program says this instead.
pub(super) fn signing(message: &str) -> Error {
    let hint = "see user.signingKey and gpg.format; to sign nothing here: git config commit.gpgSign false";
    Error::new(Code::SigningFailed, format!("the commit cannot be signed: {message}"))
        .with_hint(hint.to_owned())
}

/// A `git commit` is open in this process: moving the branch would make it fail.
pub(super) fn commit_open(process: u32) -> Error {
    Error::new(Code::CommitOpen, format!("a `git commit` is open (process {process})"))
        .with_hint("finish or abort that commit; orch waits".to_owned())
}

impl From<git2::Error> for Error {
    fn from(error: git2::Error) -> Self {
        let hint = refusal(kind_in(error.message()));
        Self::new(Code::Git, format!("git: {}", error.message())).with_hint(hint)
    }
}

/// Why the `git` command did not do what it was to do.
#[derive(Debug)]
pub(super) enum GitFault {
    /// There is no `git` program.
    NoProgram {
        /// The subcommand that was needed.
        command: String,
    },
    /// It ended badly.
    Refused {
        /// Its subcommand.
        command: String,
        /// What it says.
        message: String,
    },
}

impl From<GitFault> for Error {
    fn from(fault: GitFault) -> Self {
        match fault {
            GitFault::NoProgram { command } => {
                let message = format!("git {command}: there is no `git` program on the PATH");
                let hint = "install git; without it suggest, explain, status and check work, and \
                            `[git] commit = \"off\"` in orch.toml lets moves be written without a commit";
                Self::new(Code::NoGit, message).with_hint(hint.to_owned())
            }
            GitFault::Refused { command, message } => {
                let hint = refusal(kind_in(&message));
                Self::new(Code::Git, format!("git {command}: {message}")).with_hint(hint)
            }
        }
    }
}

/// What to do where the file system refuses.
fn refusal(kind: io::ErrorKind) -> Option<String> {
    let advice = match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full; nothing was lost",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        io::ErrorKind::PermissionDenied => "check who owns it and its permissions",
        _ => return None,
    };
    Some(advice.to_owned())
}

/// What the system said, as libgit2 and git hand it on.
fn kind_in(message: &str) -> io::ErrorKind {
    let said = [
        ("No space left on device", io::ErrorKind::StorageFull),
        ("Disk quota exceeded", io::ErrorKind::QuotaExceeded),
        ("Read-only file system", io::ErrorKind::ReadOnlyFilesystem),
        ("Permission denied", io::ErrorKind::PermissionDenied),
    ];
    said.iter().find(|(words, _)| message.contains(words)).map_or(io::ErrorKind::Other, |(_, kind)| *kind)
}
