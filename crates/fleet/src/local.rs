//! The store of one repository with all its work trees: a directory in the git directory that they share.
//!
//! Each lease is a file, `TASK.json` with `%2F` for `/`, replaced by a rename, so a reader needs no lock. Whoever writes
//! holds a kernel lock on `.lock`, which ends with its process, and writes to `.new` first, which the next writer replaces.
//! A lease is as old as the clock of the boot says. Nothing is synced: after a power cut the machine has another boot, and
//! no lease of the boot before lasts; a file that the cut left empty counts as none.

use crate::boot::{self, BootClock, BootTime};
use crate::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use crate::trail;
use orch_base::{Code, Diagnostic, Error, Hint, ObjectFormat, Place, TaskId};
use orch_core::decide::WHY;
use orch_core::lease::{Lease, LeaseAge, SeenLease};
use orch_files::{Directory, FileLock, io_error};
use orch_git::{LockWait, durable};
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lock of writers.
const LOCK: &str = ".lock";
/// A document while it is written.
const NEW: &str = ".new";
/// How the names of documents end.
const ENDING: &str = ".json";
/// The longest name of a document that a file system takes.
const LONGEST: usize = 255;
/// The version of the documents.
const VERSION: u32 = 1;

/// How long to wait for other writers, each of which takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

/// The leases of one repository.
#[derive(Debug, Clone)]
pub struct LocalStore {
    /// The directory below which no link is followed.
    base: PathBuf,
    /// The directory of the documents.
    directory: PathBuf,
    /// The permissions of the directory.
    mode: u32,
    clock: BootClock,
}

/// A lease in its file.
#[derive(Debug, Serialize, Deserialize)]
struct LeaseDocument {
    v: u32,
    task: TaskId,
    /// The boot in which it was written; null if the system has no ids of boots.
    boot: Option<String>,
    /// When it was written, in milliseconds since that boot.
    written: u64,
    lease: Lease,
    /// Of a copy, what names the same write in the store on the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<LeaseVersion>,
}

/// A lease that is a copy of one in a store on the network.
pub(crate) struct CopiedLease {
    /// The copy.
    pub stored: StoredLease,
    /// What names its write in the other store; `None` if that is not known.
    pub shared: Option<LeaseVersion>,
}

impl LeaseDocument {
    /// The document of a lease that is written at a time.
    fn of(task: &TaskId, lease: &Lease, at: BootTime) -> Self {
        Self {
            v: VERSION,
            task: task.clone(),
            boot: at.boot,
            written: u64::try_from(at.at.as_millis()).unwrap_or(u64::MAX),
            lease: lease.clone(),
            shared: None,
        }
    }

    /// How old it is at a time.
    fn age(&self, now: &BootTime) -> LeaseAge {
        let written = Duration::from_millis(self.written);
        if self.boot == now.boot && (self.boot.is_some() || written <= now.at) {
            LeaseAge::Known(now.at.saturating_sub(written))
        } else {
            LeaseAge::Over
        }
    }
}

impl LocalStore {
    /// The store in `directory`, which is below `base` and made when a lease is written.
    #[must_use]
    pub fn new(base: &Path, directory: &Path) -> Self {
        Self {
            base: base.to_owned(),
            directory: directory.to_owned(),
            mode: 0o700,
            clock: boot::now,
        }
    }

    /// The same with these permissions of its directory, when a lease is written.
    #[must_use]
    pub fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// The same with another clock.
    #[cfg(test)]
    pub(crate) fn with_clock(self, clock: BootClock) -> Self {
        Self { clock, ..self }
    }

    /// The file of a task.
    #[must_use]
    pub fn file(&self, task: &TaskId) -> PathBuf {
        self.directory.join(name_of(task))
    }

    /// The lease in a file; `None` if there is none. Returns an error that names the file if it is damaged. `task` is the
    /// one that is asked for; without it, the document says of which task it is.
    fn document(&self, path: &Path, task: Option<&TaskId>) -> Result<Option<CopiedLease>, Error> {
        let bytes = durable::read_kept(path).map_err(|source| io_error(path, source))?;
        let Some(bytes) = bytes.filter(|bytes| bytes.iter().any(|byte| *byte != 0)) else {
            return Ok(None);
        };
        let read = serde_json::from_slice::<LeaseDocument>(&bytes);
        let document = match read {
            Ok(document) if document.v != VERSION => {
                let why = format!("it has version {} of its format", document.v);
                return Err(damaged(path, task, &why));
            }
            Ok(document) if task.is_some_and(|task| *task != document.task) => {
                return Err(damaged(path, task, "it is about another task"));
            }
            Ok(document) => document,
            Err(error) => return Err(damaged(path, task, &error.to_string())),
        };
        let age = document.age(&(self.clock)());
        let version = LeaseVersion(document.lease.nonce.clone());
        let stored = StoredLease {
            task: document.task,
            seen: SeenLease {
                lease: document.lease,
                age,
            },
            version,
        };
        let shared = document.shared;
        Ok(Some(CopiedLease { stored, shared }))
    }

    /// Keeps a lease that was written elsewhere at this time, under this version there, whatever is here. Returns an error
    /// if it cannot be written.
    pub(crate) fn copy(
        &self,
        task: &TaskId,
        lease: &Lease,
        shared: LeaseVersion,
        at: BootTime,
    ) -> Result<(), Error> {
        let (directory, _lock) = self.lock()?;
        let document = LeaseDocument {
            shared: Some(shared),
            ..LeaseDocument::of(task, lease, at)
        };
        self.write(&directory, &document)
    }

    /// The copy of a lease of a task, with what is known of the other store. Returns an error as [`Self::read`] does.
    pub(crate) fn copied(&self, task: &TaskId) -> Result<Option<CopiedLease>, Error> {
        self.document(&self.file(task), Some(task))
    }

    /// The lease of a task.
    pub(crate) fn there(&self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        Ok(self.copied(task)?.map(|found| found.stored))
    }

    /// Writes the document of a lease, while the directory is locked.
    fn write(&self, directory: &Directory, document: &LeaseDocument) -> Result<(), Error> {
        let task = &document.task;
        let path = self.file(task);
        let refused = |source| io_error(&path, source);
        let bytes = serde_json::to_vec(document).map_err(|error| refused(error.into()))?;
        let mut file = directory.create_anew(NEW).map_err(refused)?;
        file.write_all(&bytes).map_err(refused)?;
        directory
            .rename(NEW, directory, name_of(task))
            .map_err(refused)?;
        Ok(())
    }

    /// The directory, and its lock, which is held while the file lives.
    fn lock(&self) -> Result<(Directory, FileLock), Error> {
        let refused = |source| io_error(&self.directory, source);
        let directory = Directory::make(&self.base, &self.directory).map_err(refused)?;
        // Another user who shares the repository may have made it.
        let _ = directory.permit(self.mode);
        let mut wait = LockWait::at_most(PATIENCE);
        loop {
            let file = directory.edit(LOCK).map_err(refused)?;
            if let Some(lock) = FileLock::try_new(file).map_err(refused)? {
                return Ok((directory, lock));
            }
            if !wait.again() {
                return Err(Error::busy("another orch process is writing leases"));
            }
        }
    }
}

impl LeaseStore for LocalStore {
    fn list(&mut self) -> Result<Vec<StoredLease>, Error> {
        let directory = match Directory::open(&self.base, &self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(|source| io_error(&self.directory, source))?,
        };
        let names = directory
            .names()
            .map_err(|source| io_error(&self.directory, source))?;
        let mut leases = Vec::new();
        for name in names {
            let is_document = name
                .to_str()
                .is_some_and(|name| name.ends_with(ENDING) && !matches!(name, LOCK | NEW));
            if is_document {
                let task = name.to_str().and_then(task_of);
                let found = self.document(&self.directory.join(&name), task.as_ref())?;
                leases.extend(found.map(|found| found.stored));
            }
        }
        leases.sort_by(|one, other| one.task.cmp(&other.task));
        Ok(leases)
    }

    fn read(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        let found = self.there(task)?;
        trail::read(task, found.as_ref(), &(self.clock)());
        Ok(found)
    }

    fn put(
        &mut self,
        task: &TaskId,
        expected: Option<&LeaseVersion>,
        lease: &Lease,
    ) -> Result<Swapped, Error> {
        let (directory, _lock) = self.lock()?;
        let there = self.there(task)?;
        if there.as_ref().map(|there| &there.version) != expected {
            trail::read(task, there.as_ref(), &(self.clock)());
            return Ok(Swapped::Lost(there));
        }
        let now = (self.clock)();
        trail::put(task, expected, lease, &now);
        self.write(&directory, &LeaseDocument::of(task, lease, now))?;
        Ok(Swapped::Done(LeaseVersion(lease.nonce.clone())))
    }

    fn remove(
        &mut self,
        task: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Option<StoredLease>, Error> {
        let (directory, _lock) = self.lock()?;
        let there = self.there(task)?;
        if there.as_ref().map(|there| &there.version) != Some(expected) {
            trail::read(task, there.as_ref(), &(self.clock)());
            return Ok(there);
        }
        trail::removed(task, expected, &(self.clock)());
        let removed = directory.remove_if_there(name_of(task));
        removed.map_err(|source| io_error(&self.file(task), source))?;
        Ok(None)
    }

    fn clear(&mut self, task: &TaskId) -> Result<(), Error> {
        let (directory, _lock) = self.lock()?;
        let removed = directory.remove_if_there(name_of(task));
        removed.map_err(|source| io_error(&self.file(task), source))
    }
}

/// The name of the file of a task: readable, unless it would be too long.
fn name_of(task: &TaskId) -> String {
    let escaped = task.as_str().replace('%', "%25").replace('/', "%2F");
    let name = format!("{escaped}{ENDING}");
    if name.len() <= LONGEST {
        return name;
    }
    let digest = ObjectFormat::Sha256.blob(task.as_str().as_bytes());
    format!("{digest}{ENDING}")
}

/// The task of such a name; `None` if it does not say.
fn task_of(name: &str) -> Option<TaskId> {
    let escaped = name.strip_suffix(ENDING)?;
    let task = TaskId::new(escaped.replace("%2F", "/").replace("%25", "%")).ok()?;
    (name_of(&task) == name).then_some(task)
}

/// The error about a file that is no lease.
fn damaged(path: &Path, task: Option<&TaskId>, why: &str) -> Error {
    let message = format!("{} is no lease: {why}", path.display());
    let found = Diagnostic::error(Code::LeaseDamaged, message).at(Place {
        path: path.display().to_string(),
        ..Place::default()
    });
    let hint = match task {
        Some(task) => Hint::from("a person ends it: ").command(&[
            "orch",
            "take",
            task.as_str(),
            "--break",
            WHY,
        ]),
        None => Hint::from("remove the file"),
    };
    found.hint(hint).into()
}
