//! Check boxes, line by line. As OpenSpec counts them, a box counts wherever its line stands, also in a fence or a
//! comment: work that is shown as an example is seen, and open work that a stray fence swallows would not be.

/// A check box in a line of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineBox<'t> {
    /// Where the line begins.
    pub offset: usize,
    /// The sign in the box; a blank if it is empty.
    pub sign: char,
    /// The rest of the line.
    pub text: &'t str,
}

/// The boxes of a document, in order.
pub(super) fn find(text: &str) -> impl Iterator<Item = LineBox<'_>> {
    let mut offset = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = offset;
        offset += line.len();
        let (sign, text) = of_line(line)?;
        Some(LineBox {
            offset: start,
            sign,
            text,
        })
    })
}

/// Whether a sign means that the work is done.
pub(super) fn is_done(sign: char) -> bool {
    matches!(sign, 'x' | 'X')
}

/// The sign of the box in a line, and what follows it. A box is a list marker, blanks or none, `[`, at most one sign,
/// `]`, and then a blank or the end of the line.
fn of_line(line: &str) -> Option<(char, &str)> {
    let mut item = line.trim_start();
    while let Some(quoted) = item.strip_prefix('>') {
        item = quoted.trim_start();
    }
    let after = loop {
        let marked = after_marker(item)?;
        item = marked.trim_start();
        match item.strip_prefix('[') {
            Some(after) => break after,
            // An item may be the first one of a list in it.
            None if item.len() < marked.len() => {}
            None => return None,
        }
    };
    let (inner, rest) = after.split_once(']')?;
    let sign = match inner.trim() {
        "" => ' ',
        one => the_only(one)?,
    };
    let is_box = match rest.chars().next() {
        None => true,
        Some(next) if next.is_whitespace() => true,
        // A link. No text of one is blank.
        Some('(' | '[') => sign == ' ' && !inner.is_empty(),
        Some(_) => sign == ' ' || is_done(sign),
    };
    is_box.then(|| (sign, rest.trim()))
}

/// What follows the marker of a list item: `-`, `*`, `+`, or up to nine digits and `.` or `)`.
fn after_marker(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['-', '*', '+']) {
        return Some(rest);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = (1..=9).contains(&digits);
    text[digits..]
        .strip_prefix(['.', ')'])
        .filter(|_| is_number)
}

/// The only sign of a text; it may say how it is to be shown.
fn the_only(text: &str) -> Option<char> {
    let mut signs = text
        .chars()
        .filter(|sign| !matches!(sign, '\u{fe0e}' | '\u{fe0f}'));
    let first = signs.next()?;
    signs.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_found_with_its_sign() {
        for (line, expected) in [
            ("- [ ] a", Some((' ', "a"))),
            ("- [x] a\r\n", Some(('x', "a"))),
            ("* [X] a", Some(('X', "a"))),
            ("+ [~] a", Some(('~', "a"))),
            ("12. [/] a", Some(('/', "a"))),
            ("3) [!] a", Some(('!', "a"))),
            ("  - [ ] nested", Some((' ', "nested"))),
            ("\t- [-]\ta", Some(('-', "a"))),
            ("- [] a", Some((' ', "a"))),
            ("-[ ] a", Some((' ', "a"))),
            ("1.[x] a", Some(('x', "a"))),
            ("- [ x ] a", Some(('x', "a"))),
            ("- [>]", Some(('>', ""))),
            ("- [✅] a", Some(('✅', "a"))),
            ("- [⚠\u{fe0f}] a", Some(('⚠', "a"))),
            ("> - [ ] quoted", Some((' ', "quoted"))),
            ("- 1. [ ] first", Some((' ', "first"))),
            ("- [ ]a", Some((' ', "a"))),
            ("- [x]a", Some(('x', "a"))),
            ("- [ ](a.md)", Some((' ', "(a.md)"))),
            ("- [a](a.md)", None),
            ("- [x][1]", None),
            ("- [](a.md)", None),
            ("- [1]: note", None),
            ("- [ab] a", None),
            ("- [x a", None),
            ("- a [x]", None),
            ("[ ] a", None),
            ("--[ ] a", None),
            ("1234567890. [ ] a", None),
            ("- \\[ ] a", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(of_line(line), expected, "{line}");
        }
        let found: Vec<LineBox<'_>> =
            find("a\n- [x] b\n\n```\n- [ ] c\n```\n<!--\n- [?] d -->").collect();
        let offsets: Vec<(usize, char)> = found
            .iter()
            .map(|found| (found.offset, found.sign))
            .collect();
        assert_eq!(offsets, [(2, 'x'), (15, ' '), (32, '?')]);
    }
}
