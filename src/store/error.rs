//! What can go wrong with a repository, what it means, and what to do about it.

use crate::base::command;
use git2::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was to be read or written.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// libgit2 refuses.
    #[error("git: {}", .0.message())]
    Git(#[from] git2::Error),
    /// The `git` command refuses.
    #[error("git {command}: {message}")]
    Command {
        /// Its subcommand.
        command: String,
        /// What it says.
        message: String,
    },
    /// There is no `git` program, and without it this cannot be done.
    #[error("git {command}: there is no `git` program on the PATH")]
    NoGit {
        /// The subcommand that was needed.
        command: String,
    },
    /// The repository belongs to somebody else.
    #[error("the repository at {} belongs to another user", path.display())]
    Owner {
        /// Where it is.
        path: PathBuf,
    },
    /// The repository has no work tree.
    #[error("the repository at {} has no work tree", path.display())]
    Bare {
        /// Where it is.
        path: PathBuf,
    },
    /// The environment names a repository that cannot be meant.
    #[error("{why}")]
    Environment {
        /// Why not.
        why: String,
    },
    /// The repository has a format that is not supported.
    #[error("the repository uses {what}, which orch does not support")]
    Unsupported {
        /// Which format.
        what: String,
    },
    /// No commit has this name.
    #[error("there is no commit `{revision}` here")]
    Revision {
        /// What was asked for.
        revision: String,
    },
    /// Nobody to commit as.
    #[error("git does not know who you are")]
    Identity,
    /// Commits are to be signed, and that fails.
    #[error("the commit cannot be signed: {message}")]
    Signing {
        /// What the signing program says.
        message: String,
    },
    /// Somebody else holds a lock.
    #[error("{what}")]
    Busy {
        /// Which lock.
        what: String,
    },
    /// A `git commit` is open: moving the branch would make it fail.
    #[error("a `git commit` is open (process {process})")]
    CommitOpen {
        /// Its process.
        process: u32,
    },
    /// The branch moved since it was read.
    #[error("the branch moved meanwhile")]
    Moved,
    /// The repository is in a state in which nothing is committed.
    #[error("{why}")]
    NotNow {
        /// Why.
        why: String,
        /// What to do about it.
        hint: String,
    },
}

/// What an error means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Somebody else is at work; try again.
    Busy,
    /// Somebody was quicker; read and decide again.
    Moved,
    /// The repository does not allow it now.
    NotNow,
    /// The repository cannot be used like this.
    Config,
    /// The machine, or `orch`.
    Fault,
}

impl Error {
    /// A file that could not be read or written.
    pub fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(super) fn opening(path: &Path, error: git2::Error) -> Self {
        let message = error.message();
        if error.code() == ErrorCode::Owner {
            // What has to be declared safe is the top, wherever below it somebody stands.
            let top = path.ancestors().find(|above| above.join(".git").exists()).unwrap_or(path);
            return Self::Owner { path: top.to_owned() };
        }
        if message.contains("object format") || message.contains("objectformat") {
            return Self::Unsupported { what: "the SHA-256 object format".to_owned() };
        }
        if message.contains("refstorage") {
            return Self::Unsupported { what: "the reftable format".to_owned() };
        }
        Self::Git(error)
    }

    /// What the error means for the caller.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy { .. } | Self::CommitOpen { .. } => ErrorKind::Busy,
            Self::Moved => ErrorKind::Moved,
            Self::NotNow { .. } | Self::Identity | Self::Signing { .. } => ErrorKind::NotNow,
            Self::Owner { .. }
            | Self::Bare { .. }
            | Self::Environment { .. }
            | Self::Unsupported { .. }
            | Self::Revision { .. } => ErrorKind::Config,
            Self::Io { .. } | Self::Git(_) | Self::Command { .. } | Self::NoGit { .. } => ErrorKind::Fault,
        }
    }

    /// A stable code for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match (self, self.kind()) {
            (Self::Signing { .. }, _) => "signing-failed",
            (Self::NoGit { .. }, _) => "no-git",
            (_, ErrorKind::Busy | ErrorKind::Moved) => "busy",
            (_, ErrorKind::NotNow) => "not-now",
            (_, ErrorKind::Config) => "repository",
            (_, ErrorKind::Fault) => "io",
        }
    }

    /// Whether the branch moved, so that reading and deciding again may succeed.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        self.kind() == ErrorKind::Moved
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Owner { path } => {
                let path = path.to_string_lossy();
                Some(command(&["git", "config", "--global", "--add", "safe.directory", &path]))
            }
            Self::Bare { .. } => Some("run orch in a work tree of it: git worktree add DIR".to_owned()),
            Self::Environment { .. } => {
                Some("unset GIT_DIR, or say with GIT_WORK_TREE where its work tree is".to_owned())
            }
            Self::Unsupported { .. } => {
                Some("use a repository with SHA-1 and the files ref format".to_owned())
            }
            Self::Revision { .. } => {
                Some("see `git log`; a shallow clone ends where its history does".to_owned())
            }
            Self::NoGit { .. } => Some(
                "install git; without it suggest, explain, status and check work, and `[git] commit = \"off\"` \
                 in orch.toml lets moves be written without a commit"
                    .to_owned(),
            ),
            Self::Identity => Some("git config user.name NAME && git config user.email MAIL".to_owned()),
            Self::Signing { .. } => Some(
                "see user.signingKey and gpg.format; to sign nothing here: git config commit.gpgSign false"
                    .to_owned(),
            ),
            Self::NotNow { hint, .. } => Some(hint.clone()),
            Self::Busy { .. } | Self::Moved => Some("try again".to_owned()),
            Self::CommitOpen { .. } => Some("finish or abort that commit; orch waits".to_owned()),
            Self::Io { source, .. } => refusal(source.kind()),
            Self::Git(error) => refusal(kind_in(error.message())),
            Self::Command { message, .. } => refusal(kind_in(message)),
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
