//! The bytes of a report as text: UTF-8, UTF-16, and the western encodings of one byte.

use orch_base::{Code, Diagnostic, Place, RepoPath};
use std::borrow::Cow;

/// How many bytes of a report are searched for its XML declaration.
const DECLARATION: usize = 256;

/// Encodings whose bytes mean something other than ASCII says, even where all of them are ASCII.
const STATEFUL: [&str; 6] = ["utf-7", "utf-32", "iso-2022", "hz", "ibm", "cp037"];

/// The letters of windows-1252 from 0x80 to 0x9F; what it leaves open is as in ISO 8859-1.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// Where ISO 8859-15 differs from ISO 8859-1.
const LATIN_9: [(u8, char); 8] = [
    (0xA4, '€'),
    (0xA6, 'Š'),
    (0xA8, 'š'),
    (0xB4, 'Ž'),
    (0xB8, 'ž'),
    (0xBC, 'Œ'),
    (0xBD, 'œ'),
    (0xBE, 'Ÿ'),
];

/// The text of a report without its byte order mark, or why it cannot be read.
pub(super) fn decode<'b>(
    path: &RepoPath,
    bytes: &'b [u8],
) -> Result<Cow<'b, str>, Box<Diagnostic>> {
    match bytes {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Err(unknown(path, "UTF-32")),
        [0xFF, 0xFE, rest @ ..] => utf16(path, rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(path, rest, u16::from_be_bytes),
        [b'<', 0, ..] => utf16(path, bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf16(path, bytes, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(path, rest),
        _ => declared_as(path, bytes),
    }
}

/// Reads bytes of one byte a letter, or of UTF-8, as the XML declaration says.
fn declared_as<'b>(path: &RepoPath, bytes: &'b [u8]) -> Result<Cow<'b, str>, Box<Diagnostic>> {
    let Some(name) = declared(bytes) else {
        return utf8(path, bytes);
    };
    match name.to_ascii_lowercase().as_str() {
        // What .NET writes from a text in memory says UTF-16, whatever it is saved as.
        "utf-8" | "utf8" | "us-ascii" | "ascii" | "utf-16" | "utf-16le" | "utf-16be"
        | "unicode" => utf8(path, bytes),
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" | "windows-1252"
        | "cp1252" => Ok(bytes.iter().map(|byte| western(*byte)).collect()),
        "iso-8859-15" | "latin-9" | "latin9" => {
            Ok(bytes.iter().map(|byte| latin_9(*byte)).collect())
        }
        other
            if bytes.is_ascii() && !STATEFUL.iter().any(|stateful| other.starts_with(stateful)) =>
        {
            utf8(path, bytes)
        }
        _ => Err(unknown(path, &name)),
    }
}

fn western(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn latin_9(byte: u8) -> char {
    let other = LATIN_9.iter().find(|(code, _)| *code == byte);
    other.map_or_else(|| char::from(byte), |(_, letter)| *letter)
}

/// The encoding that the XML declaration names.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION)]);
    let declaration = head
        .trim_start()
        .strip_prefix("<?xml")?
        .split("?>")
        .next()?;
    let value = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    Some(value[1..].split_once(quote)?.0.trim().to_owned())
}

fn utf8<'b>(path: &RepoPath, bytes: &'b [u8]) -> Result<Cow<'b, str>, Box<Diagnostic>> {
    std::str::from_utf8(bytes)
        .map(Cow::Borrowed)
        .map_err(|error| {
            let shown = String::from_utf8_lossy(bytes);
            let place = Place::at(path.as_str(), &shown, error.valid_up_to(), 1);
            let message = "the report is not UTF-8, and names no other encoding";
            let hint = "let the program that writes the report encode it as UTF-8";
            Box::new(
                Diagnostic::error(Code::NotUtf8, message)
                    .at(place)
                    .hint(hint),
            )
        })
}

fn utf16(
    path: &RepoPath,
    bytes: &[u8],
    unit: fn([u8; 2]) -> u16,
) -> Result<Cow<'static, str>, Box<Diagnostic>> {
    let (units, rest) = bytes.as_chunks::<2>();
    let text =
        char::decode_utf16(units.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>();
    match text {
        Ok(text) if rest.is_empty() => Ok(Cow::Owned(text)),
        _ => {
            let message = "the report begins as UTF-16 and is not well-formed UTF-16";
            let hint = "was the file truncated? Let the program that writes it encode it as UTF-8";
            Err(Box::new(
                Diagnostic::error(Code::Utf16, message)
                    .at(Place::file(path))
                    .hint(hint),
            ))
        }
    }
}

fn unknown(path: &RepoPath, name: &str) -> Box<Diagnostic> {
    let message = format!("the report is encoded in `{name}`, which orch does not read");
    let hint = "let the program that writes the report encode it as UTF-8";
    Box::new(
        Diagnostic::error(Code::NotUtf8, message)
            .at(Place::file(path))
            .hint(hint),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_is_read_or_refused_by_name() {
        let path = RepoPath::new("r.xml").expect("valid");
        let head = |name: &str| format!("<?xml version='1.0' encoding=\"{name}\"?>").into_bytes();
        let with = |name: &str, letter: &[u8]| [head(name).as_slice(), letter].concat();
        let wide = |unit: fn(u16) -> [u8; 2], mark: &[u8]| {
            [
                mark,
                &"<ü\u{1F600}>"
                    .encode_utf16()
                    .flat_map(unit)
                    .collect::<Vec<u8>>(),
            ]
            .concat()
        };
        for (bytes, expected) in [
            ("<ü>".as_bytes().to_vec(), Ok("<ü>")),
            ("\u{feff}<ü>".as_bytes().to_vec(), Ok("<ü>")),
            (wide(u16::to_le_bytes, &[0xFF, 0xFE]), Ok("<ü\u{1F600}>")),
            (wide(u16::to_be_bytes, &[0xFE, 0xFF]), Ok("<ü\u{1F600}>")),
            (wide(u16::to_le_bytes, &[]), Ok("<ü\u{1F600}>")),
            (wide(u16::to_be_bytes, &[]), Ok("<ü\u{1F600}>")),
            (with("utf-16", "ü".as_bytes()), Ok("ü")),
            (with("ISO-8859-1", &[0xFC]), Ok("ü")),
            (with("windows-1252", &[0x80, 0xFC]), Ok("€ü")),
            (with("ISO-8859-15", &[0xA4]), Ok("€")),
            (with("Shift_JIS", b"a"), Ok("a")),
            (with("Shift_JIS", &[0x83, 0x65]), Err("`Shift_JIS`")),
            (with("ISO-2022-JP", b"a"), Err("`ISO-2022-JP`")),
            (vec![0xFF, 0xFE, 0, 0], Err("`UTF-32`")),
            (vec![0xFF, 0xFE, b'<', 0, b'a'], Err("UTF-16")),
            (vec![b'<', 0xFC], Err("not UTF-8")),
            (with("UTF-8", &[0xFC]), Err("not UTF-8")),
        ] {
            match (decode(&path, &bytes), expected) {
                (Ok(text), Ok(expected)) => assert!(text.ends_with(expected), "{text}"),
                (Err(problem), Err(expected)) => {
                    assert!(
                        problem.message.contains(expected) && problem.hint.is_some(),
                        "{problem}"
                    );
                }
                (found, _) => panic!("{bytes:?}: {found:?}, not {expected:?}"),
            }
        }
    }
}
