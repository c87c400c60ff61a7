//! Findings in the style of rustc: the line, an underline, and what to do.

use crate::Paint;
use crate::layout::one_line;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use orch_base::{Diagnostic, Place, Severity};
use std::collections::BTreeMap;

/// How many lines of source to show around the offending one.
const CONTEXT: usize = 2;
/// Longer lines are not shown, because they are data and not meant for reading.
const LONGEST: usize = 1000;

/// The findings, each with its source line if `sources` (path to text) contains the file.
#[must_use]
pub fn snippets(
    diagnostics: &[Diagnostic],
    sources: &BTreeMap<String, String>,
    paint: Paint,
    width: usize,
) -> String {
    let renderer = if paint.colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer.term_width(if width == 0 { 10_000 } else { width });
    let mut out = String::new();
    for (number, diagnostic) in diagnostics.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        out.push_str(&renderer.render(&[report(diagnostic, sources)]));
        out.push('\n');
    }
    out
}

fn report<'a>(diagnostic: &'a Diagnostic, sources: &'a BTreeMap<String, String>) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(one_line(&diagnostic.message))
        .id(diagnostic.code.as_str());
    let mut group = Group::with_title(title);
    if let Some(place) = &diagnostic.place {
        let excerpt = sources
            .get(&place.path)
            .and_then(|text| excerpt(text, place));
        group = match excerpt {
            Some((source, first, start, end)) => group.element(
                Snippet::source(source)
                    .path(one_line(&place.path))
                    .line_start(first)
                    .fold(false)
                    .annotation(AnnotationKind::Primary.span(start..end)),
            ),
            None => group.element(origin(place)),
        };
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(one_line(&hint.to_string())));
    }
    group
}

fn origin(place: &Place) -> Origin<'_> {
    let origin = Origin::path(one_line(&place.path));
    match (place.line, place.column) {
        (Some(line), Some(column)) => origin.line(line as usize).char_column(column as usize),
        (Some(line), None) => origin.line(line as usize),
        _ => origin,
    }
}

/// The lines around a place, the number of the first of them, and the byte range to underline.
fn excerpt<'a>(text: &'a str, place: &Place) -> Option<(&'a str, usize, usize, usize)> {
    let line = (place.line? as usize).checked_sub(1)?;
    let first = line.saturating_sub(CONTEXT);
    let mut offset = 0;
    let mut start = 0;
    let mut target = None;
    let mut end = 0;
    for (number, content) in text
        .split_inclusive('\n')
        .enumerate()
        .take(line + CONTEXT + 1)
    {
        if number == first {
            start = offset;
        }
        if number >= first && content.len() > LONGEST {
            return None;
        }
        if number == line {
            target = Some((offset, content.trim_end_matches(['\n', '\r'])));
        }
        offset += content.len();
        end = offset;
    }
    let (at, content) = target?;
    let source = text.get(start..end)?.trim_end_matches('\n');
    let column = place
        .column
        .map_or(0, |column| column.saturating_sub(1) as usize);
    let within = content
        .char_indices()
        .nth(column)
        .map_or(content.len(), |(byte, _)| byte);
    // Without a length, underline the word at the place, or the whole line if there is no column.
    let length = match (place.length as usize, place.column) {
        (0, None) => content.len(),
        (0, Some(_)) => word(&content[within..]),
        (known, _) => known,
    };
    let mut stop = (within + length).min(content.len());
    while !content.is_char_boundary(stop) {
        stop += 1;
    }
    Some((source, first + 1, at + within - start, at + stop - start))
}

/// The length in bytes of the token at the start of a text.
fn word(text: &str) -> usize {
    match text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')) {
        Some(0) => text.chars().next().map_or(0, char::len_utf8),
        Some(end) => end,
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Code;
    use snapbox::{assert_data_eq, str};

    fn place(line: u32, column: u32) -> Place {
        Place {
            path: "a.json".to_owned(),
            line: Some(line),
            column: Some(column),
            ..Place::default()
        }
    }

    fn drawn(text: &str, diagnostic: Diagnostic) -> String {
        let sources = BTreeMap::from([("a.json".to_owned(), text.to_owned())]);
        snippets(&[diagnostic], &sources, Paint::PLAIN, 80)
    }

    #[test]
    fn draws_the_line_and_the_hint() {
        let text = "{\n  \"blocking\": 0,\n  \"ök\": flase\n}\n";
        let finding = Diagnostic::error(Code::JsonSyntax, "expected a value").at(place(3, 9));
        assert_data_eq!(
            drawn(text, finding.hint("did you mean `false`?")),
            str![[r#"
error[json-syntax]: expected a value
 --> a.json:3:9
  |
1 | {
2 |   "blocking": 0,
3 |   "ök": flase
  |         ^^^^^
4 | }
  |
  = help: did you mean `false`?

"#]]
        );
    }

    #[test]
    fn draws_no_line_it_does_not_have() {
        let finding = || Diagnostic::warning(Code::JunitCounts, "it is odd");
        assert_data_eq!(
            drawn("x", finding().at(place(9, 1))),
            str![[r#"
warning[junit-counts]: it is odd
--> a.json:9:1

"#]]
        );
        assert_data_eq!(
            drawn(&"x".repeat(5000), finding().at(place(1, 4999))),
            str![[r#"
warning[junit-counts]: it is odd
--> a.json:1:4999

"#]]
        );
        assert_data_eq!(
            drawn("", finding()),
            str![[r#"
warning[junit-counts]: it is odd

"#]]
        );
    }

    #[test]
    fn no_place_is_out_of_bounds() {
        for text in ["", "\n", "ä", "ä\r\nb\r\n", "\n\n\nab", "a\u{1b}[31m\tb"] {
            for line in 0..6 {
                for column in 0..6 {
                    for length in 0..4 {
                        let place = Place {
                            length,
                            ..place(line, column)
                        };
                        let drawn = drawn(text, Diagnostic::note(Code::Empty, "y").at(place));
                        assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
                    }
                }
            }
        }
    }
}
