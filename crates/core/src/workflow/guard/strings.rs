//! The text of an expression, apart from the strings in it.

/// The offset of the last closing quote of a string, or of the end of the text.
///
/// A string may be raw (`r'\d'`), without escapes, and its quotes may be tripled.
pub(super) fn end_of_string(bytes: &[u8], start: usize, quote: u8) -> usize {
    let quotes = if bytes[start..].starts_with(&[quote; 3]) {
        3
    } else {
        1
    };
    let prefix: Vec<u8> = bytes[..start]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .copied()
        .collect();
    let is_raw = prefix.len() <= 2 && prefix.iter().any(|byte| matches!(byte, b'r' | b'R'));
    let closing = &[quote; 3][..quotes];
    let mut at = start + quotes;
    while at < bytes.len() && !bytes[at..].starts_with(closing) {
        at += if bytes[at] == b'\\' && !is_raw { 2 } else { 1 };
    }
    at + quotes - 1
}

/// The offsets of the calls of a function in a text, outside strings.
pub(super) fn calls(text: &str, name: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if matches!(bytes[at], b'"' | b'\'') {
            at = end_of_string(bytes, at, bytes[at]) + 1;
            continue;
        }
        let is_inside = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let is_start = !is_inside && bytes[at..].starts_with(name.as_bytes());
        if is_start && text[at + name.len()..].trim_start().starts_with('(') {
            found.push(at);
        }
        at += 1;
    }
    found.into_iter()
}
