//! References in a reftable, which git reads and moves.
//!
//! Every change of a reference replaces `tables.list`. It lists tables, whose names are never used again, so
//! what git said holds while this file has the same content: a command that moves nothing asks git once.

use super::error::{GitFault, table_fault};
use super::git::{finish_git, git_id};
use super::git_processes::git_works_in;
use super::lock_wait::LockWait;
use super::{Error, Head, Refs};
use git2::Repository;
use orch_base::{Code, Digest};
use std::cell::RefCell;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::time::{Duration, SystemTime};

const LIST: &str = "tables.list";
const COMMAND: &str = "update-ref";

/// How long a lock must not change to be that of a dead process. git holds it for some milliseconds.
const PATIENCE: Duration = Duration::from_millis(500);

/// A reference that is about to move: a branch, or HEAD if it is detached.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefMove<'a> {
    /// The full name.
    pub name: &'a str,
    /// The commit that it must be at; `None` if it must not exist.
    pub from: Option<Digest>,
    pub to: Digest,
    /// The message for the reflog.
    pub message: &'a str,
}

/// The references of a repository with a reftable.
pub(super) struct RefTables {
    /// Where the tables are: those of this work tree first, then those that all work trees share.
    directories: Vec<PathBuf>,
    /// What git said, and the lists of tables from which it said so.
    known: RefCell<Option<(Vec<Vec<u8>>, RootRefs)>>,
}

/// The references outside `refs/` that matter here.
#[derive(Debug, Clone)]
pub(super) struct RootRefs {
    pub head: Head,
    /// Whether a cherry-pick is unfinished.
    pub is_picking: bool,
    /// Whether a revert is unfinished.
    pub is_reverting: bool,
}

impl RefTables {
    pub(super) fn of(repo: &Repository) -> Self {
        let mut directories = vec![
            repo.path().join("reftable"),
            repo.commondir().join("reftable"),
        ];
        directories.dedup();
        Self {
            directories,
            known: RefCell::default(),
        }
    }

    /// The directories that contain the tables.
    pub(super) fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// The list that git replaces whenever HEAD of this work tree moves.
    pub(super) fn list(&self) -> PathBuf {
        self.directories[0].join(LIST)
    }

    /// Whether a process holds git's lock of a list.
    pub(super) fn are_locked(&self) -> bool {
        let list = format!("{LIST}.lock");
        self.directories
            .iter()
            .any(|directory| directory.join(&list).symlink_metadata().is_ok())
    }

    /// The lists and the tables that they name.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let of = |directory: &PathBuf| {
            let list = fs::read_to_string(directory.join(LIST)).unwrap_or_default();
            let tables: Vec<PathBuf> = list.lines().map(|table| directory.join(table)).collect();
            [directory.join(LIST)].into_iter().chain(tables)
        };
        self.directories.iter().flat_map(of).collect()
    }

    /// HEAD, and what marks an unfinished operation. Returns an error if git cannot read them.
    pub(super) fn root_refs(&self, refs: Refs<'_>) -> Result<RootRefs, Error> {
        // The lists are read first, so what git reads is at least as new.
        let lists: Option<Vec<Vec<u8>>> = self
            .directories
            .iter()
            .map(|directory| fs::read(directory.join(LIST)).ok())
            .collect();
        let known = self.known.borrow().clone();
        if let Some((_, roots)) = known.filter(|(known, _)| Some(known) == lists.as_ref()) {
            return Ok(roots);
        }
        let roots = read_roots(refs)?;
        *self.known.borrow_mut() = lists.map(|lists| (lists, roots.clone()));
        Ok(roots)
    }

    /// The object that a revision names; `None` if there is none. Returns an error if git fails.
    pub(super) fn parse(&self, refs: Refs<'_>, revision: &str) -> Result<Option<Digest>, Error> {
        let named = refs.git.git(
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                revision,
            ],
            &[],
        );
        match named {
            Ok(answer) => git_id(&answer).map(Some),
            Err(GitFault::Refused { message, .. }) if message.is_empty() => Ok(None),
            Err(fault) => Err(table_fault(fault)),
        }
    }

    /// The references below a prefix, each with the object that it points to. Returns an error if git fails.
    pub(super) fn below(
        &self,
        refs: Refs<'_>,
        prefix: &str,
    ) -> Result<Vec<(String, Digest)>, Error> {
        let listed = refs.git.git(
            &["for-each-ref", "--format=%(objectname) %(refname)", prefix],
            &[],
        );
        let listed = listed.map_err(table_fault)?;
        let row = |line: &str| {
            let (object, name) = line.split_once(' ')?;
            Some((name.to_owned(), Digest::parse(object)?))
        };
        Ok(String::from_utf8_lossy(&listed)
            .lines()
            .filter_map(row)
            .collect())
    }

    /// Waits until no process holds a lock of the tables, and removes one that its dead owner left: it is not
    /// older than `since`, does not change, and no git process works in the repository. Returns an error of
    /// [`Class::Busy`](orch_base::Class) if a process may still hold one.
    pub(super) fn clear_locks(
        &self,
        refs: Refs<'_>,
        since: Option<SystemTime>,
    ) -> Result<(), Error> {
        let written = |lock: &Path| {
            lock.symlink_metadata()
                .and_then(|metadata| metadata.modified())
                .ok()
        };
        for lock in self
            .directories
            .iter()
            .map(|directory| directory.join("tables.list.lock"))
        {
            let Some(first) = written(&lock) else {
                continue;
            };
            let mut wait = LockWait::at_most(PATIENCE);
            while written(&lock).is_some() && wait.again() {}
            let Some(last) = written(&lock) else { continue };
            let places = [
                refs.layout.root,
                refs.objects.repo.path(),
                refs.objects.repo.commondir(),
            ];
            if first != last || since.is_none_or(|since| last < since) || git_works_in(&places) {
                return Err(Error::busy(format!(
                    "another git process holds {}",
                    lock.display()
                )));
            }
            tracing::warn!("removing the lock of the references that a killed process left");
            // Another process may have removed it.
            let _ = fs::remove_file(&lock);
        }
        Ok(())
    }
}

fn read_roots(refs: Refs<'_>) -> Result<RootRefs, Error> {
    let format = "--format=%(refname) %(objectname) %(symref)";
    let names = ["HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
    let arguments = [&["for-each-ref", "--include-root-refs", format], &names[..]].concat();
    let listed = refs.git.git(&arguments, &[]).map_err(table_fault)?;
    let listed = String::from_utf8_lossy(&listed);
    let root = |wanted: &str| {
        let mut rows = listed.lines().filter_map(|line| line.split_once(' '));
        rows.find(|(name, _)| *name == wanted)
            .and_then(|(_, rest)| rest.split_once(' '))
    };
    let head = match root("HEAD") {
        Some((commit, branch)) => {
            let branch = Some(branch.to_owned()).filter(|branch| !branch.is_empty());
            Head {
                branch,
                commit: Some(git_id(commit.as_bytes())?),
            }
        }
        None => Head {
            branch: Some(unborn(refs)?),
            commit: None,
        },
    };
    Ok(RootRefs {
        head,
        is_picking: root("CHERRY_PICK_HEAD").is_some(),
        is_reverting: root("REVERT_HEAD").is_some(),
    })
}

/// The branch of a HEAD that git lists no commit for. Returns an error if the branch exists all the same.
fn unborn(refs: Refs<'_>) -> Result<String, Error> {
    let unreadable =
        |name: &str| Error::new(Code::Git, format!("git cannot read the commit of {name}"));
    let name = match refs.git.git(&["symbolic-ref", "--quiet", "HEAD"], &[]) {
        Ok(answer) => String::from_utf8_lossy(answer.trim_ascii_end()).into_owned(),
        Err(GitFault::Refused { message, .. }) if message.is_empty() => {
            return Err(unreadable("HEAD"));
        }
        Err(fault) => return Err(table_fault(fault)),
    };
    match refs.git.git(
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ],
        &[],
    ) {
        Ok(_) => Err(unreadable(&name)),
        Err(GitFault::Refused { message, .. }) if message.is_empty() => Ok(name),
        Err(fault) => Err(table_fault(fault)),
    }
}

/// A git process that holds the lock of the tables and is ready to move a reference. If it is dropped or this
/// process dies, it releases the lock and moves nothing.
pub(super) struct TableLock<'s> {
    refs: Refs<'s>,
    process: Option<Child>,
    answers: BufReader<ChildStdout>,
    name: String,
    to: Digest,
}

impl<'s> TableLock<'s> {
    /// Locks a reference; `None` if another process holds the lock. Returns [`Error::moved`] if it is not at
    /// the expected commit, and an error if git fails.
    pub(super) fn take(refs: Refs<'s>, moved: RefMove<'_>) -> Result<Option<Self>, Error> {
        let RefMove {
            name,
            from,
            to,
            message,
        } = moved;
        // No hooks: `orch` runs none when it commits.
        let arguments = [
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "hook.reference-transaction.enabled=false",
            COMMAND,
            "-m",
            message,
            "--stdin",
        ];
        let mut process = refs.git.start_git(&arguments).map_err(table_fault)?;
        let Some(answers) = process.stdout.take() else {
            return Ok(None);
        };
        let mut lock = Self {
            refs,
            process: Some(process),
            answers: BufReader::new(answers),
            name: name.to_owned(),
            to,
        };
        let old = from.unwrap_or_else(|| refs.objects.format().null());
        // HEAD is named only if it is detached, and must not lead to a branch by now.
        if lock.says(
            &format!("start\noption no-deref\nupdate {name} {to} {old}\nprepare\n"),
            "prepare: ok",
        ) {
            return Ok(Some(lock));
        }
        let fault = lock.end();
        if refs.target(name)? != from {
            return Err(Error::moved());
        }
        match fault {
            Err(GitFault::Refused { message, .. })
                if message.contains("cannot lock references") =>
            {
                Ok(None)
            }
            Err(fault) => Err(table_fault(fault)),
            // Without an answer and without a fault: someone ended it.
            Ok(()) => Ok(None),
        }
    }

    /// Moves the reference and releases the lock. Returns an error if it has not moved.
    pub(super) fn commit(mut self) -> Result<(), Error> {
        let is_done = self.says("commit\n", "commit: ok");
        let ended = self.end();
        // The reference may have moved although git failed afterwards, or was killed.
        if is_done || self.refs.target(&self.name)? == Some(self.to) {
            return Ok(());
        }
        Err(ended.map_or_else(table_fault, |()| Error::moved()))
    }

    /// Sends lines to git, and waits for an answer. Returns false if git ends without it.
    fn says(&mut self, lines: &str, answer: &str) -> bool {
        let stdin = self
            .process
            .as_mut()
            .and_then(|process| process.stdin.as_mut());
        let sent = stdin.is_some_and(|stdin| {
            stdin
                .write_all(lines.as_bytes())
                .and_then(|()| stdin.flush())
                .is_ok()
        });
        let mut said = (&mut self.answers).lines().map_while(Result::ok);
        sent && said.any(|line| line == answer)
    }

    /// Ends the input of the process, upon which it gives up what it has not committed, and waits for it.
    fn end(&mut self) -> Result<(), GitFault> {
        match self.process.take() {
            Some(process) => finish_git(COMMAND, process, &[]).map(drop),
            None => Ok(()),
        }
    }
}

impl Drop for TableLock<'_> {
    fn drop(&mut self) {
        // The process may have failed already, which changes nothing.
        let _ = self.end();
    }
}
