//! The steps of a process that commits, each as small as the code makes it durable, and those of a user's `git commit`.

use super::disk::{Branch, By, Commit, Disk, Event, Journal, Owner, Tree, due_at, phase, tree_of};

/// A step of a process of `orch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// `Store::lock`: the lock among `orch` processes.
    Lock,
    /// `Journal`: what a killed process left. `clear_reference_lock` and `mend_reference`.
    MendBranch,
    /// The lock of the index is taken if it is free, or the one that the killed process left is taken over.
    AdoptIndex,
    /// `follow_head`: the files in the work tree.
    FinishState,
    FinishLog,
    /// `follow_head`: `durable::sync` of the branch and the directory of the task.
    FinishSync,
    /// `follow_head`: the entries of the index.
    MendIndex,
    /// The lock of the index is released, when nobody is at work who may have read it.
    ReleaseIndex,
    RemoveLeftJournal,
    /// `clear_index_lock`, of a process that was killed before it wrote a journal.
    ClearIndex,
    /// `lock_first`, of a process that lost the race before.
    LockFirst,
    /// `Workspace::look`: HEAD, then the files.
    Look,
    /// `Transaction::build`.
    WriteObjects,
    /// `write_journal`.
    WriteJournal,
    /// `Prepared::write` has written the new files beside their places; `durable::sync` syncs these, the objects and
    /// the journal.
    SyncFirst,
    /// `lock_planned`.
    LockIndex,
    /// HEAD and the files are as they were, and no `git commit` is open.
    Check,
    /// `lock_reference`: the lock of the branch, which must be where it was.
    LockBranch,
    /// `finish_index_update`.
    WriteIndex,
    /// `RefLock::commit`.
    MoveBranch,
    /// `Prepared::place`.
    PlaceState,
    PlaceLog,
    /// The branch and the directory of the task begin to be synced.
    BeginSync,
    /// The lock of the index is released, when nobody is at work who may have read it.
    UnlockIndex,
    /// They are synced. What was synced before is among what a power failure leaves.
    SyncSecond,
    /// `remove_journal`.
    RemoveJournal,
    /// The answer, and the exit code.
    Report,
}

use Step::{
    AdoptIndex, BeginSync, Check, ClearIndex, FinishLog, FinishState, FinishSync, Lock, LockBranch,
    LockFirst, LockIndex, Look, MendBranch, MendIndex, MoveBranch, PlaceLog, PlaceState,
    ReleaseIndex, RemoveJournal, RemoveLeftJournal, Report, SyncFirst, SyncSecond, UnlockIndex,
    WriteIndex, WriteJournal, WriteObjects,
};

/// What a process does about a journal that it finds.
const MEND: [Step; 8] = [
    MendBranch,
    AdoptIndex,
    FinishState,
    FinishLog,
    FinishSync,
    MendIndex,
    ReleaseIndex,
    RemoveLeftJournal,
];

/// A commit, from the look to the answer.
pub const COMMIT: [Step; 16] = [
    Look,
    WriteObjects,
    WriteJournal,
    SyncFirst,
    LockIndex,
    Check,
    LockBranch,
    WriteIndex,
    MoveBranch,
    PlaceState,
    PlaceLog,
    BeginSync,
    UnlockIndex,
    SyncSecond,
    RemoveJournal,
    Report,
];

/// A deliberate mistake in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// The branch is moved from wherever it is.
    NoCompare,
    /// The index is written before its change stands in the journal.
    IndexBeforeJournal,
    /// The lock of the index is released before the branch moves.
    UnlockedEarly,
    /// The index is written after its lock was released.
    IndexAfterUnlock,
    /// The lock of the index is released while a git command is at work that may have read the index before.
    UnlockedBeside,
    /// The step is reported before the branch moves.
    ReportedEarly,
    NoJournal,
    NoFirstSync,
    NoSecondSync,
    /// A journal that a killed process left is removed, and nothing else is done about it.
    JournalIgnored,
    /// The lock of a killed process is removed before its index is mended.
    LockClearedFirst,
    /// What is committed is read again, not what was evaluated.
    ReadAgain,
    /// The rule does not look at the artifact.
    NoEvidence,
    /// The hook evaluates the work tree, not what is staged.
    HookOnWorkTree,
    /// A process that commits takes no lock among `orch` processes.
    NoLock,
}

/// The steps of a commit with a mistake.
pub fn commit_with(mistake: Option<Mistake>) -> Vec<Step> {
    let mut steps = COMMIT.to_vec();
    let mut put = |step: Step, before: Step| {
        steps.retain(|one| *one != step);
        let at = steps
            .iter()
            .position(|one| *one == before)
            .expect("a step of a commit");
        steps.insert(at, step);
    };
    match mistake {
        Some(Mistake::IndexBeforeJournal) => put(WriteIndex, WriteJournal),
        Some(Mistake::UnlockedEarly) => put(UnlockIndex, MoveBranch),
        Some(Mistake::IndexAfterUnlock) => put(WriteIndex, SyncSecond),
        Some(Mistake::ReportedEarly) => put(Report, MoveBranch),
        Some(Mistake::NoJournal) => {
            steps.retain(|one| !matches!(one, WriteJournal | RemoveJournal))
        }
        Some(Mistake::NoFirstSync) => steps.retain(|one| *one != SyncFirst),
        Some(Mistake::NoSecondSync) => steps.retain(|one| *one != SyncSecond),
        _ => {}
    }
    steps
}

/// What a process of `orch` is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// `next`, or a watch: takes the step that the rules yield.
    Mover,
    /// `next --override --to`: this phase, whatever the rules say.
    Override(u8),
    /// Any other command: heals what is left, and looks.
    Looker,
}

/// A process of `orch`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    pub role: Role,
    /// The step to come; `None` at the end.
    pub step: Option<Step>,
    /// The branch and the files that the look read.
    pub base: Branch,
    pub seen: Tree,
    /// The commit that was built.
    pub new: Option<Commit>,
    /// Whether it evaluates again if the branch moved.
    pub may_retry: bool,
}

impl Process {
    pub fn of(role: Role) -> Self {
        let (base, seen) = (Branch::new(), Tree::default());
        Self {
            role,
            step: Some(Lock),
            base,
            seen,
            new: None,
            may_retry: true,
        }
    }

    /// One that ended, or was ended.
    pub fn ended(role: Role) -> Self {
        Self {
            step: None,
            ..Self::of(role)
        }
    }

    /// The branch with the new commit.
    fn moved(&self) -> Branch {
        self.base.iter().chain(&self.new).cloned().collect()
    }
}

/// What a process may see of the others.
pub struct Around<'a> {
    pub mistake: Option<Mistake>,
    /// A user's `git commit` is open.
    pub is_commit_open: bool,
    /// A command of a user may have read the index.
    pub is_index_read: bool,
    /// The steps that were reported.
    pub reported: &'a mut Vec<Event>,
}

/// Lets a process take its step. Returns `None` if it cannot take it now.
pub fn advance(
    disk: &mut Disk,
    id: usize,
    process: &mut Process,
    around: &mut Around<'_>,
) -> Option<()> {
    let mistake = around.mistake;
    let path = commit_with(mistake);
    let step = process.step?;
    let after = |list: &[Step]| {
        let at = list.iter().position(|one| *one == step)?;
        list.get(at + 1).copied()
    };
    let mut next = after(&path).or_else(|| after(&MEND));
    match step {
        Lock => {
            if disk.kernel_lock.is_some() && mistake != Some(Mistake::NoLock) {
                return None;
            }
            disk.kernel_lock = Some(id);
            next = Some(match (mistake, &disk.journal) {
                (Some(Mistake::JournalIgnored), Some(_)) => RemoveLeftJournal,
                (Some(Mistake::LockClearedFirst), Some(_)) => {
                    disk.index_lock = disk.index_lock.filter(|owner| *owner != Owner::Orch);
                    MendBranch
                }
                (_, Some(_)) => MendBranch,
                (_, None) => ClearIndex,
            });
        }
        MendBranch => {
            disk.branch_lock = disk.branch_lock.filter(|owner| *owner != Owner::Orch);
            let journal = disk.journal.as_ref()?;
            if disk.is_torn && !disk.is_corrupt {
                disk.branch = journal.to.clone();
                disk.is_torn = false;
            }
        }
        // While git holds it, everything stays as it is.
        AdoptIndex if matches!(disk.index_lock, Some(Owner::User(_))) => return None,
        AdoptIndex => disk.index_lock = Some(Owner::Orch),
        FinishState | FinishLog => {
            let journal = disk.journal.as_ref()?;
            let [from, to, head] = [&journal.from, &journal.to, &disk.branch].map(tree_of);
            let (work, open) = (&mut disk.work, &mut disk.unsynced);
            if step == FinishState {
                open.state.get_or_insert(work.state.clone());
                mend(&mut work.state, (&from.state, &to.state), &head.state);
            } else {
                open.log.get_or_insert(work.log.clone());
                mend(&mut work.log, (&from.log, &to.log), &head.log);
            }
        }
        MendIndex => {
            let journal = disk.journal.as_ref()?;
            let [from, to, head] = [&journal.from, &journal.to, &disk.branch].map(tree_of);
            let index = &mut disk.index;
            mend(&mut index.state, (&from.state, &to.state), &head.state);
            mend(&mut index.log, (&from.log, &to.log), &head.log);
            mend(
                &mut index.artifact,
                (&from.artifact, &to.artifact),
                &head.artifact,
            );
        }
        RemoveLeftJournal => {
            disk.unsynced.removed = disk.journal.take();
            disk.unsynced.journal = false;
            next = Some(ClearIndex);
        }
        ClearIndex => {
            disk.index_lock = disk.index_lock.filter(|owner| *owner != Owner::Orch);
            next = if process.role == Role::Looker {
                None
            } else {
                Some(Look)
            };
        }
        LockFirst if disk.index_lock.is_some() => return None,
        LockFirst => {
            disk.index_lock = Some(Owner::Orch);
            next = Some(Look);
        }
        Look => {
            if process.may_retry && disk.index_lock.is_some() {
                // A checkout or a commit is under way; it is waited for.
                return None;
            }
            (process.base, process.seen) = (disk.branch.clone(), disk.work.clone());
            process.new = decide(process, mistake);
            if process.new.is_none() {
                next = None;
                if !process.may_retry {
                    disk.index_lock = None;
                }
            }
        }
        WriteObjects => {
            if let (Some(Mistake::ReadAgain), Some(new)) = (mistake, &mut process.new) {
                new.tree.artifact = disk.work.artifact;
            }
            disk.unsynced.objects = Some(process.moved());
        }
        // It is locked since the look.
        LockIndex if !process.may_retry => {}
        LockIndex => match disk.index_lock {
            None => disk.index_lock = Some(Owner::Orch),
            Some(_) => {
                forget(disk);
                next = again(process);
            }
        },
        WriteJournal => {
            disk.journal = Some(Journal {
                from: process.base.clone(),
                to: process.moved(),
            });
            disk.unsynced.journal = true;
            disk.unsynced.removed = None;
        }
        BeginSync => {}
        SyncFirst => (disk.unsynced.objects, disk.unsynced.journal) = (None, false),
        Check => {
            let is_same = disk.branch == process.base
                && disk.work.state == process.seen.state
                && disk.work.log == process.seen.log;
            if !is_same || around.is_commit_open {
                give_up(disk);
                next = again(process);
            }
        }
        LockBranch => {
            if disk.branch_lock.is_some() {
                return None;
            }
            if disk.branch == process.base || mistake == Some(Mistake::NoCompare) {
                disk.branch_lock = Some(Owner::Orch);
            } else {
                give_up(disk);
                next = again(process);
            }
        }
        WriteIndex => {
            let (from, to) = (tree_of(&process.base), tree_of(&process.moved()));
            let index = &mut disk.index;
            due(&mut index.state, &from.state, &to.state);
            due(&mut index.log, &from.log, &to.log);
            due(&mut index.artifact, &from.artifact, &to.artifact);
        }
        MoveBranch => {
            disk.unsynced.branch.get_or_insert(disk.branch.clone());
            disk.branch = process.moved();
            disk.branch_lock = None;
        }
        PlaceState => {
            let to = tree_of(&process.moved()).state;
            disk.unsynced
                .state
                .get_or_insert(std::mem::replace(&mut disk.work.state, to));
        }
        PlaceLog => {
            let to = tree_of(&process.moved()).log;
            disk.unsynced
                .log
                .get_or_insert(std::mem::replace(&mut disk.work.log, to));
        }
        // It may have read the old index, and would write it back. Until it ends, it finds the lock.
        UnlockIndex | ReleaseIndex
            if around.is_index_read && mistake != Some(Mistake::UnlockedBeside) =>
        {
            return None;
        }
        UnlockIndex | ReleaseIndex => disk.index_lock = None,
        FinishSync | SyncSecond => {
            let open = &mut disk.unsynced;
            (open.branch, open.state, open.log) = (None, None, None);
        }
        RemoveJournal => disk.unsynced.removed = disk.journal.take(),
        Report => {
            let event = process
                .new
                .as_ref()
                .and_then(|new| new.tree.log.last().copied());
            around.reported.extend(event);
        }
    }
    process.step = next;
    if next.is_none() {
        release(disk, id);
        *process = Process::ended(process.role);
    }
    Some(())
}

/// What ends with a process.
pub fn release(disk: &mut Disk, id: usize) {
    disk.kernel_lock = disk.kernel_lock.filter(|holder| *holder != id);
}

/// The commit of the step that is due.
fn decide(process: &Process, mistake: Option<Mistake>) -> Option<Commit> {
    let Tree {
        state,
        log,
        artifact,
    } = &process.seen;
    let head = tree_of(&process.base);
    // A record that lost lines that HEAD holds is an error; a state of other heads is folded again.
    let is_sound = log.starts_with(&head.log) && state == log;
    let from = phase(log);
    let is_met = *artifact == due_at(from) || mistake == Some(Mistake::NoEvidence);
    let event = match process.role {
        Role::Mover if is_met && from < 2 => Event {
            from,
            to: from + 1,
            evidence: Some(*artifact),
        },
        Role::Override(to) if from < to => Event {
            from,
            to,
            evidence: None,
        },
        _ => return None,
    };
    let record: Vec<Event> = log.iter().copied().chain([event]).collect();
    let tree = Tree {
        state: record.clone(),
        log: record,
        artifact: *artifact,
    };
    is_sound.then_some(Commit { by: By::Orch, tree })
}

/// Abandons a batch that has changed nothing but the journal.
fn give_up(disk: &mut Disk) {
    disk.index_lock = None;
    forget(disk);
}

/// The same before the index is locked.
fn forget(disk: &mut Disk) {
    disk.unsynced.removed = disk.journal.take();
    disk.unsynced.journal = false;
    disk.unsynced.objects = None;
}

/// The step with which a process evaluates again, or ends.
fn again(process: &mut Process) -> Option<Step> {
    std::mem::take(&mut process.may_retry).then_some(LockFirst)
}

/// Writes an entry of the index, unless the user has staged another version.
fn due<T: PartialEq + Clone>(entry: &mut T, from: &T, to: &T) {
    if entry == from {
        *entry = to.clone();
    }
}

/// An entry of the index follows what HEAD holds.
fn mend<T: PartialEq + Clone>(entry: &mut T, (from, to): (&T, &T), head: &T) {
    if head == to {
        due(entry, from, to);
    } else if head == from {
        due(entry, to, from);
    }
}
