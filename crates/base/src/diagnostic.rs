//! Diagnostics: what is wrong, where, and what to type next. Every finding has this shape.

use super::{Class, Code, Excerpt, Hint, RepoPath, words};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

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
/// Lines and columns count from 1; a column counts characters, not bytes. Two places are compared without their excerpts.
#[derive(Debug, Clone, Default)]
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
    /// The lines around the position, if they are known.
    pub excerpt: Option<Arc<Excerpt>>,
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
        let line = text.as_bytes()[..offset.min(text.len())]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        Self::in_line(path, text, line, offset, length)
    }

    /// Like [`Place::at`], if the line of the offset is known.
    #[must_use]
    pub fn in_line(path: &str, text: &str, line: usize, offset: usize, length: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
        let column = text[start..offset].chars().count() + 1;
        let line = number(line);
        Self {
            path: path.to_owned(),
            line: Some(line),
            column: Some(number(column)),
            length: number(length),
            pointer: None,
            excerpt: Excerpt::around(text, start, line).map(Arc::new),
        }
    }

    /// A line of `text`, and a column in it if one is known.
    #[must_use]
    pub fn on_line(path: &str, text: &str, line: u32, column: Option<u32>) -> Self {
        let before = line.saturating_sub(1) as usize;
        let start = text.split_inclusive('\n').take(before).map(str::len).sum();
        Self {
            path: path.to_owned(),
            line: Some(line),
            column,
            excerpt: Excerpt::around(text, start, line).map(Arc::new),
            ..Self::default()
        }
    }

    /// The line itself, if it is known.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.excerpt.as_ref()?.line(self.line?)
    }

    fn key(&self) -> (&str, Option<u32>, Option<u32>, u32, Option<&str>) {
        (
            &self.path,
            self.line,
            self.column,
            self.length,
            self.pointer.as_deref(),
        )
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Place {}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
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

/// A number as one of a line or a column.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
    #[test]
    fn places_keep_their_line_and_are_compared_without_it() {
        let place = Place::at("f", "a\nbc\n", 3, 0);
        assert_eq!(place.source(), Some("bc"));
        assert_eq!(place, Place::on_line("f", "", 2, Some(2)));
        assert_eq!(Place::on_line("f", "a\r\nbc", 1, None).source(), Some("a"));
        assert_eq!(Place::on_line("f", "a\n", 9, None).source(), None);
    }
}
