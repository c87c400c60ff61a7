//! Counters of expensive work, incremented where it is done.

use orch_base::locked;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one workspace and of those that work for it in other threads. They are always on, because an
/// increment is cheap.
#[derive(Default)]
pub struct Costs {
    looks: AtomicU64,
    known: AtomicU64,
    glimpses: AtomicU64,
    reads: AtomicU64,
    bytes: AtomicU64,
    evaluations: AtomicU64,
    listed: AtomicU64,
    on_look: Mutex<Option<OnLook>>,
}

/// Receives the number of looks so far.
type OnLook = Box<dyn Fn(u64) + Send>;

/// How often work was done since the workspace was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Tasks that were evaluated.
    pub looks: u64,
    /// Tasks that needed no look, because an earlier one is known.
    pub known: u64,
    /// Tasks of which the record was read because of another task.
    pub glimpses: u64,
    /// Task files that were read.
    pub reads: u64,
    /// How many bytes were read of them, and of what commits hold of them.
    pub bytes: u64,
    /// Evaluations of the rules.
    pub evaluations: u64,
    /// Directories that were listed to find tasks and their files, and the entries in them.
    pub listed: u64,
    /// How often HEAD was read.
    pub heads: u64,
    /// Locks taken for a transition.
    pub locks: u64,
    /// How often an attribute file of git was read.
    pub attributes: u64,
    /// How often a commit was read.
    pub commits: u64,
    /// Directories of commits that were read.
    pub trees: u64,
    /// How many entries these directories have.
    pub tree_entries: u64,
    /// Lines of logs that were parsed by looks, and to record steps, outside helper threads.
    pub log_lines: u64,
}

impl Costs {
    pub(super) fn looked(&self) {
        let looks = self.looks.fetch_add(1, Relaxed) + 1;
        if let Some(report) = &*locked(&self.on_look) {
            report(looks);
        }
    }

    pub(super) fn report_looks(&self, report: OnLook) {
        *locked(&self.on_look) = Some(report);
    }

    pub(super) fn knew(&self) {
        self.known.fetch_add(1, Relaxed);
    }

    pub(super) fn glimpsed(&self) {
        self.glimpses.fetch_add(1, Relaxed);
    }

    /// A file of a task was read, this many bytes of it.
    pub(super) fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// A directory was listed, with this many entries.
    pub(super) fn listed(&self, entries: usize) {
        self.listed.fetch_add(1 + entries as u64, Relaxed);
    }

    pub(crate) fn evaluated(&self, times: usize) {
        self.evaluations.fetch_add(times as u64, Relaxed);
    }

    pub(super) fn counted(&self) -> Counted {
        Counted {
            looks: self.looks.load(Relaxed),
            known: self.known.load(Relaxed),
            glimpses: self.glimpses.load(Relaxed),
            reads: self.reads.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            evaluations: self.evaluations.load(Relaxed),
            listed: self.listed.load(Relaxed),
            ..Counted::default()
        }
    }
}

impl Counted {
    /// The difference to an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            looks: self.looks - earlier.looks,
            known: self.known - earlier.known,
            glimpses: self.glimpses - earlier.glimpses,
            reads: self.reads - earlier.reads,
            bytes: self.bytes - earlier.bytes,
            evaluations: self.evaluations - earlier.evaluations,
            listed: self.listed - earlier.listed,
            heads: self.heads - earlier.heads,
            locks: self.locks - earlier.locks,
            attributes: self.attributes - earlier.attributes,
            commits: self.commits - earlier.commits,
            trees: self.trees - earlier.trees,
            tree_entries: self.tree_entries - earlier.tree_entries,
            log_lines: self.log_lines - earlier.log_lines,
        }
    }
}
