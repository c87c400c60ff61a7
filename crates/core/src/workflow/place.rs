//! The places of problems in a document, and the hint for each kind of problem.

use super::{Document, Rule};
use orch_base::{Code, Diagnostic, Place};

fn is_inner(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// The offset of a whole word, or of a dotted path, in an expression, outside strings.
pub(super) fn find_word(text: &str, word: &str) -> Option<usize> {
    let mut quote = None;
    let mut outside = vec![false; text.len()];
    for (at, char) in text.char_indices() {
        match quote {
            Some(open) if char == open => quote = None,
            Some(_) => {}
            None if matches!(char, '"' | '\'') => quote = Some(char),
            None => outside[at] = true,
        }
    }
    let found = text.match_indices(word).map(|(at, _)| at).find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        outside[*at]
            && !before.is_some_and(|char| is_inner(char) || char == '.')
            && !after.is_some_and(is_inner)
    });
    found.or_else(|| text.find(word))
}

/// Maps an offset in a text to the offset in `source`, the TOML string literal with its quotes.
pub(super) fn source_offset(source: &str, text: &str, offset: usize) -> usize {
    let is_long = source.starts_with("\"\"\"") || source.starts_with("'''");
    let escapes = source.starts_with('"');
    let quotes = if is_long { 3 } else { 1 };
    let mut at = quotes.min(source.len());
    // A line break directly after the opening quotes does not count.
    for skipped in ["\r\n", "\n"] {
        if is_long && source[at..].starts_with(skipped) {
            at += skipped.len();
            break;
        }
    }
    for char in text[..offset.min(text.len())].chars() {
        at = skip_joint(source, at, escapes);
        let rest = &source[at..];
        at += match rest.chars().next() {
            Some('\\') if escapes => match rest.as_bytes().get(1) {
                Some(b'x') => 4,
                Some(b'u') => 6,
                Some(b'U') => 10,
                _ => 2,
            },
            Some('\r') if char == '\n' => 2,
            Some(same) => same.len_utf8(),
            None => 0,
        };
        at = at.min(source.len());
    }
    skip_joint(source, at, escapes)
}

/// Skips a backslash at the end of a line, which joins it with the next one.
fn skip_joint(source: &str, at: usize, escapes: bool) -> usize {
    let rest = source.get(at..).unwrap_or_default();
    match rest
        .strip_prefix('\\')
        .filter(|rest| escapes && rest.starts_with([' ', '\t', '\r', '\n']))
    {
        Some(joined) => at + 1 + (joined.len() - joined.trim_start().len()),
        None => at,
    }
}

/// Adds the general hint for the code of a finding, unless the finding has its own.
pub(super) fn advised(diagnostic: Diagnostic) -> Diagnostic {
    if diagnostic.hint.is_some() {
        return diagnostic;
    }
    let hint = match diagnostic.code {
        Code::WorkflowSyntax => {
            "all `toml orch` blocks of a document form one TOML text, so no heading may occur twice"
        }
        Code::WorkflowName => "choose a name of letters, digits and underscores",
        Code::WorkflowDuplicate => "choose another name",
        Code::WorkflowMissingKey => {
            "a rule needs `id`, `from`, one outcome and `because`; an artifact needs `path`, `tree` or `root_path`"
        }
        Code::WorkflowOutcome => "keep one of them; write a second rule for the other",
        Code::WorkflowCoveredRule => "put the narrower rule first, or remove it",
        Code::WorkflowGap => "add a rule, or a `wait` that says what is missing",
        Code::WorkflowLivelock => {
            "let its guard read what is used up: `.ready` or `.changed` of an artifact"
        }
        Code::WorkflowOverlap => {
            "let the guards exclude each other, or put the rule that goes first into a group of its own"
        }
        Code::WorkflowUnreachablePhase => "add a rule that leads to it, or remove it",
        Code::WorkflowUnusedAction => "name it in `run` or `choose` of a rule, or remove it",
        Code::WorkflowUnusedAsk => "name it in `ask` of a rule with `wait`, or remove it",
        Code::WorkflowUnproduced => "name it under `produces` or `may_produce` of a phase",
        Code::GuardSyntax => {
            "a guard is a CEL expression, for example `plan.ready && plan.data.ok`"
        }
        Code::GuardLimit => "name parts of it under `[define]`, or as facts of an artifact",
        Code::WorkflowValue => "correct the value",
        _ => return diagnostic,
    };
    diagnostic.hint(hint)
}

/// Why a path cannot be the path of an artifact.
pub(super) fn bad_path(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.starts_with('/') || path.contains('\\') {
        return Some("must be relative to the task, with `/` between its parts");
    }
    if path
        .split('/')
        .any(|part| part == ".." || part == "." || part.is_empty() || part == ".git")
    {
        return Some("must not contain empty parts, `.`, `..` or `.git`");
    }
    if let Some(open) = path.rfind(['[', '{'])
        && !path[open..].contains([']', '}'])
    {
        return Some("has an unclosed bracket");
    }
    match path {
        "state.json" | "transcript.jsonl" | "suggestion.json" => {
            Some("names a file that orch itself writes")
        }
        _ => None,
    }
}

/// The place of a word in the guard of a rule, or of the rule if the word is in a named expression.
pub(super) fn in_guard(document: &Document, rule: &Rule, word: &str) -> Place {
    let guard = rule.when.source();
    let span = rule.when.span();
    match find_word(guard, word).filter(|_| !span.is_empty()) {
        Some(offset) => {
            let start = span.start + source_offset(&document.text[span], guard, offset);
            document.place(start, word.len())
        }
        None => rule.place.clone(),
    }
}

/// The place of a table's heading in the document, or the start of the document.
pub(super) fn heading(document: &Document, heading: &str) -> Place {
    let offset = document.toml.find(heading).unwrap_or_default();
    document.place(offset, heading.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_and_outside_strings() {
        for (text, word, at) in [
            ("plan_review.ok && plan.ok", "plan", 18),
            ("a == 'plan' && plan.ok", "plan", 15),
            ("x.plan && plan", "plan", 10),
            ("plan.ok && plan.okay", "plan.okay", 11),
        ] {
            assert_eq!(find_word(text, word), Some(at), "{text}");
        }
    }

    #[test]
    fn offsets_lead_through_quotes_and_escapes() {
        for (source, text, offset, expected) in [
            (r#""ab""#, "ab", 1, 2),
            (r#""a\"bc""#, "a\"bc", 2, 4),
            (r#""\u00e4bc""#, "äbc", 2, 7),
            ("'''\nab'''", "ab", 1, 5),
            ("\"\"\"a\\\n   b\"\"\"", "ab", 1, 9),
            ("'a\\b'", "a\\b", 2, 3),
        ] {
            assert_eq!(source_offset(source, text, offset), expected, "{source}");
        }
    }
}
