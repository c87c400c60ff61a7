//! Findings in the style of rustc: the line, an underline, and what to do.

use crate::layout::one_line;
use crate::{Paint, Style};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use orch_base::{Diagnostic, Place, Severity};
use std::ops::Range;

/// The findings, each with its source line if that is known.
#[must_use]
pub fn snippets(diagnostics: &[Diagnostic], paint: Paint, width: usize) -> String {
    let drawn: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| snippet(diagnostic, paint, width))
        .collect();
    drawn.join("\n")
}

/// A finding with its source line if that is known.
#[must_use]
pub fn snippet(diagnostic: &Diagnostic, paint: Paint, width: usize) -> String {
    let renderer = if paint.colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer.term_width(if width == 0 { 10_000 } else { width });
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(one_line(&diagnostic.message))
        .id(diagnostic.code.as_str());
    let group = Group::with_title(title);
    let hint = diagnostic.hint.as_ref();
    let hint = hint.map(|hint| one_line(&hint.to_string()));
    let Some(place) = &diagnostic.place else {
        let mut out = renderer.render(&[group]);
        // The renderer would draw a margin for source lines, of which there are none.
        if let Some(hint) = hint {
            out.push_str(&format!(
                "\n = {}: {hint}",
                paint.paint(Style::Strong, "help")
            ));
        }
        return out + "\n";
    };
    let mut group = match &place.excerpt {
        Some(excerpt) => group.element(
            Snippet::source(&excerpt.text)
                .path(one_line(&place.path))
                .line_start(excerpt.first as usize)
                .fold(false)
                .annotation(AnnotationKind::Primary.span(underlined(
                    place,
                    &excerpt.text,
                    excerpt.first,
                ))),
        ),
        None => group.element(origin(place)),
    };
    if let Some(hint) = hint {
        group = group.element(Level::HELP.message(hint));
    }
    renderer.render(&[group]) + "\n"
}

fn origin(place: &Place) -> Origin<'_> {
    let origin = Origin::path(one_line(&place.path));
    match (place.line, place.column) {
        (Some(line), Some(column)) => origin.line(line as usize).char_column(column as usize),
        (Some(line), None) => origin.line(line as usize),
        _ => origin,
    }
}

/// The bytes to underline in an excerpt whose first line has the number `first`.
fn underlined(place: &Place, text: &str, first: u32) -> Range<usize> {
    let before = place.line.unwrap_or(first).saturating_sub(first) as usize;
    let at: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let content = text[at..].split('\n').next().unwrap_or_default();
    let content = content.trim_end_matches('\r');
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
    at + within..at + stop
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

    fn place(text: &str, line: u32, column: u32) -> Place {
        Place::on_line("a.json", text, line, Some(column))
    }

    fn drawn(diagnostic: Diagnostic) -> String {
        snippets(&[diagnostic], Paint::PLAIN, 80)
    }

    #[test]
    fn draws_the_line_and_the_hint() {
        let text = "{\n  \"blocking\": 0,\n  \"ök\": flase\n}\n";
        let finding = Diagnostic::error(Code::JsonSyntax, "expected a value");
        assert_data_eq!(
            drawn(finding.at(place(text, 3, 9)).hint("did you mean `false`?")),
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
            drawn(finding().at(place("x", 9, 1))),
            str![[r#"
warning[junit-counts]: it is odd
--> a.json:9:1

"#]]
        );
        assert_data_eq!(
            drawn(finding().at(place(&"x".repeat(5000), 1, 4999))),
            str![[r#"
warning[junit-counts]: it is odd
--> a.json:1:4999

"#]]
        );
        assert_data_eq!(
            drawn(finding()),
            str![[r#"
warning[junit-counts]: it is odd

"#]]
        );
        assert_data_eq!(
            drawn(finding().hint("look again")),
            str![[r#"
warning[junit-counts]: it is odd
 = help: look again

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
                            ..place(text, line, column)
                        };
                        let drawn = drawn(Diagnostic::note(Code::Empty, "y").at(place));
                        assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
                    }
                }
            }
        }
    }
}
