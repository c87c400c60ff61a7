//! Splits output into lines and strips what could control the terminal.

/// Collects bytes until a line is complete.
#[derive(Default)]
pub(super) struct Lines {
    open: Vec<u8>,
}

/// Longer lines are split into parts of this many bytes.
const LONGEST: usize = 4096;

impl Lines {
    /// Adds bytes and calls `give` with each complete line.
    pub(super) fn take(&mut self, bytes: &[u8], mut give: impl FnMut(&str)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let near = &rest[..rest.len().min(LONGEST - self.open.len())];
            let end = near.iter().position(|byte| *byte == b'\n');
            self.open
                .extend_from_slice(&near[..end.unwrap_or(near.len())]);
            rest = &rest[end.map_or(near.len(), |end| end + 1)..];
            if end.is_some() || self.open.len() == LONGEST {
                self.flush(&mut give);
            }
        }
    }

    /// Calls `give` with the rest, which has no line end.
    pub(super) fn flush(&mut self, mut give: impl FnMut(&str)) {
        if !self.open.is_empty() {
            give(&plain(&String::from_utf8_lossy(&self.open)));
            self.open.clear();
        }
    }
}

/// Strips escape sequences, control characters, and characters that change the direction of text.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => match letters.next() {
                // Up to and including the letter that ends the sequence.
                Some('[') => drop(letters.find(|letter| ('\u{40}'..='\u{7e}').contains(letter))),
                // A title, a colour or clipboard data, up to and including BEL or `ESC \`.
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    let end = letters.find(|letter| matches!(letter, '\u{7}' | '\u{1b}'));
                    letters.next_if(|letter| end == Some('\u{1b}') && *letter == '\\');
                }
                _ => {}
            },
            '\t' => out.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_plain() {
        let mut lines = Lines::default();
        let mut seen: Vec<String> = Vec::new();
        let title = "\u{1b}]0;title\u{7}t\u{1b}P1$r\u{1b}\\u\u{202e}\n";
        for part in [
            "a",
            "b\nc\r\n\u{1b}[31mred\u{1b}[0m\x07",
            "\n\n",
            title,
            "end",
        ] {
            lines.take(part.as_bytes(), |line| seen.push(line.to_owned()));
        }
        lines.flush(|line| seen.push(line.to_owned()));
        assert_eq!(seen, ["ab", "c", "red", "tu", "end"]);
    }

    #[test]
    fn a_line_without_an_end_is_split() {
        let mut lines = Lines::default();
        let mut sizes: Vec<usize> = Vec::new();
        for size in [LONGEST - 1, 1, 0, 2 * LONGEST + 1] {
            lines.take("x".repeat(size).as_bytes(), |line| sizes.push(line.len()));
        }
        lines.take(b"y\nz", |line| sizes.push(line.len()));
        lines.flush(|line| sizes.push(line.len()));
        assert_eq!(sizes, [LONGEST, LONGEST, LONGEST, 2, 1]);
    }
}
