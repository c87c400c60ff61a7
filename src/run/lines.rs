//! Output in whole lines, fit for a terminal that belongs to somebody else.

/// Gathers bytes until a line is whole.
#[derive(Default)]
pub(super) struct Lines {
    open: Vec<u8>,
}

/// A line longer than this is shown in parts.
const LONGEST: usize = 4096;

impl Lines {
    /// Gives each line that is whole now.
    pub(super) fn take(&mut self, bytes: &[u8], mut give: impl FnMut(&str)) {
        for byte in bytes {
            if *byte == b'\n' || self.open.len() >= LONGEST {
                self.flush(&mut give);
            }
            if *byte != b'\n' {
                self.open.push(*byte);
            }
        }
    }

    /// Gives what is left without an end.
    pub(super) fn flush(&mut self, mut give: impl FnMut(&str)) {
        if !self.open.is_empty() {
            give(&plain(&String::from_utf8_lossy(&self.open)));
            self.open.clear();
        }
    }
}

/// Without what would move the cursor, change colours or ring: sequences of escape, and other controls.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                if letters.next_if_eq(&'[').is_some() {
                    // Up to and with the letter that ends the sequence.
                    let _ = letters.by_ref().find(|letter| ('\u{40}'..='\u{7e}').contains(letter));
                } else {
                    letters.next();
                }
            }
            '\t' => out.push(' '),
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
        for part in ["a", "b\nc\r\n\u{1b}[31mred\u{1b}[0m\x07", "\n\n", "end"] {
            lines.take(part.as_bytes(), |line| seen.push(line.to_owned()));
        }
        lines.flush(|line| seen.push(line.to_owned()));
        assert_eq!(seen, ["ab", "c", "red", "end"]);
    }
}
