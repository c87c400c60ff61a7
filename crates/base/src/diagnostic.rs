//! Diagnostics: what is wrong, where, and what to type next. Every finding has this shape.

use super::{Class, Code, Hint, RepoPath, words};
use std::fmt;

words! {
    /// How serious a finding is.
    pub enum Severity {
        /// Information; affects no verdict and no exit code.
        Note = "note",
        /// Probably a mistake.
        Warning = "warning",
        /// Certainly wrong.
        Error = "error",
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The location of a finding: a file and, if known, the position inside it.
///
/// Lines and columns count from 1; a column counts characters, not bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// Path relative to the root of the repository.
    pub path: String,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Length of the offending text in bytes, for underlining; 0 if unknown.
    pub length: u32,
    /// JSON Pointer (RFC 6901) of the offending value.
    pub pointer: Option<String>,
}

impl Place {
    /// The file as a whole, without a line.
    #[must_use]
    pub fn file(path: &RepoPath) -> Self {
        Self {
            path: path.to_string(),
            ..Self::default()
        }
    }

    /// The position of the byte `offset` in `text`, with `length` bytes to underline.
    #[must_use]
    pub fn at(path: &str, text: &str, offset: usize, length: usize) -> Self {
        let (line, column) = line_and_column(text, offset);
        Self {
            path: path.to_owned(),
            line: Some(line),
            column: Some(column),
            length: u32::try_from(length).unwrap_or(u32::MAX),
            pointer: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        Ok(())
    }
}

/// A finding: a stable code, a place, what is wrong and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Diagnostic {
    /// The stable code; its text, for example `json-syntax`, is part of the public interface.
    pub code: Code,
    /// How serious it is.
    pub severity: Severity,
    /// Where it is, if it has a location.
    pub place: Option<Place>,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
    /// What to do about it, often with a command to type.
    pub hint: Option<Hint>,
}

impl Diagnostic {
    /// An error with this code and message, without place and hint.
    #[must_use]
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            place: None,
            message: message.into(),
            hint: None,
        }
    }

    /// A warning with this code and message, without place and hint.
    #[must_use]
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    /// A note with this code and message, without place and hint.
    #[must_use]
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::error(code, message)
        }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self {
            place: Some(place),
            ..self
        }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<Hint>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// Sorts findings about one text by line and column; findings without a place come first.
    #[must_use]
    pub fn in_order(mut findings: Vec<Self>) -> Vec<Self> {
        findings.sort_by_key(|finding| {
            finding
                .place
                .as_ref()
                .map(|place| (place.line, place.column))
        });
        findings
    }

    /// Whether the severity is [`Severity::Error`].
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it only lists what another finding counts. Programs are told it, people are not.
    #[must_use]
    pub fn is_detail(&self) -> bool {
        self.code == Code::Unwritten && self.severity == Severity::Note
    }

    /// Whether it is an error of the machine or of `orch`.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.is_error() && self.code.class() == Class::Fault
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}

/// The line and column, both from 1, of a byte offset in `text`. An offset past the end means the end.
fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (
        u32::try_from(line).unwrap_or(u32::MAX),
        u32::try_from(column).unwrap_or(u32::MAX),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let place = Place::at("f", "äb\ncd", 3, 1);
        assert_eq!((place.line, place.column), (Some(1), Some(3)));
        let place = Place::at("f", "äb\ncd", 5, 1);
        assert_eq!(place.to_string(), "f:2:2");
        let place = Place::at("f", "ab", 99, 0);
        assert_eq!(place.to_string(), "f:1:3");
    }
}
