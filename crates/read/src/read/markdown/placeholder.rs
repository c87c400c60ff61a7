//! Placeholders: what a template left to be filled in, and what an author left open.
//!
//! A text is a block of a document (a paragraph, a heading, an item, a cell) or the value of a field in it, in
//! which every character of a code span and every escaped character is [`MASK`]. What counts is documented in
//! `docs/workflows.md`.

use std::ops::Range;

/// Stands for each byte that can neither begin nor end a placeholder.
pub(super) const MASK: char = '\u{1}';

/// The longest text in brackets that can be a placeholder, in bytes.
const MAX_LENGTH: usize = 1_000;
/// The words for open work.
const TODO: [&str; 4] = ["TODO", "TBD", "TBC", "FIXME"];
/// The words for an open question.
const CLARIFICATION: &str = "NEEDS CLARIFICATION";
/// Words in capitals that are a placeholder alone in their brackets. Others, such as `[API]`, are labels.
const ALONE: [&str; 8] = [
    "AUTHOR",
    "DATE",
    "DESCRIPTION",
    "FEATURE",
    "LINK",
    "NAME",
    "PROJECT",
    "TITLE",
];

/// What the templates of Spec Kit ask for in small letters, without an example.
const TEMPLATES: [&str; 14] = [
    "initial state",
    "expected outcome",
    "boundary condition",
    "error scenario",
    "specific action",
    "specific value",
    "specific capability",
    "key interaction",
    "data requirement",
    "user journey",
    "current need",
    "specific problem",
    "why direct DB access insufficient",
    "why 3 projects insufficient",
];

/// Which phrases in brackets are placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhraseRule {
    /// Any of two words or more: so they were read before version 4.
    AnyPhrase,
    /// Those that begin with a capital, and those in small letters that a template has.
    Template,
}

/// What a placeholder asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceholderKind {
    /// An answer: `[NEEDS CLARIFICATION: which?]`.
    Clarification,
    /// The text that a template describes: `[FEATURE NAME]`.
    Template,
    /// Work: `TODO`.
    Todo,
}

impl PlaceholderKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Clarification => "clarification",
            Self::Template => "template",
            Self::Todo => "todo",
        }
    }
}

/// The placeholders of a block, in order. `values` are the values of the fields in it, in order.
pub(super) fn find(
    block: &str,
    values: &[Range<usize>],
    rule: PhraseRule,
) -> Vec<(PlaceholderKind, Range<usize>)> {
    let mut found: Vec<(PlaceholderKind, Range<usize>)> = brackets(block)
        .into_iter()
        .filter_map(|range| Some((bracketed(block, &range, rule)?, range)))
        .collect();
    let mut at = 0;
    let mut units = Vec::with_capacity(2 * values.len() + 1);
    for value in values {
        units.extend([at..value.start, value.clone()]);
        at = value.end;
    }
    units.push(at..block.len());
    for unit in units {
        open(block, unit, &mut found);
    }
    found.sort_by_key(|(_, range)| (range.start, std::cmp::Reverse(range.end)));
    // The word within a bracket belongs to the bracket.
    let mut end = 0;
    found.retain(|(_, range)| {
        let is_outer = range.start >= end;
        if is_outer {
            end = range.end;
        }
        is_outer
    });
    found
}

/// The outermost pairs of brackets.
fn brackets(text: &str) -> Vec<Range<usize>> {
    let mut opened = Vec::new();
    let mut pairs: Vec<Range<usize>> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => opened.push(at),
            b']' => {
                let Some(start) = opened.pop() else { continue };
                while pairs.last().is_some_and(|pair| pair.start > start) {
                    pairs.pop();
                }
                pairs.push(start..at + 1);
            }
            _ => {}
        }
    }
    pairs
}

/// What the text in a pair of brackets asks for, if it is a placeholder.
fn bracketed(text: &str, range: &Range<usize>, rule: PhraseRule) -> Option<PlaceholderKind> {
    let inner = text[range.start + 1..range.end - 1].trim();
    if inner.len() > MAX_LENGTH {
        return None;
    }
    if let Some(question) = inner.strip_prefix(CLARIFICATION) {
        return question
            .contains(char::is_alphanumeric)
            .then_some(PlaceholderKind::Clarification);
    }
    if TODO
        .iter()
        .any(|word| inner.strip_prefix(word).is_some_and(ends_word))
    {
        return Some(PlaceholderKind::Todo);
    }
    let before = text[..range.start].chars().next_back();
    let is_part = before.is_some_and(|before| before.is_alphanumeric() || ")]_!".contains(before));
    // What follows makes it a link, although its target may be missing.
    if is_part || text[range.end..].starts_with(['(', '[']) {
        return None;
    }
    if inner.contains("e.g.") || is_name_of_blank(inner) || is_instruction(inner, rule) {
        Some(PlaceholderKind::Template)
    } else {
        None
    }
}

/// `FEATURE NAME`, `PROJECT_NAME`, `###-feature-name`, `DATE`: two words in capitals or more, or one of a few.
fn is_name_of_blank(inner: &str) -> bool {
    if inner.starts_with("##") {
        return true;
    }
    let words: Vec<&str> = inner
        .split([' ', '\n', '_', '-', '/'])
        .filter(|word| !word.is_empty())
        .collect();
    match words.as_slice() {
        [] => false,
        [only] => ALONE.contains(only),
        [first, .., last] => {
            let mut bytes = words.iter().flat_map(|word| word.bytes());
            let mut ends = first.bytes().chain(last.bytes());
            ends.all(|byte| byte.is_ascii_uppercase())
                && bytes.all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        }
    }
}

/// `Describe this user journey in plain language`: two words of letters or more, and nothing that refers to
/// something, such as `T012` or `§3`. A text in small letters, such as `[power user]`, is an author's own, unless the
/// templates have it.
fn is_instruction(inner: &str, rule: PhraseRule) -> bool {
    if rule == PhraseRule::Template
        && inner.starts_with(char::is_lowercase)
        && !TEMPLATES.contains(
            &inner
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .as_str(),
        )
    {
        return false;
    }
    if !inner.starts_with(char::is_alphabetic) || inner.contains(['§', '=', '@', '#', '|', '_']) {
        return false;
    }
    let mut words = 0;
    for word in inner.split(|c: char| c.is_whitespace() || c == '/') {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let letters = word.contains(char::is_alphabetic);
        let digits = word.contains(char::is_numeric);
        if letters && digits {
            return false;
        }
        words += usize::from(letters && word.chars().count() > 1);
    }
    words > 1
}

/// How much of a text is on its first line and not too long, without what ends it.
fn length_on_line(text: &str) -> usize {
    let most = text.char_indices().nth(MAX_LENGTH);
    let text = most.map_or(text, |(end, _)| &text[..end]);
    let line = text.lines().next().unwrap_or_default();
    line.trim_end_matches([' ', ']']).len()
}

/// Adds what a unit, the text of a block or the value of a field, leaves open in words.
fn open(block: &str, unit: Range<usize>, found: &mut Vec<(PlaceholderKind, Range<usize>)>) {
    let text = &block[unit.clone()];
    let lead = text.len()
        - text
            .trim_start_matches(|c: char| c.is_whitespace() || c == '[')
            .len();
    if text[lead..]
        .strip_prefix(CLARIFICATION)
        .is_some_and(ends_word)
    {
        let end = lead + length_on_line(&text[lead..]);
        let range = unit.start + lead..unit.start + end;
        found.push((PlaceholderKind::Clarification, range));
    }
    for word in TODO {
        let mut end = 0;
        for (at, _) in text.match_indices(word) {
            if unit.start + at < end {
                continue;
            }
            let rest = &text[at + word.len()..];
            let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-".contains(c));
            let is_first = at == lead && {
                let next = rest.trim_start();
                ends_word(rest) && !next.starts_with(|c: char| c.is_alphanumeric() || c == MASK)
            };
            if begins && (is_first || rest.starts_with([':', '('])) {
                end = unit.start + at + length_on_line(&text[at..]);
                let range = unit.start + at..end;
                found.push((PlaceholderKind::Todo, range));
            }
        }
    }
}

/// Whether a word ends where this text begins.
fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || "_-".contains(c))
}
