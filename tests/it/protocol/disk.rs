//! What is on the disk, as far as the protocol goes: one branch, one task, one index.

/// A recorded step: from a phase to another, and the content of the artifact that it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    pub from: u8,
    pub to: u8,
    /// The evidence; `None` for an override.
    pub evidence: Option<u8>,
}

/// The events of a task. The state is its fold, so it is written as the events that it folds.
pub type Record = Vec<Event>;

/// The phase that a record has reached.
pub fn phase(record: &Record) -> u8 {
    record.last().map_or(0, |event| event.to)
}

/// The content of the artifact that the rule of a phase waits for. Content 0 is no file.
pub fn due_at(phase: u8) -> u8 {
    phase + 1
}

/// The files of the task, in a commit or in the index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tree {
    pub state: Record,
    pub log: Record,
    pub artifact: u8,
}

/// Who made a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    Orch,
    User,
}

/// A commit; its identity is the branch up to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Commit {
    pub by: By,
    pub tree: Tree,
}

/// The commits since the one that holds the task as it was created.
pub type Branch = Vec<Commit>;

/// The tree of the last commit.
pub fn tree_of(branch: &Branch) -> Tree {
    branch
        .last()
        .map(|commit| commit.tree.clone())
        .unwrap_or_default()
}

/// Who holds a lock file. That of an `orch` process stays when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    Orch,
    User(usize),
}

/// `.git/orch/journal.json`: the commit before the batch, and the one after it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Journal {
    pub from: Branch,
    pub to: Branch,
}

/// What a power failure may undo, because it was not synced yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Unsynced {
    /// The commits whose objects are new.
    pub objects: Option<Branch>,
    /// The journal, or its bytes.
    pub journal: bool,
    /// The journal that was removed.
    pub removed: Option<Journal>,
    /// Where the branch was.
    pub branch: Option<Branch>,
    /// What the state and the log were.
    pub state: Option<Record>,
    pub log: Option<Record>,
}

/// The repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Disk {
    pub branch: Branch,
    /// The file of the branch has no bytes.
    pub is_torn: bool,
    /// The branch names objects that are gone.
    pub is_corrupt: bool,
    pub branch_lock: Option<Owner>,
    pub index: Tree,
    pub index_lock: Option<Owner>,
    pub journal: Option<Journal>,
    /// The files of the task in the work tree.
    pub work: Tree,
    /// `.git/orch/lock`, which the kernel releases when its process ends.
    pub kernel_lock: Option<usize>,
    pub unsynced: Unsynced,
}

/// The part of what is not synced that a power failure takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lost {
    pub objects: bool,
    pub journal: bool,
    /// A removed journal is back.
    pub removal: bool,
    pub branch: LostBranch,
    pub state: bool,
    pub log: bool,
}

/// What becomes of a branch that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LostBranch {
    Kept,
    Old,
    /// The rename reached the disk, the bytes did not.
    Torn,
}

impl Disk {
    /// All that a power failure may take away now.
    pub fn losses(&self) -> Vec<Lost> {
        let either = |is_open: bool| {
            if is_open {
                vec![false, true]
            } else {
                vec![false]
            }
        };
        let open = &self.unsynced;
        let branches = match &open.branch {
            Some(_) => vec![LostBranch::Kept, LostBranch::Old, LostBranch::Torn],
            None => vec![LostBranch::Kept],
        };
        let mut losses = Vec::new();
        for objects in either(open.objects.is_some()) {
            for journal in either(open.journal) {
                for removal in either(open.removed.is_some() && self.journal.is_none()) {
                    for branch in &branches {
                        for state in either(open.state.is_some()) {
                            for log in either(open.log.is_some()) {
                                losses.push(Lost {
                                    objects,
                                    journal,
                                    removal,
                                    branch: *branch,
                                    state,
                                    log,
                                });
                            }
                        }
                    }
                }
            }
        }
        losses
    }

    /// The disk after a power failure. The index is as it was: its bytes are synced before it has its name, and file systems
    /// that write renames in order keep that with the branch (`faults::images` assumes neither). A lock of the user's git goes with its process.
    pub fn after_power_failure(&self, lost: Lost) -> Self {
        let mut disk = self.clone();
        let open = std::mem::take(&mut disk.unsynced);
        match (lost.branch, open.branch) {
            (LostBranch::Old, Some(branch)) => disk.branch = branch,
            (LostBranch::Torn, Some(_)) => disk.is_torn = true,
            _ => {}
        }
        disk.is_corrupt |= lost.objects
            && open
                .objects
                .is_some_and(|new| disk.branch.starts_with(&new));
        if lost.journal {
            disk.journal = None;
        } else if lost.removal {
            disk.journal = open.removed;
        }
        if let (true, Some(state)) = (lost.state, open.state) {
            disk.work.state = state;
        }
        if let (true, Some(log)) = (lost.log, open.log) {
            disk.work.log = log;
        }
        disk.kernel_lock = None;
        disk.index_lock = disk.index_lock.filter(|owner| *owner == Owner::Orch);
        disk.branch_lock = disk.branch_lock.filter(|owner| *owner == Owner::Orch);
        disk
    }
}
