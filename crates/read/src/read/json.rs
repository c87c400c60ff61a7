//! Strict JSON: duplicate keys and inexact numbers are reported, and every problem has a position.

use super::{ReadResult, conflict, text};
use crate::span::{key_span, span};
use orch_base::pointer::child;
use orch_base::{Code, Diagnostic, Excerpt, Hint, Place, RepoPath};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// What a JSON text is, for messages about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonText {
    /// A file of a task.
    File,
    /// A line of a file.
    Line,
    /// The body of a request.
    Body,
}

impl JsonText {
    fn name(self) -> &'static str {
        match self {
            Self::File => "the file",
            Self::Line => "the line",
            Self::Body => "the body",
        }
    }

    /// What is asked about a text that ends early.
    fn early_end(self) -> &'static str {
        match self {
            Self::File => "the file ends early: was it truncated?",
            Self::Line => "the line ends early: was it truncated?",
            Self::Body => "the body ends early: was it truncated?",
        }
    }

    /// What helps against an error for which there is no better advice.
    fn advice(self) -> Hint {
        match self {
            Self::File => {
                Hint::run(&["orch", "schema", "NAME", "--example"]).text(" prints a valid example")
            }
            Self::Line => "each line is one JSON value".into(),
            Self::Body => "send one JSON object".into(),
        }
    }
}

/// Parses one JSON document. The value is `None` exactly if a problem is an error.
#[must_use]
pub fn parse_json(path: &RepoPath, bytes: &[u8]) -> (Option<Value>, Vec<Diagnostic>) {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return (None, vec![*problem]),
    };
    parse_text(path, text, JsonText::File)
}

/// Parses a JSON text that `path` stands for. The value is `None` exactly if a problem is an error.
#[must_use]
pub fn parse_text(path: &RepoPath, text: &str, what: JsonText) -> (Option<Value>, Vec<Diagnostic>) {
    match parse(path, text, what) {
        Ok((value, problems)) => (Some(value), problems),
        Err(problem) => (None, vec![*problem]),
    }
}

/// How many problems of one file are told.
const MAX_TOLD: usize = 20;

/// Parses JSON Lines into an array; each problem has its line. After many bad lines, the others are not read.
pub(super) fn lines(path: &RepoPath, bytes: &[u8]) -> ReadResult {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return ReadResult::refused(*problem),
    };
    if let Some(problem) = conflict(path, text) {
        return ReadResult::refused(problem);
    }
    let mut values = Vec::new();
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut errors = 0;
    let mut end = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let start = end;
        end += line.len();
        let line = line.trim_end_matches('\n').trim_end_matches('\r');
        if line.trim().is_empty() {
            continue;
        }
        let known = problems.len();
        match parse(path, line, JsonText::Line) {
            Ok((value, odd)) => {
                values.push(value);
                if problems.len() < MAX_TOLD {
                    problems.extend(odd);
                }
            }
            Err(mut problem) => {
                errors += 1;
                if errors == MAX_TOLD {
                    problem
                        .message
                        .push_str("; the lines after it are not read");
                }
                problems.push(*problem);
            }
        }
        for problem in &mut problems[known..] {
            if let Some(place) = &mut problem.place {
                let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
                place.line = Some(number);
                place.excerpt = Excerpt::around(text, start, number).map(Arc::new);
            }
        }
        if errors == MAX_TOLD {
            break;
        }
    }
    let broken = errors > 0;
    ReadResult {
        data: (!broken).then_some(Value::Array(values)),
        problems,
    }
}

/// Returns the offset and the length of the value at `pointer`, or of its member `key`; of a container,
/// its first byte.
pub(super) fn locate(text: &str, pointer: &str, key: Option<&str>) -> Option<(usize, usize)> {
    let found = match key {
        Some(key) => key_span(text, pointer, key),
        None => span(text, pointer).map(|(start, length)| {
            let is_container = text[start..].starts_with(['{', '[']);
            (start, if is_container { 1 } else { length })
        }),
    };
    // A value that does not exist is missing from the document as a whole.
    Some(found.unwrap_or_default())
}

/// The same in JSON Lines, where the first part of the pointer is the number of the value.
pub(super) fn locate_in_lines(text: &str, pointer: &str) -> Option<(usize, usize)> {
    let mut parts = pointer.splitn(3, '/').skip(1);
    let index: usize = parts
        .next()
        .and_then(|index| index.parse().ok())
        .unwrap_or(0);
    let rest = parts
        .next()
        .map_or_else(String::new, |rest| format!("/{rest}"));
    let mut offset = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = offset;
        offset += line.len();
        (start, line)
    });
    let (start, line) = lines
        .filter(|(_, line)| !line.trim().is_empty())
        .nth(index)?;
    let (inner, length) = span(line, &rest).unwrap_or_default();
    Some((start + inner, length))
}

/// What the parser noticed apart from the value.
#[derive(Default)]
struct Noticed {
    duplicate: Option<(String, String)>,
    lossy: Option<String>,
}

/// Where a value is. A pointer is made of it only for what is noticed.
enum ValuePath<'a> {
    Top,
    Member(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl ValuePath<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Top => String::new(),
            Self::Member(above, name) => child(&above.pointer(), name),
            Self::Item(above, index) => format!("{}/{index}", above.pointer()),
        }
    }
}

fn parse(
    path: &RepoPath,
    text: &str,
    what: JsonText,
) -> Result<(Value, Vec<Diagnostic>), Box<Diagnostic>> {
    let noticed = RefCell::new(Noticed::default());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let top = Seed {
        noticed: &noticed,
        at: &ValuePath::Top,
    };
    let parsed = top
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let noticed = noticed.into_inner();
    match parsed {
        // A request contains no conflict markers of git.
        Err(_)
            if what != JsonText::Body
                && let Some(problem) = conflict(path, text) =>
        {
            Err(Box::new(problem))
        }
        Err(error) => Err(Box::new(syntax(path, text, &error, what))),
        Ok(_) if noticed.duplicate.is_some() => {
            let (object, key) = noticed.duplicate.unwrap_or_default();
            Err(Box::new(duplicate(path, text, &object, &key)))
        }
        Ok(value) => {
            let lossy = noticed.lossy.map(|pointer| {
                let (start, length) = span(text, &pointer).unwrap_or_default();
                let mut place = Place::at(path.as_str(), text, start, length);
                place.pointer = Some(pointer);
                let message = "the integer is too large to be represented exactly";
                Diagnostic::warning(Code::JsonBigInteger, message)
                    .at(place)
                    .hint("write it as a string")
            });
            Ok((value, lossy.into_iter().collect()))
        }
    }
}

fn syntax(path: &RepoPath, text: &str, error: &serde_json::Error, what: JsonText) -> Diagnostic {
    let line_start: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let mut offset = (line_start + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let message = error.to_string();
    let plain = message.split(" at line ").next().unwrap_or(&message);
    if plain.contains("recursion limit") {
        let place = Place::at(path.as_str(), text, offset, 1);
        return Diagnostic::error(Code::JsonDepth, "the JSON is nested deeper than 128 levels")
            .at(place)
            .hint("flatten the structure");
    }
    let rest = &text[offset..];
    let hint = if error.is_eof() {
        offset = text.trim_end().len();
        what.early_end().into()
    } else if ["NaN", "Infinity", "-Infinity"]
        .iter()
        .any(|word| rest.starts_with(word))
    {
        "JSON has neither NaN nor Infinity; write null or a string".into()
    } else if rest.starts_with('\'') {
        "strings need double quotes".into()
    } else if rest.starts_with(['}', ']']) {
        "is there an extra comma before it?".into()
    } else if rest.starts_with('/') {
        "JSON does not allow comments".into()
    } else {
        what.advice()
    };
    let place = Place::at(path.as_str(), text, offset, 1);
    Diagnostic::error(
        Code::JsonSyntax,
        format!("{} is not valid JSON: {plain}", what.name()),
    )
    .at(place)
    .hint(hint)
}

fn duplicate(path: &RepoPath, text: &str, object: &str, key: &str) -> Diagnostic {
    // The first occurrence is found by its span; the second is the next one in the same object.
    let first = key_span(text, object, key).map_or(0, |(start, length)| start + length);
    let quoted = Value::from(key).to_string();
    let second = text[first..]
        .find(&quoted)
        .map_or(first, |offset| first + offset);
    let place = Place::at(path.as_str(), text, second, quoted.len());
    let message = format!("key `{key}` occurs twice in one object");
    Diagnostic::error(Code::JsonDuplicateKey, message)
        .at(place)
        .hint("keep one of the two")
}

/// Builds a value and notices what `serde_json` would accept silently.
#[derive(Clone, Copy)]
struct Seed<'n> {
    noticed: &'n RefCell<Noticed>,
    at: &'n ValuePath<'n>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // An integer beyond 64 bits arrives here already rounded.
        if value.fract() == 0.0 && value.abs() >= 9_007_199_254_740_992.0 {
            self.noticed
                .borrow_mut()
                .lossy
                .get_or_insert_with(|| self.at.pointer());
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Seed {
            at: &ValuePath::Item(self.at, values.len()),
            ..self
        })? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Seed {
                at: &ValuePath::Member(self.at, &key),
                ..self
            })?;
            match members.entry(key) {
                Entry::Vacant(free) => drop(free.insert(value)),
                Entry::Occupied(mut taken) => {
                    self.noticed
                        .borrow_mut()
                        .duplicate
                        .get_or_insert_with(|| (self.at.pointer(), taken.key().clone()));
                    taken.insert(value);
                }
            }
        }
        Ok(Value::Object(members))
    }
}
