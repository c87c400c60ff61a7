//! The template for the first line of a commit message.

use orch_base::nearest;
use std::fmt;

/// A commit subject with placeholders, for example `orch({task}): {from} -> {to}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSubject {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder {
    /// `{task}`: the id of the task.
    Task,
    /// `{from}`: the phase that the task leaves.
    From,
    /// `{to}`: the phase that the task enters.
    To,
    /// `{kind}`: the kind of the transition, for example `advance`.
    Kind,
    /// `{rule}`: the id of the rule that fired.
    Rule,
}

/// Why a text is not a [`CommitSubject`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSubject {
    /// The text is empty; a commit needs a subject.
    #[error("a subject must not be empty")]
    Empty,
    /// The text has several lines or control characters.
    #[error("a subject must be one line without control characters")]
    Control,
    /// The text contains a single `{` or `}`.
    #[error("an unmatched `{{` or `}}`; braces are only for placeholders")]
    Brace,
    /// A placeholder that does not exist.
    #[error("there is no placeholder {{{name}}}{}", did_you_mean(*.nearest))]
    Unknown {
        /// The text between the braces.
        name: String,
        /// The placeholder that was probably meant.
        nearest: Option<&'static str>,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!("; did you mean {{{name}}}?"))
        .unwrap_or_default()
}

const PLACEHOLDERS: [(&str, Placeholder); 5] = [
    ("task", Placeholder::Task),
    ("from", Placeholder::From),
    ("to", Placeholder::To),
    ("kind", Placeholder::Kind),
    ("rule", Placeholder::Rule),
];

impl CommitSubject {
    /// Parses a subject. Returns [`InvalidSubject`] if the text is empty, is not one line, or misuses braces.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidSubject> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(InvalidSubject::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(InvalidSubject::Control);
        }
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or(InvalidSubject::Brace)?;
            pieces.push(literal(before)?);
            pieces.push(Piece::Placeholder(placeholder(name)?));
            rest = after;
        }
        pieces.push(literal(rest)?);
        Ok(Self { text, pieces })
    }

    /// The subject with `value` filled in for each placeholder.
    #[must_use]
    pub fn render<'a>(&'a self, value: impl Fn(Placeholder) -> &'a str) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Placeholder(placeholder) => value(*placeholder),
        });
        pieces.collect()
    }
}

fn literal(text: &str) -> Result<Piece, InvalidSubject> {
    if text.contains('}') {
        Err(InvalidSubject::Brace)
    } else {
        Ok(Piece::Text(text.to_owned()))
    }
}

fn placeholder(name: &str) -> Result<Placeholder, InvalidSubject> {
    let known = PLACEHOLDERS.iter().find(|(known, _)| *known == name);
    known
        .map(|(_, placeholder)| *placeholder)
        .ok_or_else(|| InvalidSubject::Unknown {
            name: name.to_owned(),
            nearest: nearest(name, PLACEHOLDERS.map(|(known, _)| known)),
        })
}

impl Default for CommitSubject {
    fn default() -> Self {
        Self {
            text: "orch({task}): {from} -> {to}".to_owned(),
            pieces: vec![
                Piece::Text("orch(".to_owned()),
                Piece::Placeholder(Placeholder::Task),
                Piece::Text("): ".to_owned()),
                Piece::Placeholder(Placeholder::From),
                Piece::Text(" -> ".to_owned()),
                Piece::Placeholder(Placeholder::To),
                Piece::Text(String::new()),
            ],
        }
    }
}

impl fmt::Display for CommitSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let subject = CommitSubject::new("{kind}[{rule}] {task}: {from}>{to}.").expect("valid");
        let line = subject.render(|placeholder| match placeholder {
            Placeholder::Task => "t-42",
            Placeholder::From => "planning",
            Placeholder::To => "{codegen}",
            Placeholder::Kind => "advance",
            Placeholder::Rule => "plan-ready",
        });
        assert_eq!(line, "advance[plan-ready] t-42: planning>{codegen}.");
    }

    #[test]
    fn the_default_is_what_its_text_says() {
        let default = CommitSubject::default();
        assert_eq!(CommitSubject::new(default.to_string()), Ok(default));
    }

    #[test]
    fn faults_are_named() {
        for (text, expected) in [
            ("", "a subject must not be empty"),
            (" ", "a subject must not be empty"),
            (
                "a\nb",
                "a subject must be one line without control characters",
            ),
            (
                "a {task",
                "an unmatched `{` or `}`; braces are only for placeholders",
            ),
            (
                "a} {task}",
                "an unmatched `{` or `}`; braces are only for placeholders",
            ),
            (
                "{tsak}",
                "there is no placeholder {tsak}; did you mean {task}?",
            ),
            ("{author}", "there is no placeholder {author}"),
        ] {
            assert_eq!(
                CommitSubject::new(text).map_err(|error| error.to_string()),
                Err(expected.to_owned())
            );
        }
    }
}
