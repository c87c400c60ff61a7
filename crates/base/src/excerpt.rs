//! The lines around a place in a text, kept so that whoever reports the place can show them.

/// How many lines are kept before and after the line of the place.
const CONTEXT: usize = 2;
/// Longer lines are not kept: they are data and not meant for reading.
const LONGEST: usize = 1000;

/// Some lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of the first line, from 1.
    pub first: u32,
    /// The lines, without the end of the last.
    pub text: String,
}

impl Excerpt {
    /// The lines around the line with the number `line`, which begins at the byte `start` of `text`. `None` if the text
    /// ends before it, or if one of the lines is too long.
    #[must_use]
    pub fn around(text: &str, start: usize, line: u32) -> Option<Self> {
        if start >= text.len() {
            return None;
        }
        let mut first = line;
        let mut from = start;
        let own_end = line_end(text, start);
        let mut to = own_end;
        for _ in 0..CONTEXT {
            if from > 0 {
                from = text[..from - 1].rfind('\n').map_or(0, |end| end + 1);
                first = first.saturating_sub(1);
            }
            to = line_end(text, to);
        }
        let lines = &text[from..to];
        if lines.split_inclusive('\n').any(|line| line.len() > LONGEST) {
            return None;
        }
        // Blank lines at the end show nothing, except the line itself.
        let shown = lines.trim_end_matches('\n').len();
        let shown = shown
            .max(text[from..own_end].trim_end_matches('\n').len())
            .max(start - from);
        Some(Self {
            first,
            text: lines[..shown].to_owned(),
        })
    }

    /// The line with this number, without its end.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&str> {
        let before = number.checked_sub(self.first)?;
        let line = self.text.split('\n').nth(before as usize)?;
        Some(line.trim_end_matches('\r'))
    }
}

/// Where the line at the byte `from` ends, with its line feed.
fn line_end(text: &str, from: usize) -> usize {
    text[from..]
        .find('\n')
        .map_or(text.len(), |end| from + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_lines_around_a_line() {
        let long = format!("a\n{}\nb\nc\nd\ne\n", "x".repeat(LONGEST));
        for (text, start, line, expected) in [
            ("a", 0, 1, Some((1, "a"))),
            ("a\nb\nc\nd\ne\nf\n", 6, 4, Some((2, "b\nc\nd\ne\nf"))),
            ("a\nb\n\n\n", 2, 2, Some((1, "a\nb"))),
            ("a\n\n\n", 3, 3, Some((1, "a\n\n"))),
            ("", 0, 1, None),
            ("a\n", 2, 2, None),
            (&long, LONGEST + 5, 4, None),
            (&long, LONGEST + 7, 5, Some((3, "b\nc\nd\ne"))),
        ] {
            let found = Excerpt::around(text, start, line);
            let found = found.as_ref().map(|found| (found.first, &*found.text));
            assert_eq!(found, expected, "{text:?} {line}");
        }
    }
}
