//! The files of a task as one look has listed them, and whether they are still the same.

use super::TaskRef;
use crate::base::{Digest, RepoPath};
use crate::record::SUGGESTION_FILE;
use crate::run::RunFiles;
use crate::scan::{Directory, Entry, EntryKind, FileStamp};
use crate::store::durable;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::SystemTime;

/// The files of a task as listed when a look began.
pub(super) struct ListedTask {
    pub entries: Vec<Entry>,
    /// The time before they were listed.
    pub now: SystemTime,
}

/// The files and directories of a task, by which a later command sees without listing them that nothing has changed:
/// what is added to a directory, removed from it or renamed changes the stamp of the directory, as git's untracked
/// cache presumes as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamped {
    /// The names below the directory of the task, separated by what none of them contains; its own is empty. One text,
    /// because a search reads those of all tasks first.
    names: String,
    /// The digest of their stamps.
    stamps: Digest,
}

/// What separates names of [`Stamped`].
const SEPARATOR: &str = "//";

/// The entries that matter: not `suggestion.json`, which is derived, and no temporary files.
pub(super) fn those_that_matter(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        name != SUGGESTION_FILE && !name.starts_with(durable::TEMPORARY)
    })
}

impl Stamped {
    /// The listed files and the directories that hold them, if none of them has changed since just before they were
    /// listed; `None` also for a task that is a file, whose directory does not show whether the file is there.
    pub(super) fn of(root: &Path, task: &TaskRef, listed: &ListedTask) -> Option<Self> {
        if task.place.file().is_some() {
            return None;
        }
        let directory = task.directory();
        let mut names = [SEPARATOR, RunFiles::RECORD_PATH].concat();
        for entry in those_that_matter(&listed.entries) {
            let is_usual = !matches!(entry.kind, EntryKind::Repository | EntryKind::NotUtf8);
            let path = RepoPath::new(&entry.path).ok().filter(|_| is_usual)?;
            names.extend([SEPARATOR, path.below(directory)?]);
        }
        let top = directory.under(root);
        let is_directory = |entry: &&Entry| entry.kind == EntryKind::Directory;
        let below = listed.entries.iter().filter(is_directory).map(|entry| root.join(&entry.path));
        // What is in it makes a directory a repository of its own, and does not change its stamp.
        if std::iter::once(top.clone()).chain(below).any(|path| path.join(".git").symlink_metadata().is_ok())
        {
            return None;
        }
        let mut is_recent = false;
        let stamps = digest(&top, &names, |stamp| is_recent |= stamp.is_recent(listed.now))?;
        (!is_recent).then_some(Self { names, stamps })
    }

    /// Whether all of it is as it was.
    pub(super) fn stands(&self, root: &Path, directory: &RepoPath) -> bool {
        digest(&directory.under(root), &self.names, |_| ()) == Some(self.stamps)
    }
}

/// The digest of the stamps of these files, each of which is told; `None` if their directory cannot be opened.
fn digest(top: &Path, names: &str, mut told: impl FnMut(&FileStamp)) -> Option<Digest> {
    // The paths below an open directory are short, which saves a good part of the time that asking takes.
    let top = Directory::open_itself(top).ok()?;
    let mut bytes = Vec::new();
    for name in names.split(SEPARATOR) {
        let name = if name.is_empty() { "." } else { name };
        let stamp = top.stamp(name);
        stamp.iter().for_each(&mut told);
        bytes.push(u8::from(stamp.is_some()));
        bytes.extend(stamp.iter().flat_map(FileStamp::bytes));
    }
    Some(Digest::of_blob(&bytes))
}

/// The digest of the files of a task as they were listed; `None` if one is too young to be compared later.
pub(super) fn listed_digest(root: &Path, task: &TaskRef, listed: &ListedTask) -> Option<Digest> {
    let run = FileStamp::at(&task.directory().under(root).join(RunFiles::RECORD_PATH));
    let mut bytes = Vec::new();
    bytes.extend(run.iter().flat_map(FileStamp::bytes));
    for entry in those_that_matter(&listed.entries) {
        bytes.extend(entry.path.as_bytes());
        bytes.extend([0, entry.kind as u8, u8::from(entry.executable), u8::from(entry.stamp.is_some())]);
        bytes.extend(entry.stamp.iter().flat_map(FileStamp::bytes));
    }
    let own = those_that_matter(&listed.entries).filter_map(|entry| entry.stamp.as_ref());
    let mut stamps = run.iter().chain(own);
    let is_recent = stamps.any(|stamp| stamp.is_recent(listed.now));
    (!is_recent).then(|| Digest::of_blob(&bytes))
}
