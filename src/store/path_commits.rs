//! The text of a cache of commits by path: a first line, then a line `COMMIT PATH` for each path.

use crate::base::{Digest, RepoPath};
use std::collections::BTreeMap;

/// The first line of a text, and the commits by path. Leaves out what is no such line.
pub(super) fn read(text: &str) -> (&str, BTreeMap<RepoPath, Digest>) {
    let (first, rows) = text.split_once('\n').unwrap_or((text, ""));
    let row = |line: &str| {
        let (commit, path) = line.split_once(' ')?;
        Some((RepoPath::new(path).ok()?, Digest::parse(commit)?))
    };
    (first, rows.lines().filter_map(row).collect())
}

/// The text of these commits. Leaves out paths that a line cannot contain.
pub(super) fn write(first: &str, commits: &BTreeMap<RepoPath, Digest>) -> String {
    let rows = commits.iter().filter(|(path, _)| !path.as_str().contains('\n'));
    let rows: String = rows.map(|(path, commit)| format!("{commit} {path}\n")).collect();
    format!("{first}\n{rows}")
}
