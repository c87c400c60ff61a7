//! An index that was read, and what a commit changes in it.

use super::entries::{IndexFile, Staged};
use super::next_index::NextIndex;
use super::side_work::SideWork;
use super::splice::{Edit, splice};
use orch_base::{Digest, ObjectFormat, RepoPath};
use orch_files::{Directory, FileStamp};
use serde::{Deserialize, Serialize};
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// A change of one path by the commit: blob and mode before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexChange {
    pub path: RepoPath,
    pub before: Option<(Digest, i32)>,
    pub after: Option<(Digest, i32)>,
}

/// An index that was read.
pub(super) struct ReadIndex {
    pub index: IndexFile,
    /// The file, if there is one. While it is open, no other file gets its number.
    _file: Option<File>,
    /// Its metadata when it was read.
    metadata: Option<Metadata>,
}

/// What is to replace an index, written beside it.
pub(super) struct PreparedIndex {
    pub file: NextIndex,
    /// What syncs the file.
    pub syncs: SideWork,
}

impl ReadIndex {
    /// Writes what is to replace the index with these changes, and begins to sync it. Returns `None` if only git can do
    /// that: an index without its bytes would block git, and lose what is staged.
    pub(super) fn prepare(
        &self,
        due: &[IndexChange],
        own: Arc<Directory>,
    ) -> io::Result<Option<PreparedIndex>> {
        let Some(content) = splice(&self.index, &edits_of(due)) else {
            return Ok(None);
        };
        let time = self
            .metadata
            .as_ref()
            .and_then(|metadata| time_to_keep(&self.index, metadata));
        let syncs = SideWork::default();
        let file = NextIndex::write(own, &content, self.metadata.as_ref(), time, &syncs)?;
        Ok(Some(PreparedIndex { file, syncs }))
    }

    /// Whether the file at this path is the one that was read, unchanged.
    pub(super) fn is_still_at(&self, path: &Path) -> bool {
        FileStamp::at(path) == self.metadata.as_ref().and_then(FileStamp::of)
    }
}

/// The parsed index; `None` if only git can read it.
pub(super) fn read_index(path: &Path, format: ObjectFormat) -> io::Result<Option<ReadIndex>> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(ReadIndex {
                index: IndexFile::empty(format),
                _file: None,
                metadata: None,
            }));
        }
        Err(error) => return Err(error),
    };
    // If it is replaced in between, it is not the file of these metadata, and counts as changed.
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let index = IndexFile::parse(bytes, format);
    Ok(index.map(|index| ReadIndex {
        index,
        _file: Some(file),
        metadata: Some(metadata),
    }))
}

/// The modification time that the new index must have, if not the current time.
///
/// git considers a file unchanged if its time equals the one in the index. A file that changed twice within
/// one clock tick also has that time, so git compares its bytes unless the file is older than the index
/// itself. `orch` compares no bytes and therefore must not make such an index newer.
fn time_to_keep(index: &IndexFile, metadata: &Metadata) -> Option<FileTimes> {
    let written = metadata.modified().ok()?;
    let seconds = written
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs());
    let is_racy = u32::try_from(seconds).map_or(true, |seconds| index.is_racy(seconds));
    is_racy.then(|| FileTimes::new().set_modified(written))
}

impl Staged {
    /// Keeps the changes that must be written, and drops those that the index already has or of which the user
    /// has staged another version. Returns the paths of the latter.
    pub(super) fn keep_due(&self, changes: &mut Vec<IndexChange>) -> Vec<RepoPath> {
        let mut left = Vec::new();
        changes.retain(|change| {
            let entry = self.entries.get(change.path.as_str());
            let present = entry.map(|entry| (entry.blob, entry.mode));
            let intended = change.before.is_none() && entry.is_some_and(|entry| entry.intended);
            if present == change.after && !intended {
                return false;
            }
            let is_due = present == change.before || intended;
            if !is_due {
                left.push(change.path.clone());
            }
            is_due
        });
        left
    }
}

pub(super) fn edits_of(changes: &[IndexChange]) -> Vec<Edit<'_>> {
    changes
        .iter()
        .map(|change| Edit {
            path: &change.path,
            entry: change.after,
        })
        .collect()
}
