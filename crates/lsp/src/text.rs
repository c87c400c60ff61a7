//! Texts as an editor sees them: open buffers, their lines, and positions that count as the client counts.

use orch_base::Place;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, as every client knows them.
    Utf16,
}

impl PositionEncoding {
    /// The encoding for the capabilities of a client.
    pub fn of(capabilities: &Value) -> Self {
        let offered = &capabilities["general"]["positionEncodings"];
        let mut offered = offered.as_array().into_iter().flatten();
        if offered.any(|one| one == "utf-8") {
            Self::Utf8
        } else {
            Self::Utf16
        }
    }

    /// The name that the protocol has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

/// A text with the offsets at which its lines begin.
#[derive(Debug, Clone)]
pub struct LinedText {
    /// The text.
    pub text: String,
    starts: Vec<usize>,
    encoding: PositionEncoding,
}

impl LinedText {
    /// A text whose positions count so.
    pub fn new(text: String, encoding: PositionEncoding) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self {
            text,
            starts,
            encoding,
        }
    }

    /// The position of an offset.
    pub fn position(&self, offset: usize) -> Value {
        let offset = floor(&self.text, offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        json!({"line": line, "character": self.encoding.length(before)})
    }

    /// The range of some bytes.
    pub fn range(&self, bytes: &Range<usize>) -> Value {
        json!({"start": self.position(bytes.start), "end": self.position(bytes.end)})
    }

    /// The offset of a position. One behind the end of its line is at that end.
    pub fn offset(&self, position: &Value) -> usize {
        let number = |key: &str| {
            let number = position[key].as_u64().unwrap_or_default();
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        let line = number("line");
        let Some(start) = self.starts.get(line).copied() else {
            return self.text.len();
        };
        let end = self.starts.get(line + 1).copied();
        let whole = &self.text[start..end.unwrap_or(self.text.len())];
        let whole = whole.trim_end_matches(['\n', '\r']);
        let mut left = number("character");
        for (at, char) in whole.char_indices() {
            let length = self.encoding.length(char.encode_utf8(&mut [0; 4]));
            if left < length {
                return start + at;
            }
            left -= length;
        }
        start + whole.len()
    }

    /// The bytes of a place that a finding names. One without a length is a word, or the rest of its line.
    pub fn bytes_of(&self, place: &Place) -> Range<usize> {
        let Some(line) = place.line else {
            return 0..0;
        };
        let line = usize::try_from(line).unwrap_or(1).max(1) - 1;
        let Some(start) = self.starts.get(line).copied() else {
            return self.text.len()..self.text.len();
        };
        let end = self
            .starts
            .get(line + 1)
            .map_or(self.text.len(), |end| end - 1);
        let whole = self.text[start..end].trim_end_matches('\r');
        let column = usize::try_from(place.column.unwrap_or(1))
            .unwrap_or(1)
            .max(1);
        let before: usize = whole.chars().take(column - 1).map(char::len_utf8).sum();
        let begin = start + before;
        let length = usize::try_from(place.length).unwrap_or_default();
        if length > 1 {
            return begin..floor(&self.text, begin + length);
        }
        let rest = &whole[before..];
        let word = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
            .unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        begin..begin + word.max(first)
    }

    /// The line that contains an offset, up to the offset.
    pub fn line_before(&self, offset: usize) -> &str {
        let offset = floor(&self.text, offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        &self.text[self.starts[line]..offset]
    }

    /// Applies a change: a range and its new text, or a new text for all.
    pub fn change(&mut self, change: &Value) {
        let new = change["text"].as_str().unwrap_or_default();
        let mut text = std::mem::take(&mut self.text);
        if let Some(range) = change.get("range").filter(|range| !range.is_null()) {
            self.text = text;
            let start = self.offset(&range["start"]);
            let end = self.offset(&range["end"]).max(start);
            text = std::mem::take(&mut self.text);
            text.replace_range(start..end, new);
        } else {
            new.clone_into(&mut text);
        }
        *self = Self::new(text, self.encoding);
    }
}

/// The next offset at or before this one that is not inside a character.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The path of a `file:` address.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = &path[path.find('/')?..];
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8();
    decoded.ok().map(|path| PathBuf::from(path.into_owned()))
}

/// The address of a path.
pub fn uri_of(path: &Path) -> String {
    const KEPT: percent_encoding::AsciiSet = percent_encoding::NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    let path = path.to_string_lossy();
    let encoded = percent_encoding::utf8_percent_encode(&path, &KEPT);
    format!("file://{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_as_the_client_counts() {
        let text = "ä𝄞b\r\nc";
        for (encoding, offset, line, character) in [
            (PositionEncoding::Utf16, 6, 0, 3),
            (PositionEncoding::Utf8, 6, 0, 6),
            (PositionEncoding::Utf16, 9, 1, 0),
            (PositionEncoding::Utf8, 10, 1, 1),
        ] {
            let lined = LinedText::new(text.to_owned(), encoding);
            let position = json!({"line": line, "character": character});
            assert_eq!(lined.position(offset), position);
            assert_eq!(lined.offset(&position), offset);
            assert_eq!(lined.offset(&json!({"line": 0, "character": 99})), 7);
            assert_eq!(
                lined.offset(&json!({"line": 9, "character": 0})),
                text.len()
            );
        }
    }

    #[test]
    fn changes_are_applied_where_the_client_says() {
        let mut lined = LinedText::new("aä\nb".to_owned(), PositionEncoding::Utf16);
        let at = |line, character| json!({"line": line, "character": character});
        lined.change(&json!({"range": {"start": at(0, 1), "end": at(1, 0)}, "text": "x"}));
        assert_eq!(lined.text, "axb");
        lined.change(&json!({"text": "whole"}));
        assert_eq!(lined.text, "whole");
    }

    #[test]
    fn addresses_lead_to_paths_and_back() {
        let path = Path::new("/a b/ü#.md");
        assert_eq!(path_of(&uri_of(path)).as_deref(), Some(path));
        assert_eq!(path_of("untitled:1"), None);
    }
}
