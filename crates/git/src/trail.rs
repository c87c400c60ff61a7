//! The trail of HEAD: the commits that it was at, and the files that were changed between them.

use crate::base::{Digest, RepoPath};
use std::collections::BTreeMap;

/// A text with one line for each HEAD, newest first. Each contains the ones below it, and the lines `COMMIT PATH` between
/// two of them name the files that were changed from one to the other, each with the newest commit that did it. What is
/// left of a text that is cut off is a shorter trail.
#[derive(Debug, Default)]
pub(super) struct Trail(String);

impl Trail {
    /// The trail in a text, without a line that is cut off.
    pub(super) fn parse(mut text: String) -> Self {
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        Self(text)
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        // Unlike `lines`, this keeps a carriage return at the end of a path.
        self.0.split_terminator('\n')
    }

    /// Where HEAD was, newest first.
    pub(super) fn heads(&self) -> impl DoubleEndedIterator<Item = Digest> {
        self.lines().filter_map(Digest::parse)
    }

    /// Where HEAD was last, as far as is known.
    pub(super) fn head(&self) -> Option<Digest> {
        self.lines().next().and_then(Digest::parse)
    }

    pub(super) fn contains(&self, head: Digest) -> bool {
        let line = head.to_string();
        self.lines().any(|other| other == line)
    }

    /// Leaves out what came after HEAD was at a commit; everything, if it was not.
    pub(super) fn cut_to(&mut self, head: Option<Digest>) {
        let is_above = |line: &&str| {
            head.is_none_or(|head| Digest::parse(line.trim_end_matches('\n')) != Some(head))
        };
        let above: usize = self
            .0
            .split_inclusive('\n')
            .take_while(is_above)
            .map(str::len)
            .sum();
        self.0.drain(..above);
    }

    /// Adds where HEAD is now, and the newest commits that have changed files since. Leaves out paths that a line cannot
    /// contain.
    pub(super) fn extend(&mut self, head: Digest, changes: &BTreeMap<RepoPath, Digest>) {
        let rows = changes
            .iter()
            .filter(|(path, _)| !path.as_str().contains('\n'));
        let rows = rows.map(|(path, commit)| format!("{commit} {path}\n"));
        let newer: String = std::iter::once(format!("{head}\n")).chain(rows).collect();
        self.0.insert_str(0, &newer);
    }

    /// For each file on the trail, the newest commit that changed it before HEAD was at a commit.
    pub(super) fn changes_up_to(&self, head: Digest) -> BTreeMap<RepoPath, Digest> {
        let mut newest = BTreeMap::new();
        let until = self
            .lines()
            .skip_while(|line| Digest::parse(line) != Some(head));
        for (commit, path) in until.filter_map(|line| line.split_once(' ')) {
            if let (Some(commit), Ok(path)) = (Digest::parse(commit), RepoPath::new(path)) {
                newest.entry(path).or_insert(commit);
            }
        }
        newest
    }

    /// For each of these files that is on the trail, the newest commit that changed it.
    pub(super) fn newest<'a>(&self, paths: &[&'a RepoPath]) -> BTreeMap<&'a RepoPath, Digest> {
        let mut open: BTreeMap<&str, &RepoPath> =
            paths.iter().map(|path| (path.as_str(), *path)).collect();
        let mut newest = BTreeMap::new();
        for (commit, path) in self.lines().filter_map(|line| line.split_once(' ')) {
            if open.contains_key(path)
                && let Some(commit) = Digest::parse(commit)
            {
                newest.extend(open.remove(path).map(|path| (path, commit)));
            }
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Digest {
        Digest::of_blob(text.as_bytes())
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).expect("valid")
    }

    /// HEAD was at `1`, `2` and `3`.
    fn trail() -> Trail {
        let mut trail = Trail::default();
        for (head, changed) in [("1", &[][..]), ("2", &["a", "b c"]), ("3", &["a"])] {
            trail.extend(
                id(head),
                &changed.iter().map(|name| (path(name), id(head))).collect(),
            );
        }
        trail
    }

    #[test]
    fn the_newest_change_counts() {
        let trail = trail();
        assert_eq!(trail.heads().collect::<Vec<_>>(), ["3", "2", "1"].map(id));
        assert_eq!(trail.head(), Some(id("3")));
        assert!(trail.contains(id("1")) && !trail.contains(id("4")));
        let (a, b, c) = (path("a"), path("b c"), path("c"));
        assert_eq!(
            trail.changes_up_to(id("3")),
            BTreeMap::from([(a.clone(), id("3")), (b.clone(), id("2"))])
        );
        assert_eq!(
            trail.changes_up_to(id("2")),
            BTreeMap::from([(a.clone(), id("2")), (b.clone(), id("2"))])
        );
        assert_eq!(trail.changes_up_to(id("1")), BTreeMap::new());
        assert_eq!(
            trail.newest(&[&a, &b, &c]),
            BTreeMap::from([(&a, id("3")), (&b, id("2"))])
        );
        assert_eq!(trail.newest(&[&c]), BTreeMap::new());
    }

    #[test]
    fn head_goes_back_on_it() {
        let mut trail = trail();
        trail.cut_to(Some(id("2")));
        assert_eq!(trail.heads().collect::<Vec<_>>(), ["2", "1"].map(id));
        assert_eq!(
            trail.newest(&[&path("a")]),
            BTreeMap::from([(&path("a"), id("2"))])
        );
        trail.cut_to(Some(id("3")));
        assert_eq!(trail.text(), "");
        trail = self::trail();
        trail.cut_to(None);
        assert_eq!(trail.head(), None);
    }

    /// From the newest HEAD down to where it was cut off, nothing is missing.
    #[test]
    fn what_is_cut_off_is_a_shorter_trail() {
        let whole = trail();
        for end in 0..whole.text().len() {
            let cut = Trail::parse(whole.text()[..end].to_owned());
            assert!(
                whole.text().starts_with(cut.text())
                    && (cut.text().is_empty() || cut.text().ends_with('\n'))
            );
            assert!(cut.heads().eq(whole.heads().take(cut.heads().count())));
        }
    }
}
