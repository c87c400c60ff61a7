//! Exit codes, and what a failing command says: what happened, and what to type next.

use crate::base::{Class, Code, Diagnostic, Error};
use std::io;

/// Every exit code of `orch`, the same for all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Fine.
    Fine = 0,
    /// The answer is no: findings, a refused move, nothing for `--for`.
    No = 1,
    /// The command line, the configuration or a workflow document is wrong.
    Usage = 2,
    /// There is nothing to apply.
    Nothing = 3,
    /// Busy, or moved meanwhile: try again.
    Busy = 4,
    /// The repository does not allow it now.
    NotNow = 5,
    /// A fault of `orch` or of the machine it runs on.
    Fault = 70,
    /// Interrupted.
    Interrupted = 130,
}

impl ExitCode {
    /// Every code, in order.
    pub const ALL: [Self; 8] = [
        Self::Fine,
        Self::No,
        Self::Usage,
        Self::Nothing,
        Self::Busy,
        Self::NotNow,
        Self::Fault,
        Self::Interrupted,
    ];

    /// What it means, for people.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::No => {
                "the answer is no: findings, a refused move, nothing for --for, a wait that timed out, a run that failed, stalled or reached a limit"
            }
            Self::Usage => "the command line, orch.toml or a workflow document is wrong",
            Self::Nothing => "there is nothing to apply, or a run waits for somebody, was paused or stopped",
            Self::Busy => "busy, or the branch moved meanwhile: try again",
            Self::NotNow => {
                "the repository does not allow it now (a merge going on, a protected branch, no identity)"
            }
            Self::Fault => "a fault of orch, or of the machine it runs on (full disk, no permission)",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Class> for ExitCode {
    fn from(class: Class) -> Self {
        match class {
            Class::No => Self::No,
            Class::Finding | Class::Usage => Self::Usage,
            Class::Busy | Class::Moved => Self::Busy,
            Class::NotNow | Class::Held => Self::NotNow,
            Class::Interrupted => Self::Interrupted,
            Class::Fault => Self::Fault,
        }
    }
}

/// Why a command ends without success.
#[derive(Debug)]
pub enum Failure {
    /// Something is wrong; it is said, with a hint.
    Said {
        /// The exit code.
        exit: ExitCode,
        /// What happened, and what to type next.
        error: Error,
    },
    /// Everything is said already; only the exit code is left.
    Quiet(ExitCode),
    /// Nobody reads the answer any more.
    ClosedPipe,
}

impl Failure {
    /// A failure with a message. Its exit code follows from the code.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error::new(code, message).into()
    }

    /// The same failure with advice.
    #[must_use]
    pub fn hint(self, advice: impl Into<String>) -> Self {
        match self {
            Self::Said { exit, error } => Self::Said { exit, error: error.with_hint(advice.into()) },
            other => other,
        }
    }

    /// The same failure as the answer no, where the command asked a question of which the error is the
    /// answer.
    #[must_use]
    pub fn as_no(self) -> Self {
        match self {
            Self::Said { error, .. } => Self::Said { exit: ExitCode::No, error },
            other => other,
        }
    }

    /// Its stable code; nothing where nothing is said.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Said { error, .. } => Some(error.code()),
            Self::Quiet(_) | Self::ClosedPipe => None,
        }
    }

    /// The exit code.
    #[must_use]
    pub fn exit(&self) -> ExitCode {
        match self {
            Self::Said { exit, .. } | Self::Quiet(exit) => *exit,
            Self::ClosedPipe => ExitCode::Fine,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::new(Code::Io, error.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Said { exit: error.class().into(), error }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Error::from(diagnostic).into()
    }
}
