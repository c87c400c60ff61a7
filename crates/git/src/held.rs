//! What holds the locks of the repository, and what a killed process left.

use super::gc::{GcState, NAME as GC_FILE};
use super::{Error, Transactions};
use orch_base::{Code, Diagnostic, Hint};
use orch_files::{io_error, open_regular, writable};
use std::fs::{self, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

impl Transactions<'_> {
    /// A finding for each lock of git that exists, for a `git gc` that works, for the lock among `orch` processes if
    /// one holds it, for a commit that a killed process left unfinished, and for what else lets no order write. Returns
    /// an error if that cannot be determined. Writes nothing.
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
                found.push(
                    unfinished.hint(
                        Hint::run(&["orch", "doctor", "--fix"])
                            .text("; any other command of orch completes it, too"),
                    ),
                );
            }
            None => {}
        }
        if let GcState::Collecting(who) = self.gc_state() {
            found.push(Diagnostic::note(Code::Busy, who));
        }
        found.extend(self.broken_journals()?);
        found.extend(self.obstacles());
        let head = self.refs.head()?;
        let branch = head.branch;
        let shared = ["packed-refs", "config", "gc.pid"]
            .map(str::to_owned)
            .into_iter()
            .chain(branch);
        let own =
            ["index", "HEAD"].map(|name| self.objects.repo.path().join(format!("{name}.lock")));
        let locks = own
            .into_iter()
            .chain(shared.map(|name| self.objects.repo.commondir().join(format!("{name}.lock"))));
        for lock in locks.filter(|lock| lock.symlink_metadata().is_ok()) {
            let is_ours = lock == self.layout.locks().index_lock()
                && self.layout.locks().has_our_index_lock()
                || lock == self.layout.locks().head_lock()
                    && self.layout.locks().has_our_head_lock();
            if is_ours {
                continue;
            }
            found.push(self.layout.lock_is_busy(&lock).into_warning());
        }
        Ok(found)
    }

    /// A finding for everything else that lets no order write: a directory in place of a file, a place that cannot
    /// be written, a full disk.
    fn obstacles(&self) -> Vec<Diagnostic> {
        let own = self.objects.repo.path();
        let common = self.objects.repo.commondir();
        let files = OWN_FILES
            .iter()
            .map(|name| own.join("orch").join(name))
            .chain([common.join(GC_FILE)]);
        let mut found = Vec::new();
        for file in files.filter(|file| file.symlink_metadata().is_ok_and(|there| there.is_dir())) {
            let message = format!(
                "{} is a directory, so no order can be recorded",
                file.display()
            );
            let hint = Hint::run(&["rm", "-r", &file.to_string_lossy()]);
            found.push(Diagnostic::warning(Code::NotAFile, message).hint(hint));
        }
        let places = [
            own.to_owned(),
            own.join("orch"),
            common.join("objects"),
            common.join("refs/heads"),
        ];
        for place in places
            .iter()
            .map(PathBuf::as_path)
            .chain([self.layout.root])
            .filter(|place| place.is_dir())
        {
            if let Err(source) = writable(place) {
                found.push(io_error(place, source).into_warning());
                // The others are likely on the same disk.
                break;
            }
        }
        found
    }

    /// Who holds the lock among `orch` processes: `None` if nobody does, and no process if the system does not tell.
    fn holder(&self) -> Result<Option<Option<u32>>, Error> {
        let path = self.layout.own("lock");
        let fail = |source| io_error(&path, source);
        let file = match open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened
                .map_err(fail)?
                .ok_or_else(|| fail(io::Error::other("it is not a regular file")))?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(process_with_lock(&path))),
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
    }
}

/// The files in `.git/orch` that an order writes, and replaces whatever file is there.
const OWN_FILES: [&str; 3] = ["index.lock", "index.next", GC_FILE];

/// The process that holds a lock on a file, according to `/proc/locks`; see proc(5).
fn process_with_lock(path: &Path) -> Option<u32> {
    let inode = format!(":{}", fs::metadata(path).ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let process = |line: &str| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| *word != "WRITE")
            .skip(1);
        let process = words.next()?;
        let file = words.next()?;
        file.ends_with(&inode).then(|| process.parse().ok())?
    };
    locks.lines().find_map(process)
}
