//! Texts from files and from people, written into Markdown so that they can only be read.
//!
//! A host acts on what a description contains: it renders tags, notifies who is mentioned, links what is referred to, and
//! carries out lines that begin with a slash. An invisible space behind the sign that begins such a thing takes the effect
//! away. It stays a text wherever it is shown, also within code, where an entity would be seen.

use crate::layout::{one_line, visible};
use serde_json::Value;

/// A space without width.
const GAP: char = '\u{200b}';
/// How deep values are nested in a list.
const DEEPEST: usize = 6;

/// The text on one line.
pub(super) fn inline(text: &str) -> String {
    harmless(&one_line(text))
}

/// The text on one line within code.
pub(super) fn code(text: &str) -> String {
    let line = one_line(text);
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

/// A value as a nested list. At the top, members of `hidden` and empty lists are left out.
pub(super) fn list(value: &Value, hidden: &[&str]) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_empty = member.as_array().is_some_and(Vec::is_empty);
                if !is_empty && !hidden.contains(&name.as_str()) {
                    named(&mut out, name, member, 0);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|one| item(&mut out, one, 0)),
        Value::String(text) => out.push_str(&quotation(text, 0)),
        other => item(&mut out, other, 0),
    }
    out
}

/// A member of an object as an item of a list.
fn named(out: &mut String, name: &str, value: &Value, depth: usize) {
    let indent = depth * 2;
    let name = inline(&name.replace('_', " "));
    out.push_str(&format!("{}- {name}:", " ".repeat(indent)));
    match value {
        Value::String(text) if text.trim_end().contains('\n') => {
            out.push('\n');
            out.push_str(&quotation(text, indent + 2));
        }
        Value::Object(members) if !members.is_empty() && depth < DEEPEST => {
            out.push('\n');
            for (name, member) in members {
                named(out, name, member, depth + 1);
            }
        }
        Value::Array(items) if !items.is_empty() && depth < DEEPEST => {
            out.push('\n');
            items.iter().for_each(|one| item(out, one, depth + 1));
        }
        other => out.push_str(&format!(" {}\n", scalar(other))),
    }
}

/// An item of an array as an item of a list: of an object, the texts and numbers on one line, and the rest below.
fn item(out: &mut String, value: &Value, depth: usize) {
    let indent = " ".repeat(depth * 2);
    let (line, below) = match value {
        Value::Object(members) if depth < DEEPEST => {
            let (nested, plain): (Vec<_>, Vec<_>) = members
                .iter()
                .partition(|(_, member)| member.is_object() || member.is_array());
            let plain: Vec<String> = plain.iter().map(|(_, member)| scalar(member)).collect();
            (plain.join(" – "), nested)
        }
        other => (scalar(other), Vec::new()),
    };
    out.push_str(format!("{indent}- {line}").trim_end());
    out.push('\n');
    for (name, member) in below {
        named(out, name, member, depth + 1);
    }
}

/// A value on one line.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => inline(text),
        Value::Null => "–".to_owned(),
        other => inline(&other.to_string()),
    }
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
    use serde_json::json;

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
            ("![x](http://y)", "!\u{200b}[x](http://y)"),
            ("# A title! x-1", "# A title! x-1"),
            ("two\nlines\u{202e}", "two lines\u{fffd}"),
        ] {
            assert_eq!(inline(text), expected);
        }
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("<!-- -->"), "`<!-- -->`");
        assert_eq!(
            quotation("/close\n\n```\n@x\n", 2),
            "  > /close\n  >\n  > ```\n  > @\u{200b}x\n"
        );
    }

    #[test]
    fn a_value_is_a_nested_list() {
        let plan = json!({
            "$schema": "x",
            "what": "one\ntwo",
            "file_plan": [{"path": "src/a.rs", "why": "the fix", "of": {"plan": null}}],
            "done": true,
            "empty": [],
        });
        let expected = "\
- what:
  > one
  > two
- file plan:
  - src/a.rs – the fix
    - of:
      - plan: –
- done: true
";
        assert_eq!(list(&plan, &["$schema"]), expected);
        assert_eq!(list(&json!("/merge"), &[]), "> /merge\n");
    }
}
