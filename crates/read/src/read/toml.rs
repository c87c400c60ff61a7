//! TOML read as JSON; dates and times become text.

use super::ReadResult;
use orch_base::pointer::unescape;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use serde_json::{Map, Number, Value};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a TOML document as an object.
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let span = error.span().unwrap_or_default();
            return refuse(path, text, error.message(), span);
        }
    };
    match object(table.get_ref()) {
        Ok(members) => ReadResult::of(Value::Object(members)),
        Err((message, span)) => refuse(path, text, message, span),
    }
}

fn refuse(path: &RepoPath, text: &str, message: &str, span: Range<usize>) -> ReadResult {
    let problem = Diagnostic::error(Code::TomlSyntax, format!("invalid TOML: {message}"))
        .at(Place::at(path.as_str(), text, span.start, span.len()))
        .hint("correct the document; see toml.io");
    ReadResult::refused(problem)
}

/// Returns the bytes of the value at `pointer` (RFC 6901), or of the name of its member `key`.
pub(super) fn locate(text: &str, pointer: &str, key: Option<&str>) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?;
    let root = Spanned::new(table.span(), DeValue::Table(table.into_inner()));
    let mut here = &root;
    for segment in pointer.split('/').skip(1) {
        let segment = unescape(segment);
        here = match here.get_ref() {
            DeValue::Table(table) => table.get(segment.as_str())?,
            DeValue::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    match (key, here.get_ref()) {
        (None, _) => Some(here.span()),
        (Some(key), DeValue::Table(table)) => table.get_key_value(key).map(|(key, _)| key.span()),
        _ => None,
    }
}

type TomlFault = (&'static str, Range<usize>);

fn object(table: &DeTable<'_>) -> Result<Map<String, Value>, TomlFault> {
    table
        .iter()
        .map(|(key, item)| Ok((key.get_ref().to_string(), value(item)?)))
        .collect()
}

/// The parser bounds how deeply values nest.
fn value(item: &Spanned<DeValue<'_>>) -> Result<Value, TomlFault> {
    Ok(match item.get_ref() {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(truth) => Value::from(*truth),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix());
            Value::from(number.map_err(|_| ("the integer is too large", item.span()))?)
        }
        DeValue::Float(float) => {
            let number = float.as_str().parse().ok().and_then(Number::from_f64);
            Value::Number(number.ok_or_else(|| ("the number is not finite", item.span()))?)
        }
        DeValue::Array(items) => Value::Array(items.iter().map(value).collect::<Result<_, _>>()?),
        DeValue::Table(table) => Value::Object(object(table)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_values_and_places_faults() {
        let path = RepoPath::new("f.toml").expect("valid");
        let good = "a = 1_000\nb = 0xff\n[c]\nd = [1.5, 'x']\ne = 2026-11-22\n[[f]]\ng = true\n";
        let expected = json!({"a": 1000, "b": 255, "c": {"d": [1.5, "x"], "e": "2026-11-22"}, "f": [{"g": true}]});
        assert_eq!(read(&path, good).data, Some(expected));
        let deep = format!("a = {}{}", "[".repeat(20_000), "]".repeat(20_000));
        for (text, place) in [
            ("a = 1\na = 2\n", "f.toml:2:1"),
            ("a = inf\n", "f.toml:1:5"),
            ("a = 99999999999999999999\n", "f.toml:1:5"),
            ("a = [1\n", "f.toml"),
            (&deep, "f.toml:1:"),
        ] {
            let result = read(&path, text);
            let found = result.problems[0]
                .place
                .as_ref()
                .expect("a place")
                .to_string();
            assert!(
                found.starts_with(place) && result.data.is_none(),
                "{found} {}",
                result.problems[0]
            );
        }
        assert_eq!(locate(good, "/c/d/1", None), Some(33..36));
        assert_eq!(locate(good, "/f/0", Some("g")), Some(59..60));
        assert_eq!(locate(good, "/h", None), None);
    }
}
