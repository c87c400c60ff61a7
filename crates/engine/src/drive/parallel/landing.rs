//! Joins the branch of a task that is done with the base branch.
//!
//! The work of two tasks can fit each of their branches and not both together, so what comes of it is verified again before
//! the base branch moves. It moves by compare-and-swap; if it has moved meanwhile, all is done again. The workers of a
//! repository take turns, so that none of them does it for nothing.

use super::bell::{Bell, Ring};
use super::task::ParallelTask;
use crate::apply::{Order, Writer};
use crate::drive::StopFlag;
use crate::run::SideProcess;
use crate::survey::{Caller, Error, Workspace};
use orch_base::{Digest, TaskId, command, enumeration};
use orch_core::config::{BranchMerge, WorkTreeKind};
use orch_files::{FileLock, io_error};
use orch_fleet::forward::RemoteBranches;
use orch_fleet::random;
use orch_git::{BranchMoved, Environment, Joined, PushOutcome, Store, Upstream, WorkTrees};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// How often it is tried again because the base branch has moved.
const TRIES: u32 = 5;
/// The pause while another command of git works where the base branch is checked out.
const MOMENT: Duration = Duration::from_millis(300);
/// How often it is tried again where other clones join their branches with the same one.
const REMOTE_TRIES: u32 = 30;
/// The longest pause between two such tries, in lengths of a try, and how long it is at most.
const MOST_LENGTHS: u32 = 32;
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
/// For how long to wait for others who join branches with the same one.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the process that verifies is looked at, and the step of pauses.
const TICK: Duration = Duration::from_millis(50);

/// What is joined, and how.
pub(super) struct LandRequest {
    /// The number of the row.
    pub index: usize,
    pub task: TaskId,
    pub tree: PathBuf,
    pub kind: WorkTreeKind,
    pub branch: String,
    pub base: String,
    pub merge: BranchMerge,
    pub log: PathBuf,
    /// Whether the project has verifications.
    pub verifies: bool,
    /// Whether to start what `orch.toml` names without the trust of a person.
    pub trust: bool,
    /// The remote whose base branch it is.
    pub remote: Option<String>,
}

/// What came of it.
pub(super) enum BranchOutcome {
    /// The base branch has it.
    Joined(String),
    /// The branch is pushed.
    Pushed(String),
    /// Not now, and why.
    Later(String),
    /// It does not fit the base branch, and why.
    Unfit(String),
}

/// A branch that is being joined, in another thread.
pub(super) struct Landing {
    index: usize,
    stop: StopFlag,
    outcome: Receiver<Result<BranchOutcome, Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Landing {
    /// Begins to join a branch. The bell rings when that has ended.
    pub(super) fn begin(request: LandRequest, writer: &Writer<'_>, bell: Bell) -> Self {
        let workspace = writer.workspace;
        let root = workspace.reader.root().to_owned();
        let environment = workspace.environment.clone();
        let index = request.index;
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let (send, outcome) = channel();
        let thread = std::thread::spawn(move || {
            let landed = land_in(&root, environment, &request, &stopped);
            let _ = send.send(landed);
            bell.ring(Ring::Ended);
        });
        Self {
            index,
            stop,
            outcome,
            thread: Some(thread),
        }
    }

    /// The number of the row.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Asks it to end.
    pub(super) fn stop(&self) {
        self.stop.stop();
    }

    /// The number of the row and what came of it, once that is known.
    pub(super) fn landed(&mut self) -> Option<(usize, Result<BranchOutcome, Error>)> {
        match self.outcome.try_recv() {
            Ok(landed) => return Some((self.index, landed)),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {}
        }
        if let Err(panic) = self.thread.take()?.join() {
            std::panic::resume_unwind(panic);
        }
        None
    }
}

/// Joins a branch in the repository around a directory.
fn land_in(
    root: &Path,
    environment: Environment,
    request: &LandRequest,
    stop: &StopFlag,
) -> Result<BranchOutcome, Error> {
    let workspace = Workspace::open_to_look(root, environment)?;
    let store = workspace.reader.repository_or_refuse()?;
    land(store, request, stop)
}

fn land(store: &Store, request: &LandRequest, stop: &StopFlag) -> Result<BranchOutcome, Error> {
    if request.merge == BranchMerge::Pr {
        return push(store, request);
    }
    let git = store.work_trees();
    let tries = if request.remote.is_some() {
        REMOTE_TRIES
    } else {
        TRIES
    };
    for overtaken in 0..tries {
        let turn = own_turn(git, stop)?;
        let begun = Instant::now();
        let (Some(base), Some(tip)) = (request.base_tip(store)?, git.tip(&request.branch)?) else {
            return Ok(BranchOutcome::Later("a branch is gone".to_owned()));
        };
        let contained = || BranchOutcome::Joined(format!("{} has it", request.base));
        let history = store.history();
        if tip == base || history.is_ancestor(tip, base)? {
            return Ok(contained());
        }
        let tree = MergeTree::of(git, request)?;
        let joined = if request.merge == BranchMerge::Rebase {
            tree.show(tip)?;
            git.rebase(&tree.path, base)?
        } else {
            let message = format!(
                "Merge branch '{}'\n\nTask: {}\n",
                request.branch, request.task
            );
            git.merge(base, tip, &message)?
        };
        let adds_nothing = match &joined {
            Joined::Commit(commit) => {
                history.tree_if_held(*commit)? == history.tree_if_held(base)?
            }
            Joined::Conflict(_) => true,
        };
        // The same changes may have come there by another way.
        if adds_nothing && git.is_contained(tip, base)? {
            return Ok(contained());
        }
        let commit = match joined {
            Joined::Commit(commit) => commit,
            Joined::Conflict(files) => {
                return Ok(BranchOutcome::Unfit(request.conflict(&files)));
            }
        };
        let is_other_code = !history.is_ancestor(base, tip)?;
        if request.verifies && is_other_code {
            tree.show(commit)?;
            if let Some(outcome) = verify(&tree, request, stop)? {
                return Ok(outcome);
            }
        }
        drop(tree);
        if stop.is_set() {
            return Ok(stopped());
        }
        match request.advance(store, base, commit)? {
            BranchMoved::Moved => {
                return Ok(BranchOutcome::Joined(format!(
                    "{} is {:.9}",
                    request.base,
                    commit.to_string()
                )));
            }
            BranchMoved::Overtaken if request.remote.is_some() && overtaken + 1 < tries => {
                // The workers of this repository need not wait for that.
                drop(turn);
                rest(pause(overtaken, begun.elapsed()).mul_f64(part()), stop);
                if stop.is_set() {
                    return Ok(stopped());
                }
            }
            BranchMoved::Overtaken => {}
            BranchMoved::Locked(_) => sleep(MOMENT),
            BranchMoved::Refused(tree, why) => {
                let base = &request.base;
                let place = tree.display();
                let why =
                    format!("{base} is checked out in {place}, and git does not move it: {why}");
                return Ok(BranchOutcome::Later(why));
            }
            BranchMoved::CheckedOut(tree, what) => {
                return Ok(BranchOutcome::Later(format!(
                    "{} is checked out in {} with uncommitted changes ({what}): {}",
                    request.base,
                    tree.display(),
                    command(&["git", "merge", &request.branch])
                )));
            }
        }
    }
    Ok(BranchOutcome::Later(format!(
        "{} moved, or git worked where it is checked out, again and again",
        request.base
    )))
}

/// What comes of a branch that was not joined because all runs end.
fn stopped() -> BranchOutcome {
    BranchOutcome::Later("stopped before the merge".to_owned())
}

/// Waits for the turn of this process among the workers of the repository; `None` if that takes long, or it is stopped. Returns
/// an error if the lock cannot be made.
fn own_turn(git: WorkTrees<'_>, stop: &StopFlag) -> Result<Option<FileLock>, Error> {
    let begun = Instant::now();
    while !stop.is_set() && begun.elapsed() < PATIENCE {
        if let Some(turn) = git.turn_to_join()? {
            return Ok(Some(turn));
        }
        sleep(TICK.mul_f64(part()));
    }
    Ok(None)
}

/// The longest pause of a clone that others have overtaken so often before, the last time in a try of this length. Clones that
/// try one after the other need a try each, so the pause grows until all of them have room in it.
fn pause(overtaken: u32, tried: Duration) -> Duration {
    let lengths = 2u32.saturating_pow(overtaken + 1).min(MOST_LENGTHS);
    (TICK.max(tried) * lengths).min(LONGEST_PAUSE)
}

/// Pauses, but not beyond a stop.
fn rest(pause: Duration, stop: &StopFlag) {
    let begun = Instant::now();
    while !stop.is_set() && begun.elapsed() < pause {
        sleep(TICK);
    }
}

/// A random number between 0 and 1.
fn part() -> f64 {
    let word = random(1).unwrap_or_default();
    let byte = u8::from_str_radix(&word, 16).unwrap_or_default();
    f64::from(byte) / 255.0
}

impl LandRequest {
    /// Where the base branch is: that of the remote, just fetched, if it is about one.
    fn base_tip(&self, store: &Store) -> Result<Option<Digest>, Error> {
        match &self.remote {
            None => store.work_trees().tip(&self.base),
            Some(remote) => {
                let follow = store.follow();
                follow.fetch(remote, &[&self.base])?;
                follow.tracked(remote, &self.base)
            }
        }
    }

    /// Moves the base branch forward.
    fn advance(&self, store: &Store, from: Digest, to: Digest) -> Result<BranchMoved, Error> {
        let Some(remote) = &self.remote else {
            return store.work_trees().advance(&self.base, from, to);
        };
        let refs = store.remote_refs();
        let place = refs.place(remote)?;
        let branches = RemoteBranches::new(refs, &place);
        let moved = branches.push(&format!("refs/heads/{}", self.base), to)?;
        Ok(match moved {
            None => BranchMoved::Moved,
            Some(_) => BranchMoved::Overtaken,
        })
    }

    /// The base branch, as git names it in the work tree of the task.
    fn base_name(&self) -> String {
        match &self.remote {
            Some(remote) => format!("{remote}/{}", self.base),
            None => self.base.clone(),
        }
    }

    /// Why the branch cannot be joined with the base branch.
    fn conflict(&self, files: &[String]) -> String {
        format!(
            "it conflicts with {} in {}: {}, resolve the conflict and commit",
            self.base,
            enumeration(files, 3),
            self.how_to_merge()
        )
    }

    /// How the base branch is merged in the work tree of the task.
    fn how_to_merge(&self) -> String {
        match self.kind {
            WorkTreeKind::WorkTree => format!("run `git merge {}`", self.base_name()),
            WorkTreeKind::Clone => format!("run `git fetch` and `git merge origin/{}`", self.base),
        }
    }
}

/// A work tree in which branches are joined. Dropping it removes it.
struct MergeTree<'s> {
    git: WorkTrees<'s>,
    path: PathBuf,
}

impl<'s> MergeTree<'s> {
    /// The place of such a work tree, beside that of the task. Returns an error if what a killed process has left there
    /// cannot be removed.
    fn of(git: WorkTrees<'s>, request: &LandRequest) -> Result<Self, Error> {
        let name = request.tree.file_name().unwrap_or_default();
        let name = format!("{}.merged", name.to_string_lossy());
        let path = request.tree.with_file_name(name);
        if path.exists() {
            git.remove(&path, true)?;
        }
        Ok(Self { git, path })
    }

    /// Makes it, unless it is there, with the files of a commit; what is there was left by a rebase, with the same files.
    fn show(&self, commit: Digest) -> Result<(), Error> {
        if self.path.exists() {
            return Ok(());
        }
        // One whose directory is gone would be in the way.
        self.git.prune()?;
        self.git.add_detached(&self.path, commit)
    }
}

impl Drop for MergeTree<'_> {
    fn drop(&mut self) {
        if self.path.exists()
            && let Err(error) = self.git.remove(&self.path, true)
        {
            tracing::warn!(error = error.logged(), "cannot remove a work tree");
        }
    }
}

/// Verifies what is in a work tree by the verifications of the project. Returns `None` if all passed.
fn verify(
    tree: &MergeTree<'_>,
    request: &LandRequest,
    stop: &StopFlag,
) -> Result<Option<BranchOutcome>, Error> {
    let log = request.log.display();
    Ok(match verify_in(&tree.path, request, stop)? {
        Some(0) => None,
        Some(1) => Some(BranchOutcome::Unfit(format!(
            "merged with {}, a verification fails ({log}): {} and mend it",
            request.base,
            request.how_to_merge()
        ))),
        Some(code) => Some(BranchOutcome::Later(format!(
            "what the merge gives cannot be verified: `orch verify` ended with {code} ({log})"
        ))),
        None => Some(stopped()),
    })
}

/// The exit code of `orch verify` in a work tree; `None` if it was stopped.
fn verify_in(path: &Path, request: &LandRequest, stop: &StopFlag) -> Result<Option<i32>, Error> {
    let log = File::options().create(true).append(true).open(&request.log);
    let log = log.map_err(|source| io_error(&request.log, source))?;
    let mut arguments: Vec<OsString> = vec!["verify".into()];
    if request.trust {
        arguments.push("--trust-once".into());
    }
    let fail = |source| io_error(path, source);
    let mut process = SideProcess::orch(&arguments, path, &log).map_err(fail)?;
    let mut is_asked = false;
    loop {
        if let Some(code) = process.ended().map_err(fail)? {
            return Ok(if is_asked { None } else { Some(code) });
        }
        if stop.is_set() && !is_asked {
            process.interrupt();
            is_asked = true;
        }
        sleep(TICK);
    }
}

/// Pushes the branch of a task.
fn push(store: &Store, request: &LandRequest) -> Result<BranchOutcome, Error> {
    let git = store.work_trees();
    let named = match &request.remote {
        Some(remote) => Some(remote.clone()),
        None => git.remote()?,
    };
    let Some(remote) = named else {
        return Ok(BranchOutcome::Later(
            "there is no remote to push its branch to".to_owned(),
        ));
    };
    let Some(tip) = git.tip(&request.branch)? else {
        return Ok(BranchOutcome::Later("its branch is gone".to_owned()));
    };
    let upstream = Upstream {
        branch: format!("refs/heads/{}", request.branch),
        remote,
    };
    let place = format!("{}/{}", upstream.remote, request.branch);
    Ok(match store.pushes().push(&upstream, tip)? {
        PushOutcome::Pushed => {
            let described =
                command(&["orch", "pr", request.task.as_str(), "--at", &request.branch]);
            BranchOutcome::Pushed(format!(
                "{place}: open a pull request into {}; {described} describes it",
                request.base
            ))
        }
        PushOutcome::Overtaken(_) => BranchOutcome::Later(format!("{place} has other commits")),
        PushOutcome::Refused(why) => {
            BranchOutcome::Later(format!("{place} refuses the push: {why}"))
        }
    })
}

/// Reopens a task in its work tree, as the caller. Returns an error if the caller may not, or it cannot be recorded.
pub(super) fn reopen(writer: &Writer<'_>, row: &ParallelTask, why: &str) -> Result<(), Error> {
    let environment = writer.workspace.environment.elsewhere();
    let workspace = Workspace::open(&row.tree, environment)?;
    let task = workspace.finder().task(row.task.as_str())?;
    let caller: &Caller = writer.caller;
    let order = Order::Reopen {
        to: None,
        reason: why.to_owned(),
    };
    let there = Writer::new(&workspace, caller);
    there.orders().give(&task, &order, false).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_that_are_overtaken_again_and_again_make_room_for_one_another() {
        let short = Duration::from_millis(20);
        let verified = Duration::from_secs(40);
        let pauses = [
            (0, short, 100),
            (1, short, 200),
            (3, short, 800),
            (29, short, 1_600),
            (0, verified, 80_000),
            (2, verified, 320_000),
            (29, verified, 600_000),
        ];
        for (overtaken, tried, most) in pauses {
            let found = pause(overtaken, tried);
            assert_eq!(found.as_millis(), most, "{overtaken} {tried:?}");
        }
    }
}
