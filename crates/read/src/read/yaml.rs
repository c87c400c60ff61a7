//! YAML 1.2 with its core schema, read as JSON: a value for each document, and a place for each problem.
//!
//! The parser reports events and this reader builds the value without recursion, so the depth of a document
//! cannot exhaust the stack. Aliases are copied, up to a number of values in all.

use super::ReadResult;
use orch_base::pointer::child;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// How many lists and mappings may be nested, as in JSON.
const MAX_DEPTH: usize = 128;
/// How much all anchors and aliases of a document may copy together: values, and bytes of text.
const MAX_COPIED: usize = 1_000_000;

/// A problem at a line and a column, both from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlFault {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
}

/// Reads a file that holds one YAML document.
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let built = build(text, None);
    let merged = built.as_ref().ok().and_then(|built| built.merged);
    match built.map(|built| built.value) {
        Ok(value) => ReadResult {
            data: Some(value),
            problems: merged
                .map(|at| merge_key(path, text, at))
                .into_iter()
                .collect(),
        },
        Err(fault) => {
            let place = Place::on_line(path.as_str(), text, fault.line, Some(fault.column));
            let problem = Diagnostic::error(Code::YamlSyntax, fault.message).at(place);
            ReadResult::refused(problem.hint("write one YAML 1.2 document whose keys are scalars"))
        }
    }
}

/// The finding about a merge key, which many expect to merge something.
fn merge_key(path: &RepoPath, text: &str, at: (u32, u32)) -> Diagnostic {
    let place = Place::on_line(path.as_str(), text, at.0, Some(at.1));
    let message = "`<<` is an ordinary key, and merges nothing: YAML 1.2 has no merge keys";
    Diagnostic::warning(Code::YamlMergeKey, message)
        .at(place)
        .hint("write the members out")
}

/// Returns the value of the only document in `text`; null where there is none.
pub(super) fn parse(text: &str) -> Result<Value, YamlFault> {
    build(text, None).map(|built| built.value)
}

/// Returns the line and the column of the value at `pointer` (RFC 6901), or of its member `key`.
pub(super) fn locate(text: &str, pointer: &str, key: Option<&str>) -> Option<(u32, u32)> {
    build(text, Some((pointer, key))).ok()?.found
}

/// A list or a mapping that is still open.
struct Open {
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Value>),
    Mapping(Map<String, Value>, Option<String>),
}

struct Builder<'w> {
    open: Vec<Open>,
    root: Option<Value>,
    /// Completed values by the number of their anchor, each with its size.
    anchored: HashMap<usize, (Value, usize)>,
    copied: usize,
    wanted: Option<(&'w str, Option<&'w str>)>,
    found: Option<(u32, u32)>,
    merged: Option<(u32, u32)>,
}

/// What a text holds.
struct BuiltYaml {
    value: Value,
    /// Where the wanted value is.
    found: Option<(u32, u32)>,
    /// Where the first merge key is.
    merged: Option<(u32, u32)>,
}

fn build(text: &str, wanted: Option<(&str, Option<&str>)>) -> Result<BuiltYaml, YamlFault> {
    let open = Vec::new();
    let anchored = HashMap::new();
    let mut builder = Builder {
        open,
        root: None,
        anchored,
        copied: 0,
        wanted,
        found: None,
        merged: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| within(text, fault(*error.marker(), error.info())))?;
        builder.take(event, span.start)?;
    }
    Ok(BuiltYaml {
        value: builder.root.unwrap_or(Value::Null),
        found: builder.found,
        merged: builder.merged,
    })
}

fn fault(at: Marker, message: impl Into<String>) -> YamlFault {
    let (line, column) = position(at);
    YamlFault {
        line,
        column,
        message: format!("invalid YAML: {}", message.into()),
    }
}

/// The parser notices some problems only at the end of the text, behind the last line.
fn within(text: &str, fault: YamlFault) -> YamlFault {
    let last = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    if fault.line > last {
        YamlFault {
            line: last,
            column: 1,
            ..fault
        }
    } else {
        fault
    }
}

fn position(at: Marker) -> (u32, u32) {
    let line = u32::try_from(at.line()).unwrap_or(u32::MAX);
    let column = u32::try_from(at.col() + 1).unwrap_or(u32::MAX);
    (line, column)
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, at: Marker) -> Result<(), YamlFault> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(fault(at, "a second document starts here"))
            }
            Event::Scalar(text, style, anchor, tag) => {
                if self.takes_key(&text, at)? {
                    if text == "<<" && style == ScalarStyle::Plain {
                        self.merged.get_or_insert(position(at));
                    }
                    return Ok(());
                }
                self.note_value(at);
                let value = scalar(&text, style, tag.as_deref()).map_err(|why| fault(at, why))?;
                self.close(value, anchor, at)
            }
            Event::Alias(anchor) => {
                let Some(size) = self.anchored.get(&anchor).map(|(_, size)| *size) else {
                    return Err(fault(at, "this alias refers to a value that contains it"));
                };
                self.copy(size, at)?;
                let value = self
                    .anchored
                    .get(&anchor)
                    .map(|(value, _)| value.clone())
                    .unwrap_or_default();
                if let Some(text) = value.as_str()
                    && self.takes_key(text, at)?
                {
                    return Ok(());
                }
                self.refuse_key(at)?;
                self.note_value(at);
                self.close(value, 0, at)
            }
            Event::SequenceStart(anchor, _) => self.enter(anchor, OpenKind::List(Vec::new()), at),
            Event::MappingStart(anchor, _) => {
                self.enter(anchor, OpenKind::Mapping(Map::new(), None), at)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Ok(());
                };
                let value = match open.kind {
                    OpenKind::List(items) => Value::Array(items),
                    OpenKind::Mapping(members, _) => Value::Object(members),
                };
                self.close(value, open.anchor, at)
            }
            _ => Ok(()),
        }
    }

    fn enter(&mut self, anchor: usize, kind: OpenKind, at: Marker) -> Result<(), YamlFault> {
        self.refuse_key(at)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(fault(
                at,
                format!("it is nested deeper than {MAX_DEPTH} levels"),
            ));
        }
        self.note_value(at);
        self.open.push(Open { anchor, kind });
        Ok(())
    }

    /// Adds a completed value to the container that is open, or makes it the document.
    fn close(&mut self, value: Value, anchor: usize, at: Marker) -> Result<(), YamlFault> {
        if anchor != 0 {
            let size = size_of(&value, MAX_COPIED);
            self.copy(size, at)?;
            self.anchored.insert(anchor, (value.clone(), size));
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(value),
            Some(OpenKind::List(items)) => items.push(value),
            Some(OpenKind::Mapping(members, key)) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
        }
        Ok(())
    }

    fn copy(&mut self, size: usize, at: Marker) -> Result<(), YamlFault> {
        self.copied = self.copied.saturating_add(size);
        if self.copied > MAX_COPIED {
            return Err(fault(at, "its anchors and aliases copy too much"));
        }
        Ok(())
    }

    /// Takes `text` as a key where a mapping expects one. Returns whether it did.
    fn takes_key(&mut self, text: &str, at: Marker) -> Result<bool, YamlFault> {
        let is_wanted = self
            .wanted
            .is_some_and(|(pointer, key)| key == Some(text) && self.pointer() == pointer);
        let Some(OpenKind::Mapping(members, key @ None)) =
            self.open.last_mut().map(|open| &mut open.kind)
        else {
            return Ok(false);
        };
        if members.contains_key(text) {
            return Err(fault(at, format!("the key `{text}` occurs twice")));
        }
        *key = Some(text.to_owned());
        if is_wanted {
            self.found = Some(position(at));
        }
        Ok(true)
    }

    fn refuse_key(&self, at: Marker) -> Result<(), YamlFault> {
        match self.open.last().map(|open| &open.kind) {
            Some(OpenKind::Mapping(_, None)) => Err(fault(at, "a key must be a scalar")),
            _ => Ok(()),
        }
    }

    /// Notes the place of the value that starts here, if it is the wanted one.
    fn note_value(&mut self, at: Marker) {
        if self
            .wanted
            .is_some_and(|(pointer, key)| key.is_none() && self.pointer() == pointer)
        {
            self.found = Some(position(at));
        }
    }

    /// The JSON Pointer of the value that comes next.
    fn pointer(&self) -> String {
        let segments = self.open.iter().map(|open| match &open.kind {
            OpenKind::List(items) => Cow::from(items.len().to_string()),
            OpenKind::Mapping(_, key) => Cow::from(key.as_deref().unwrap_or_default()),
        });
        // A mapping that expects a key stands for itself.
        let expects_key = matches!(
            self.open.last().map(|open| &open.kind),
            Some(OpenKind::Mapping(_, None))
        );
        let count = self.open.len() - usize::from(expects_key);
        segments
            .take(count)
            .map(|segment| child("", &segment))
            .collect()
    }
}

/// The number of values in a value and of bytes in its texts, counted up to `most`.
fn size_of(value: &Value, most: usize) -> usize {
    let mut size = 1;
    match value {
        Value::Array(items) => {
            for item in items {
                if size > most {
                    break;
                }
                size += size_of(item, most);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                if size > most {
                    break;
                }
                size += key.len() + size_of(value, most);
            }
        }
        Value::String(text) => size += text.len(),
        _ => {}
    }
    size
}

/// The value of a scalar by the core schema (YAML 1.2.2, section 10.3).
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let tag = tag
        .filter(|tag| tag.is_yaml_core_schema())
        .map(|tag| tag.suffix.as_str());
    if tag == Some("str") || (tag.is_none() && style != ScalarStyle::Plain) {
        return Ok(Value::from(text));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text) {
            Some(Ok(number)) => Value::Number(number),
            Some(Err(why)) => return Err(why),
            None => Value::from(text),
        },
    })
}

/// The number that a plain scalar denotes; `None` where it denotes none.
fn number(text: &str) -> Option<Result<Number, String>> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Err(format!(
            "`{text}` is not a finite number; write null or a string"
        )));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && digits.starts_with(|digit: char| digit.is_digit(radix))
        {
            return u64::from_str_radix(digits, radix)
                .ok()
                .map(|number| Ok(number.into()));
        }
    }
    let starts = unsigned.starts_with(|first: char| first.is_ascii_digit())
        || unsigned
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    if !starts
        || !unsigned
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
    {
        return None;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let integer = text
            .parse::<i64>()
            .map(Number::from)
            .or_else(|_| text.parse::<u64>().map(Number::from));
        return Some(integer.map_err(|_| {
            format!("the integer {text} is too large to be kept exactly; write it as a string")
        }));
    }
    let float: f64 = text.parse().ok()?;
    Some(Number::from_f64(float).ok_or_else(|| format!("the number {text} is too large")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_merge_key_is_told_and_read_as_any_other() {
        let path = RepoPath::new("f.yaml").expect("valid");
        for (text, at) in [
            ("base: &b {a: 1}\nuse:\n  <<: *b\n  c: 2\n", Some((3, 3))),
            ("'<<': 1\n", None),
            ("a: <<\n", None),
        ] {
            let result = read(&path, text);
            assert!(result.data.is_some(), "{text}");
            let place = result.problems.first().map(|found| {
                assert_eq!(found.code, Code::YamlMergeKey);
                let place = found.place.as_ref().expect("a place");
                (place.line.expect("a line"), place.column.expect("a column"))
            });
            assert_eq!(place, at, "{text}");
        }
        let data = read(&path, "x: &b {a: 1}\ny: {<<: *b}\n")
            .data
            .expect("data");
        assert_eq!(data["y"], serde_json::json!({"<<": {"a": 1}}));
    }

    #[test]
    fn reads_the_core_schema() {
        let text = "a: 1\nb: -2.5e1\nc: [x, 'y', \"z\", ~, yes, True]\nd: 0x1F\ne: |\n  two\n  lines\nf: {g: {h: []}}\n\
            i: !!str 12\nj: 1.2.3\nk: 2026-11-22\nl: &m {n: 1}\no: *m\n007: seven\np:\n";
        let expected = json!({
            "a": 1, "b": -25.0, "c": ["x", "y", "z", null, "yes", true], "d": 31, "e": "two\nlines\n",
            "f": {"g": {"h": []}}, "i": "12", "j": "1.2.3", "k": "2026-11-22", "l": {"n": 1}, "o": {"n": 1},
            "007": "seven", "p": null,
        });
        assert_eq!(parse(text), Ok(expected));
        assert_eq!(parse("# nothing\n"), Ok(Value::Null));
        assert_eq!(
            parse("a: 1\r\nb:\r\n- 2\r\n"),
            Ok(json!({"a": 1, "b": [2]}))
        );
    }

    #[test]
    fn faults_have_a_place() {
        let deep = |levels: usize| format!("a: {}{}", "[".repeat(levels), "]".repeat(levels));
        let long = format!("a: &a [{}]\n", "1,".repeat(1000));
        let text = format!(
            "a: &a \"{}\"\nb: [{}]\n",
            "x".repeat(400_000),
            "*a, ".repeat(9_000)
        );
        let anchors: String = (0..100).map(|n| format!("&a{n} [")).collect();
        let nested = format!("{anchors}{}{}", "1,".repeat(40_000), "]".repeat(100));
        let keys = format!(
            "- &k {}\n{}",
            "k".repeat(100_000),
            "- {*k : 1}\n".repeat(100)
        );
        let laughs = (0..2000).fold(long, |text, line| format!("{text}b{line}: *a\n"));
        let (deep, deeper) = (deep(MAX_DEPTH), deep(20_000));
        for (text, line, column, message) in [
            ("a: 1\na: 2\n", 2, 1, "the key `a` occurs twice"),
            ("a: [1\nb: 2\n", 2, 2, ""),
            ("a: .inf\n", 1, 4, "not a finite number"),
            ("a: 1e999\n", 1, 4, "too large"),
            (
                "a: 123456789012345678901234\n",
                1,
                4,
                "too large to be kept exactly",
            ),
            ("? [a]\n: 1\n", 1, 3, "a key must be a scalar"),
            ("a: &x [*x]\n", 1, 8, "contains it"),
            ("a: *x\n", 1, 4, ""),
            ("--- 1\n--- 2\n", 2, 1, "a second document"),
            (&deep, 1, 4 + 127, "nested deeper than 128 levels"),
            (&deeper, 1, 259, "recursion limit exceeded"),
            (&laughs, 1000, 7, "copy too much"),
            (&text, 2, 9, "copy too much"),
            (&nested, 0, 0, "copy too much"),
            (&keys, 0, 0, "copy too much"),
        ] {
            let fault = parse(text).expect_err(text);
            assert!(fault.message.contains(message), "{fault:?}");
            assert!(
                line == 0 || (fault.line, fault.column) == (line, column),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn values_and_keys_are_located() {
        let text = "a:\n  b: [1, {c/d: 2}]\n  e: x\nf: y\n";
        for (pointer, key, place) in [
            ("", None, Some((1, 1))),
            ("", Some("f"), Some((4, 1))),
            ("/a", Some("e"), Some((3, 3))),
            ("/a/b/1/c~1d", None, Some((2, 16))),
            ("/f", None, Some((4, 4))),
            ("/g", None, None),
        ] {
            assert_eq!(locate(text, pointer, key), place, "{pointer} {key:?}");
        }
    }
}
