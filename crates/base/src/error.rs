//! The error value of the crate: why an operation failed and what to do about it.

use super::{Class, Code, Diagnostic, Hint, Severity};
use std::fmt;

/// Why an operation failed.
///
/// A [`Diagnostic`] that ended an operation: a code, a message, and often a hint. The code determines what
/// the error means for the caller. There is no source error; the message is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Diagnostic>);

impl Error {
    /// An error with this code and message, without a hint.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Diagnostic::error(code, message)))
    }

    /// Another process holds a lock; `what` says which.
    #[must_use]
    pub fn busy(what: impl Into<String>) -> Self {
        Self::new(Code::Busy, what).with_hint("try again")
    }

    /// The branch moved after it was read.
    #[must_use]
    pub fn moved() -> Self {
        Self::new(Code::BranchMoved, "the branch moved while orch was working")
            .with_hint("try again")
    }

    /// Replaces the hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Hint>) -> Self {
        self.with_hint_of(Some(hint.into()))
    }

    /// Replaces the hint by one that may be missing.
    #[must_use]
    pub fn with_hint_of(mut self, hint: Option<Hint>) -> Self {
        self.0.hint = hint;
        self
    }

    /// The stable code, which scripts may compare.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What the error means for the caller.
    #[must_use]
    pub fn class(&self) -> Class {
        self.0.code.class()
    }

    /// What failed, one sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The message, preceded by `path:line:column: ` if the place is known.
    #[must_use]
    pub fn located(&self) -> String {
        match &self.0.place {
            Some(place) => format!("{place}: {}", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// What to do about it, if anything is known to help.
    #[must_use]
    pub fn hint(&self) -> Option<&Hint> {
        self.0.hint.as_ref()
    }

    /// The error as a warning, where it does not end what it is about.
    #[must_use]
    pub fn into_warning(self) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..*self.0
        }
    }

    /// The error as the diagnostic log records it. The log must not contain file contents, so only errors of
    /// git and of the system keep their message; all others are reduced to their code.
    #[must_use]
    pub fn logged(&self) -> String {
        match self.class() {
            Class::Busy | Class::Moved => self.to_string(),
            _ if matches!(self.code(), Code::Io | Code::Git) => self.to_string(),
            _ => self.code().as_str().to_owned(),
        }
    }

    /// Whether the branch moved, so that reading and deciding again may succeed.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        self.class() == Class::Moved
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(Box::new(diagnostic))
    }
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        *error.0
    }
}
