//! Splits a text with the conflict markers of a merge into its sides.

use std::collections::HashSet;

/// The sides of a text with conflict markers. Each side also contains the lines outside the conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictSides {
    /// The side above `=======`.
    pub ours: String,
    /// The common ancestor, if the markers show it (`merge.conflictStyle` diff3 or zdiff3).
    pub base: Option<String>,
    /// The side below `=======`.
    pub theirs: String,
}

/// Splits a text at its conflict markers. Returns `None` if it has no complete conflict.
#[must_use]
pub fn sides(text: &str) -> Option<ConflictSides> {
    // Every look asks this of a state, and nearly none has a conflict.
    if !text.contains("<<<<<<<") {
        return None;
    }
    #[derive(PartialEq)]
    enum In {
        Both,
        Ours,
        Base,
        Theirs,
    }
    let mut ours = String::new();
    let mut base = String::new();
    let mut theirs = String::new();
    let mut place = In::Both;
    let mut conflicts = 0;
    let mut shown = 0;
    for line in text.split_inclusive('\n') {
        match place {
            In::Both if is_marker(line, "<<<<<<<") => {
                place = In::Ours;
                conflicts += 1;
            }
            In::Ours if is_marker(line, "|||||||") => {
                place = In::Base;
                shown += 1;
            }
            In::Ours | In::Base if is_marker(line, "=======") => place = In::Theirs,
            In::Theirs if is_marker(line, ">>>>>>>") => place = In::Both,
            In::Both => {
                ours.push_str(line);
                base.push_str(line);
                theirs.push_str(line);
            }
            In::Ours => ours.push_str(line),
            In::Base => base.push_str(line),
            In::Theirs => theirs.push_str(line),
        }
    }
    if conflicts == 0 || place != In::Both {
        return None;
    }
    Some(ConflictSides {
        ours,
        base: (shown == conflicts).then_some(base),
        theirs,
    })
}

/// Whether a line is this marker, with or without a name.
fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r', '\n']))
}

/// The lines of both sides of a transcript, each once: the common lines, then the lines of each side.
///
/// The side whose first own line sorts first comes first, so the result does not depend on which side is
/// "ours".
#[must_use]
pub fn united_lines(ours: &str, theirs: &str) -> String {
    let shared = ours
        .split_inclusive('\n')
        .zip(theirs.split_inclusive('\n'))
        .take_while(|(a, b)| a == b);
    let shared: usize = shared.map(|(line, _)| line.len()).sum();
    let mut first = &ours[shared..];
    let mut second = &theirs[shared..];
    if second < first {
        (first, second) = (second, first);
    }
    let mut seen = HashSet::new();
    let mut united = ours[..shared].to_owned();
    for line in first
        .lines()
        .chain(second.lines())
        .filter(|line| seen.insert(*line))
    {
        united.push_str(line);
        united.push('\n');
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_cut_out() {
        let text = "a\n<<<<<<< HEAD\nb\n||||||| base\n=======\nc\nd\n>>>>>>> x\ne\n<<<<<<<\n=======\nf\n>>>>>>>\n";
        let found = sides(text).expect("markers");
        assert_eq!(
            (found.ours.as_str(), found.theirs.as_str()),
            ("a\nb\ne\n", "a\nc\nd\ne\nf\n")
        );
        assert_eq!(found.base, None, "only one of the two conflicts shows it");
        let shown = sides("<<<<<<< a\n1\n||||||| b\n0\n=======\n2\n>>>>>>> c\n").expect("markers");
        assert_eq!(shown.base.as_deref(), Some("0\n"));
        for whole in [
            "",
            "a\n=======\nb\n",
            "<<<<<<<<< a\nb\n",
            "<<<<<<< a\nb\n=======\nc\n",
        ] {
            assert_eq!(sides(whole), None, "{whole:?}");
        }
    }

    #[test]
    fn lines_are_united_whichever_side_asks() {
        let a = "1\n2\n4a\n5a\n";
        let b = "1\n2\n4b\n4a\n";
        assert_eq!(united_lines(a, b), "1\n2\n4a\n5a\n4b\n");
        assert_eq!(united_lines(b, a), united_lines(a, b));
        assert_eq!(united_lines(a, a), a);
        assert_eq!(united_lines("", a), a);
        assert_eq!(united_lines("b\nc\n", "a\n"), "a\nb\nc\n");
    }
}
