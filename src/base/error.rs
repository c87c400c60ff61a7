//! The one error value of the crate: why something was not done, and what to do about it.

use super::{Class, Code, Diagnostic};
use std::fmt;

/// Why something was not done.
///
/// It is a [`Diagnostic`] that ended an operation: a code, a message, and often advice. What it means
/// for the caller follows from the code. It holds no cause of another type; the message says it all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Diagnostic>);

impl Error {
    /// An error with a code and a message.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Diagnostic::error(code, message)))
    }

    /// The same error with advice, in place of what it had.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.0.hint = hint.into();
        self
    }

    /// What happened, as a code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What the error means for the caller.
    #[must_use]
    pub fn class(&self) -> Class {
        self.0.code.class()
    }

    /// What happened, in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What happened, behind the place where it did, if it is known.
    #[must_use]
    pub fn located(&self) -> String {
        match &self.0.place {
            Some(place) => format!("{place}: {}", self.0.message),
            None => self.0.message.clone(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.0.hint.clone()
    }

    /// The error for the diagnostic log, which holds nothing of what files say: what git and the system
    /// report as it is, of all else the code.
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
