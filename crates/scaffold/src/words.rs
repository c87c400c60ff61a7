//! Quotes text from a configuration so that it cannot become part of the workflow's syntax.

/// A text as a TOML basic string, on one line.
pub(super) fn toml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)))
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

/// A text as one line of plain Markdown, in which no fence, marker or table cell begins.
pub(super) fn escaped(text: &str) -> String {
    let mut line = String::new();
    for letter in plain(text).chars() {
        if matches!(
            letter,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '$'
        ) {
            line.push('\\');
        }
        line.push(letter);
    }
    line
}

/// A text on one line.
pub(super) fn plain(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_string() {
        for text in [
            "a\"b\\c",
            "one\ntwo\r\n",
            "\u{1}\u{7f}",
            "```toml orch",
            "$& $1 ''' \"\"\"",
            "ä 日本",
        ] {
            let line = toml(text);
            assert!(!line.contains('\n'), "{line}");
            let parsed: toml::Table = toml::from_str(&format!("a = {line}")).expect(&line);
            assert_eq!(parsed["a"].as_str(), Some(text));
        }
    }

    #[test]
    fn no_text_becomes_markup() {
        assert_eq!(escaped("a\n```toml orch\nb"), "a \\`\\`\\`toml orch b");
        assert!(!escaped("<!-- orch:diagram -->").contains("<!-- orch:diagram -->"));
    }
}
