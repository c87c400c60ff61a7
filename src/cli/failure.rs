//! Exit codes and failures: what went wrong, and what to type next.

use orch_base::{Class, Code, Diagnostic, Error, Hint};
use orch_files::is_read_only;
use std::io;

/// Every exit code of `orch`, the same for all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// The command succeeded.
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
    /// Only a person may order it.
    Person = 6,
    /// A fault of `orch` or of the machine it runs on.
    Fault = 70,
    /// A signal interrupted the command.
    Interrupted = 130,
}

impl ExitCode {
    /// Every code, in order.
    pub const ALL: [Self; 9] = [
        Self::Fine,
        Self::No,
        Self::Usage,
        Self::Nothing,
        Self::Busy,
        Self::NotNow,
        Self::Person,
        Self::Fault,
        Self::Interrupted,
    ];

    /// The meaning of the code, as `orch help exit-codes` prints it.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::No => {
                "the answer is no: findings, a task in error, a refused move, nothing for --for, a wait that timed out, a run that failed, stalled or reached a limit"
            }
            Self::Usage => "the command line, orch.toml or a workflow document is wrong",
            Self::Nothing => {
                "there is nothing to apply, or a run waits for someone, was paused or stopped"
            }
            Self::Busy => "busy, or the branch moved meanwhile: try again",
            Self::NotNow => {
                "the repository does not allow it now (a merge in progress, a protected branch, no identity)"
            }
            Self::Person => "only a person may order it: the hint says what to type",
            Self::Fault => {
                "a fault of orch, or of the machine it runs on (full disk, no permission)"
            }
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
            Class::Person => Self::Person,
            Class::Interrupted => Self::Interrupted,
            Class::Fault => Self::Fault,
        }
    }
}

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// An error to report, with an optional hint.
    Reported {
        /// The exit code of the process.
        exit: ExitCode,
        /// The error code, its message, and what to type next.
        error: Error,
    },
    /// The command has printed everything; only the exit code remains.
    Quiet(ExitCode),
    /// The reader of stdout has closed the pipe; exits as a success.
    ClosedPipe,
}

impl Failure {
    /// Creates a failure with a message. The exit code follows from the class of the error code.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error::new(code, message).into()
    }

    /// The failure as it is told inside the fence of an executor: what orch could not write there, the run records.
    #[must_use]
    pub(super) fn inside_fence(self) -> Self {
        match self {
            Self::Reported { error, .. } if is_read_only(&error) => {
                let message = format!("nothing is recorded inside the fence of a run: {error}");
                let hint =
                    "write the files of the phase and end the turn: the run records the step";
                Error::new(Code::InsideFence, message)
                    .with_hint(hint)
                    .into()
            }
            other => other,
        }
    }

    /// Returns the failure with this hint. Without a message there is nothing to add it to.
    #[must_use]
    pub fn hint(self, advice: impl Into<Hint>) -> Self {
        match self {
            Self::Reported { exit, error } => Self::Reported {
                exit,
                error: error.with_hint(advice),
            },
            other => other,
        }
    }

    /// Returns the failure with exit code `No` if its code is a finding: findings have no exit code of their own, and
    /// this one answers the question of the command.
    #[must_use]
    pub fn finding_as_no(self) -> Self {
        match self {
            Self::Reported { error, .. } if error.class() == Class::Finding => Self::Reported {
                exit: ExitCode::No,
                error,
            },
            other => other,
        }
    }

    /// The error code, or `None` if there is no error to report.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Reported { error, .. } => Some(error.code()),
            Self::Quiet(_) | Self::ClosedPipe => None,
        }
    }

    /// The error to report, if there is one.
    #[must_use]
    pub fn into_error(self) -> Option<Error> {
        match self {
            Self::Reported { error, .. } => Some(error),
            Self::Quiet(_) | Self::ClosedPipe => None,
        }
    }

    /// The exit code of the process.
    #[must_use]
    pub fn exit(&self) -> ExitCode {
        match self {
            Self::Reported { exit, .. } | Self::Quiet(exit) => *exit,
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
        Self::Reported {
            exit: error.class().into(),
            error,
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Error::from(diagnostic).into()
    }
}
