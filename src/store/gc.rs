//! git's lock for `git gc`, held by this process while a new commit has objects that no reference leads to.
//!
//! `git gc --prune=now` deletes such objects, and may begin and end between two looks at whether it is at work. It refuses
//! to begin while `gc.pid` names a process that lives. git locks that file (`gc.pid.lock`), reads it, and replaces it. So
//! this process creates the file and then waits until nobody locks it: either it sees the lock, or git sees the file.
//!
//! The kernel lock on our file tells other `orch` processes, such as one in a linked work tree, whether its owner lives.

use super::durable::read_regular;
use super::vet::is_git;
use super::{Error, Store};
use crate::scan::{Directory, io_error, open_regular};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

const NAME: &str = "gc.pid";
/// The third word of our file, which git does not read.
const OWNER: &str = "orch";
/// git's lock of that file, which it holds for a moment.
const LOCK: &str = "gc.pid.lock";
/// For how many milliseconds git may hold it. One that stays is left of a killed git, and keeps `git gc` from beginning.
const MOMENT: u32 = 200;

/// For how long the file is believed if it names another host, such as one outside of a container: as long as git does.
const FOREIGN: Duration = Duration::from_secs(12 * 60 * 60);

/// Keeps `git gc` from beginning. Dropping it permits that again.
pub(super) struct GcLock {
    directory: PathBuf,
    file: File,
}

impl Store {
    /// Waits, by default five seconds, while a `git gc` works. Returns an error of
    /// [`Class::Busy`](crate::base::Class) if it still does.
    pub(super) fn wait_for_gc(&self) -> Result<(), Error> {
        let mut wait = self.patience(Duration::from_secs(5));
        while let Some(holder) = self.collecting() {
            if !wait.again() {
                return Err(gc_is_busy(&holder));
            }
        }
        Ok(())
    }

    /// Takes the lock. Waits for it as [`Self::wait_for_gc`] does, and returns the same error.
    pub(super) fn lock_gc(&self) -> Result<GcLock, Error> {
        let mut wait = self.patience(Duration::from_secs(5));
        let mut holder = None;
        loop {
            match GcLock::create(self.repo.commondir()) {
                Ok(created) if created.is_alone() => return Ok(created),
                // Taken over by a `git gc` that had read the file before.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => holder = self.collecting(),
                Err(error) => return Err(io_error(&self.repo.commondir().join(NAME), error)),
            }
            if !wait.again() {
                return Err(gc_is_busy(holder.as_deref().unwrap_or("`git gc` is at work")));
            }
        }
    }

    /// The process that holds the lock, in words. What a killed process left is removed.
    fn collecting(&self) -> Option<String> {
        let path = self.repo.commondir().join(NAME);
        let text = read_regular(&path)?;
        let text = String::from_utf8_lossy(&text);
        let mut words = text.split_whitespace();
        let (process, host, owner) = (words.next().unwrap_or_default(), words.next(), words.next());
        let id = process.parse::<u32>().ok();
        if id.is_some_and(|id| is_git(&Path::new("/proc").join(format!("{id}")))) {
            return Some(format!("`git gc` (process {process}) is at work"));
        }
        let written = path.symlink_metadata().and_then(|metadata| metadata.modified()).ok()?;
        let is_young = written.elapsed().is_ok_and(|age| age < FOREIGN);
        let is_believed = id.is_some() && is_young && owner != Some(OWNER);
        if let Some(host) = host.filter(|host| is_believed && *host != own_host()) {
            return Some(format!(
                "`git gc` on `{host}` may be at work, as {} says (remove it if none is)",
                path.display()
            ));
        }
        match open_regular(&path).ok().flatten().map(|file| file.try_lock()) {
            Some(Err(TryLockError::WouldBlock)) => {
                Some(format!("another orch (process {process}) is committing"))
            }
            _ => {
                // git replaces it, too.
                let _ = fs::remove_file(&path);
                None
            }
        }
    }
}

impl GcLock {
    fn create(directory: &Path) -> io::Result<Self> {
        let mut file = Directory::open(directory, directory)?.create_new(NAME)?;
        let written = file.try_lock().map_err(io::Error::from).and_then(|()| {
            file.write_all(format!("{} {} {OWNER}\n", std::process::id(), own_host()).as_bytes())
        });
        let lock = Self { directory: directory.to_owned(), file };
        written.map(|()| lock)
    }

    /// Waits until no `git gc` can have read the file before this process created it. Returns whether it is still ours.
    fn is_alone(&self) -> bool {
        for _ in 0..MOMENT {
            if self.directory.join(LOCK).symlink_metadata().is_err() {
                break;
            }
            sleep(Duration::from_millis(1));
        }
        self.is_held()
    }

    /// Returns an error of [`Class::Busy`](crate::base::Class) if a `git gc` has taken the lock, which it does with
    /// `--force`.
    pub(super) fn require(&self) -> Result<(), Error> {
        if self.is_held() { Ok(()) } else { Err(gc_is_busy("`git gc` is at work")) }
    }

    fn is_held(&self) -> bool {
        let place = |metadata: io::Result<fs::Metadata>| metadata.map(|at| (at.dev(), at.ino())).ok();
        let own = place(self.file.metadata());
        own.is_some() && own == place(self.directory.join(NAME).symlink_metadata())
    }
}

impl Drop for GcLock {
    fn drop(&mut self) {
        if self.is_held() {
            // One that stays names a process that is dead soon.
            let _ = fs::remove_file(self.directory.join(NAME));
        }
    }
}

fn own_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn gc_is_busy(holder: &str) -> Error {
    Error::busy(format!("{holder}, and `git gc` deletes objects that no reference leads to yet"))
}
