//! Counters of expensive work, incremented where it is done.

use std::cell::{Cell, RefCell};

/// The counters of one workspace. They are always on, because an increment is cheap.
#[derive(Default)]
pub struct Costs {
    looks: Cell<u64>,
    reads: Cell<u64>,
    bytes: Cell<u64>,
    evaluations: Cell<u64>,
    on_look: RefCell<Option<OnLook>>,
}

/// Receives the number of looks so far.
type OnLook = Box<dyn Fn(u64) + Send>;

/// How often work was done since the workspace was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Tasks that were evaluated.
    pub looks: u64,
    /// Task files that were read.
    pub reads: u64,
    /// How many bytes were read of them, and of what commits hold of them.
    pub bytes: u64,
    /// Evaluations of the rules.
    pub evaluations: u64,
    /// How often HEAD was read.
    pub heads: u64,
    /// Locks taken for a transition.
    pub locks: u64,
    /// How often an attribute file of git was read.
    pub attributes: u64,
}

impl Costs {
    pub(super) fn looked(&self) {
        self.looks.set(self.looks.get() + 1);
        if let Some(told) = &*self.on_look.borrow() {
            told(self.looks.get());
        }
    }

    pub(super) fn tell_looks(&self, told: OnLook) {
        *self.on_look.borrow_mut() = Some(told);
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
    /// The difference to an earlier count.
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
