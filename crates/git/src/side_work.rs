//! Syncs files and directories to the disk in a few threads, while their owner prepares others, frees files that were
//! replaced, and does what else a step need not wait for.
//!
//! A sync mostly waits for the disk, and file systems combine concurrent requests. The threads belong to the process and
//! stay for the next batch.

use super::Error;
use orch_base::locked;
use orch_files::io_error;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// How many threads work at once, besides those that wait for them.
const MOST_THREADS: usize = 3;

/// What all batches of this process share.
static POOL: Mutex<Pool> = Mutex::new(Pool {
    waiting: VecDeque::new(),
    replaced: Vec::new(),
    threads: 0,
    idle: 0,
});
/// Something waits to be done or closed.
static WORK: Condvar = Condvar::new();

/// What a thread does for a batch.
type BatchPart = Box<dyn FnOnce() -> Result<(), Error> + Send>;

struct Pool {
    waiting: VecDeque<(BatchPart, Arc<SideBatch>)>,
    /// What to close.
    replaced: Vec<Box<dyn Send>>,
    threads: usize,
    /// How many of them have nothing to do.
    idle: usize,
}

/// Files and directories to sync, and what else is done meanwhile. Dropping it leaves out what no thread has begun.
#[derive(Default)]
#[must_use]
pub struct SideWork(Arc<SideBatch>);

#[derive(Default)]
struct SideBatch {
    progress: Mutex<SideProgress>,
    over: Condvar,
}

#[derive(Default)]
struct SideProgress {
    /// How many are not done yet.
    left: usize,
    /// The first failure.
    failure: Option<Error>,
}

impl SideWork {
    /// Begins to sync what a file or a directory contains now, unless it is missing.
    pub(super) fn add(&self, path: PathBuf) {
        self.begin(move || {
            let warn =
                |error: &Error| tracing::warn!(path = %path.display(), error = error.logged(), "cannot sync");
            sync_one(&path).inspect_err(warn)
        });
    }

    /// Begins to do this.
    pub fn begin(&self, part: impl FnOnce() -> Result<(), Error> + Send + 'static) {
        locked(&self.0.progress).left += 1;
        let mut pool = locked(&POOL);
        pool.waiting
            .push_back((Box::new(part), Arc::clone(&self.0)));
        // If the system grants no thread, the one that waits does the work.
        if pool.idle < pool.waiting.len()
            && pool.threads < MOST_THREADS
            && thread::Builder::new().spawn(work).is_ok()
        {
            pool.threads += 1;
        }
        drop(pool);
        WORK.notify_one();
    }

    /// Waits until everything that was added is synced, and all else is done. Returns the first error if something failed.
    pub fn wait(&self) -> Result<(), Error> {
        while let Some(part) = self.next() {
            self.0.run(part);
        }
        let is_left = |progress: &mut SideProgress| progress.left > 0;
        let waited = self.0.over.wait_while(locked(&self.0.progress), is_left);
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .failure
            .take()
            .map_or(Ok(()), Err)
    }

    /// What of it no thread has begun.
    fn next(&self) -> Option<BatchPart> {
        let waiting = &mut locked(&POOL).waiting;
        let own = waiting
            .iter()
            .position(|(_, batch)| Arc::ptr_eq(batch, &self.0))?;
        waiting.remove(own).map(|(part, _)| part)
    }
}

impl Drop for SideWork {
    fn drop(&mut self) {
        // A batch that failed otherwise is not waited for. What its parts hold is dropped without the lock.
        drop(std::iter::from_fn(|| self.next()).collect::<Vec<_>>());
    }
}

impl SideBatch {
    fn run(&self, part: BatchPart) {
        let _over = PartOver(self);
        if let Err(error) = part() {
            locked(&self.progress).failure.get_or_insert(error);
        }
    }
}

/// Counts a part as done when it is dropped, also by a panic: somebody waits.
struct PartOver<'b>(&'b SideBatch);

impl Drop for PartOver<'_> {
    fn drop(&mut self) {
        let mut progress = locked(&self.0.progress);
        progress.left -= 1;
        if progress.left == 0 {
            self.0.over.notify_all();
        }
    }
}

/// How many replaced files wait to be closed, about those of one step: a process may open only so many files.
const MOST_REPLACED: usize = 4;

/// Drops what holds a file open that was replaced or removed, in one of the threads if there are any. The file system frees
/// the file then, which takes longer than all else where a disk is told of each block that is free.
pub(super) fn close(open: impl Send + 'static) {
    let mut pool = locked(&POOL);
    if pool.threads > 0 && pool.replaced.len() < MOST_REPLACED {
        pool.replaced.push(Box::new(open));
        drop(pool);
        WORK.notify_one();
    }
}

/// A thread that works for as long as the process lives.
fn work() {
    loop {
        let mut pool = locked(&POOL);
        pool.idle += 1;
        let is_done = |pool: &mut Pool| pool.waiting.is_empty() && pool.replaced.is_empty();
        pool = WORK
            .wait_while(pool, is_done)
            .unwrap_or_else(PoisonError::into_inner);
        pool.idle -= 1;
        let next = pool.waiting.pop_front();
        let replaced = if next.is_none() {
            pool.replaced.pop()
        } else {
            None
        };
        drop(pool);
        drop(replaced);
        if let Some((part, batch)) = next {
            batch.run(part);
        }
    }
}

/// Syncs a file or a directory, unless it is missing.
pub(super) fn sync_one(path: &Path) -> Result<(), Error> {
    match File::open(path) {
        Ok(file) => file.sync_all().map_err(|source| io_error(path, source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_batch_is_over_when_all_of_it_is_synced_and_tells_its_own_failure() {
        let home = tempfile::tempdir().expect("a directory");
        let path = |number: usize| home.path().join(number.to_string());
        (0..100).for_each(|number| fs::write(path(number), "x").expect("written"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let good = SideWork::default();
                    let bad = SideWork::default();
                    for number in 0..100 {
                        good.add(path(number));
                        bad.add(path(number).join("below"));
                    }
                    good.wait().expect("all are there");
                    good.add(home.path().join("missing"));
                    good.wait().expect("it is skipped");
                    assert_eq!(locked(&good.0.progress).left, 0);
                    bad.wait().expect_err("a file is not a directory");
                    bad.wait().expect("it was told");
                });
            }
        });
        assert!(locked(&POOL).threads <= MOST_THREADS);
    }
}
