//! CSV (RFC 4180) read as a list of objects: the first record names the members, all values are text.

use super::ReadResult;
use csv::{Position, Reader, ReaderBuilder};
use orch_base::{Code, Diagnostic, Place, RepoPath};
use serde_json::Value;
use std::collections::HashSet;

/// How many bytes the names of the columns may take, once per row.
const MAX_NAMED: usize = 64 << 20;

fn refuse(path: &RepoPath, text: &str, offset: usize, message: &str) -> ReadResult {
    let message = format!("invalid CSV: {message}");
    let problem = Diagnostic::error(Code::CsvSyntax, message)
        .at(Place::at(path.as_str(), text, offset, 1))
        .hint("write one record per line; the first names the columns");
    ReadResult::refused(problem)
}

/// Reads a table.
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    if let Some(offset) = unclosed_quote(text) {
        return refuse(path, text, offset, "this quote is never closed");
    }
    let mut names: Vec<String> = Vec::new();
    let mut named = 0_usize;
    let mut rows = Vec::new();
    for (index, record) in reader(text).into_byte_records().enumerate() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let offset = error.position().map_or(0, |at| start(text, at));
                return refuse(path, text, offset, &message_of(&error));
            }
        };
        if index == 0 {
            names = record.iter().map(text_of).collect();
            let mut known = HashSet::new();
            if let Some(twice) = names.iter().find(|name| !known.insert(name.as_str())) {
                return refuse(path, text, 0, &format!("two columns are named `{twice}`"));
            }
            continue;
        }
        // Each row names its columns, so that long names and many rows take much more than the file.
        named += names.iter().map(|name| name.len() + 1).sum::<usize>();
        if named > MAX_NAMED {
            let limit = MAX_NAMED >> 20;
            let message = format!("the names of the columns, once per row, exceed {limit} MiB");
            return refuse(path, text, 0, &message);
        }
        let fields = record.iter().map(|field| Value::from(text_of(field)));
        rows.push(Value::Object(names.iter().cloned().zip(fields).collect()));
    }
    ReadResult::of(Value::Array(rows))
}

/// Returns the offset of a quote that opens a field and is not closed before the end. The reader takes such a field
/// as it is.
fn unclosed_quote(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().peekable();
    let mut opened = None;
    let mut begins_field = true;
    while let Some((at, byte)) = bytes.next() {
        match (opened, byte) {
            (Some(_), b'"') if bytes.next_if(|(_, next)| *next == b'"').is_none() => opened = None,
            (Some(_), _) => {}
            (None, b'"') if begins_field => opened = Some(at),
            (None, _) => {}
        }
        begins_field = opened.is_none() && matches!(byte, b',' | b'\n' | b'\r');
    }
    opened
}

/// Returns the offset of the row that `pointer` leads to.
pub(super) fn locate(text: &str, pointer: &str) -> Option<usize> {
    let row: usize = pointer.split('/').nth(1)?.parse().ok()?;
    let record = reader(text).into_byte_records().nth(row + 1)?.ok()?;
    Some(start(text, record.position()?))
}

/// Where a record starts. The reader ends the one before at its CR and leaves the LF to the next.
fn start(text: &str, at: &Position) -> usize {
    let offset = usize::try_from(at.byte()).unwrap_or(usize::MAX);
    let rest = text.get(offset..).unwrap_or_default();
    text.len() - rest.trim_start_matches(['\r', '\n']).len()
}

fn reader(text: &str) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes())
}

fn text_of(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

fn message_of(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("this record has {len} fields, the first has {expected_len}")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_rows_and_places_faults() {
        let path = RepoPath::new("f.csv").expect("valid");
        let good = "name,note\r\na,\"x, \"\"y\"\"\"\r\nb,\"two\r\nlines\"\r\nc,\r\n";
        let expected = json!([
            {"name": "a", "note": "x, \"y\""},
            {"name": "b", "note": "two\r\nlines"},
            {"name": "c", "note": ""},
        ]);
        assert_eq!(read(&path, good).data, Some(expected));
        assert_eq!(read(&path, "name\n").data, Some(json!([])));
        assert_eq!(locate(good, "/2/note"), Some(41));
        let quotes = "a\n\"x\"y\nz\"\n\"\"\"\"\n\"\"\n";
        assert_eq!(
            read(&path, quotes).data,
            Some(json!([{"a": "xy"}, {"a": "z\""}, {"a": "\""}, {"a": ""}]))
        );
        for (text, place) in [
            ("a,b\n1,2\n3\n", "f.csv:3:1"),
            ("a,a\n", "f.csv:1:1"),
            ("a,b\n1,\"2\n3,4\n", "f.csv:2:3"),
            ("a\n\"x\"\"\n", "f.csv:2:1"),
        ] {
            let result = read(&path, text);
            let found = result.problems[0]
                .place
                .as_ref()
                .expect("a place")
                .to_string();
            assert_eq!((found.as_str(), result.data), (place, None));
        }
    }
}
