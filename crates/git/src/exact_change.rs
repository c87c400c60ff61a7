//! Puts the change between two versions of a file on a third version, exactly: each part must stand there with its lines
//! of context, where the difference between the first and the third version says that they came from. Nothing is merged.

use git2::{DiffOptions, Patch};

/// The lines of context of each part of a change.
const CONTEXT: u32 = 3;

/// The version `onto` with the change from one version to another; `None` if a part of it does not fit, or git takes
/// a version for binary. No attribute and no setting of git has a part in it.
pub(super) fn with_exact_change(onto: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let patch = patch(from, to, CONTEXT)?;
    let moves = Moves::between(from, onto)?;
    let lines: Vec<&[u8]> = onto.split_inclusive(|byte| *byte == b'\n').collect();
    let mut made = Vec::new();
    let mut done = 0;
    let parts = patch.num_hunks();
    for number in 0..parts {
        let part = ChangePart::of(&patch, number)?;
        let place = part.place(&lines, done, &moves)?;
        made.extend_from_slice(&lines[done..place].concat());
        made.extend_from_slice(&part.new.concat());
        done = place + part.old.len();
    }
    made.extend_from_slice(&lines[done..].concat());
    (parts > 0).then_some(made)
}

fn patch<'p>(from: &'p [u8], to: &'p [u8], context: u32) -> Option<Patch<'p>> {
    let mut options = DiffOptions::new();
    options.context_lines(context);
    Patch::from_buffers(from, None, to, None, Some(&mut options)).ok()
}

/// Where the lines of one version of a file stand in another one.
struct Moves {
    differences: Vec<Difference>,
}

/// Lines of the first version that the other one has not, or has others instead.
struct Difference {
    begin: usize,
    end: usize,
    /// How far what follows them has moved.
    moved: isize,
}

impl Moves {
    fn between(from: &[u8], onto: &[u8]) -> Option<Self> {
        let mut differences = Vec::new();
        let mut moved = 0;
        let patch = patch(from, onto, 0)?;
        for number in 0..patch.num_hunks() {
            let (hunk, _) = patch.hunk(number).ok()?;
            let old = isize::try_from(hunk.old_lines()).ok()?;
            let new = isize::try_from(hunk.new_lines()).ok()?;
            let start = usize::try_from(hunk.old_start()).ok()?;
            // For a part without old lines, git names the line before it.
            let begin = if old == 0 {
                start
            } else {
                start.saturating_sub(1)
            };
            moved += new - old;
            differences.push(Difference {
                begin,
                end: begin.checked_add_signed(old)?,
                moved,
            });
        }
        Some(Self { differences })
    }

    /// Where `count` lines from `begin` on stand; `None` if they do not stand together.
    fn place(&self, begin: usize, count: usize) -> Option<usize> {
        let is_apart = |one: &Difference| one.begin < begin + count && one.end > begin;
        if self.differences.iter().any(is_apart) {
            return None;
        }
        let before = self.differences.iter().rev().find(|one| one.end <= begin);
        begin.checked_add_signed(before.map_or(0, |before| before.moved))
    }
}

struct ChangePart {
    /// The index of its first line in the old version.
    begin: usize,
    /// The lines that must be there, with those around them.
    old: Vec<Vec<u8>>,
    /// The lines that replace them.
    new: Vec<Vec<u8>>,
    /// True if the change touches the last line of the old version.
    is_end: bool,
}

impl ChangePart {
    fn of(patch: &Patch<'_>, number: usize) -> Option<Self> {
        let (hunk, count) = patch.hunk(number).ok()?;
        let begin = usize::try_from(hunk.old_start()).ok()?.saturating_sub(1);
        let mut part = Self {
            begin,
            old: Vec::new(),
            new: Vec::new(),
            is_end: true,
        };
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

    /// The line at which the old lines stand, from `from` on. A part at the beginning or at the end of the file must stand
    /// there.
    fn place(&self, lines: &[&[u8]], from: usize, moves: &Moves) -> Option<usize> {
        let last = lines.len().checked_sub(self.old.len())?;
        let place = moves.place(self.begin, self.old.len())?;
        let is_between = (from..=last).contains(&place);
        let is_at_its_end = (self.begin > 0 || place == 0) && (!self.is_end || place == last);
        let found = is_between && is_at_its_end;
        let is_there = found
            && lines[place..]
                .iter()
                .zip(&self.old)
                .all(|(one, other)| *one == other.as_slice());
        is_there.then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(changed: &[(usize, &str)]) -> String {
        let line = |number: usize| {
            let text = changed
                .iter()
                .find(|(at, _)| *at == number)
                .map(|(_, text)| (*text).to_owned());
            text.unwrap_or_else(|| format!("{number}\n"))
        };
        (1..=30).map(line).collect()
    }

    #[test]
    fn a_change_fits_where_its_lines_stand_and_nowhere_else() {
        let from = numbered(&[]);
        let made = |onto: &[(usize, &str)], to: &[(usize, &str)]| {
            let made = with_exact_change(
                numbered(onto).as_bytes(),
                from.as_bytes(),
                numbered(to).as_bytes(),
            );
            made.map(|made| String::from_utf8(made).expect("text"))
        };
        for (onto, to, both) in [
            (
                &[(2, "x\n")][..],
                &[(20, "y\n")][..],
                Some(&[(2, "x\n"), (20, "y\n")][..]),
            ),
            // Lines that came in before it move it.
            (
                &[(2, "x\nx\nx\n")],
                &[(20, "y\n")],
                Some(&[(2, "x\nx\nx\n"), (20, "y\n")]),
            ),
            (
                &[(2, "")],
                &[(20, ""), (28, "y\n")],
                Some(&[(2, ""), (20, ""), (28, "y\n")]),
            ),
            (
                &[(2, "x\n")],
                &[(30, "30")],
                Some(&[(2, "x\n"), (30, "30")]),
            ),
            (
                &[(20, "x\n")],
                &[(1, "y\n1\n")],
                Some(&[(1, "y\n1\n"), (20, "x\n")]),
            ),
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
        // The same lines appear twice, and those before them are gone in the first version.
        let block = "a\nb\nc\nd\ne\nf\ng\n";
        let above = "1\n2\n3\n4\n5\n6\n7\n";
        let second = format!("{block}{}", block.replace('d', "D"));
        let made = with_exact_change(
            format!("{above}{block}{block}").as_bytes(),
            format!("{block}{block}").as_bytes(),
            second.as_bytes(),
        );
        assert_eq!(made, Some(format!("{above}{second}").into_bytes()));
        assert_eq!(with_exact_change(b"a\n", b"", b"b\n"), None);
    }
}
