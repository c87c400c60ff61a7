//! A large index, read in another thread while this one evaluates the task, and written by another thread, with the changes
//! of a step, while this one builds the commits.
//!
//! Neither needs the lock of the index. The result is used only if the index is still the file that was read when the lock
//! is held.

use super::read_index::{IndexChange, PreparedIndex, ReadIndex, read_index};
use crate::base::ObjectFormat;
use crate::scan::{Directory, FileStamp};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// What is done with a large index, if anything.
#[derive(Default)]
pub(super) enum IndexAhead {
    #[default]
    Idle,
    Reading {
        /// The stamp of the file when it began.
        stamp: FileStamp,
        thread: JoinHandle<Option<ReadIndex>>,
    },
    Writing {
        read: Arc<ReadIndex>,
        writer: IndexWriter,
    },
}

/// A thread that writes what is to replace an index. Dropping it waits for the thread, and removes what it has written:
/// another process may write next.
pub(super) struct IndexWriter(Option<JoinHandle<Option<PreparedIndex>>>);

impl IndexAhead {
    /// Whether it began to read the file since that has this stamp.
    pub(super) fn reads(&self, stamp: &FileStamp) -> bool {
        matches!(self, Self::Reading { stamp: begun, .. } if begun == stamp)
    }

    /// Begins to read the file. If the system grants no thread, the index is read when it is needed.
    pub(super) fn read(&mut self, path: PathBuf, stamp: FileStamp, format: ObjectFormat) {
        let read = move || read_index(&path, format).inspect_err(tell).ok()?;
        let thread = thread::Builder::new().spawn(read);
        *self = thread.map_or(Self::Idle, |thread| Self::Reading { stamp, thread });
    }

    /// Begins to write what is to replace the index at this path, with these changes, if the index was read and has not
    /// changed since. The caller holds the lock among `orch` processes until it has the result, or has dropped this.
    pub(super) fn write(&mut self, path: &Path, changes: Vec<IndexChange>, own: Arc<Directory>) {
        if let Some((read, None)) = std::mem::take(self).finish(path) {
            let begun = Arc::clone(&read);
            let thread = thread::Builder::new().spawn(move || write_due(&begun, changes, own)).ok();
            *self = Self::Writing { read, writer: IndexWriter(thread) };
        }
    }

    /// The index, and the thread that writes it anew, if it was read and the file at this path has not changed since.
    pub(super) fn finish(self, path: &Path) -> Option<(Arc<ReadIndex>, Option<IndexWriter>)> {
        let (read, writer) = match self {
            Self::Idle => return None,
            Self::Reading { thread, .. } => (Arc::new(thread.join().ok()??), None),
            Self::Writing { read, writer } => (read, Some(writer)),
        };
        read.is_still_at(path).then_some((read, writer))
    }
}

impl IndexWriter {
    /// Waits until it is written, and returns what is, if it could be.
    pub(super) fn wait(mut self) -> Option<PreparedIndex> {
        self.0.take()?.join().ok()?
    }
}

impl Drop for IndexWriter {
    fn drop(&mut self) {
        self.0.take().map(JoinHandle::join);
    }
}

fn write_due(read: &ReadIndex, mut changes: Vec<IndexChange>, own: Arc<Directory>) -> Option<PreparedIndex> {
    let staged = read.index.staged(changes.iter().map(|change| &change.path));
    staged.keep_due(&mut changes);
    if changes.is_empty() { None } else { read.prepare(changes, own).inspect_err(tell).ok()? }
}

/// What fails here is tried again under the lock, and told there.
fn tell(error: &io::Error) {
    tracing::debug!(%error, "cannot work ahead on the index");
}
