//! Patterns of guards mean what they mean in RE2, which CEL names, and in the patterns of JSON Schema.

/// The classes that a letter stands for, as RE2 and JSON Schema define them: ASCII.
const CLASSES: [(char, &str); 4] = [
    ('d', "[0-9]"),
    ('D', "[^0-9]"),
    ('w', "[0-9A-Za-z_]"),
    ('W', "[^0-9A-Za-z_]"),
];

/// The operations of sets that the evaluator knows and RE2 does not.
const OPERATIONS: [&str; 3] = ["&&", "--", "~~"];

/// A part of a pattern.
enum PatternToken<'t> {
    /// A backslash and what follows it.
    Escape(char),
    /// `[` that begins a class, or a class in a class.
    Begin { is_nested: bool },
    /// A class with a name in a class: `[:digit:]`.
    Named(&'t str),
    /// Any other text; `true` in a class.
    Text(&'t str, bool),
}

/// Takes a pattern apart.
fn tokens(pattern: &str) -> Vec<PatternToken<'_>> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let token = match first {
            '\\' if let Some(escaped) = rest[1..].chars().next() => {
                length += escaped.len_utf8();
                PatternToken::Escape(escaped)
            }
            '[' if depth > 0 && rest.starts_with("[:") && rest.contains(":]") => {
                length = rest.find(":]").unwrap_or_default() + 2;
                PatternToken::Named(&rest[..length])
            }
            '[' => {
                depth += 1;
                let is_nested = depth > 1;
                tokens.push(PatternToken::Begin { is_nested });
                // At the start of a class, these stand for themselves.
                let after = rest[1..].strip_prefix('^').unwrap_or(&rest[1..]);
                let literal = after.strip_prefix([']', '-']).unwrap_or(after);
                length = rest.len() - literal.len();
                PatternToken::Text(&rest[1..length], false)
            }
            ']' if depth > 0 => {
                depth -= 1;
                PatternToken::Text("]", false)
            }
            _ => {
                let operation = OPERATIONS.iter().find(|one| rest.starts_with(**one));
                if depth > 0
                    && let Some(operation) = operation
                {
                    length = operation.len();
                }
                PatternToken::Text(&rest[..length], depth > 0)
            }
        };
        tokens.push(token);
        rest = &rest[length..];
    }
    tokens
}

/// The pattern with classes of ASCII in the place of `\d` and `\w`, which the evaluator reads as Unicode.
pub(super) fn ascii(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    for token in tokens(pattern) {
        match token {
            PatternToken::Escape(letter) => {
                match CLASSES.iter().find(|(known, _)| *known == letter) {
                    Some((_, class)) => plain.push_str(class),
                    None => plain.extend(['\\', letter]),
                }
            }
            PatternToken::Begin { .. } => plain.push('['),
            PatternToken::Named(text) | PatternToken::Text(text, _) => plain.push_str(text),
        }
    }
    plain
}

/// What RE2 reads otherwise than the evaluator, and what to write instead.
pub(super) fn differs(pattern: &str) -> Option<(String, &'static str)> {
    tokens(pattern).into_iter().find_map(|token| match token {
        PatternToken::Escape(letter @ ('<' | '>')) => Some((
            format!(
                "`\\{letter}` is the bound of a word here, and the character `{letter}` in RE2"
            ),
            "write `\\b` for the bound of a word",
        )),
        PatternToken::Begin { is_nested: true } => Some((
            "`[` in a class begins another class here, and is a character in RE2".to_owned(),
            "write `\\[` for the character",
        )),
        PatternToken::Text(text, true) if OPERATIONS.contains(&text) => Some((
            format!("`{text}` in a class is an operation on sets here, and text in RE2"),
            "list the characters of the class; `\\` before a character stands for the character",
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_for_ascii() {
        for (pattern, expected) in [
            (r"^\d+$", "^[0-9]+$"),
            (r"[\d.]\w", "[[0-9].][0-9A-Za-z_]"),
            (r"[^\W-]", "[^[^0-9A-Za-z_]-]"),
            (r"\\d\.\p{L}", r"\\d\.\p{L}"),
            (r"[]\d]", "[][0-9]]"),
            (r"[[:digit:]\D]", "[[:digit:][^0-9]]"),
            (r"\", r"\"),
        ] {
            assert_eq!(ascii(pattern), expected, "{pattern}");
        }
        for pattern in [r"^\d+$", r"[\d.]\w", r"[^\W-]", r"[\D\d]", r"[a\-\w]"] {
            let compiled = super::super::functions::pattern(pattern).expect(pattern);
            assert!(
                !compiled.is_match("\u{664}") || pattern.contains(r"\D"),
                "{pattern}"
            );
        }
    }

    #[test]
    fn what_re2_does_not_know_is_told() {
        for (pattern, differs_in) in [
            ("[a-z&&[^b]]", Some("`&&`")),
            ("[a-z--b]", Some("`--`")),
            ("[a~~b]", Some("`~~`")),
            ("[a[b]]", Some("`[` in")),
            (r"\<a", Some(r"`\<`")),
            ("[a-z][0-9]", None),
            ("[[:alpha:]_]", None),
            (r"[\[a]", None),
            ("[--/]", None),
            ("a&&b--c", None),
            ("[]a[]", Some("`[` in")),
        ] {
            let found = differs(pattern).map(|(message, _)| message);
            match differs_in {
                Some(part) => assert!(
                    found.as_ref().is_some_and(|text| text.starts_with(part)),
                    "{pattern} {found:?}"
                ),
                None => assert_eq!(found, None, "{pattern}"),
            }
        }
    }
}
