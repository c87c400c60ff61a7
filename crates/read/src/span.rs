//! Finds the bytes that a JSON pointer refers to; used only to show an error.

use orch_base::pointer::unescape;

/// The byte offset and length of the value at a pointer (RFC 6901) in a JSON text.
///
/// `None` if the text has no such value or is not JSON.
#[must_use]
pub fn span(text: &str, pointer: &str) -> Option<(usize, usize)> {
    let segments: Vec<String> = pointer.split('/').skip(1).map(unescape).collect();
    let mut cursor = Cursor {
        bytes: text.as_bytes(),
        at: 0,
    };
    cursor.blank();
    for segment in &segments {
        cursor.enter(segment)?;
    }
    let start = cursor.at;
    cursor.skip()?;
    Some((start, cursor.at - start))
}

/// Maps a byte offset in the value of a JSON string to the offset in its source, quotes included.
#[must_use]
pub fn inside(source: &str, offset: usize) -> usize {
    let bytes = source.as_bytes();
    let mut at = 1;
    let mut passed = 0;
    while passed < offset && at + 1 < bytes.len() {
        let width = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) if is_pair(&source[at..]) => 12,
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            (byte, _) => utf8_width(byte),
        };
        let end = (at + width).min(bytes.len());
        let value: Option<String> = serde_json::from_str(&format!("\"{}\"", &source[at..end])).ok();
        passed += value.map_or(1, |value| value.len());
        at = end;
    }
    at.min(bytes.len())
}

/// Whether `rest` begins with a surrogate pair: two escapes for one character.
fn is_pair(rest: &str) -> bool {
    let high = rest
        .get(2..4)
        .is_some_and(|start| matches!(start.to_ascii_lowercase().as_bytes(), [b'd', b'8'..=b'b']));
    high && rest.get(6..8) == Some("\\u")
}

fn utf8_width(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// The byte offset and length of a member's key, quotes included.
pub(super) fn key_span(text: &str, object: &str, key: &str) -> Option<(usize, usize)> {
    let (start, _) = span(text, object)?;
    let mut cursor = Cursor {
        bytes: text.as_bytes(),
        at: start,
    };
    cursor.expect(b'{')?;
    loop {
        cursor.blank();
        let key_start = cursor.at;
        let name = cursor.string()?;
        let key_end = cursor.at;
        if name == key {
            return Some((key_start, key_end - key_start));
        }
        cursor.blank();
        cursor.expect(b':')?;
        cursor.blank();
        cursor.skip()?;
        cursor.blank();
        cursor.expect(b',')?;
    }
}

struct Cursor<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Moves to the member or element that a segment names.
    fn enter(&mut self, segment: &str) -> Option<()> {
        match self.peek()? {
            b'{' => self.enter_object(segment),
            b'[' => self.enter_array(segment.parse().ok()?),
            _ => None,
        }
    }

    fn enter_object(&mut self, name: &str) -> Option<()> {
        self.expect(b'{')?;
        loop {
            self.blank();
            let key = self.string()?;
            self.blank();
            self.expect(b':')?;
            self.blank();
            if key == name {
                return Some(());
            }
            self.skip()?;
            self.blank();
            self.expect(b',')?;
        }
    }

    fn enter_array(&mut self, index: usize) -> Option<()> {
        self.expect(b'[')?;
        self.blank();
        for _ in 0..index {
            self.skip()?;
            self.blank();
            self.expect(b',')?;
            self.blank();
        }
        (self.peek()? != b']').then_some(())
    }

    /// Reads a string and returns its value.
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_string()?;
        serde_json::from_slice(&self.bytes[start..self.at]).ok()
    }

    fn skip_string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// Skips one value, without recursion.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| {
                        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
                    }) {
                        self.at += 1;
                    }
                    if self.at == start {
                        return None;
                    }
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::pointer::child;
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
    use serde_json::Value;

    #[test]
    fn finds_values_and_keys() {
        let text = r#" {"a": [1, {"b/c": "x y"}], "d": {}} "#;
        let at = |pointer| span(text, pointer).map(|(start, length)| &text[start..start + length]);
        assert_eq!(at("/a/1/b~1c"), Some("\"x y\""));
        assert_eq!(at("/a/0"), Some("1"));
        assert_eq!(at("/d"), Some("{}"));
        assert_eq!(at("/a/2"), None);
        assert_eq!(at("/gone"), None);
        assert_eq!(
            key_span(text, "", "d").map(|(start, length)| &text[start..start + length]),
            Some("\"d\"")
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((".{0,4}", inner), 0..5)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    fn pointers(value: &Value, prefix: &str, found: &mut Vec<String>) {
        found.push(prefix.to_owned());
        match value {
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| pointers(item, &format!("{prefix}/{index}"), found));
            }
            Value::Object(members) => members.iter().for_each(|(key, item)| {
                pointers(item, &child(prefix, key), found);
            }),
            _ => {}
        }
    }

    #[test]
    fn a_byte_of_a_string_is_found_in_its_source() {
        for (source, offset, expected) in [
            (r#""abc""#, 0, 1),
            (r#""abc""#, 3, 4),
            (r#""a\"b""#, 2, 4),
            (r#""\u00e4b""#, 2, 7),
            (r#""\ud83d\ude00b""#, 4, 13),
            (r#""äb""#, 2, 3),
            (r#""ab""#, 99, 3),
        ] {
            assert_eq!(inside(source, offset), expected, "{source}");
        }
    }

    proptest! {
        #[test]
        fn the_text_at_a_span_is_the_value_at_its_pointer(value in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }
                .expect("JSON");
            let mut all = Vec::new();
            pointers(&value, "", &mut all);
            for pointer in all {
                let (start, length) = span(&text, &pointer).expect("a span");
                let found: Value = serde_json::from_str(&text[start..start + length]).expect("JSON");
                assert_eq!(Some(&found), value.pointer(&pointer), "{pointer} in {text}");
            }
        }
    }
}
