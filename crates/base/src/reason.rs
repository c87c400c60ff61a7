//! A plain reason, for quoting inside a message.

use std::fmt;

/// Why something failed or is unavailable, in words that another message quotes.
///
/// It has no code of its own; the caller that reports it supplies one. A problem that is reported on its own
/// is an [`Error`](super::Error) or a [`Diagnostic`](super::Diagnostic).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// The words, without a final full stop.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self(words)
    }
}

impl From<&str> for Reason {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl std::error::Error for Reason {}
