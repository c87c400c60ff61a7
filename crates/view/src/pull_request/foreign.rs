//! Texts from files and from people, written into Markdown so that they can only be read.
//!
//! A host acts on what a description contains: it renders tags, notifies who is mentioned, links what is referred to, and
//! carries out lines that begin with a slash. An invisible space behind the sign that begins such a thing takes the effect
//! away. It stays a text wherever it is shown, also within code, where an entity would be seen.

use crate::layout::{one_line, visible};
use crate::sheet::SheetLine;

/// A space without width.
const GAP: char = '\u{200b}';

/// The text on one line. Backticks that are no pairs could begin code that ends in code of ours, so they become entities.
pub(super) fn inline(text: &str) -> String {
    let line = harmless(&one_line(text));
    let are_pairs = line.matches('`').count().is_multiple_of(2);
    if are_pairs && !line.contains("``") && !line.contains("\\`") {
        line
    } else {
        line.replace('`', "&#96;")
    }
}

/// The text on one line within code.
pub(super) fn code(text: &str) -> String {
    let line = harmless(&one_line(text));
    let longest = line.split(|c| c != '`').map(str::len).max();
    let fence = "`".repeat(longest.unwrap_or_default() + 1);
    if line.is_empty() {
        String::new()
    } else if fence.len() == 1 {
        format!("`{line}`")
    } else {
        format!("{fence} {line} {fence}")
    }
}

/// The lines of a text as a quotation, each behind `indent` spaces.
pub(super) fn quotation(text: &str, indent: usize) -> String {
    let mut out = String::new();
    for line in text.trim_matches('\n').lines() {
        let line: String = line
            .chars()
            .map(|c| if c == '\t' { ' ' } else { visible(c) })
            .collect();
        let quoted = format!("{}> {}", " ".repeat(indent), harmless(&line));
        out.push_str(quoted.trim_end());
        out.push('\n');
    }
    out
}

/// The lines of a section: texts as quotations that keep their lines, items as lists.
pub(super) fn section_lines(lines: &[SheetLine]) -> String {
    let is_text = |line: &&SheetLine| !line.item && !line.text.is_empty();
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| &lines[before]);
        let next = lines.get(number + 1);
        if line.item {
            let flat = SheetLine {
                depth: 0,
                ..line.clone()
            };
            let indent = "  ".repeat(line.depth);
            out.push_str(&format!("{indent}{}\n", inline(&String::from(flat))));
            if next.is_some_and(|next| !next.item) {
                out.push('\n');
            }
        } else if is_text(&line) {
            out.push_str(quotation(&line.text, 0).trim_end());
            out.push_str(if next.filter(is_text).is_some() {
                "  \n"
            } else {
                "\n"
            });
            if next.is_some_and(|next| next.item) {
                out.push('\n');
            }
        } else if before.filter(is_text).is_some() && next.filter(is_text).is_some() {
            out.push_str(">\n");
        } else if before.filter(is_text).is_some() {
            out.push('\n');
        }
    }
    out
}

/// A line in which nothing has an effect.
fn harmless(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut before = [' ', ' '];
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        let next = rest.peek().copied().unwrap_or(' ');
        let begins = match c {
            // A tag or a comment; a mention; an entity, which could be any of the others.
            '<' | '@' | '&' => true,
            // An issue or a merge request, or a picture, which is fetched.
            '#' => next.is_alphanumeric(),
            '!' => next.is_alphanumeric() || next == '[',
            // An address, which can refer to an issue, and the target of a link.
            ':' => next == '/',
            '.' => before.map(|c| c.to_ascii_lowercase()) == ['w', 'w'],
            ']' => matches!(next, '(' | '[' | ':'),
            // `GH-1`.
            '-' => next.is_ascii_digit() && before.map(|c| c.to_ascii_lowercase()) == ['g', 'h'],
            _ => false,
        };
        if begins {
            out.push(GAP);
        }
        before = [before[1], c];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_has_an_effect() {
        for (text, expected) in [
            ("a <!-- b --> c", "a <\u{200b}!-- b --> c"),
            ("</details>", "<\u{200b}/details>"),
            ("&#64;ann &lt;", "&\u{200b}#\u{200b}64;ann &\u{200b}lt;"),
            ("@ann a@b.c", "@\u{200b}ann a@\u{200b}b.c"),
            (
                "Fixes #1, GH-2 and !3",
                "Fixes #\u{200b}1, GH-\u{200b}2 and !\u{200b}3",
            ),
            ("![x](http://y)", "!\u{200b}[x]\u{200b}(http:\u{200b}//y)"),
            ("www.example.org", "www.\u{200b}example.org"),
            ("an odd ` and <b>", "an odd &#96; and <\u{200b}b>"),
            ("\\` and `", "\\&#96; and &#96;"),
            ("`` and ``", "&#96;&#96; and &#96;&#96;"),
            ("`plan`", "`plan`"),
            ("# A title! x-1", "# A title! x-1"),
            ("two\nlines\u{202e}", "two lines\u{fffd}"),
        ] {
            assert_eq!(inline(text), expected);
        }
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("<!-- @a -->"), "`<\u{200b}!-- @\u{200b}a -->`");
        assert_eq!(
            quotation("/close\n\n```\n@x\n", 2),
            "  > /close\n  >\n  > ```\n  > @\u{200b}x\n"
        );
    }

    #[test]
    fn lines_are_quotations_and_lists() {
        let item = SheetLine {
            text: "src/a.rs:\n@ann".to_owned(),
            item: true,
            depth: 1,
            done: Some(true),
            note: Some("#1".to_owned()),
        };
        let text = |text: &str| SheetLine {
            text: text.to_owned(),
            ..SheetLine::default()
        };
        let lines = [
            text("/merge"),
            text(""),
            text("one"),
            text("  </details>"),
            text(""),
            item,
            text(""),
            text("#1"),
        ];
        let expected = "\
> /merge
>
> one  
>   <\u{200b}/details>

  - [x] src/a.rs: @\u{200b}ann (#\u{200b}1)

> #\u{200b}1
";
        assert_eq!(section_lines(&lines), expected);
    }
}
