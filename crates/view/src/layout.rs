//! Makes text safe and makes it fit: cleaning, shortening, wrapping, columns, shell quoting and code fences.

use super::{Paint, Style};
use orch_base::Timestamp;
use std::borrow::Borrow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
pub(super) fn visible(c: char) -> char {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || reorders {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

/// How many columns a text takes on a terminal. A wide character, such as an ideograph, takes two.
#[must_use]
pub fn columns_of(text: &str) -> usize {
    text.width()
}

/// The text on one line of at most `limit` columns, cut with `…`; 0 means no limit.
#[must_use]
pub fn shorten(text: &str, limit: usize) -> String {
    let line = one_line(text);
    if limit == 0 { line } else { cut(&line, limit) }
}

/// The text, cut with `…` if it is wider than `limit` columns; the spaces in it stay.
fn cut(text: &str, limit: usize) -> String {
    if columns_of(text) <= limit {
        return text.to_owned();
    }
    format!("{}…", head(text, limit.saturating_sub(1)).trim_end())
}

/// The longest beginning of a text that takes at most `width` columns.
fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    let first_outside = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or_default();
        used > width
    });
    first_outside.map_or(text, |(end, _)| &text[..end])
}

/// The parts of a word that is too wide for a line. Text in ideographs has no spaces and may be broken anywhere;
/// any other word, which may be a path, stays whole.
fn parts(word: &str, width: usize) -> Vec<&str> {
    let is_wide = word.contains(|c: char| c.width().is_some_and(|columns| columns > 1));
    if columns_of(word) <= width || width < 2 || !is_wide {
        return vec![word];
    }
    let mut parts = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let (part, left) = rest.split_at(head(rest, width).len());
        parts.push(part);
        rest = left;
    }
    parts
}

/// The words of the text in lines of at most `width` columns; 0 means a single line.
///
/// A word that is wider than that gets its own line. Only text in ideographs is broken, because others may be
/// paths.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let clean = one_line(text);
    if width == 0 {
        return if clean.is_empty() {
            Vec::new()
        } else {
            vec![clean]
        };
    }
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    let words = clean.split(' ').filter(|word| !word.is_empty());
    for word in words.flat_map(|word| parts(word, width)) {
        let size = columns_of(word);
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
    let room = if width == 0 {
        0
    } else {
        width.saturating_sub(indent + hang).max(20)
    };
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

/// The number of characters that a shortened column keeps.
const NARROW: usize = 8;

/// A cell with an id, which is never shortened here.
#[must_use]
pub fn id_cell(id: &str) -> Cell {
    (one_line(id), Some(Style::Strong))
}

/// Rows in aligned columns, separated by two spaces, without trailing spaces, as one text.
///
/// See [`table`].
#[must_use]
pub fn columns(
    rows: &[Vec<Cell>],
    whole: &[usize],
    indent: usize,
    paint: Paint,
    width: usize,
) -> String {
    table(rows, whole, indent, paint, width).concat()
}

/// Rows in aligned columns: one text per row, with its line end.
///
/// If the rows are wider than `width` (0: unlimited), the cells of the widest columns are cut, except in the
/// columns `whole`, which hold what people copy. A row that is too wide even so continues on an indented line.
#[must_use]
pub fn table(
    rows: &[Vec<Cell>],
    whole: &[usize],
    indent: usize,
    paint: Paint,
    width: usize,
) -> Vec<String> {
    let text = row_text(rows, whole, indent, paint, width);
    rows.iter().map(text).collect()
}

/// The text of one row of a [`table`] with these rows.
pub(super) fn row_text<'w>(
    rows: impl IntoIterator<Item = impl Borrow<Vec<Cell>>>,
    whole: &'w [usize],
    indent: usize,
    paint: Paint,
    width: usize,
) -> impl Fn(&Vec<Cell>) -> String + 'w {
    let widths = fitting(natural(rows), whole, indent, width);
    move |row| {
        let filled = row
            .iter()
            .rposition(|(text, _)| !text.is_empty())
            .map_or(0, |last| last + 1);
        let mut out = String::new();
        let mut line = " ".repeat(indent);
        let mut used = indent;
        for (column, (text, style)) in row.iter().take(filled).enumerate() {
            let size = widths.get(column).copied().unwrap_or_default();
            if size == 0 {
                continue;
            }
            let text = if whole.contains(&column) {
                text.clone()
            } else {
                cut(text, size)
            };
            let length = columns_of(&text);
            if width > 0 && used > indent && used + length > width {
                out.push_str(line.trim_end());
                out.push('\n');
                (line, used) = (" ".repeat(indent + 4), indent + 4);
            }
            line.push_str(&style.map_or_else(|| text.clone(), |style| paint.paint(style, &text)));
            let gap = (size + 2).saturating_sub(length);
            line.push_str(&" ".repeat(gap));
            used += length + gap;
        }
        out.push_str(line.trim_end());
        out.push('\n');
        out
    }
}

/// The width of each column, as wide as its widest cell.
pub(super) fn natural(rows: impl IntoIterator<Item = impl Borrow<Vec<Cell>>>) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        let row = row.borrow();
        widths.resize(widths.len().max(row.len()), 0);
        for (width, (text, _)) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns_of(text));
        }
    }
    widths
}

/// The width of a row with columns of these widths, and two blanks between those that are not empty.
fn breadth(widths: &[usize]) -> usize {
    let filled = widths.iter().filter(|width| **width > 0).count();
    widths.iter().sum::<usize>() + 2 * filled.saturating_sub(1)
}

/// The widths, with the widest columns made narrower until all fit. If they cannot fit on one line, each keeps
/// its width, as far as one line allows.
fn fitting(natural: Vec<usize>, whole: &[usize], indent: usize, width: usize) -> Vec<usize> {
    let mut widths = natural.clone();
    while width > 0 && indent + breadth(&widths) > width {
        let mut widest = None;
        for (column, size) in widths.iter_mut().enumerate() {
            if !whole.contains(&column) && *size > NARROW && widest.as_deref() <= Some(&*size) {
                widest = Some(size);
            }
        }
        match widest {
            Some(size) => *size -= 1,
            None => {
                let longest = width.saturating_sub(indent + 4);
                return natural.into_iter().map(|size| size.min(longest)).collect();
            }
        }
    }
    widths
}

/// The text in a Markdown code fence that is longer than any run of backticks in it.
#[must_use]
pub fn fenced(info: &str, text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{info}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// A count with its noun: `1 task`, `2 tasks`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// A number of bytes in the largest unit that fits: `1.5 MB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, length)| bytes >= *length) {
        Some((unit, length)) => {
            let tenths = bytes / (length / 10);
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

/// How long ago `since` is, in the largest unit that fits: `2 h ago`.
#[must_use]
pub fn ago(since: Timestamp, now: Timestamp) -> String {
    const UNITS: [(&str, i64); 3] = [("d", 86_400), ("h", 3_600), ("min", 60)];
    let seconds = now.seconds().saturating_sub(since.seconds());
    let unit = UNITS.iter().find(|(_, length)| seconds >= *length);
    unit.map_or("just now".to_owned(), |(unit, length)| {
        format!("{} {unit} ago", seconds / length)
    })
}

/// A path relative to the directory of its task, on one line.
pub(super) fn below(directory: &str, path: &str) -> String {
    one_line(
        path.strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(path),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_cannot_move_the_cursor() {
        assert_eq!(
            one_line(" a\n\tb \u{1b}[31mc\u{202e} "),
            "a b \u{fffd}[31mc\u{fffd}"
        );
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("ab\ncd", 0), "ab cd");
    }

    #[test]
    fn wraps_at_words_and_never_breaks_one() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("a-very-long-path b", 5), ["a-very-long-path", "b"]);
        assert!(wrap("  ", 5).is_empty());
    }

    /// An ideograph takes two columns.
    #[test]
    fn wide_characters_count_twice_and_their_text_is_broken() {
        assert_eq!(shorten("日本語日本語", 6), "日本…");
        assert_eq!(wrap("a 日本語日本語 b", 6), ["a", "日本語", "日本語", "b"]);
        assert_eq!(wrap("日本 語", 5), ["日本", "語"]);
        let rows = [
            vec![plain("日本"), plain("x")],
            vec![plain("abcd"), plain("y")],
        ];
        assert_eq!(
            columns(&rows, &[], 0, Paint::PLAIN, 0),
            "日本  x\nabcd  y\n"
        );
    }

    #[test]
    fn columns_align_and_fit() {
        let rows = [
            vec![plain("a"), plain("bb")],
            vec![plain("ccc"), plain("d")],
            vec![plain("e"), plain("")],
        ];
        assert_eq!(
            columns(&rows, &[], 1, Paint::PLAIN, 0),
            " a    bb\n ccc  d\n e\n"
        );
        let wide = [vec![
            plain("t-1"),
            plain("a long text"),
            plain("another long text"),
        ]];
        let drawn = |whole: &[usize], width| columns(&wide, whole, 0, Paint::PLAIN, width);
        assert_eq!(drawn(&[], 30), "t-1  a long text  another lon…\n");
        assert_eq!(drawn(&[2], 30), "t-1  a long text\n    another long text\n");
        assert_eq!(
            drawn(&[0, 1, 2], 20),
            "t-1  a long text\n    another long text\n"
        );
    }

    #[test]
    fn ages_are_short() {
        let drawn = |seconds| ago(Timestamp::from_seconds(0), Timestamp::from_seconds(seconds));
        let ages = [-5, 59, 60, 3_599, 7_200, 86_399, 172_800, 864_000_000].map(drawn);
        let expected = [
            "just now",
            "just now",
            "1 min ago",
            "59 min ago",
            "2 h ago",
            "23 h ago",
            "2 d ago",
            "10000 d ago",
        ];
        assert_eq!(ages, expected);
    }

    #[test]
    fn fences_outgrow_their_content() {
        assert_eq!(fenced("json", "{}\n"), "```json\n{}\n```\n");
        assert!(fenced("", "````\nx").starts_with("`````\n"));
    }
}
