//! A large index, read and written in another thread: read while this one evaluates the task, and written with the changes
//! of a step while this one builds its commits.
//!
//! Neither needs the lock of the index. What comes of it is used only if the index is still the file that was read when the
//! lock is held.

use super::read_index::{IndexChange, PreparedIndex, ReadIndex, read_index};
use crate::base::ObjectFormat;
use crate::scan::Directory;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// The thread, if there is one.
#[derive(Default)]
pub(super) struct IndexAhead(Option<WorkAhead>);

struct WorkAhead {
    /// Gives what it has read, if it is an index that this process can read.
    read: mpsc::Receiver<Arc<ReadIndex>>,
    /// Takes what to write. If nothing is ordered, the thread ends when this is dropped.
    orders: Option<mpsc::Sender<WriteOrder>>,
    thread: JoinHandle<Option<PreparedIndex>>,
}

struct WriteOrder {
    changes: Vec<IndexChange>,
    /// The directory of `orch`.
    own: Arc<Directory>,
}

impl IndexAhead {
    /// Begins to read. If the system grants no thread, the index is read when it is needed.
    pub(super) fn begin(path: PathBuf, format: ObjectFormat) -> Self {
        let ((gives, read), (orders, ordered)) = (mpsc::channel(), mpsc::channel());
        let work = move || {
            let read = Arc::new(read_index(&path, format).ok()??);
            gives.send(Arc::clone(&read)).ok()?;
            prepare(&read, ordered.recv().ok()?)
        };
        let thread = thread::Builder::new().spawn(work).ok();
        Self(thread.map(|thread| WorkAhead { read, orders: Some(orders), thread }))
    }

    /// Whether there is no thread.
    pub(super) fn is_idle(&self) -> bool {
        self.0.is_none()
    }

    /// Begins to write the index with these changes. The caller holds the lock among `orch` processes until it has what is
    /// written, or has dropped this.
    pub(super) fn write(&mut self, changes: Vec<IndexChange>, own: Arc<Directory>) {
        if let Some(orders) = self.0.as_mut().and_then(|ahead| ahead.orders.take()) {
            // A thread that could not read has ended.
            let _ = orders.send(WriteOrder { changes, own });
        }
    }

    /// What it has read.
    pub(super) fn read(&self) -> Option<Arc<ReadIndex>> {
        self.0.as_ref()?.read.recv().ok()
    }

    /// Whether it was told what to write.
    pub(super) fn is_writing(&self) -> bool {
        self.0.as_ref().is_some_and(|ahead| ahead.orders.is_none())
    }

    /// What it has written, if it was told to and could.
    pub(super) fn prepared(&mut self) -> Option<PreparedIndex> {
        let WorkAhead { thread, orders, .. } = self.0.take()?;
        drop(orders);
        thread.join().ok()?
    }
}

impl Drop for IndexAhead {
    fn drop(&mut self) {
        // What only reads is left alone; what writes must be over before another process does.
        if self.is_writing() {
            self.prepared();
        }
    }
}

fn prepare(read: &ReadIndex, WriteOrder { mut changes, own }: WriteOrder) -> Option<PreparedIndex> {
    let staged = read.index.staged(changes.iter().map(|change| &change.path));
    staged.keep_due(&mut changes);
    // If this fails, it is tried again under the lock.
    if changes.is_empty() { None } else { read.prepare(changes, own).ok()? }
}
