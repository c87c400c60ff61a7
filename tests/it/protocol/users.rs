//! The steps of a user's `git commit`, in the order in which git takes them.

use super::disk::{Branch, By, Commit, Disk, Event, Owner, Tree, due_at, phase, tree_of};
use super::steps::Mistake;

/// What a user commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `git commit --allow-empty`: what is staged.
    Staged,
    /// `git commit -a`: the work tree, under the lock of the index.
    All,
    /// `git commit-tree` and `git update-ref`: what HEAD holds, without the index, and without a `git commit` that
    /// others could see.
    Plumbing,
    /// `git reset -- PATH`: the index is written, and nothing is committed.
    Reset,
    /// `git commit`, after a forged record was staged. The work tree is as it was.
    Forged,
}

/// A step of a `git commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitStep {
    Start,
    /// HEAD is read before the index is.
    ReadHead,
    /// The index is read before it is locked.
    ReadIndex,
    /// The lock of the index is taken, and the index is written as it was read.
    LockIndex,
    /// The hook, if there is one, and then the editor.
    Hook,
    /// The branch moves by compare-and-swap.
    Move,
    /// The new index, under the lock that was held all the time.
    WriteIndex,
}

/// A user's `git commit`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Git {
    pub kind: Kind,
    /// The step to come; `None` at the end.
    pub step: Option<GitStep>,
    head: Branch,
    tree: Tree,
}

impl Git {
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            step: Some(GitStep::Start),
            head: Branch::new(),
            tree: Tree::default(),
        }
    }

    /// One that ended, or was ended.
    pub fn ended(kind: Kind) -> Self {
        Self {
            step: None,
            ..Self::of(kind)
        }
    }

    /// Whether a `git commit` runs.
    pub fn is_open(&self) -> bool {
        self.may_hold_index() && self.kind != Kind::Reset
    }

    /// Whether a process runs that may have read the index.
    pub fn may_hold_index(&self) -> bool {
        self.kind != Kind::Plumbing && self.is_running()
    }

    pub fn is_running(&self) -> bool {
        !matches!(self.step, None | Some(GitStep::Start))
    }
}

/// Lets a `git commit` take its step. Returns whether a commit was made by it.
pub fn advance(
    disk: &mut Disk,
    id: usize,
    git: &mut Git,
    (has_hook, mistake): (bool, Option<Mistake>),
) -> bool {
    let Some(step) = git.step else { return false };
    let mut is_made = false;
    git.step = match step {
        GitStep::Start => Some(GitStep::ReadHead),
        // A branch that a power failure tore is no commit.
        GitStep::ReadHead if disk.is_torn => None,
        GitStep::ReadHead => {
            git.head.clone_from(&disk.branch);
            git.tree = tree_of(&git.head);
            Some(if git.kind == Kind::Plumbing {
                GitStep::Move
            } else {
                GitStep::ReadIndex
            })
        }
        GitStep::ReadIndex => {
            git.tree.clone_from(&disk.index);
            Some(GitStep::LockIndex)
        }
        // `fatal: Unable to create index.lock: File exists`.
        GitStep::LockIndex if disk.index_lock.is_some() => None,
        GitStep::LockIndex if git.kind == Kind::Reset => {
            disk.index.clone_from(&git.tree);
            None
        }
        GitStep::LockIndex => {
            match git.kind {
                Kind::Staged | Kind::Plumbing | Kind::Reset => disk.index.clone_from(&git.tree),
                Kind::All => {
                    disk.index_lock = Some(Owner::User(id));
                    let artifact = if git.tree.artifact == 0 {
                        0
                    } else {
                        disk.work.artifact
                    };
                    git.tree = Tree {
                        artifact,
                        ..disk.work.clone()
                    };
                }
                Kind::Forged => {
                    let mut record = disk.index.log.clone();
                    let from = phase(&record);
                    record.push(Event {
                        from,
                        to: from + 1,
                        evidence: Some(due_at(from)),
                    });
                    disk.index.state.clone_from(&record);
                    disk.index.log = record;
                    git.tree.clone_from(&disk.index);
                }
            }
            Some(GitStep::Hook)
        }
        GitStep::Hook => {
            let judged = if mistake == Some(Mistake::HookOnWorkTree) {
                &disk.work
            } else {
                &git.tree
            };
            let is_refused = has_hook && !is_sound(&tree_of(&git.head), judged);
            if is_refused {
                None
            } else {
                Some(GitStep::Move)
            }
        }
        GitStep::Move if disk.branch_lock.is_some() || disk.branch != git.head => None,
        GitStep::Move => {
            disk.branch.push(Commit {
                by: By::User,
                tree: git.tree.clone(),
            });
            is_made = true;
            (git.kind == Kind::All).then_some(GitStep::WriteIndex)
        }
        GitStep::WriteIndex => {
            disk.index.clone_from(&git.tree);
            None
        }
    };
    if git.step.is_none() {
        disk.index_lock = disk.index_lock.filter(|owner| *owner != Owner::User(id));
        *git = Git::ended(git.kind);
    }
    is_made
}

/// Whether the record of a tree may follow that of another: each new step has its evidence in the tree.
pub fn is_sound(before: &Tree, after: &Tree) -> bool {
    let Some(new) = after.log.strip_prefix(before.log.as_slice()) else {
        return false;
    };
    let mut at = phase(&before.log);
    let is_step = |event: &Event| {
        let is_met = match event.evidence {
            Some(evidence) => {
                event.to == at + 1 && evidence == due_at(at) && after.artifact == evidence
            }
            None => event.to > at,
        };
        let follows = event.from == at && is_met;
        at = event.to;
        follows
    };
    after.state == after.log && new.iter().all(is_step)
}
