//! What reports say in words, as it can be shown.

/// How many characters of a message are kept.
const LONGEST: usize = 600;

/// At most so much of a text as a finding or a page can show.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text without the codes of terminals, and with the replacement character for other control characters.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.peek() == Some(&'[') => {
                letters.next();
                // The codes of a terminal end with a letter.
                while letters
                    .next_if(|code| !('@'..='~').contains(code))
                    .is_some()
                {}
                letters.next();
            }
            '\r' => {}
            '\n' | '\t' => clean.push(letter),
            _ if letter.is_control() => clean.push(char::REPLACEMENT_CHARACTER),
            _ => clean.push(letter),
        }
    }
    clean
}
