//! Splits the expressions of a configuration into tokens with positions and rejects everything else.

use super::fault::SkillRefused;
use std::ops::Range;

/// A token and its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    Text(String),
    Integer(i64),
    Decimal(f64),
    /// One of the supported operators and brackets.
    Sign(&'static str),
    End,
}

/// The largest integer that JavaScript represents exactly.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// The supported operators, longer ones before their prefixes.
const SIGNS: [&str; 14] = [
    "===", "!==", "<=", ">=", "&&", "||", "<", ">", "!", ".", "(", ")", ",", "-",
];

/// JavaScript operators that are not supported, with the alternative; longer ones first.
const FOREIGN: [(&str, &str); 11] = [
    ("=>", "functions are not supported; write a condition"),
    ("==", "write `===`"),
    ("!=", "write `!==`"),
    (
        "=",
        "to compare, write `===`; assignments are not supported",
    ),
    ("??", "compare with a value, for example `=== true`"),
    ("?", "write two conditions with `&&` and `||`"),
    (
        "[",
        "elements cannot be read; write `.length` or `.includes(x)`",
    ),
    ("`", "write strings in plain quotes"),
    (";", "one condition is enough"),
    ("&", "write `&&`"),
    ("|", "write `||`"),
];

/// Splits an expression into tokens, ending with the end token. Returns [`SkillRefused`] if a part is not a
/// token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SkillRefused> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let token = token(text, at, next)?;
        at = token.span.end;
        found.push(token);
    }
    found.push(Token {
        kind: TokenKind::End,
        span: text.len()..text.len(),
    });
    Ok(found)
}

fn token(text: &str, at: usize, next: char) -> Result<Token, SkillRefused> {
    if matches!(next, '\'' | '"') {
        return string(text, at, next);
    }
    if next.is_ascii_digit() {
        return number(text, at);
    }
    if next.is_ascii_alphabetic() || next == '_' {
        let length = length_of(&text[at..], |c| c.is_ascii_alphanumeric() || c == '_');
        let span = at..at + length;
        return Ok(Token {
            kind: TokenKind::Name(text[span.clone()].to_owned()),
            span,
        });
    }
    let rest = &text[at..];
    // A missing member counts as absent anyway, so `?.` means the same as `.`.
    if rest.starts_with("?.") {
        return Ok(Token {
            kind: TokenKind::Sign("."),
            span: at..at + 2,
        });
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign))
        && !FOREIGN
            .iter()
            .any(|(foreign, _)| rest.starts_with(foreign) && foreign.len() > sign.len())
    {
        return Ok(Token {
            kind: TokenKind::Sign(sign),
            span: at..at + sign.len(),
        });
    }
    if let Some((foreign, hint)) = FOREIGN
        .iter()
        .find(|(foreign, _)| rest.starts_with(foreign))
    {
        let refused = SkillRefused::new(
            at..at + foreign.len(),
            format!("`{foreign}` is not supported"),
        );
        return Err(refused.hint(*hint));
    }
    Err(SkillRefused::new(
        at..at + next.len_utf8(),
        format!("`{next}` is not supported"),
    ))
}

fn string(text: &str, start: usize, quote: char) -> Result<Token, SkillRefused> {
    let mut value = String::new();
    let mut characters = text[start + 1..].char_indices();
    while let Some((offset, next)) = characters.next() {
        let at = start + 1 + offset;
        match next {
            _ if next == quote => {
                return Ok(Token {
                    kind: TokenKind::Text(value),
                    span: start..at + 1,
                });
            }
            '\\' => match characters.next() {
                Some((_, escaped @ ('\\' | '\'' | '"'))) => value.push(escaped),
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => {
                    let span = at..at + 1 + other.len_utf8();
                    return Err(SkillRefused::new(
                        span,
                        format!("`\\{other}` is not supported"),
                    ));
                }
                None => break,
            },
            _ => value.push(next),
        }
    }
    Err(
        SkillRefused::new(start..text.len(), "the string does not end")
            .hint("close it with the same quote"),
    )
}

fn number(text: &str, start: usize) -> Result<Token, SkillRefused> {
    let whole = length_of(&text[start..], |c| c.is_ascii_digit());
    let fraction = match text[start + whole..].strip_prefix('.') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            1 + length_of(rest, |c| c.is_ascii_digit())
        }
        _ => 0,
    };
    let span = start..start + whole + fraction;
    let tail = length_of(&text[span.end..], |c| c.is_alphanumeric() || c == '_');
    if tail > 0 {
        return Err(
            SkillRefused::new(start..span.end + tail, "this is not a number")
                .hint("write digits, with a decimal point if necessary"),
        );
    }
    let digits = &text[span.clone()];
    if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        return Err(SkillRefused::new(
            span,
            "a number with a leading 0 is ambiguous: octal or decimal",
        )
        .hint("remove the leading 0"));
    }
    let kind = if fraction > 0 {
        digits
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .map(TokenKind::Decimal)
    } else {
        digits
            .parse()
            .ok()
            .filter(|value| *value <= MAX_INTEGER)
            .map(TokenKind::Integer)
    };
    match kind {
        Some(kind) => Ok(Token { kind, span }),
        None => Err(SkillRefused::new(span, "the number is too large")),
    }
}

fn length_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_carry_their_places() {
        let found = tokens("ä").expect_err("no word");
        assert_eq!(
            (found.span, found.message.as_str()),
            (0..2, "`ä` is not supported")
        );
        let found = tokens("a.b >= 1.5 && 'ö\\'' !== x").expect("words");
        let spans: Vec<_> = found.iter().map(|token| token.span.clone()).collect();
        assert_eq!(spans[..5], [0..1, 1..2, 2..3, 4..6, 7..10]);
        assert_eq!(found[6].kind, TokenKind::Text("ö'".to_owned()));
        assert_eq!(found[7].kind, TokenKind::Sign("!=="));
    }

    #[test]
    fn what_is_no_word_is_refused_where_it_stands() {
        for (text, span, hint) in [
            ("a == 1", 2..4, "write `===`"),
            ("a != 1", 2..4, "write `!==`"),
            (
                "a = 1",
                2..3,
                "to compare, write `===`; assignments are not supported",
            ),
            (
                "a.b[0]",
                3..4,
                "elements cannot be read; write `.length` or `.includes(x)`",
            ),
            (
                "a => b",
                2..4,
                "functions are not supported; write a condition",
            ),
            ("a & b", 2..3, "write `&&`"),
            ("`a`", 0..1, "write strings in plain quotes"),
            ("'a", 0..2, "close it with the same quote"),
            (
                "1e5",
                0..3,
                "write digits, with a decimal point if necessary",
            ),
            (
                "0x1f",
                0..4,
                "write digits, with a decimal point if necessary",
            ),
            ("010", 0..3, "remove the leading 0"),
            ("00.5", 0..4, "remove the leading 0"),
        ] {
            let refused = tokens(text).expect_err(text);
            assert_eq!(
                (refused.span, refused.hint.as_deref()),
                (span, Some(hint)),
                "{text}"
            );
        }
        for (text, span) in [
            ("a + b", 2..3),
            ("a; b", 1..2),
            ("a $ b", 2..3),
            ("'\\x41'", 1..3),
            ("99999999999999999999", 0..20),
            ("9007199254740993", 0..16),
        ] {
            assert_eq!(tokens(text).expect_err(text).span, span, "{text}");
        }
    }
}
