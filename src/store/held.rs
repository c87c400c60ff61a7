//! What holds the locks of the repository, and what a killed process left.

use super::gc::GcState;
use super::{Error, Store};
use crate::base::{Code, Diagnostic};
use crate::scan::{io_error, open_regular};
use std::fs::{self, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

impl Store {
    /// A finding for each lock of git that exists, for a `git gc` that works, for the lock among `orch` processes if one
    /// holds it, and for a commit that a killed process left unfinished. Returns an error if that cannot be told.
    /// Writes nothing.
    pub fn locks(&self) -> Result<Vec<Diagnostic>, Error> {
        let holder = self.holder()?;
        let mut found = Vec::new();
        match holder {
            Some(process) => {
                let who = process.map_or_else(String::new, |process| format!(" {process}"));
                let message = format!("the orch process{who} is committing in this repository");
                found.push(Diagnostic::note(Code::Busy, message));
            }
            None if self.has_leftovers()? => {
                let message = "a killed process left a commit of orch unfinished";
                let unfinished = Diagnostic::warning(Code::Unfinished, message);
                found.push(unfinished.hint("orch doctor --fix; any other command of orch completes it, too"));
            }
            None => {}
        }
        if let GcState::Collecting(who) = self.gc_state() {
            found.push(Diagnostic::note(Code::Busy, who));
        }
        found.extend(self.broken_journals()?);
        let head = self.head()?;
        let branch = head.branch;
        let shared = ["packed-refs", "config", "gc.pid"].map(str::to_owned).into_iter().chain(branch);
        let own = ["index", "HEAD"].map(|name| self.repo.path().join(format!("{name}.lock")));
        let locks =
            own.into_iter().chain(shared.map(|name| self.repo.commondir().join(format!("{name}.lock"))));
        for lock in locks.filter(|lock| lock.symlink_metadata().is_ok()) {
            if lock == self.index_lock() && self.has_our_index_lock() {
                continue;
            }
            found.push(self.lock_is_busy(&lock).into_warning());
        }
        Ok(found)
    }

    /// Who holds the lock among `orch` processes: `None` if nobody does, and no process if the system does not tell.
    fn holder(&self) -> Result<Option<Option<u32>>, Error> {
        let path = self.own("lock");
        let fail = |source| io_error(&path, source);
        let file = match open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => {
                opened.map_err(fail)?.ok_or_else(|| fail(io::Error::other("it is not a regular file")))?
            }
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(process_with_lock(&path))),
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
    }
}

/// The process that holds a lock on a file, according to `/proc/locks`; see proc(5).
fn process_with_lock(path: &Path) -> Option<u32> {
    let inode = format!(":{}", fs::metadata(path).ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let process = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "WRITE").skip(1);
        let (process, file) = (words.next()?, words.next()?);
        file.ends_with(&inode).then(|| process.parse().ok())?
    };
    locks.lines().find_map(process)
}
