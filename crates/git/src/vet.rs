//! Checks whether the repository allows a commit now.

use super::git_processes::git_works_in;
use super::listing::ListingEntry;
use super::sign::Person;
use super::{Error, Head, Index, Layout, Transactions};
use orch_base::{Code, Hint};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From which age a lock of git may be one that a dead process left behind.
const ABANDONED: Duration = Duration::from_secs(60);

/// How the names of the directories begin in which jj stores the sides of a conflict.
const SIDE_OF_JJ: &str = ".jjconflict-";

impl Transactions<'_> {
    /// Returns an error if no step can be committed here now, whatever the task: there is no work tree, what
    /// git or the settings forbid, or git does not know who commits.
    pub fn require_committable(&self) -> Result<(), Error> {
        self.layout.refuse_bare()?;
        self.vet(&self.refs.head()?)?;
        for person in [Person::Author, Person::Committer] {
            self.identity.person(person)?;
        }
        Ok(())
    }

    /// Returns an error if a git operation is unfinished, HEAD is detached or the branch is protected, unless
    /// the options permit it.
    pub(super) fn vet(&self, head: &Head) -> Result<(), Error> {
        if let Some(operation) = self.refs.operation()? {
            let why = format!("{} is in progress", operation.what);
            return Err(Error::new(Code::OperationOpen, why).with_hint(operation.hint()));
        }
        self.refuse_conflict_of_jj(head)?;
        match &head.branch {
            None if !self.options.detached_head && self.layout.root.join(".jj").is_dir() => {
                let why =
                    "HEAD is detached, as jj leaves it, so a commit would belong to no branch";
                let hint = "set `[git] detached_head = true` in orch.toml; jj takes up what orch commits with its \
                            next command";
                Err(Error::new(Code::DetachedHead, why).with_hint(hint))
            }
            None if !self.options.detached_head => {
                let why = "HEAD is detached, so a commit would belong to no branch";
                let hint = Hint::run(&["git", "switch", "BRANCH"])
                    .text(", or set `[git] detached_head = true` in orch.toml");
                Err(Error::new(Code::DetachedHead, why).with_hint(hint))
            }
            Some(branch) => {
                let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
                if self.options.protected.matches(name) {
                    let why = format!("branch `{name}` is protected by orch.toml");
                    let hint = Hint::from("switch to another branch: ")
                        .command(&["git", "switch", "-c", "NAME"]);
                    return Err(Error::new(Code::BranchProtected, why).with_hint(hint));
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns an error if HEAD is a commit with conflicts of jj, which stores their sides as directories. The conflicts
    /// would be lost in a commit on top of it.
    fn refuse_conflict_of_jj(&self, head: &Head) -> Result<(), Error> {
        let Some(commit) = head.commit else {
            return Ok(());
        };
        let tree = self
            .objects
            .find_commit(self.objects.oid(commit)?)?
            .tree_id();
        let root = self.objects.listing(tree)?;
        let is_side = |entry: ListingEntry<'_>| {
            entry.is_tree()
                && entry
                    .text()
                    .is_some_and(|name| name.starts_with(SIDE_OF_JJ))
        };
        if !root.iter().any(is_side) {
            return Ok(());
        }
        let why = "the commit of HEAD has conflicts of jj, which a commit of git would lose";
        let hint = Hint::run(&["jj", "resolve"]).then(&["jj", "new"]);
        Err(Error::new(Code::OperationOpen, why).with_hint(hint))
    }

    /// Whether the message of a commit may be open in an editor: it was written after HEAD last moved.
    pub(super) fn message_is_open(&self) -> bool {
        let written = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified());
        match (
            written(self.objects.repo.path().join("COMMIT_EDITMSG")),
            written(self.refs.head_log()),
        ) {
            (Ok(message), Ok(moved)) => message >= moved,
            (message, _) => message.is_ok(),
        }
    }
}

impl Index<'_> {
    /// Waits, by default half a second, for another process, such as a checkout or a rebase, to release the
    /// index lock.
    pub(super) fn wait_for_index(&self) -> Result<(), Error> {
        let mut wait = self.patience(Duration::from_millis(500));
        loop {
            if !self.index_is_locked() {
                return Ok(());
            }
            if !wait.again() {
                return Err(self.index_is_busy());
            }
        }
    }

    /// The lock of the index is taken.
    pub(super) fn index_is_busy(&self) -> Error {
        self.layout.lock_is_busy(&self.layout.locks().index_lock())
    }

    pub(super) fn index_is_locked(&self) -> bool {
        self.layout.locks().index_lock().symlink_metadata().is_ok()
    }
}

impl Layout<'_> {
    /// This lock file of git exists. If no git process works in this repository, its age tells whether its
    /// process is dead, and the hint how to remove it.
    pub(super) fn lock_is_busy(&self, lock: &Path) -> Error {
        let written = lock
            .symlink_metadata()
            .and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        let Some(age) = age.filter(|_| {
            !git_works_in(&[
                self.root,
                self.objects.repo.path(),
                self.objects.repo.commondir(),
            ])
        }) else {
            return Error::busy(format!("another git process holds {}", lock.display()));
        };
        let shown = lock.display();
        let since = spoken(age);
        let remove = ["rm", &lock.to_string_lossy()];
        let (message, hint) = if age >= ABANDONED {
            (
                format!("{shown} was left behind {since} ago: no git process is running here"),
                Hint::from("remove it: ").command(&remove),
            )
        } else {
            // Its process may be one that uses git as a library.
            let message =
                format!("{shown} has been held for {since}, and no git process is running here");
            (
                message,
                Hint::from("try again; if it stays, remove it: ").command(&remove),
            )
        };
        Error::new(Code::Busy, message).with_hint(hint)
    }
}

/// An age in its largest whole unit.
fn spoken(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
