//! The error value of the crate: why an operation failed and what to do about it.

use super::{Class, Code, Diagnostic, Hint, Place, Severity};
use std::fmt;

/// Why an operation failed.
///
/// A [`Diagnostic`] that ended an operation: a code, a message, often a hint, and the place if it is known. The code
/// determines what the error means for the caller. There is no source error; the message is complete. As text, an
/// error is `path:line:column: message`.
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

    /// The same error, whose message begins with `what` and a colon.
    #[must_use]
    pub fn within(mut self, what: impl fmt::Display) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// The same error about this place, unless it knows a place already.
    #[must_use]
    pub fn or_at(mut self, place: Place) -> Self {
        self.0.place.get_or_insert(place);
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

    /// What failed, one sentence, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it is, if that is known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
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
        if let Some(place) = &self.0.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.0.message)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn an_error_keeps_its_place_however_it_is_passed_on() {
        let place = Place::at("a.json", "{\n  x\n}", 4, 1);
        let error = Error::from(Diagnostic::error(Code::JsonSyntax, "a name is missing").at(place));
        assert_eq!(error.to_string(), "a.json:2:3: a name is missing");
        let error = error.within("cannot use it").with_hint("correct it");
        let error = error.or_at(Place::default());
        assert_eq!(
            error.to_string(),
            "a.json:2:3: cannot use it: a name is missing"
        );
        assert_eq!(error.place().and_then(Place::source), Some("  x"));
        assert_eq!(Error::moved().place(), None);
    }
}
