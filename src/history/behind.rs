//! An index from before a step.
//!
//! A commit may go back to an earlier record: whoever reverts a step, or checks out older files, has them in the work
//! tree too. Where the work tree has the record of HEAD, nobody went back. A program read the index, a step replaced
//! it, and the program wrote back what it had read.

use super::compared::Compared;
use crate::base::{Code, Diagnostic, Place, RepoPath, command};
use crate::scan::{Content, Source};
use crate::store::Store;
use crate::survey::{Error, TaskRef};

/// The finding about a task of which the index has an earlier log than HEAD while the work tree has that of HEAD.
/// `compared` are HEAD and the index.
///
/// # Errors
///
/// A file cannot be read.
pub(super) fn index_behind(
    store: &Store,
    task: &TaskRef,
    compared: &Compared<'_, '_>,
) -> Result<Option<Diagnostic>, Error> {
    let [head] = compared.befores else { return Ok(None) };
    let log = task.transcript_path();
    let (Content::Bytes(staged), Content::Bytes(held)) =
        (compared.after.source.read(&log, u64::MAX - 1)?, head.source.read(&log, u64::MAX - 1)?)
    else {
        return Ok(None);
    };
    let Some(taken) = held.strip_prefix(staged.as_slice()).filter(|taken| !taken.is_empty()) else {
        return Ok(None);
    };
    // Neither may have it: a step may have removed it.
    let is_like_head = |path: &RepoPath| -> Result<bool, Error> {
        Ok(store.blob_on_disk(path)? == head.source.object(path)?.map(|(blob, _)| blob))
    };
    if !is_like_head(&log)? {
        return Ok(None);
    }
    let mut restore = vec!["git", "restore", "--staged", "--"];
    let changed = (compared.differing)(head, task.directory())?;
    for path in &changed {
        if is_like_head(path)? {
            restore.push(path.as_str());
        }
    }
    let steps = taken.iter().filter(|byte| **byte == b'\n').count();
    let what = if steps == 1 { "the last step".to_owned() } else { format!("the last {steps} steps") };
    let message = format!(
        "the index has an earlier record of `{}`, and the work tree that of HEAD: this commit would take back {what}",
        task.id
    );
    Ok(Some(Diagnostic::error(Code::IndexBehind, message).at(Place::file(&log)).hint(command(&restore))))
}
