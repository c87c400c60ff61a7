//! The seal of `state.json`: the blob id of the file without its seal.
//!
//! The seal reveals accidents and careless edits. A determined forger can compute it; the audit reveals that.

use super::layout::{AFTER_CHANGING, SEAL_LINE, StateLayout};
use orch_base::{Digest, ObjectFormat, with_line_feeds};

/// What begins a seal in the line that every step changes.
const INLINE: &str = ", \"seal\": \"";

/// Inserts a seal of this format into a rendered state: after its `rev` line, or at the end of the line that every step
/// changes.
pub(super) fn put_on(text: &str, layout: StateLayout, format: ObjectFormat) -> String {
    let seal = format.blob(text.as_bytes());
    let (place, inserted) = match layout {
        StateLayout::Lines => (text.find(AFTER_CHANGING), format!("{INLINE}{seal}\"")),
        StateLayout::Pretty => {
            let rev = text.find("\n  \"rev\": ");
            let end = rev.and_then(|rev| Some(rev + 1 + text[rev + 1..].find('\n')?));
            (end, format!("{SEAL_LINE}{seal}\","))
        }
    };
    match place {
        Some(place) => format!("{}{inserted}{}", &text[..place], &text[place..]),
        None => text.to_owned(),
    }
}

/// Whether the seal of a state's text is intact; `None` if there is no seal.
///
/// Line endings are ignored, because git may convert them on checkout.
pub(super) fn is_whole(text: &str) -> Option<bool> {
    let text = with_line_feeds(text);
    let (begin, start) = match StateLayout::of(&text) {
        StateLayout::Pretty => (SEAL_LINE, text.find(SEAL_LINE)?),
        StateLayout::Lines => (INLINE, text[..text.find(AFTER_CHANGING)?].rfind(INLINE)?),
    };
    let (seal, rest) = text[start + begin.len()..].split_once('"')?;
    let rest = if begin == SEAL_LINE {
        rest.strip_prefix(',').unwrap_or(rest)
    } else {
        rest
    };
    let without = format!("{}{rest}", &text[..start]);
    Some(Digest::parse(seal).is_some_and(|seal| seal == seal.format().blob(without.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRETTY: &str = "{\n  \"task\": \"t\",\n  \"rev\": 3,\n  \"phase\": \"a\"\n}\n";
    const LINES: &str = "{\n  \"history\": [\n    {\"evidence\": {\"a\": \"b\", \"seal\": \"c\"}}], \"rev\": 3,\n  \"actors\": {}\n}\n";

    #[test]
    fn an_edit_breaks_the_seal() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            for (text, layout) in [(PRETTY, StateLayout::Pretty), (LINES, StateLayout::Lines)] {
                let sealed = put_on(text, layout, format);
                assert_eq!(StateLayout::of(&sealed), layout);
                assert_eq!(is_whole(&sealed), Some(true), "{sealed}");
                assert_eq!(is_whole(&sealed.replace('\n', "\r\n")), Some(true));
                assert_eq!(is_whole(&sealed.replace("\"a\"", "\"e\"")), Some(false));
                assert_ne!(is_whole(text), Some(true));
            }
        }
    }
}
