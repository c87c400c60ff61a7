//! What looking costs, counted where it is paid.

use std::cell::Cell;

/// Counters of one workspace. Counting is an addition, so it is always on.
#[derive(Debug, Default)]
pub struct Costs {
    looks: Cell<u64>,
    reads: Cell<u64>,
    bytes: Cell<u64>,
    evaluations: Cell<u64>,
}

/// How often something was done since a workspace was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Looks at a task.
    pub looks: u64,
    /// Files of tasks that were read.
    pub reads: u64,
    /// How many bytes were read of them, and of what commits hold of them.
    pub bytes: u64,
    /// How often the rules were asked.
    pub evaluations: u64,
    /// How often HEAD was opened.
    pub heads: u64,
    /// How often the lock for a transition was taken.
    pub locks: u64,
    /// How often an attribute file of git was read.
    pub attributes: u64,
}

impl Costs {
    pub(super) fn looked(&self) {
        self.looks.set(self.looks.get() + 1);
    }

    /// A file of a task was read, so many bytes of it.
    pub(super) fn read(&self, bytes: usize) {
        self.reads.set(self.reads.get() + 1);
        self.bytes.set(self.bytes.get() + bytes as u64);
    }

    pub(crate) fn evaluated(&self, times: usize) {
        self.evaluations.set(self.evaluations.get() + times as u64);
    }

    pub(super) fn counted(&self) -> Counted {
        let (looks, reads, evaluations) = (self.looks.get(), self.reads.get(), self.evaluations.get());
        Counted { looks, reads, bytes: self.bytes.get(), evaluations, ..Counted::default() }
    }
}

impl Counted {
    /// What was done since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            looks: self.looks - earlier.looks,
            reads: self.reads - earlier.reads,
            bytes: self.bytes - earlier.bytes,
            evaluations: self.evaluations - earlier.evaluations,
            heads: self.heads - earlier.heads,
            locks: self.locks - earlier.locks,
            attributes: self.attributes - earlier.attributes,
        }
    }
}
