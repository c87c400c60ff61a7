//! Reads the bytes of an artifact into a JSON value, by its format.

mod coverage;
mod csv;
mod eval_report;
mod json;
mod junit;
mod markdown;
mod memory;
mod message;
mod patch;
mod sarif;
mod toml;
mod xml;
mod yaml;

pub use json::{JsonText, parse_json, parse_text};
pub use junit::{ReportedFailure, ReportedTest, ReportedTestEnd, TestReport};
pub(crate) use memory::{memory_limit, memory_of, memory_of_all};

use orch_base::{Code, Diagnostic, Place, RepoPath};
use orch_core::decide::RecordVersion;
use orch_core::workflow::Format;
use serde_json::{Value, json};

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The result of reading some bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadResult {
    /// The value; `None` if the bytes could not be read.
    pub data: Option<Value>,
    /// Errors and warnings.
    pub problems: Vec<Diagnostic>,
}

impl ReadResult {
    fn refused(problem: Diagnostic) -> Self {
        Self {
            data: None,
            problems: vec![problem],
        }
    }

    fn of(data: Value) -> Self {
        Self {
            data: Some(data),
            problems: Vec::new(),
        }
    }
}

/// Reads every test of a report: JUnit XML, or an evaluation report in JSON. Returns an error if it is neither.
pub fn tests_of(path: &RepoPath, bytes: &[u8]) -> Result<TestReport, Box<Diagnostic>> {
    if eval_report::is_json(bytes) {
        eval_report::tests_of_eval(path, bytes)
    } else {
        junit::tests_of(path, bytes)
    }
}

/// Reads bytes in a format, by the latest rules. An empty file is never valid.
#[must_use]
pub fn read(format: Format, path: &RepoPath, bytes: &[u8]) -> ReadResult {
    read_by(RecordVersion::CURRENT, format, path, bytes)
}

/// The same, as it was read when events of this version were recorded. In the first, the first mark of a test in a JUnit
/// report counts, and a check box is empty or done. In the first two, the prefixes `a/` and `b/` of a patch are known.
#[must_use]
pub fn read_by(
    version: RecordVersion,
    format: Format,
    path: &RepoPath,
    bytes: &[u8],
) -> ReadResult {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        let hint = "write the file, or remove it";
        return ReadResult::refused(
            Diagnostic::error(Code::Empty, "the file is empty")
                .at(Place::file(path))
                .hint(hint),
        );
    }
    match format {
        Format::Json => {
            let (data, problems) = parse_json(path, bytes);
            ReadResult { data, problems }
        }
        Format::Jsonl => json::lines(path, bytes),
        // Some editors of Markdown write a byte order mark; no reader of Markdown minds it.
        Format::Markdown => {
            let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
            with_text(path, bytes, |path, text| {
                markdown::read(version, path, text)
            })
        }
        Format::Junit if version == RecordVersion::First => {
            with_text(path, bytes, junit::read_first)
        }
        Format::Junit => junit::read(path, bytes),
        Format::Cobertura => coverage::read_cobertura(path, bytes),
        Format::Lcov => with_text(path, bytes, coverage::read_lcov),
        Format::Sarif => sarif::read(path, bytes),
        Format::Text => with_text(path, bytes, |_, text| {
            ReadResult::of(json!({"bytes": text.len(), "lines": text.lines().collect::<Vec<_>>()}))
        }),
        Format::Patch if version < RecordVersion::Third => {
            with_text(path, bytes, patch::earlier::read)
        }
        Format::Patch => patch::read(path, bytes),
        Format::Yaml => with_text(path, bytes, yaml::read),
        Format::Toml => with_text(path, bytes, toml::read),
        Format::Csv => with_text(path, bytes, csv::read),
    }
}

/// The place of the value at `pointer` (RFC 6901) in a file, or of the name of its member `key`; the file
/// alone where its format or its text does not tell.
#[must_use]
pub fn locate(
    format: Format,
    path: &RepoPath,
    text: &str,
    pointer: &str,
    key: Option<&str>,
) -> Place {
    let span = match format {
        Format::Json => json::locate(text, pointer, key),
        Format::Jsonl => json::locate_in_lines(text, pointer),
        Format::Toml => toml::locate(text, pointer, key).map(|bytes| (bytes.start, bytes.len())),
        Format::Csv => csv::locate(text, pointer).map(|start| (start, 1)),
        Format::Markdown | Format::Yaml => None,
        Format::Junit | Format::Cobertura | Format::Lcov | Format::Sarif => None,
        Format::Text | Format::Patch => None,
    };
    if let Some((start, length)) = span {
        return Place::at(path.as_str(), text, start, length);
    }
    let position = match format {
        Format::Markdown => markdown::locate(text, pointer, key),
        Format::Yaml => yaml::locate(text, pointer, key),
        _ => None,
    };
    match position {
        Some((line, column)) => Place::on_line(path.as_str(), text, line, Some(column)),
        None => Place::file(path),
    }
}

fn with_text(
    path: &RepoPath,
    bytes: &[u8],
    read: impl Fn(&RepoPath, &str) -> ReadResult,
) -> ReadResult {
    match text(path, bytes) {
        Ok(text) => match conflict(path, text) {
            Some(problem) => ReadResult::refused(problem),
            None => read(path, text),
        },
        Err(problem) => ReadResult::refused(*problem),
    }
}

/// The bytes as text, or the reason that they are not text.
fn text<'b>(path: &RepoPath, bytes: &'b [u8]) -> Result<&'b str, Box<Diagnostic>> {
    let mut place = Place::file(path);
    let (code, message) = match std::str::from_utf8(bytes) {
        _ if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) => {
            (Code::Utf16, "the file is UTF-16, not UTF-8")
        }
        _ if bytes.starts_with(MARK) => (
            Code::ByteOrderMark,
            "the file begins with a byte order mark",
        ),
        Ok(text) => {
            let Some(offset) = text.find('\0') else {
                return Ok(text);
            };
            place = Place::at(path.as_str(), text, offset, 1);
            (Code::NulByte, "the file contains a NUL byte")
        }
        Err(error) => {
            let shown = String::from_utf8_lossy(bytes);
            place = Place::at(path.as_str(), &shown, error.valid_up_to(), 1);
            (Code::NotUtf8, "the file is not UTF-8")
        }
    };
    let hint = "save the file as UTF-8 without a byte order mark";
    Err(Box::new(
        Diagnostic::error(code, message).at(place).hint(hint),
    ))
}

/// The finding for the first merge conflict in a text, if there is one.
#[must_use]
pub fn conflict(path: &RepoPath, text: &str) -> Option<Diagnostic> {
    if !text.contains("<<<<<<< ") {
        return None;
    }
    let mut offset = 0;
    let mut start = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with("<<<<<<< ") && start.is_none() {
            start = Some(offset);
        }
        if let Some(start) = start.filter(|_| line.starts_with(">>>>>>> ")) {
            let place = Place::at(path.as_str(), text, start, "<<<<<<<".len());
            let message = "the file contains the conflict markers of a merge";
            return Some(
                Diagnostic::error(Code::ConflictMarkers, message)
                    .at(place)
                    .hint("resolve the conflict, then save the file"),
            );
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code and the position of each kind of bad bytes.
    #[test]
    fn bad_bytes_have_a_code_and_a_place() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let cases: [(&[u8], &str, &str); 20] = [
            (b"", "empty", "f.json"),
            (b" \n", "empty", "f.json"),
            (b"{\"a\": 1,", "json-syntax", "f.json:1:9"),
            (b"{\"a\": 1,\n\"a\": 2}", "json-duplicate-key", "f.json:2:1"),
            (
                b"{\"a\": {\"b\": 1, \"b\": 2}}",
                "json-duplicate-key",
                "f.json:1:16",
            ),
            (
                b"{\"a/b\":[0,{\"c~\":1,\"c~\":2}]}",
                "json-duplicate-key",
                "f.json:1:19",
            ),
            (
                b"{\"a/b\":[0,{\"c~\":[123456789012345678901234]}]}",
                "json-big-integer",
                "f.json:1:18",
            ),
            (b"{\"a\": NaN}", "json-syntax", "f.json:1:7"),
            (b"{\"a\": 1} x", "json-syntax", "f.json:1:10"),
            (b"{'a': 1}", "json-syntax", "f.json:1:2"),
            (b"\xEF\xBB\xBF{}", "byte-order-mark", "f.json"),
            (b"\xFF\xFE{\0}\0", "utf16", "f.json"),
            (b"{\"a\": \"\xE4\"}", "not-utf8", "f.json:1:8"),
            (b"{\"a\": 1}\0", "nul-byte", "f.json:1:9"),
            (deep.as_bytes(), "json-depth", "f.json:1:128"),
            (
                b"{\n<<<<<<< HEAD\n\"a\": 1\n=======\n\"a\": 2\n>>>>>>> b\n}",
                "conflict-markers",
                "f.json:2:1",
            ),
            (b"{\"a\": 1e999}", "json-syntax", "f.json:1:11"),
            (
                b"{\"a\": 123456789012345678901234}",
                "json-big-integer",
                "f.json:1:7",
            ),
            (b"[1,]", "json-syntax", "f.json:1:4"),
            (b"{\"a\": \"\n\"}", "json-syntax", "f.json:2:1"),
        ];
        for (bytes, code, place) in cases {
            let path = RepoPath::new("f.json").expect("valid");
            let verdict = read(Format::Json, &path, bytes);
            let first = verdict
                .problems
                .first()
                .unwrap_or_else(|| panic!("nothing said of {bytes:?}"));
            let found = first
                .place
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert_eq!(
                (first.code.as_str(), found.as_str()),
                (code, place),
                "{} {first}",
                String::from_utf8_lossy(bytes)
            );
            assert!(first.hint.is_some(), "{first}");
        }
    }

    #[test]
    fn markdown_may_begin_with_a_byte_order_mark() {
        let path = RepoPath::new("f.md").expect("valid");
        let text = "\u{feff}---\na: {b: 1}\n---\n# T\n";
        let data = read(Format::Markdown, &path, text.as_bytes())
            .data
            .expect("valid");
        assert_eq!(
            (&data["front_matter"]["a"], &data["headings"][0]["line"]),
            (&json!({"b": 1}), &json!(4))
        );
        let place = locate(Format::Markdown, &path, text, "/front_matter/a/b", None);
        assert_eq!((place.line, place.column), (Some(2), Some(8)));
    }

    #[test]
    fn text_has_lines() {
        let path = RepoPath::new("run.log").expect("valid");
        let data = read(Format::Text, &path, b"ok 1\r\n\nFAIL 2")
            .data
            .expect("valid");
        assert_eq!(data, json!({"bytes": 13, "lines": ["ok 1", "", "FAIL 2"]}));
    }

    #[test]
    fn crlf_is_fine() {
        let path = RepoPath::new("f.json").expect("valid");
        assert!(
            read(Format::Json, &path, b"{\r\n\"a\": 1\r\n}\r\n")
                .problems
                .is_empty()
        );
    }
}
