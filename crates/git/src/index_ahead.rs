//! A large index, read in another thread while this one evaluates the task, and written there, with the changes of a step,
//! while this one builds the commits.
//!
//! Neither needs the lock of the index. The result is used only if the index is still the file that was read when the lock
//! is held.

use super::read_index::{IndexChange, PreparedIndex, ReadIndex, read_index};
use crate::base::ObjectFormat;
use crate::scan::{Directory, FileStamp};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// A thread that reads an index and then may write what is to replace it. Dropping this waits until that is written, and
/// removes it: another process may write next.
pub(super) struct IndexAhead {
    /// The stamp of the file when it began.
    stamp: FileStamp,
    /// Where to get the index as soon as it is read.
    read: Receiver<Arc<ReadIndex>>,
    /// Where to send what is to be written, and the directory of `orch`; `None` when that is done.
    order: Option<Sender<(Vec<IndexChange>, Arc<Directory>)>>,
    thread: Option<JoinHandle<Option<PreparedIndex>>>,
}

impl IndexAhead {
    /// Begins to read the file that has this stamp. Returns `None` if the system grants no thread: the index is read when
    /// it is needed.
    pub(super) fn begin(path: PathBuf, stamp: FileStamp, format: ObjectFormat) -> Option<Self> {
        let (tell, read) = channel();
        let (order, ordered) = channel::<(Vec<IndexChange>, Arc<Directory>)>();
        let work = move || {
            let read = Arc::new(read_index(&path, format).inspect_err(tell_failure).ok()??);
            // One that is gone does not order anything either.
            let _ = tell.send(Arc::clone(&read));
            let (mut changes, own) = ordered.recv().ok()?;
            read.index
                .staged(changes.iter().map(|change| &change.path))
                .keep_due(&mut changes);
            if changes.is_empty() || !read.is_still_at(&path) {
                return None;
            }
            read.prepare(changes, own).inspect_err(tell_failure).ok()?
        };
        let thread = thread::Builder::new().spawn(work).ok();
        thread.map(|thread| Self {
            stamp,
            read,
            order: Some(order),
            thread: Some(thread),
        })
    }

    /// Whether it began to read the file since that has this stamp, and has not been told what to write.
    pub(super) fn reads(&self, stamp: &FileStamp) -> bool {
        self.stamp == *stamp && !self.is_ordered()
    }

    /// Whether it has been told what to write.
    pub(super) fn is_ordered(&self) -> bool {
        self.order.is_none()
    }

    /// Lets it write what is to replace the index, with these changes, unless the index has changed since it was read. The
    /// caller holds the lock among `orch` processes until it has the result, or has dropped this.
    pub(super) fn write(&mut self, changes: Vec<IndexChange>, own: Arc<Directory>) {
        // If it could not read the index, it has ended.
        let _ = self.order.take().map(|order| order.send((changes, own)));
    }

    /// Waits until the index is read, and returns it, if it could be, with what may still write the next one.
    pub(super) fn read(self) -> Option<(Arc<ReadIndex>, Self)> {
        Some((self.read.recv().ok()?, self))
    }

    /// Waits until the next index is written, and returns it, if it could be.
    pub(super) fn wait(mut self) -> Option<PreparedIndex> {
        self.order = None;
        self.thread.take()?.join().ok()?
    }
}

impl Drop for IndexAhead {
    fn drop(&mut self) {
        // One that only reads ends by itself.
        if self.is_ordered() {
            self.thread.take().map(JoinHandle::join);
        }
    }
}

/// What fails here is tried again under the lock, and told there.
fn tell_failure(error: &io::Error) {
    tracing::debug!(%error, "cannot work ahead on the index");
}
