//! Puts the change between two versions of a file on a third version, exactly: each part must fit with its lines of
//! context, as for `git apply`. It may stand elsewhere in the file, and nothing is merged.

use git2::{DiffOptions, Patch};

/// The lines of context of each part of a change.
const CONTEXT: u32 = 3;

/// The version `onto` with the change from one version to another; `None` if a part of it does not fit, or git takes
/// a version for binary. No attribute and no setting of git has a part in it.
pub(super) fn with_exact_change(onto: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let mut options = DiffOptions::new();
    options.context_lines(CONTEXT);
    let patch = Patch::from_buffers(from, None, to, None, Some(&mut options)).ok()?;
    let lines: Vec<&[u8]> = onto.split_inclusive(|byte| *byte == b'\n').collect();
    // The lines that were taken over, and how far the last part stood from its place.
    let (mut made, mut done, mut shift) = (Vec::new(), 0, 0);
    let parts = patch.num_hunks();
    for number in 0..parts {
        let part = ChangePart::of(&patch, number)?;
        let place = part.place(&lines, done, shift)?;
        shift = place.checked_signed_diff(part.begin)?;
        made.extend_from_slice(&lines[done..place].concat());
        made.extend_from_slice(&part.new.concat());
        done = place + part.old.len();
    }
    made.extend_from_slice(&lines[done..].concat());
    (parts > 0).then_some(made)
}

/// One part of a change.
struct ChangePart {
    /// The index of its first line in the old version.
    begin: usize,
    /// The lines that must be there, with those around them.
    old: Vec<Vec<u8>>,
    /// The lines that replace them.
    new: Vec<Vec<u8>>,
    /// Whether it changes the end of the old version.
    is_end: bool,
}

impl ChangePart {
    fn of(patch: &Patch<'_>, number: usize) -> Option<Self> {
        let (hunk, count) = patch.hunk(number).ok()?;
        let begin = usize::try_from(hunk.old_start()).ok()?.saturating_sub(1);
        let mut part = Self { begin, old: Vec::new(), new: Vec::new(), is_end: true };
        for line in 0..count {
            let line = patch.line_in_hunk(number, line).ok()?;
            let content = line.content().to_vec();
            match line.origin() {
                ' ' => {
                    part.old.push(content.clone());
                    part.new.push(content);
                }
                '-' => part.old.push(content),
                '+' => part.new.push(content),
                // That there is no newline at the end, which the line before says by itself.
                _ => continue,
            }
            part.is_end = line.origin() != ' ';
        }
        (!part.old.is_empty()).then_some(part)
    }

    /// The line at which the old lines stand, from `from` on and nearest to the place where they were, moved by
    /// `shift`. As for `git apply`, a part at the beginning or at the end of the file must stand there.
    fn place(&self, lines: &[&[u8]], from: usize, shift: isize) -> Option<usize> {
        let last = lines.len().checked_sub(self.old.len())?;
        let meant = self.begin.saturating_add_signed(shift);
        let fits = |place: &usize| {
            let is_there = lines[*place..].iter().zip(&self.old).all(|(one, other)| *one == other.as_slice());
            is_there && (self.begin > 0 || *place == 0) && (!self.is_end || *place == last)
        };
        (from..=last).filter(fits).min_by_key(|place| place.abs_diff(meant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(changed: &[(usize, &str)]) -> String {
        let line = |number: usize| {
            let text = changed.iter().find(|(at, _)| *at == number).map(|(_, text)| (*text).to_owned());
            text.unwrap_or_else(|| format!("{number}\n"))
        };
        (1..=30).map(line).collect()
    }

    #[test]
    fn a_change_fits_where_its_lines_stand_and_nowhere_else() {
        let from = numbered(&[]);
        let made = |onto: &[(usize, &str)], to: &[(usize, &str)]| {
            let made = with_exact_change(numbered(onto).as_bytes(), from.as_bytes(), numbered(to).as_bytes());
            made.map(|made| String::from_utf8(made).expect("text"))
        };
        for (onto, to, both) in [
            (&[(2, "x\n")][..], &[(20, "y\n")][..], Some(&[(2, "x\n"), (20, "y\n")][..])),
            // Lines that came in before it move it.
            (&[(2, "x\nx\nx\n")], &[(20, "y\n")], Some(&[(2, "x\nx\nx\n"), (20, "y\n")])),
            (&[(2, "")], &[(20, ""), (28, "y\n")], Some(&[(2, ""), (20, ""), (28, "y\n")])),
            (&[(2, "x\n")], &[(30, "30")], Some(&[(2, "x\n"), (30, "30")])),
            (&[(20, "x\n")], &[(1, "y\n1\n")], Some(&[(1, "y\n1\n"), (20, "x\n")])),
            // A line of context is another one.
            (&[(18, "x\n")], &[(20, "y\n")], None),
            (&[(20, "x\n")], &[(20, "y\n")], None),
            // What was at the beginning or at the end is no longer there.
            (&[(1, "x\n1\n")], &[(1, "y\n1\n")], None),
            (&[(30, "30\nx\n")], &[(30, "30\ny\n")], None),
        ] {
            assert_eq!(made(onto, to), both.map(numbered), "{onto:?} {to:?}");
        }
        assert_eq!(with_exact_change(b"a\n", b"\0\n", b"\0b\n"), None);
        assert_eq!(with_exact_change(b"a\n", b"", b"b\n"), None);
    }
}
