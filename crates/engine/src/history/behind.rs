//! An index from before a step.
//!
//! A commit may go back to an earlier record: whoever reverts a step, or checks out older files, has them in the work
//! tree too. Where the work tree has the record of HEAD, nobody went back. A program read the index, a step replaced
//! it, and the program wrote back what it had read.

use super::archive::Archive;
use super::compared::Compared;
use crate::survey::{Error, TaskRef};
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath};
use orch_files::{Content, Source};
use orch_git::Store;

/// The finding about a task of which the index has an earlier log than HEAD, or none, while the work tree has that of HEAD.
/// `compared` are HEAD and the index.
///
/// # Errors
///
/// A file or the history cannot be read.
pub(super) fn index_behind(
    (store, archive): (&Store, &Archive<'_>),
    task: &TaskRef,
    compared: &Compared<'_, '_>,
) -> Result<Option<Diagnostic>, Error> {
    let [head] = compared.befores else {
        return Ok(None);
    };
    let in_index = |path: &RepoPath| compared.after.source.read(path, u64::MAX - 1);
    let log = task.transcript_path();
    let Content::Bytes(held) = head.source.read(&log, u64::MAX - 1)? else {
        return Ok(None);
    };
    let staged = match in_index(&log)? {
        Content::Bytes(staged) => Some(staged),
        Content::Missing => None,
        _ => return Ok(None),
    };
    let taken = held
        .strip_prefix(staged.as_deref().unwrap_or_default())
        .filter(|taken| !taken.is_empty());
    let Some(taken) = taken else { return Ok(None) };
    // Neither may have it: a step may have removed it.
    let is_like_head =
        |path: &RepoPath| -> Result<bool, Error> {
            Ok(store.filters().digest_on_disk(path)?
                == head.source.object(path)?.map(|(blob, _)| blob))
        };
    if !is_like_head(&log)? {
        return Ok(None);
    }
    // What a person has staged is not what the index had before the step.
    let earlier = match &staged {
        Some(staged) => {
            let held = (None, store.objects().format().blob(staged));
            let newest = head.source.commit();
            let Some(commit) = archive.held_by(newest.as_slice(), task, held, None)? else {
                return Ok(None);
            };
            Some(store.objects().source_at(commit))
        }
        None => None,
    };
    let mut restore = vec!["git", "--literal-pathspecs", "restore", "--staged", "--"];
    let changed = (compared.differing)(head, task.directory())?;
    for path in &changed {
        let before = earlier
            .as_ref()
            .map(|earlier| earlier.object(path))
            .transpose()?
            .flatten();
        let now = match in_index(path)? {
            Content::Bytes(bytes) => Some(store.objects().format().blob(&bytes)),
            _ => None,
        };
        if now == before.map(|(blob, _)| blob) && is_like_head(path)? {
            restore.push(path.as_str());
        }
    }
    let (has, takes) = match (&staged, taken.iter().filter(|byte| **byte == b'\n').count()) {
        (None, _) => ("no record", "remove it".to_owned()),
        (Some(_), 1) => ("an earlier record", "take back the last step".to_owned()),
        (Some(_), steps) => (
            "an earlier record",
            format!("take back the last {steps} steps"),
        ),
    };
    let id = &task.id;
    let message = format!(
        "the index has {has} of `{id}`, and the work tree that of HEAD: this commit would {takes}"
    );
    Ok(Some(
        Diagnostic::error(Code::IndexBehind, message)
            .at(Place::file(&log))
            .hint(Hint::run(&restore)),
    ))
}
