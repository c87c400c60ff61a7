//! Patches: how two versions of a file differ, as `git diff` shows it.

use crate::error::libgit2;
use git2::{DiffFlags, DiffOptions, Patch};
use orch_base::{Error, RepoPath};
use std::path::Path;

/// The patch from one version of a file to another, empty if they are the same; `None` stands for no file. Returns
/// `None` if one of them is binary, and an error if git cannot compare them.
pub fn patch(
    path: &RepoPath,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
) -> Result<Option<String>, Error> {
    if old == new {
        return Ok(Some(String::new()));
    }
    let name = Path::new(path.as_str());
    let before = old.unwrap_or_default();
    let after = new.unwrap_or_default();
    let mut options = DiffOptions::new();
    let mut patch = Patch::from_buffers(before, Some(name), after, Some(name), Some(&mut options))
        .map_err(libgit2)?;
    if patch.delta().flags().contains(DiffFlags::BINARY) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&patch.to_buf().map_err(libgit2)?).into_owned();
    let (head, hunks) = text.split_at(text.find("\n@@ ").map_or(text.len(), |at| at + 1));
    let mut patch: String = head
        .lines()
        .flat_map(|line| [header(line, old, new), "\n"])
        .collect();
    patch.push_str(hunks);
    Ok(Some(patch))
}

/// A line of the head of a patch. For libgit2, a missing file is an empty one.
fn header<'l>(line: &'l str, old: Option<&[u8]>, new: Option<&[u8]>) -> &'l str {
    match line {
        _ if old.is_none() && line.starts_with("index ") => "new file mode 100644",
        _ if new.is_none() && line.starts_with("index ") => "deleted file mode 100644",
        _ if old.is_none() && line.starts_with("--- ") => "--- /dev/null",
        _ if new.is_none() && line.starts_with("+++ ") => "+++ /dev/null",
        _ => line,
    }
}
