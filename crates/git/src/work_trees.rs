//! Work trees in which tasks are worked on side by side, and what becomes of their branches.
//!
//! A merge is computed without a work tree and the branch moves by compare-and-swap, so that nothing of a user's is touched.
//! Only where the branch is checked out, git moves it there itself, and only if nothing in that work tree is uncommitted.

use super::environment::settings;
use super::error::{GitFault, libgit2};
use super::git::{GitAnswer, GitProgram};
use super::git_processes::processes_in;
use super::history::History;
use super::known_work_trees::{KnownWorkTree, git_directory, known_work_trees, may_be_gone};
use super::lock_wait::{LockWait, PATIENCE};
use super::references::Refs;
use orch_base::{Code, Digest, Error, Hint};
use orch_files::{Directory, FileLock, io_error};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// How often git is asked while other processes remove work trees.
const TRIES: u32 = 6;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// What git says of a file that is gone.
const VANISHED: &str = "No such file or directory";

/// What a work tree holds that is in no commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncommitted {
    /// Nothing.
    Nothing,
    /// Files, of which this is the first.
    Files(String),
    /// An operation of git that has begun, such as a rebase.
    Operation(&'static str),
}

/// What came of joining two branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// The commit that has both.
    Commit(Digest),
    /// They have changed the same: the files.
    Conflict(Vec<String>),
}

/// What came of moving a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchMoved {
    /// It is there now.
    Moved,
    /// It was moved by somebody else meanwhile.
    Overtaken,
    /// It is checked out in a work tree with uncommitted changes, of which this is the first.
    CheckedOut(PathBuf, String),
    /// It is checked out in a work tree in which another command of git works now.
    Locked(PathBuf),
    /// It is checked out in a work tree in which git does not move it, and why.
    Refused(PathBuf, String),
}

/// The files in a git directory that tell of an operation that has begun.
const OPERATIONS: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// The file of the lock under which branches move that are checked out.
const MOVES: &str = "moves.lock";
/// The file of the lock of the process that joins a branch with the base branch.
const JOINS: &str = "joins.lock";

/// The settings of a repository that a clone needs to commit as it does.
const IDENTITY: [&str; 7] = [
    "user.name",
    "user.email",
    "user.signingkey",
    "commit.gpgsign",
    "gpg.format",
    "gpg.program",
    "gpg.ssh.allowedSignersFile",
];

/// Makes, examines and removes work trees, and joins their branches with others.
#[derive(Clone, Copy)]
pub struct WorkTrees<'s> {
    pub(super) git: GitProgram<'s>,
    pub(super) refs: Refs<'s>,
    pub(super) history: History<'s>,
}

impl WorkTrees<'_> {
    /// The work trees of the repository that exist, the main one first. Returns an error if git cannot list them.
    pub fn list(&self) -> Result<Vec<KnownWorkTree>, Error> {
        let repo = &self.git.objects.repo;
        let settings = settings(repo).map_err(libgit2)?;
        let is_bare = settings.get_bool("core.bare").unwrap_or(false);
        match known_work_trees(repo.commondir(), is_bare) {
            Some(found) => Ok(found),
            None => self.list_by_git(),
        }
    }

    pub(super) fn list_by_git(&self) -> Result<Vec<KnownWorkTree>, Error> {
        let said = self.worktree(&["worktree", "list", "--porcelain", "-z"])?;
        let said = String::from_utf8_lossy(&said);
        let mut found: Vec<KnownWorkTree> = Vec::new();
        for line in said.split('\0') {
            if let Some(path) = line.strip_prefix("worktree ") {
                found.push(KnownWorkTree {
                    path: path.into(),
                    branch: None,
                });
            } else if let (Some(branch), Some(last)) =
                (line.strip_prefix("branch "), found.last_mut())
            {
                last.branch = Some(short(branch).to_owned());
            }
        }
        found.retain(|one| one.path.exists());
        Ok(found)
    }

    /// The commit of a local branch; `None` if there is none. Returns an error if git cannot read it.
    pub fn tip(&self, branch: &str) -> Result<Option<Digest>, Error> {
        self.refs.target(&full(branch))
    }

    /// The local branch that work is merged into: the one that is named, that of the remote, the first protected one, `main`,
    /// `master`, or the branch of the main work tree. Returns an error if the named one does not exist here, or there is none.
    pub fn base_branch(&self, named: Option<&str>, protected: &[String]) -> Result<String, Error> {
        if let Some(named) = named {
            if self.tip(named)?.is_some() {
                return Ok(named.to_owned());
            }
            let message =
                format!("there is no local branch `{named}`, which [git] names as the base");
            let hint = Hint::run(&["git", "branch", named, &format!("origin/{named}")]);
            return Err(Error::new(Code::UnknownRevision, message).with_hint(hint));
        }
        let mut names = Vec::new();
        let remote = self.refs.symbolic("refs/remotes/origin/HEAD")?;
        names.extend(
            remote.and_then(|name| name.strip_prefix("refs/remotes/origin/").map(str::to_owned)),
        );
        names.extend(protected.iter().cloned());
        names.extend(["main", "master"].map(str::to_owned));
        for name in names {
            // A pattern is no name.
            if !name.contains(['*', '?', '[']) && self.tip(&name)?.is_some() {
                return Ok(name);
            }
        }
        let main = self.list()?.into_iter().next();
        main.and_then(|tree| tree.branch).ok_or_else(|| {
            let message = "nothing says which branch work is merged into";
            let hint = "write `base = \"BRANCH\"` in [git] of orch.toml";
            Error::new(Code::UnknownRevision, message).with_hint(hint)
        })
    }

    /// Makes a linked work tree for a branch, which is made from a commit unless it exists. Returns an error if git refuses.
    pub fn add(&self, path: &Path, branch: &str, from: Digest) -> Result<(), Error> {
        let path = path.to_string_lossy();
        let from = from.to_string();
        let mut words = vec!["worktree", "add", "--quiet"];
        if self.tip(branch)?.is_some() {
            words.extend(["--", &path, branch]);
        } else {
            words.extend(["--no-track", "-b", branch, "--", &path, &from]);
        }
        self.worktree(&words).map(drop)
    }

    /// Makes a linked work tree at a commit, on no branch. Returns an error if git refuses.
    pub fn add_detached(&self, path: &Path, commit: Digest) -> Result<(), Error> {
        let path = path.to_string_lossy();
        let commit = commit.to_string();
        let words = [
            "worktree", "add", "--quiet", "--detach", "--", &path, &commit,
        ];
        self.worktree(&words).map(drop)
    }

    /// Makes a clone for a branch, which is made from a commit unless it exists here. It commits as this repository does.
    /// Returns an error if git refuses.
    pub fn add_clone(&self, path: &Path, branch: &str, from: Digest) -> Result<(), Error> {
        if self.tip(branch)?.is_none() {
            let from = from.to_string();
            self.git
                .git(&["branch", "--no-track", branch, &from], &[])?;
        }
        let shared = self.refs.layout.common_directory().to_string_lossy();
        let place = path.to_string_lossy();
        let words = [
            "clone", "--quiet", "--branch", branch, "--", &shared, &place,
        ];
        self.git
            .git_in(self.git.root, &words)
            .and_then(GitAnswer::good)?;
        for key in IDENTITY {
            let said = self
                .git
                .git_in(self.git.root, &["config", "--local", "--get", key])?;
            if said.is_good {
                let value = said.text();
                self.git
                    .git_in(path, &["config", key, value.trim_end()])
                    .and_then(GitAnswer::good)?;
            }
        }
        Ok(())
    }

    /// Takes over what a clone has committed on a branch, if it continues the branch here. Returns an error if it does not,
    /// or git cannot read the clone.
    pub fn take_over(&self, clone: &Path, branch: &str) -> Result<(), Error> {
        let place = clone.to_string_lossy();
        let spec = format!("{0}:{0}", full(branch));
        let words = ["fetch", "--quiet", "--no-tags", "--", &place, &spec];
        Ok(self.git.git(&words, &[]).map(drop)?)
    }

    /// Removes a linked work tree. Without `forced`, git refuses if it holds anything uncommitted. Returns an error if git
    /// refuses.
    pub fn remove(&self, path: &Path, forced: bool) -> Result<(), Error> {
        let path = path.to_string_lossy();
        let mut words = vec!["worktree", "remove"];
        if forced {
            // Twice: a killed git has left it locked.
            words.extend(["--force", "--force"]);
        }
        words.extend(["--", &path]);
        self.worktree(&words).map(drop)
    }

    /// Forgets linked work trees whose directories are gone. Returns an error if git refuses.
    pub fn prune(&self) -> Result<(), Error> {
        if !may_be_gone(self.git.objects.repo.commondir()) {
            return Ok(());
        }
        self.worktree(&["worktree", "prune"]).map(drop)
    }

    /// What `git worktree` answers. It is asked again if another process has just removed a work tree: git gives up where the
    /// files of one vanish while it reads them all.
    fn worktree(&self, words: &[&str]) -> Result<Vec<u8>, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.git.git(words, &[]) {
                Err(GitFault::Refused { message, .. })
                    if tries < TRIES && message.contains(VANISHED) =>
                {
                    sleep(PAUSE);
                }
                said => return Ok(said?),
            }
        }
    }

    /// What a work tree holds that is in no commit; `tracked` leaves files out that git does not know. Returns an error if git
    /// cannot read it.
    pub fn uncommitted(&self, path: &Path, tracked: bool) -> Result<Uncommitted, Error> {
        let directory = git_directory(path).map_err(|source| io_error(path, source))?;
        for (file, what) in OPERATIONS {
            if directory.join(file).exists() {
                return Ok(Uncommitted::Operation(what));
            }
        }
        let others = if tracked { "no" } else { "normal" };
        let others = format!("--untracked-files={others}");
        let said = self
            .git
            .git_in(path, &["status", "--porcelain", "-z", &others])?
            .good()?;
        let text = said.text();
        let first = text.split('\0').next().and_then(|line| line.get(3..));
        Ok(match first {
            Some(file) => Uncommitted::Files(file.to_owned()),
            None => Uncommitted::Nothing,
        })
    }

    /// The processes that work in a directory or below, as far as the system tells.
    #[must_use]
    pub fn processes_in(&self, path: &Path) -> Vec<u32> {
        processes_in(path)
    }

    /// The remote to which branches are pushed: the only one, or `origin`. Returns an error if git cannot list them.
    pub fn remote(&self) -> Result<Option<String>, Error> {
        let said = self.git.git(&["remote"], &[])?;
        let said = String::from_utf8_lossy(&said);
        let names: Vec<&str> = said.lines().collect();
        Ok(match names.as_slice() {
            [only] => Some((*only).to_owned()),
            several => {
                let origin = several.iter().find(|name| **name == "origin");
                origin.map(|name| (*name).to_owned())
            }
        })
    }

    /// Whether everything on a branch is on another one: its commits, or the same changes. Returns an error if git cannot
    /// read them.
    pub fn is_contained(&self, tip: Digest, base: Digest) -> Result<bool, Error> {
        if tip == base || self.history.is_ancestor(tip, base)? {
            return Ok(true);
        }
        let words = ["cherry", &base.to_string(), &tip.to_string()];
        let said = self.git.git(&words, &[])?;
        let said = String::from_utf8_lossy(&said);
        // Without any line only merges are left, which may hold changes of their own.
        Ok(!said.is_empty() && said.lines().all(|line| line.starts_with('-')))
    }

    /// The remote-tracking branch that contains a commit; `None` if there is none. Returns an error if git cannot read them.
    pub fn pushed_to(&self, tip: Digest) -> Result<Option<String>, Error> {
        let tip = tip.to_string();
        let words = [
            "for-each-ref",
            "--count=1",
            "--format=%(refname:short)",
            "--contains",
            &tip,
            "refs/remotes/",
        ];
        let said = self.git.git(&words, &[])?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        Ok(Some(said).filter(|name| !name.is_empty()))
    }

    /// Merges a branch into a commit by a merge commit with this message, without a work tree. Returns an error if git cannot
    /// merge them.
    pub fn merge(&self, base: Digest, tip: Digest, message: &str) -> Result<Joined, Error> {
        let [base, tip] = [base, tip].map(|commit| commit.to_string());
        let words = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            &base,
            &tip,
        ];
        let said = self.git.git_here(&words)?;
        let text = said.text();
        let mut parts = text.split('\0').filter(|part| !part.is_empty());
        let tree = parts.next().and_then(Digest::parse);
        let Some(tree) = tree.map(|tree| tree.to_string()) else {
            return Err(said.fault().into());
        };
        if !said.is_good {
            return Ok(Joined::Conflict(parts.map(str::to_owned).collect()));
        }
        let mut words = vec!["commit-tree"];
        let settings = settings(&self.git.objects.repo).map_err(libgit2)?;
        if settings.get_bool("commit.gpgSign").unwrap_or(false) {
            words.push("-S");
        }
        words.extend(["-p", &base, "-p", &tip, "-m", message, &tree]);
        let commit = self.git.git(&words, &[])?;
        Ok(Joined::Commit(super::git::git_id(&commit)?))
    }

    /// Puts the commits of a work tree on top of a commit. A conflict leaves them as they were.
    /// Returns an error if git cannot do it.
    pub fn rebase(&self, path: &Path, base: Digest) -> Result<Joined, Error> {
        let base = base.to_string();
        let said = self.git.git_in(path, &["rebase", "--quiet", &base])?;
        joined(self.git, path, "rebase", &said)
    }

    /// Moves a branch forward from one commit to another. Where it is checked out, its files follow, unless something there
    /// is uncommitted. Returns an error if git refuses.
    pub fn advance(&self, branch: &str, from: Digest, to: Digest) -> Result<BranchMoved, Error> {
        let name = full(branch);
        let trees = self.list()?;
        let Some(tree) = trees
            .iter()
            .find(|tree| tree.branch.as_deref() == Some(branch))
        else {
            self.refs.note_move(&name);
            let words = [
                "update-ref",
                "-m",
                "orch: merge",
                &name,
                &to.to_string(),
                &from.to_string(),
            ];
            let said = self.git.git_here(&words)?;
            return if said.is_good {
                Ok(BranchMoved::Moved)
            } else if self.tip(branch)? != Some(from) {
                Ok(BranchMoved::Overtaken)
            } else {
                Err(said.fault().into())
            };
        };
        // Two merges into one work tree would mix their files: git takes its lock for each part of one.
        let Some(lock) = self.lock_moves()? else {
            return Ok(BranchMoved::Locked(tree.path.clone()));
        };
        match self.uncommitted(&tree.path, true)? {
            Uncommitted::Nothing => {}
            Uncommitted::Files(file) => {
                return Ok(BranchMoved::CheckedOut(tree.path.clone(), file));
            }
            Uncommitted::Operation(what) => {
                return Ok(BranchMoved::CheckedOut(tree.path.clone(), what.to_owned()));
            }
        }
        let to = to.to_string();
        let words = ["merge", "--quiet", "--ff-only", &to];
        let said = self.git.git_in_under(&lock, &tree.path, &words)?;
        if said.is_good {
            Ok(BranchMoved::Moved)
        } else if self.tip(branch)? != Some(from) {
            Ok(BranchMoved::Overtaken)
        } else {
            let place = tree.path.clone();
            if said.message.contains("index.lock") {
                return Ok(BranchMoved::Locked(place));
            }
            let why: Vec<&str> = said.message.split_whitespace().collect();
            Ok(BranchMoved::Refused(place, why.join(" ")))
        }
    }
}

/// What came of a command of git that joins commits in a work tree. A conflict is undone. Returns an error if git could not
/// begin.
pub(super) fn joined(
    git: GitProgram<'_>,
    tree: &Path,
    command: &str,
    said: &GitAnswer,
) -> Result<Joined, Error> {
    if said.is_good {
        let head = git.git_in(tree, &["rev-parse", "HEAD"])?.good()?;
        return Ok(Joined::Commit(super::git::git_id(head.text().as_bytes())?));
    }
    let words = ["diff", "--name-only", "--diff-filter=U", "-z"];
    let files = git.git_in(tree, &words)?.text();
    // What has not begun cannot be aborted.
    git.git_in(tree, &[command, "--abort"])?;
    let files: Vec<String> = files
        .split('\0')
        .filter(|file| !file.is_empty())
        .map(str::to_owned)
        .collect();
    if files.is_empty() {
        return Err(said.fault().into());
    }
    Ok(Joined::Conflict(files))
}

impl WorkTrees<'_> {
    /// Takes the lock under which branches move that are checked out; `None` if others hold it for too long.
    fn lock_moves(&self) -> Result<Option<FileLock>, Error> {
        let mut wait = LockWait::at_most(PATIENCE);
        loop {
            if let Some(lock) = self.lock(MOVES)? {
                return Ok(Some(lock));
            }
            if !wait.again() {
                return Ok(None);
            }
        }
    }

    /// Takes the lock of the process of this repository that joins a branch with the base branch; `None` if another has it.
    /// Whoever has it does nothing in vain, because nothing else than a person moves the base branch meanwhile. Returns an error
    /// if the lock cannot be made.
    pub fn turn_to_join(&self) -> Result<Option<FileLock>, Error> {
        self.lock(JOINS)
    }

    /// Takes a lock of the repository; `None` if another process has it.
    fn lock(&self, name: &str) -> Result<Option<FileLock>, Error> {
        let common = self.git.objects.repo.commondir();
        let directory = common.join("orch");
        let path = directory.join(name);
        let fail = |source| io_error(&path, source);
        let made = Directory::make(common, &directory).map_err(fail)?;
        let file = made.touch(name).map_err(fail)?;
        FileLock::try_new(file).map_err(fail)
    }
}

/// The full name of a branch.
fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// The name of a branch without `refs/heads/`.
fn short(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}
