//! The seal of `state.json`: the blob id of the file without the line that contains the seal.
//!
//! The seal reveals accidents and careless edits. A determined forger can compute it; the audit reveals that.

use crate::base::{Digest, ObjectFormat, with_line_feeds};

const START: &str = "  \"seal\": \"";

/// Inserts a seal of this format into a rendered state, after its `rev` line.
pub(super) fn put_on(text: &str, format: ObjectFormat) -> String {
    let seal = format.blob(text.as_bytes());
    let line = format!("{START}{seal}\",\n");
    match text.find("  \"rev\": ").and_then(|rev| Some(rev + text[rev..].find('\n')? + 1)) {
        Some(after) => format!("{}{line}{}", &text[..after], &text[after..]),
        None => text.to_owned(),
    }
}

/// Whether the seal of a state's text is intact; `None` if there is no seal.
///
/// Line endings are ignored, because git may convert them on checkout.
pub(super) fn is_whole(text: &str) -> Option<bool> {
    let text = with_line_feeds(text);
    let start = if text.starts_with(START) { 0 } else { text.find(&format!("\n{START}"))? + 1 };
    let end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
    let line = &text[start..end];
    let seal = line.strip_prefix(START)?.split('"').next().and_then(Digest::parse);
    let without = format!("{}{}", &text[..start], &text[end..]);
    Some(seal.is_some_and(|seal| seal == seal.format().blob(without.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"task\": \"t\",\n  \"rev\": 3,\n  \"phase\": \"a\"\n}\n";

    #[test]
    fn an_edit_breaks_the_seal() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let sealed = put_on(TEXT, format);
            assert_eq!(is_whole(&sealed), Some(true));
            assert_eq!(is_whole(&sealed.replace('\n', "\r\n")), Some(true));
            assert_eq!(is_whole(&sealed.replace("\"a\"", "\"b\"")), Some(false));
        }
        assert_eq!(is_whole(TEXT), None);
    }
}
