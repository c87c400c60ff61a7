//! An objection of a person to what a verdict is about.

use orch_base::{Code, Error};
use serde_json::{Map, Value};

/// An objection, as a person types it: `SEVERITY: FILE:LINE: MESSAGE`. All but the message may be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    text: String,
    severity: String,
    file: Option<String>,
    line: Option<u64>,
    message: String,
}

/// The words that are read as a severity. What begins with another word is all message.
const SEVERITIES: [&str; 19] = [
    "blocking",
    "blocker",
    "critical",
    "error",
    "major",
    "high",
    "warning",
    "warn",
    "note",
    "notice",
    "info",
    "minor",
    "low",
    "medium",
    "suggestion",
    "nit",
    "trivial",
    "hint",
    "none",
];

/// The severity of an objection that names none.
const BLOCKING: &str = "blocking";

impl Objection {
    /// Reads an objection. Returns an error if it has no message.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();

        let (severity, rest) = match text.split_once(':') {
            Some((word, rest)) if SEVERITIES.contains(&word.trim().to_lowercase().as_str()) => {
                (word.trim().to_lowercase(), rest.trim())
            }
            _ => (BLOCKING.to_owned(), text),
        };
        let (place, message) = match rest.split_once(": ") {
            Some((place, message)) if is_place(place) => (Some(place), message.trim()),
            _ => (None, rest),
        };
        if message.is_empty() {
            let error = Error::new(Code::Usage, format!("the objection `{text}` says nothing"));
            return Err(error.with_hint("write --issue 'blocking: src/a.rs:12: what is wrong'"));
        }
        let (file, line) = match place.map(place_of) {
            Some((file, line)) => (Some(file.to_owned()), line),
            None => (None, None),
        };
        Ok(Self {
            text: text.to_owned(),
            severity,
            file,
            line,
            message: message.to_owned(),
        })
    }

    /// The objection as it was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Objections as a verdict lists them.
    pub(super) fn values(objections: &[Self]) -> Value {
        let numbered = objections.iter().enumerate();
        Value::Array(
            numbered
                .map(|(index, objection)| objection.value(index + 1))
                .collect(),
        )
    }

    fn value(&self, number: usize) -> Value {
        let mut value = Map::new();
        value.insert("id".to_owned(), format!("I{number}").into());
        value.insert("severity".to_owned(), self.severity.as_str().into());
        value.extend(
            self.file
                .as_ref()
                .map(|file| ("file".to_owned(), file.as_str().into())),
        );
        value.extend(self.line.map(|line| ("line".to_owned(), line.into())));
        value.insert("message".to_owned(), self.message.as_str().into());
        Value::Object(value)
    }
}

/// Whether a text before a message is the place that it is about, and not its first words.
fn is_place(text: &str) -> bool {
    let (file, line) = place_of(text);
    if line.is_some() {
        !file.is_empty()
    } else {
        !file.contains(char::is_whitespace) && file.contains(['/', '.'])
    }
}

/// The file and the line of `FILE:LINE`, `FILE:LINE:COLUMN` or `FILE`.
fn place_of(text: &str) -> (&str, Option<u64>) {
    let Some((file, last)) = numbered(text) else {
        return (text, None);
    };
    match numbered(file) {
        Some((file, line)) => (file, Some(line)),
        None => (file, Some(last)),
    }
}

/// What stands before the last colon, and the number behind it.
fn numbered(text: &str) -> Option<(&str, u64)> {
    let (before, number) = text.rsplit_once(':')?;
    Some((before, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_objection_is_read_as_it_is_typed() {
        for (text, expected) in [
            (
                "blocking: src/a.rs:12: A 4xx answer is retried: why?",
                json!({"severity": "blocking", "file": "src/a.rs", "line": 12, "message": "A 4xx answer is retried: why?"}),
            ),
            (
                "Warning: src/a.rs:12:7: too long",
                json!({"severity": "warning", "file": "src/a.rs", "line": 12, "message": "too long"}),
            ),
            (
                "note: docs/my notes.md:3: stale",
                json!({"severity": "note", "file": "docs/my notes.md", "line": 3, "message": "stale"}),
            ),
            (
                "nit: Makefile:1: tabs",
                json!({"severity": "nit", "file": "Makefile", "line": 1, "message": "tabs"}),
            ),
            (
                "src/a.rs: no test",
                json!({"severity": "blocking", "file": "src/a.rs", "message": "no test"}),
            ),
            (
                "The plan is vague",
                json!({"severity": "blocking", "message": "The plan is vague"}),
            ),
            (
                "Why this: nobody asked",
                json!({"severity": "blocking", "message": "Why this: nobody asked"}),
            ),
            (
                "low: it is 12:30",
                json!({"severity": "low", "message": "it is 12:30"}),
            ),
        ] {
            let mut value = Objection::parse(text).expect("read").value(1);
            assert_eq!(
                value.as_object_mut().and_then(|value| value.remove("id")),
                Some("I1".into())
            );
            assert_eq!(value, expected, "{text}");
        }
        for text in ["", "  ", "blocking:", "blocking: ", "note:  "] {
            assert_eq!(
                Objection::parse(text).map_err(|error| error.code()),
                Err(Code::Usage),
                "{text:?}"
            );
        }
    }
}
