//! A plain reason, as it is quoted inside a message.

use std::fmt;

/// Why something does not hold or cannot be had, in words that another message quotes.
///
/// It has no code of its own: whoever reports it says under which code. What is reported by itself is
/// an [`Error`](super::Error) or a [`Diagnostic`](super::Diagnostic).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// The words.
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
