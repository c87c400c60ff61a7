//! The tasks of a remote: several clones work on them, each in its own work trees.
//!
//! The remote is fetched regularly. What it has of a task counts, unless the branch here goes on from there. Who holds what is
//! asked at the same time, so that a lease which nobody renews is watched until it ends.

use super::landing::Landing;
use super::task::{ParallelTask, TaskStage};
use super::{AGAIN, Parallel};
use crate::apply::Writer;
use crate::drive::publish::push_steps;
use crate::survey::{Error, TaskRef, Workspace};
use orch_base::{Class, Code, Digest, Hint, TaskId, command};
use orch_core::config::WorkTreeKind;
use orch_fleet::forward::RemoteBranches;
use orch_fleet::store::StoredLease;
use orch_fleet::worktrees::TaskTrees;
use orch_git::{RemotePlace, Store};
use std::time::{Duration, Instant};

/// How often a remote is fetched at most.
const FETCH: Duration = Duration::from_secs(20);
/// How often at least, however short leases are.
const SHORTEST: Duration = Duration::from_secs(1);

/// The tasks of a remote.
pub(super) struct RemoteTasks<'a> {
    writer: &'a Writer<'a>,
    store: &'a Store,
    place: RemotePlace,
    base: String,
    /// The branches of tasks, with `*` for the task.
    branches: String,
    every: Duration,
    fetched: Option<Instant>,
    /// The leases that had ended when the store was asked last.
    over: Vec<StoredLease>,
}

/// Where a task is furthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Furthest {
    pub commit: Digest,
    /// Whether the branch of this clone is there.
    pub is_here: bool,
}

impl<'a> RemoteTasks<'a> {
    /// The tasks of a remote, which is fetched. Returns an error if clones share no leases, nobody has trusted the store of
    /// leases, or the remote cannot be reached.
    pub(super) fn open(
        writer: &'a Writer<'a>,
        store: &'a Store,
        remote: &str,
        base: &str,
    ) -> Result<Self, Error> {
        let config = writer.workspace.reader.settings.config();
        if config.worktrees.kind == WorkTreeKind::Clone {
            let message = "`kind = \"clone\"` under [worktrees] is not for a remote: its clones would push to this one";
            let hint = "write `kind = \"worktree\"` under [worktrees] of orch.toml";
            return Err(Error::new(Code::LeasesUnshared, message).with_hint(hint));
        }
        let length = Duration::from_millis(config.leases.length.milliseconds());
        let mut tasks = Self {
            writer,
            store,
            place: store.remote_refs().place(remote)?,
            base: base.to_owned(),
            branches: config.worktrees.branch.pattern(),
            every: FETCH.min(length / 5).max(SHORTEST),
            fetched: None,
            over: Vec::new(),
        };
        tasks.ask()?;
        if tasks.base_tip()?.is_none() {
            let message = format!("{remote} has no branch {base}, from which tasks begin");
            let hint = Hint::run(&["git", "push", remote, base]);
            return Err(Error::new(Code::UnknownRevision, message).with_hint(hint));
        }
        Ok(tasks)
    }

    /// Fetches the remote if it is time. Returns whether it could be reached the last time.
    pub(super) fn renew(&mut self) -> bool {
        self.renew_after(self.every)
    }

    /// Fetches the remote because something has changed there, unless that was done a moment ago. Returns as
    /// [`Self::renew`] does.
    pub(super) fn renew_now(&mut self) -> bool {
        self.renew_after(SHORTEST)
    }

    fn renew_after(&mut self, time: Duration) -> bool {
        if self.fetched.is_some_and(|fetched| fetched.elapsed() < time) {
            return true;
        }
        match self.ask() {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(error = error.logged(), "the remote cannot be asked");
                false
            }
        }
    }

    /// Fetches the branches, and asks who holds what.
    fn ask(&mut self) -> Result<(), Error> {
        let holding = self.writer.holding_of_tree();
        self.over = holding.shared(&self.place.remote)?;
        self.over.retain(|stored| stored.seen.left().is_zero());
        self.fetch()?;
        self.fetched = Some(Instant::now());
        Ok(())
    }

    fn fetch(&self) -> Result<(), Error> {
        let branches = [self.base.as_str(), &self.branches];
        let fetched = self.store.follow().fetch(&self.place.remote, &branches);
        fetched.map_err(|error| {
            let message = format!("{}: {}", self.place.remote, error.message());
            Error::new(Code::LeaseStore, message).with_hint_of(error.hint().cloned())
        })
    }

    /// Pushes what was recorded by this process in the work tree of a row.
    pub(super) fn push_tree(&self, row: &ParallelTask) {
        let pushed = in_tree(self.writer, row, |writer, task| {
            push_steps(writer, task, self.name())
        });
        if let Err(error) = pushed {
            tracing::warn!(error = error.logged(), "a step could not be pushed");
        }
    }

    /// The name of the remote.
    pub(super) fn name(&self) -> &str {
        &self.place.remote
    }

    /// Where the base branch of the remote is.
    pub(super) fn base_tip(&self) -> Result<Option<Digest>, Error> {
        self.tracked(&self.base)
    }

    /// What the remote has of a branch.
    pub(super) fn tracked(&self, branch: &str) -> Result<Option<Digest>, Error> {
        self.store.follow().tracked(self.name(), branch)
    }

    /// Where the branch of a task is furthest; `None` if that is the base branch of the remote. `log` is the file of its log,
    /// by which it shows whether the base branch has gone on with the task.
    pub(super) fn furthest(
        &self,
        branch: &str,
        log: Option<&str>,
    ) -> Result<Option<Furthest>, Error> {
        let follow = self.store.follow();
        let here = self.store.work_trees().tip(branch)?;
        let there = self.tracked(branch)?;
        let is_here = match (here, there) {
            (None, _) => false,
            (Some(here), Some(there)) => follow.is_behind(there, here)?,
            (Some(here), None) => match self.base_tip()? {
                Some(base) if follow.is_behind(here, base)? => false,
                Some(base) => match log {
                    Some(log) => !follow.changes(here, base, log)?,
                    None => true,
                },
                None => true,
            },
        };
        let commit = if is_here { here } else { there };
        Ok(commit.map(|commit| Furthest { commit, is_here }))
    }

    /// Deletes a branch of the remote whose work the base branch has. A failure is logged: somebody does it later.
    pub(super) fn forget(&self, branch: &str) {
        let deleted = self.tracked(branch).and_then(|tip| match tip {
            Some(tip) => {
                let branches = RemoteBranches::new(self.store.remote_refs(), &self.place);
                branches.delete(&format!("refs/heads/{branch}"), tip)
            }
            None => Ok(()),
        });
        if let Err(error) = deleted {
            tracing::warn!(
                error = error.logged(),
                branch,
                "a branch could not be deleted"
            );
        }
    }

    /// Whether a lease of a task is left that had ended when the store was asked last.
    pub(super) fn has_ended(&self, task: &TaskId) -> bool {
        self.over.iter().any(|over| over.task == *task)
    }

    /// Removes what a killed worker has left of a task that is done and joined. A failure is logged: somebody does it later.
    pub(super) fn clean(&mut self, task: &TaskId, branch: &str) {
        self.forget(branch);
        if let Some(at) = self.over.iter().position(|over| over.task == *task) {
            let over = self.over.swap_remove(at);
            if let Err(error) = self.writer.holding_of_tree().remove_ended(&over) {
                tracing::warn!(error = error.logged(), %task, "a lease could not be removed");
            }
        }
    }

    /// What this clone has recorded of a task that others have done, for people; `None` if that is nothing.
    pub(super) fn left_behind(&self, branch: &str, base: Digest) -> Result<Option<String>, Error> {
        let git = self.store.work_trees();
        let Some(tip) = git.tip(branch)? else {
            return Ok(None);
        };
        if git.is_contained(tip, base)? {
            return Ok(None);
        }
        let (commits, are) = match self.store.follow().ahead(base, tip)? {
            1 => ("1 commit".to_owned(), "is"),
            count => (format!("{count} commits"), "are"),
        };
        let range = format!("{}/{}..{branch}", self.name(), self.base);
        let show = command(&["git", "log", &range]);
        Ok(Some(format!(
            "others have done it; {commits} on {branch} of this clone {are} nowhere else: {show}"
        )))
    }

    /// Removes the work tree and the branch of a task that others were faster to take and have done by now. A failure is logged:
    /// `orch worktrees` lists what stays.
    pub(super) fn remove_unused(&self, trees: &TaskTrees<'_>, task: &TaskId, branch: &str) {
        let removed = trees.find(task).and_then(|found| match found {
            Some(tree) if trees.stays_because(&tree, &self.base)?.is_none() => {
                trees.claim(task)?.remove()
            }
            _ => Ok(()),
        });
        if let Err(error) = removed.and_then(|()| self.forget_here(branch)) {
            tracing::warn!(error = error.logged(), %task, "a work tree could not be removed");
        }
    }

    /// Forgets the branch of a task here, too, unless a work tree has it.
    pub(super) fn forget_here(&self, branch: &str) -> Result<(), Error> {
        let git = self.store.work_trees();
        let Some(tip) = git.tip(branch)? else {
            return Ok(());
        };
        let trees = git.list()?;
        let mut branches = trees.iter().filter_map(|tree| tree.branch.as_deref());
        if branches.any(|used| used == branch) {
            return Ok(());
        }
        self.store.follow().drop_branch(branch, tip)
    }
}

impl Parallel<'_> {
    /// Gives back the task of a row, whose run has left it taken.
    pub(super) fn give_back(&self, index: usize) {
        if self.remote.is_none() {
            return;
        }
        let released = in_tree(self.writer, &self.tasks[index], |writer, task| {
            writer.taking().release_of_run(task)
        });
        if let Err(error) = released {
            tracing::warn!(error = error.logged(), "a task could not be given back");
        }
    }

    /// Renews the leases of tasks that are done and not joined yet. Where another has one now, this process joins nothing.
    pub(super) fn keep_done(&mut self) {
        let length = self.writer.holding_of_tree().terms(None).usual;
        if self.remote.is_none() || self.kept.elapsed() < length / 6 {
            return;
        }
        self.kept = Instant::now();
        let landing = self.landing.as_ref().map(Landing::index);
        for index in landing.into_iter().chain(self.done.clone()) {
            let kept = in_tree(self.writer, &self.tasks[index], |writer, task| {
                writer.holding_of_tree().keep(task, 0).map(drop)
            });
            match kept {
                Err(error) if error.code() == Code::TaskHeld => match &self.landing {
                    Some(landing) if landing.index() == index => landing.stop(),
                    Some(_) | None => {
                        self.done.retain(|waiting| *waiting != index);
                        self.tasks[index].end(TaskStage::Held, error.to_string());
                        self.try_again(index, AGAIN);
                    }
                },
                Err(error) => tracing::warn!(error = error.logged(), "cannot renew a lease"),
                Ok(()) => {}
            }
        }
    }

    /// The branch of a row is joined with the base branch of the remote: nobody needs it any more.
    pub(super) fn forget_branch(&mut self, index: usize) {
        let Some(remote) = &self.remote else {
            return;
        };
        let branch = &self.tasks[index].branch;
        remote.forget(branch);
        if let Err(error) = remote.forget_here(branch) {
            tracing::warn!(
                error = error.logged(),
                branch,
                "a branch could not be deleted"
            );
        }
    }

    /// What is to be tried again although its run has failed or its branch could not be joined: the remote, or another clone,
    /// was the reason.
    pub(super) fn try_again(&mut self, index: usize, after: Duration) {
        let task: TaskId = self.tasks[index].task.clone();
        self.seen.remove(&task);
        self.again.insert(task, Instant::now() + after);
    }
}

/// Acts in the work tree of a row.
fn in_tree<T>(
    writer: &Writer<'_>,
    row: &ParallelTask,
    act: impl FnOnce(&Writer<'_>, &TaskRef) -> Result<T, Error>,
) -> Result<T, Error> {
    let environment = writer.workspace.environment.elsewhere();
    let workspace = Workspace::open(&row.tree, environment)?;
    let task = workspace.finder().task(row.task.as_str())?;
    act(&Writer::new(&workspace, writer.caller), &task)
}

/// Whether an error passes by itself.
pub(super) fn passes(error: &Error) -> bool {
    matches!(error.class(), Class::Busy | Class::Moved) || error.code() == Code::LeaseStore
}
