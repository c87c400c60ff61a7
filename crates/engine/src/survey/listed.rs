//! The files of a task as one look has listed them, and whether they are still the same.

use super::TaskRef;
use crate::run::RunFiles;
use orch_base::{Digest, RepoPath};
use orch_core::record::SUGGESTION_FILE;
use orch_files::{Directory, Entry, EntryKind, FileStamp, OWN_DIRECTORY};
use orch_git::durable;
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
    stamps: Digest,
}

/// What separates names of [`Stamped`].
const SEPARATOR: &str = "//";
/// What makes a directory a repository of its own.
const MARK: &str = ".git";

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
        // The paths below an open directory are short, which saves a good part of the time that asking takes.
        let top = Directory::open_itself(&directory.under(root)).ok()?;
        let mut stamps = vec![top.stamp(".")];
        let mut names = String::new();
        // If that is made later, the stamp of the directory of the task changes.
        if top.stamp(OWN_DIRECTORY).is_some() {
            names.extend([SEPARATOR, RunFiles::RECORD_PATH]);
            stamps.push(top.stamp(RunFiles::RECORD_PATH));
        }
        let without_entry = stamps.len();
        for entry in those_that_matter(&listed.entries) {
            let is_usual = !matches!(entry.kind, EntryKind::Repository | EntryKind::NotUtf8);
            let path = RepoPath::new(&entry.path).ok().filter(|_| is_usual)?;
            names.extend([SEPARATOR, path.below(directory)?]);
        }
        let mut has_mark = top.stamp(MARK).is_some();
        for (entry, name) in
            those_that_matter(&listed.entries).zip(names_in(&names).skip(without_entry))
        {
            let is_directory = entry.kind == EntryKind::Directory;
            has_mark |= is_directory && top.stamp(&format!("{name}/{MARK}")).is_some();
            stamps.push(if is_directory {
                top.stamp(name)
            } else {
                entry.stamp
            });
        }
        // What is in it makes a directory a repository of its own, and does not change its stamp.
        let is_recent = || {
            stamps
                .iter()
                .flatten()
                .any(|stamp| stamp.is_recent(listed.now))
        };
        if has_mark || is_recent() {
            return None;
        }
        Some(Self {
            names,
            stamps: digest(stamps.iter().copied()),
        })
    }

    /// Whether all of it is as it was.
    pub(super) fn stands(&self, root: &Path, directory: &RepoPath) -> bool {
        let top = Directory::open_itself(&directory.under(root));
        top.is_ok_and(|top| {
            digest(names_in(&self.names).map(|name| top.stamp(name))) == self.stamps
        })
    }
}

/// The names in the text of [`Stamped`], as paths below the directory.
fn names_in(names: &str) -> impl Iterator<Item = &str> {
    names
        .split(SEPARATOR)
        .map(|name| if name.is_empty() { "." } else { name })
}

/// The digest of the stamps of files that may be missing.
fn digest(stamps: impl Iterator<Item = Option<FileStamp>>) -> Digest {
    // Enough for most tasks.
    let mut bytes = Vec::with_capacity(1 << 10);
    for stamp in stamps {
        bytes.push(u8::from(stamp.is_some()));
        bytes.extend(stamp.iter().flat_map(FileStamp::bytes));
    }
    Digest::of_blob(&bytes)
}

/// The digest of the files of a task as they were listed; `None` if one is too young to be compared later.
pub(super) fn listed_digest(root: &Path, task: &TaskRef, listed: &ListedTask) -> Option<Digest> {
    let run = FileStamp::at(&task.directory().under(root).join(RunFiles::RECORD_PATH));
    let mut bytes = Vec::new();
    bytes.extend(run.iter().flat_map(FileStamp::bytes));
    for entry in those_that_matter(&listed.entries) {
        bytes.extend(entry.path.as_bytes());
        bytes.extend([
            0,
            entry.kind as u8,
            u8::from(entry.executable),
            u8::from(entry.stamp.is_some()),
        ]);
        bytes.extend(entry.stamp.iter().flat_map(FileStamp::bytes));
    }
    let own = those_that_matter(&listed.entries).filter_map(|entry| entry.stamp.as_ref());
    let mut stamps = run.iter().chain(own);
    let is_recent = stamps.any(|stamp| stamp.is_recent(listed.now));
    (!is_recent).then(|| Digest::of_blob(&bytes))
}
