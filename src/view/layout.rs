//! Makes text safe and makes it fit: cleaning, shortening, wrapping, columns, shell quoting and code fences.

use super::{Paint, Style};

/// The maximum length of a value on one line, in characters.
pub const SHORT: usize = 80;

/// The text on one line: white space is folded, and control characters are replaced.
///
/// Text from files reaches a terminal or a commit message only through this function, so that it can neither
/// move the cursor nor start a line of its own.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(visible));
    }
    line
}

/// Replaces control characters, and characters that reorder text, by the replacement character.
fn visible(c: char) -> char {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || reorders { char::REPLACEMENT_CHARACTER } else { c }
}

/// The text on one line of at most `limit` characters, cut with `…`; 0 means no limit.
#[must_use]
pub fn shorten(text: &str, limit: usize) -> String {
    let line = one_line(text);
    if limit == 0 || line.chars().count() <= limit {
        return line;
    }
    let kept: String = line.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// The words of the text in lines of at most `width` characters; 0 means a single line.
///
/// A word that is longer than the width, which may be a path, gets its own line and is not broken.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let clean = one_line(text);
    if width == 0 {
        return if clean.is_empty() { Vec::new() } else { vec![clean] };
    }
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    for word in clean.split(' ').filter(|word| !word.is_empty()) {
        let size = word.chars().count();
        match lines.last_mut() {
            Some(line) if length + 1 + size <= width => {
                line.push(' ');
                line.push_str(word);
                length += 1 + size;
            }
            _ => {
                lines.push(word.to_owned());
                length = size;
            }
        }
    }
    lines
}

/// Appends the text, wrapped and indented by `indent`; all lines but the first are indented by `hang` more.
pub fn paragraph(out: &mut String, text: &str, indent: usize, hang: usize, width: usize) {
    let room = if width == 0 { 0 } else { width.saturating_sub(indent + hang).max(20) };
    for (number, line) in wrap(text, room).iter().enumerate() {
        let indent = if number == 0 { indent } else { indent + hang };
        out.push_str(&" ".repeat(indent));
        out.push_str(line);
        out.push('\n');
    }
}

/// A cell of a table: its text, already on one line, and its style.
pub type Cell = (String, Option<Style>);

/// A cell without a style.
#[must_use]
pub fn plain(text: impl AsRef<str>) -> Cell {
    (shorten(text.as_ref(), SHORT), None)
}

/// A cell with a style.
#[must_use]
pub fn styled(text: impl AsRef<str>, style: Style) -> Cell {
    (shorten(text.as_ref(), SHORT), Some(style))
}

/// Rows in aligned columns, separated by two spaces, without trailing spaces, cut at `width` (0: never).
#[must_use]
pub fn columns(rows: &[Vec<Cell>], indent: usize, paint: Paint, width: usize) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (column, (text, _)) in row.iter().enumerate() {
            let size = text.chars().count();
            match widths.get_mut(column) {
                Some(known) => *known = (*known).max(size),
                None => widths.push(size),
            }
        }
    }
    let mut out = String::new();
    for row in rows {
        let filled = row.iter().rposition(|(text, _)| !text.is_empty()).map_or(0, |last| last + 1);
        let mut line = " ".repeat(indent);
        let mut used = indent;
        for (column, (text, style)) in row.iter().take(filled).enumerate() {
            let size = widths.get(column).copied().unwrap_or_default();
            let last = column + 1 == filled;
            let room = if width == 0 { usize::MAX } else { width.saturating_sub(used) };
            if room == 0 {
                break;
            }
            let text = if room == usize::MAX { text.clone() } else { shorten(text, room) };
            let length = text.chars().count();
            line.push_str(&style.map_or_else(|| text.clone(), |style| paint.paint(style, &text)));
            used += length;
            if !last {
                let gap = (size + 2).saturating_sub(length);
                line.push_str(&" ".repeat(gap));
                used += gap;
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The text in a Markdown code fence that is longer than any run of backticks in it.
#[must_use]
pub fn fenced(info: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{info}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// A count with its noun: `1 task`, `2 tasks`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A path relative to the directory of its task, on one line.
pub(super) fn below(directory: &str, path: &str) -> String {
    one_line(path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cannot_move_the_cursor() {
        assert_eq!(one_line(" a\n\tb \u{1b}[31mc\u{202e} "), "a b \u{fffd}[31mc\u{fffd}");
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("ab\ncd", 0), "ab cd");
    }

    #[test]
    fn wraps_at_words_and_never_breaks_one() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a-very-long-path b", 5), ["a-very-long-path", "b"]);
        assert!(wrap("  ", 5).is_empty());
    }

    #[test]
    fn columns_align_and_fit() {
        let rows =
            [vec![plain("a"), plain("bb")], vec![plain("ccc"), plain("d")], vec![plain("e"), plain("")]];
        assert_eq!(columns(&rows, 1, Paint::PLAIN, 0), " a    bb\n ccc  d\n e\n");
        assert_eq!(columns(&[vec![plain("abcdef"), plain("gh")]], 0, Paint::PLAIN, 9), "abcdef  …\n");
    }

    #[test]
    fn fences_outgrow_their_content() {
        assert_eq!(fenced("json", "{}\n"), "```json\n{}\n```\n");
        assert!(fenced("", "````\nx").starts_with("`````\n"));
    }
}
