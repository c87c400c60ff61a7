//! Parses a text into a guard, after rejecting what could overflow a stack or run away.

use super::strings::end_of_string;
use super::types::Types;
use super::{Parsed, ParsedPart, checker, walk};
use cel::IdedExpr;
use cel::parser::PrattParser;
use orch_base::Code;
use std::sync::Arc;

/// The maximum length of a guard in bytes.
pub const MAX_LENGTH: usize = 1024;
/// The maximum nesting of brackets.
const MAX_DEPTH: usize = 16;
/// The maximum number of operators.
const MAX_OPERATORS: usize = 100;
/// The maximum nesting of macros such as `all` and `exists`.
const MAX_MACRO_DEPTH: usize = 2;

/// Why a text is not a guard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GuardError {
    /// One of the codes that begin with `guard-`.
    pub code: Code,
    /// Byte offset of the fault within the text.
    pub offset: usize,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
    /// What to do about it, unless the code says enough.
    pub hint: Option<String>,
}

impl GuardError {
    fn new(code: Code, offset: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            offset,
            message: message.into(),
            hint: None,
        }
    }
}

/// The guard of a text, of which it may be known that it is one.
pub(super) fn parse(text: &str, is_known: bool) -> Result<Parsed, GuardError> {
    let splits = prescan(text)?;
    let mut parts = Vec::new();
    let mut of_parts = Vec::new();
    for (start, end) in splits {
        let source = &text[start..end];
        let lead = source.len() - source.trim_start().len();
        let mut expression = parse_part(source).map_err(|error| GuardError {
            offset: start + error.offset,
            ..error
        })?;
        // A macro is a call. Most guards have none, and a command parses many of them.
        let depth = if source.contains('(') {
            walk::macro_depth(&expression)
        } else {
            0
        };
        if depth > MAX_MACRO_DEPTH {
            let message = format!("macros are nested deeper than {MAX_MACRO_DEPTH}");
            return Err(GuardError::new(Code::GuardLimit, start + lead, message));
        }
        let start = start + lead;
        if source.contains(walk::MATH) {
            walk::name_functions(&mut expression);
        }
        let (types, patterns) =
            checker::check(source.trim(), &expression, is_known).map_err(|error| GuardError {
                offset: start + error.offset,
                ..error
            })?;
        of_parts.push(types);
        let chains = walk::chains(&expression);
        let is_metered = walk::meter(&mut expression);
        let text = source.trim().to_owned();
        let denies = denies(&text, &chains);
        let patterns = Arc::new(patterns);
        parts.push(ParsedPart {
            text,
            start,
            chains,
            is_metered,
            denies,
            patterns,
            expression,
        });
    }
    // A part that cannot be true or false makes the whole an error.
    let types = match of_parts.as_slice() {
        [only] => *only,
        several => several
            .iter()
            .copied()
            .find(|types| !types.meets(Types::BOOL))
            .unwrap_or(Types::BOOL),
    };
    Ok(Parsed { parts, types })
}

/// Whether a text negates the only path that it reads; `None` unless the text is just that path or its
/// negation.
fn denies(text: &str, chains: &[Vec<String>]) -> Option<bool> {
    let [chain] = chains else { return None };
    let (path, denied) = text
        .strip_prefix('!')
        .map_or((text, false), |path| (path, true));
    (path == chain.join(".")).then_some(denied)
}

fn parse_part(source: &str) -> Result<IdedExpr, GuardError> {
    PrattParser::new()
        .max_recursion_depth(64)
        .max_expression_node_count(500)
        .parse(source)
        .map_err(|errors| {
            let first = errors.errors.first();
            let offset = first.map_or(0, |error| offset_of(source, error.pos.0, error.pos.1));
            let message = first.map_or_else(|| errors.to_string(), |error| error.msg.clone());
            let message = message.trim_start_matches("Syntax error: ").to_owned();
            let error = GuardError::new(Code::GuardSyntax, offset, message);
            match spelled_otherwise(source, offset) {
                Some((offset, hint)) => GuardError {
                    offset,
                    hint: Some(hint.to_owned()),
                    ..error
                },
                None => error,
            }
        })
}

/// What other languages write, and what CEL says.
const OTHERWISE: [(&str, &str); 11] = [
    ("and", "CEL says `&&`"),
    ("or", "CEL says `||`"),
    (
        "not",
        "CEL says `!`, for example `!plan.ready`, or `!(x in list)`",
    ),
    ("is", "CEL says `==`"),
    ("=", "CEL compares with `==`"),
    ("<>", "CEL says `!=`"),
    ("&", "CEL says `&&`"),
    ("|", "CEL says `||`"),
    ("if", "CEL says `condition ? one : other`"),
    ("then", "CEL says `condition ? one : other`"),
    ("else", "CEL says `condition ? one : other`"),
];

/// Where a text goes on as in another language, at the place of a syntax error or in the word before it, and what to write
/// instead.
fn spelled_otherwise(source: &str, offset: usize) -> Option<(usize, &'static str)> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest = source.get(offset..)?;
    let before = source.get(..offset)?.trim_end();
    let start = before.trim_end_matches(is_inner).len();
    let length = rest.find(|c: char| !is_inner(c)).unwrap_or(rest.len());
    let found = OTHERWISE.iter().find_map(|(word, hint)| {
        let is_word = word.starts_with(char::is_alphabetic);
        let is_here = if is_word {
            rest[..length].eq_ignore_ascii_case(word)
        } else {
            rest.starts_with(word)
        };
        let is_before = is_word && before[start..].eq_ignore_ascii_case(word);
        match (is_before, is_here) {
            (true, _) => Some((start, *hint)),
            (false, true) => Some((offset, *hint)),
            (false, false) => None,
        }
    });
    // `<>` fails at its second sign.
    let is_unequal = before.ends_with('<') && rest.starts_with('>');
    found.or_else(|| is_unequal.then(|| (before.len() - 1, "CEL says `!=`")))
}

/// The byte offset of a (line, column) position, both from 1, as the parser reports them.
fn offset_of(source: &str, line: isize, column: isize) -> usize {
    let line = usize::try_from(line.max(1)).unwrap_or(1);
    let column = usize::try_from(column.max(1)).unwrap_or(1);
    let line_start: usize = source
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    (line_start + column - 1).min(source.len())
}

/// Checks the limits and returns the byte ranges of the operands of the outermost `&&`.
fn prescan(text: &str) -> Result<Vec<(usize, usize)>, GuardError> {
    if text.trim().is_empty() {
        return Err(GuardError::new(
            Code::GuardSyntax,
            0,
            "the expression is empty",
        ));
    }
    if text.len() > MAX_LENGTH {
        let message = format!("the expression is longer than {MAX_LENGTH} bytes");
        return Err(GuardError::new(Code::GuardLimit, MAX_LENGTH, message));
    }
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut operators = 0_usize;
    let mut start = 0;
    let mut at = 0;
    let mut splits = Vec::new();
    let mut splittable = true;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => at = end_of_string(bytes, at, quote),
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let message = "comments are not allowed in a guard; move them to the prose";
                return Err(GuardError::new(Code::GuardSyntax, at, message));
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    let message = format!("brackets are nested deeper than {MAX_DEPTH}");
                    return Err(GuardError::new(Code::GuardLimit, at, message));
                }
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'&' if bytes.get(at + 1) == Some(&b'&') => {
                operators += 1;
                if depth == 0 {
                    splits.push((start, at));
                    start = at + 2;
                }
                at += 1;
            }
            b'|' if bytes.get(at + 1) == Some(&b'|') => {
                operators += 1;
                // `a || b && c` binds as `a || (b && c)`: the `&&` is not outermost.
                splittable &= depth > 0;
                at += 1;
            }
            b'?' => {
                operators += 1;
                splittable &= depth > 0;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' => operators += 1,
            _ => {}
        }
        if operators > MAX_OPERATORS {
            let message = format!("the expression has more than {MAX_OPERATORS} operators");
            return Err(GuardError::new(Code::GuardLimit, at, message));
        }
        at += 1;
    }
    splits.push((start, text.len()));
    Ok(if splittable {
        splits
    } else {
        vec![(0, text.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::super::Guard;
    use super::*;

    #[test]
    fn splits_at_the_outermost_and() {
        for (text, parts) in [
            ("a.b && c == 'x && y'", vec!["a.b", "c == 'x && y'"]),
            ("(a && b) && c", vec!["(a && b)", "c"]),
            ("a || b && c", vec!["a || b && c"]),
            ("a ? b && c : d", vec!["a ? b && c : d"]),
            ("(a || b) && !c", vec!["(a || b)", "!c"]),
            (r"a == r'\' && b", vec![r"a == r'\'", "b"]),
            (r"a == 'it\'s && so' && b", vec![r"a == 'it\'s && so'", "b"]),
            (
                "a == '''it's && so''' && b",
                vec!["a == '''it's && so'''", "b"],
            ),
        ] {
            let guard = Guard::parse(text).expect(text);
            assert_eq!(guard.parts().collect::<Vec<_>>(), parts, "{text}");
        }
    }

    #[test]
    fn a_single_path_is_distinguished_from_larger_expressions() {
        for (text, expected) in [
            ("a.b", Some(false)),
            (" !a.b.c ", Some(true)),
            ("a", Some(false)),
            ("!!a", None),
            ("has(a.b)", None),
            ("a.b == true", None),
            ("a.b || a.b", None),
            ("a['b']", None),
            ("a.size()", None),
            ("true", None),
        ] {
            let guard = Guard::parse(text).expect(text);
            assert_eq!(guard.parsed().parts[0].denies, expected, "{text}");
        }
    }

    #[test]
    fn refuses_what_could_run_away() {
        let deep = format!("{}true{}", "(".repeat(40), ")".repeat(40));
        let long = "true && ".repeat(200) + "true";
        let many = "1+".repeat(150) + "1 == 151";
        let macros = "[1].all(a, [1].all(b, [1].all(c, a == b)))";
        for text in [deep.as_str(), &long, &many, macros] {
            assert_eq!(
                Guard::parse(text).expect_err("too much").code,
                Code::GuardLimit,
                "{text}"
            );
        }
    }

    #[test]
    fn faults_carry_their_offset() {
        for (text, offset) in [
            ("a &&", 4),
            ("a == ", 5),
            ("plan.ready && )", 14),
            ("'ää' == )", 10),
            ("", 0),
        ] {
            let error = Guard::parse(text).expect_err(text);
            assert_eq!(
                (error.code, error.offset),
                (Code::GuardSyntax, offset),
                "{text}: {error}"
            );
        }
    }
}
