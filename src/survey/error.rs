//! What can keep the engine from answering.

use crate::base::Diagnostic;
use crate::decide::Refusal;
use crate::scan::SourceError;
use crate::store;

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository, or a write to it.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Reading a source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An order that the rules refuse.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// Configuration, a workflow document or a name that does not fit.
    #[error("{}", .0.message)]
    Wrong(Box<Diagnostic>),
    /// What the task is in does not allow it now.
    #[error("{message}")]
    NotNow {
        /// Stable code.
        code: &'static str,
        /// What stands in the way.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// What an error means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The answer is no.
    No,
    /// The command line, configuration or a document is wrong.
    Wrong,
    /// Somebody else is at work, or was quicker.
    Busy,
    /// The repository does not allow it now.
    NotNow,
    /// A fault of the machine or of `orch`.
    Fault,
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Wrong(Box::new(diagnostic))
    }
}

impl Error {
    /// What the error means for the caller.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => match error.kind() {
                store::ErrorKind::Busy | store::ErrorKind::Moved => ErrorKind::Busy,
                store::ErrorKind::NotNow => ErrorKind::NotNow,
                store::ErrorKind::Config => ErrorKind::Wrong,
                store::ErrorKind::Fault => ErrorKind::Fault,
            },
            Self::Source(_) => ErrorKind::Fault,
            // An order that names what does not exist is a slip of the command line.
            Self::Refused(refusal) if refusal.code.starts_with("unknown-") => ErrorKind::Wrong,
            Self::Refused(_) => ErrorKind::No,
            Self::Wrong(_) => ErrorKind::Wrong,
            Self::NotNow { .. } => ErrorKind::NotNow,
        }
    }

    /// A stable code for machines.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Wrong(diagnostic) => diagnostic.code,
            Self::NotNow { code, .. } => code,
            Self::Store(error) => error.code(),
            Self::Source(_) => "io",
        }
    }

    /// The error for the log, which holds nothing of what files say: what git and the system report as it
    /// is, of all else the code.
    #[must_use]
    pub fn logged(&self) -> String {
        match self {
            Self::Store(
                store::Error::Io { .. }
                | store::Error::Git(_)
                | store::Error::Busy { .. }
                | store::Error::CommitOpen { .. }
                | store::Error::Moved,
            ) => self.to_string(),
            _ => self.code().to_owned(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Source(_) => None,
            Self::Refused(refusal) => refusal.hint.clone(),
            Self::Wrong(diagnostic) => diagnostic.hint.clone(),
            Self::NotNow { hint, .. } => hint.clone(),
        }
    }
}
