//! Line endings: git may store a text with line feeds and check it out with carriage returns before them.

use std::borrow::Cow;

/// The text with `\n` instead of each `\r\n`.
#[must_use]
pub fn with_line_feeds(text: &str) -> Cow<'_, str> {
    // Hardly any text has carriage returns, and the search for one byte is much faster than that for two.
    if text.as_bytes().contains(&b'\r') {
        text.replace("\r\n", "\n").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_carriage_returns_before_line_feeds_go() {
        for (text, expected) in [
            ("", ""),
            ("a\nb\n", "a\nb\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\rb\r", "a\rb\r"),
            ("\r\r\n", "\r\n"),
        ] {
            assert_eq!(with_line_feeds(text), expected, "{text:?}");
        }
    }
}
