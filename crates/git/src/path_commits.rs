//! The text of a cache of commits by path: a first line, then a line `COMMIT PATH` for each path.

use crate::base::{Digest, RepoPath};
use std::collections::BTreeMap;

/// The first line of a text, and the commits by path. Leaves out what is no such line, and a line that is cut off.
pub(super) fn read(text: &str) -> (&str, BTreeMap<RepoPath, Digest>) {
    let (first, rows) = text.split_once('\n').unwrap_or_default();
    let rows = &rows[..rows.rfind('\n').map_or(0, |end| end + 1)];
    let row = |line: &str| {
        let (commit, path) = line.split_once(' ')?;
        Some((RepoPath::new(path).ok()?, Digest::parse(commit)?))
    };
    (first, rows.split('\n').filter_map(row).collect())
}

/// The text of these commits. Leaves out paths that a line cannot contain.
pub(super) fn write(first: &str, commits: &BTreeMap<RepoPath, Digest>) -> String {
    let rows = commits
        .iter()
        .filter(|(path, _)| !path.as_str().contains('\n'));
    let rows: String = rows
        .map(|(path, commit)| format!("{commit} {path}\n"))
        .collect();
    format!("{first}\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_a_part_of_the_whole() {
        let commit = Digest::of_blob(b"any");
        let commits: BTreeMap<_, _> = ["a", "a\r", "a/b"]
            .map(|path| (RepoPath::new(path).expect("valid"), commit))
            .into_iter()
            .collect();
        let text = write("first", &commits);
        assert_eq!(read(&text), ("first", commits.clone()));
        for end in 0..text.len() {
            let (first, left) = read(&text[..end]);
            assert!(["", "first"].contains(&first), "{first}");
            let lines = text[..end].matches('\n').count().saturating_sub(1);
            assert_eq!(
                left.into_iter().collect::<Vec<_>>(),
                commits.clone().into_iter().take(lines).collect::<Vec<_>>()
            );
        }
    }
}
