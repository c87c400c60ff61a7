//! Patterns that match no text at all.

use super::super::re2::ascii;
use regex_syntax::hir::{Hir, HirKind, Look};

/// Why a pattern never matches; `None` if it can.
pub fn never(pattern: &str) -> Option<&'static str> {
    let parsed = regex_syntax::parse(&ascii(pattern)).ok()?;
    if parsed.properties().minimum_len().is_none() {
        return Some("it contains a class without characters");
    }
    contradiction(&parsed)
}

/// Why a part of a pattern never matches.
fn contradiction(part: &Hir) -> Option<&'static str> {
    match part.kind() {
        HirKind::Concat(parts) => parts
            .iter()
            .find_map(contradiction)
            .or_else(|| misplaced(parts)),
        HirKind::Alternation(parts) => {
            let reasons: Vec<_> = parts.iter().map(contradiction).collect();
            reasons
                .iter()
                .all(Option::is_some)
                .then(|| reasons[0])
                .flatten()
        }
        HirKind::Repetition(repeated) if repeated.min > 0 => contradiction(&repeated.sub),
        HirKind::Capture(capture) => contradiction(&capture.sub),
        _ => None,
    }
}

/// An anchor behind something that has to come before it, or before something that has to come behind.
fn misplaced(parts: &[Hir]) -> Option<&'static str> {
    let takes_text = |part: &Hir| {
        part.properties()
            .minimum_len()
            .is_some_and(|least| least > 0)
    };
    for (at, part) in parts.iter().enumerate() {
        match part.kind() {
            HirKind::Look(Look::Start) if parts[..at].iter().any(takes_text) => {
                return Some("`^` stands behind something that it has to begin with");
            }
            HirKind::Look(Look::End) if parts[at..].iter().any(takes_text) => {
                return Some("something follows `$`, which ends the text");
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::never;

    #[test]
    fn a_pattern_that_never_matches_is_told_from_one_that_can() {
        for (pattern, expected) in [
            ("a^b", true),
            ("done$ ", true),
            ("(^a|b)$c", true),
            ("(x^|y^)z", true),
            ("(x^y|z$w)", true),
            (r"[^\s\S]", true),
            ("(a^b)?", false),
            ("(a^b)+", true),
            ("^a$", false),
            ("^$", false),
            ("^^a*$$", false),
            ("(?m)a$\nb", false),
            ("(?m)a\n^b", false),
            ("x*^a", false),
            (r"\d+\b", false),
            ("", false),
        ] {
            assert_eq!(never(pattern).is_some(), expected, "{pattern}");
        }
    }
}
