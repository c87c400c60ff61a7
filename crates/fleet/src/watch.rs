//! What a clone knows of leases in a store without a clock: since when it has seen which write, by its own boot clock.
//!
//! It is kept in the git directory that all work trees share, so that commands of one moment and the next watch together.
//! Losing it loses time, never a lease: what is not known was seen first now.

use crate::boot::{self, BootTime};
use orch_base::{Code, Error};
use orch_core::lease::LeaseAge;
use orch_files::{Directory, FileLock, io_error};
use orch_git::durable::{PrivateFile, read_private, write_private};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "lease-remote.json";
const LOCK: &str = "lease-remote.lock";

/// What is kept about one remote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteMemory<H> {
    /// Where the leases are.
    pub url: String,
    /// What was found out about this place.
    pub host: H,
    /// The writes that were seen there, by the key of the task.
    seen: BTreeMap<String, Seen>,
    /// The writes that this clone was about to make, and of which it has not seen yet whether they were made.
    begun: BTreeMap<String, Seen>,
}

/// For how long it may take to make a write that was begun.
const LONGEST_WRITE: Duration = Duration::from_secs(15 * 60);

/// A write that was seen, or made here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    version: String,
    /// The boot that `since` counts from.
    boot: Option<String>,
    since: Duration,
    /// Whether this clone has written it: then nobody who wrote it has survived the start of the machine.
    own: bool,
}

/// When a store was asked.
#[derive(Debug, Clone)]
pub(crate) struct AskedTimes {
    /// Before the question was sent.
    pub before: BootTime,
    /// After the answer had come.
    pub after: BootTime,
}

/// The file, locked until this is dropped.
pub(crate) struct MemoryFile {
    directory: Directory,
    _lock: FileLock,
}

impl<H: Clone + Default + PartialEq + Serialize + for<'d> Deserialize<'d>> RemoteMemory<H> {
    /// Nothing is known yet of the leases at this place.
    pub(crate) fn of(url: &str, host: H) -> Self {
        Self {
            url: url.to_owned(),
            host,
            seen: BTreeMap::new(),
            begun: BTreeMap::new(),
        }
    }

    /// Notes a write that is about to be made here.
    pub(crate) fn begin(&mut self, key: &str, version: &str) {
        let seen = Seen::at(boot::now(), version, true);
        self.begun.insert(key.to_owned(), seen);
    }

    /// Notes that a write is there, and says for how long it has been known to be.
    pub(crate) fn see(&mut self, key: &str, version: &str, asked: &AskedTimes) -> LeaseAge {
        if let Some(begun) = self.begun.get(key).filter(|begun| begun.version == version) {
            self.seen.insert(key.to_owned(), begun.clone());
            self.begun.remove(key);
        }
        let known = self.seen.get(key).filter(|seen| seen.version == version);
        match known {
            Some(seen) if seen.is_of(&asked.before) => {
                // The age of an own write is never told too small, and that of another never too large.
                let now = if seen.own {
                    &asked.after
                } else {
                    &asked.before
                };
                LeaseAge::Watched(now.at.saturating_sub(seen.since))
            }
            Some(seen) if seen.own => LeaseAge::Over,
            _ => {
                let seen = Seen::at(asked.after.clone(), version, false);
                self.seen.insert(key.to_owned(), seen);
                LeaseAge::Watched(Duration::ZERO)
            }
        }
    }

    /// Forgets what was seen under other keys than these.
    pub(crate) fn keep_only(&mut self, is_there: impl Fn(&str) -> bool) {
        let now = boot::now();
        self.seen.retain(|key, _| is_there(key));
        // Another process of this clone may be about to make it.
        self.begun.retain(|_, begun| {
            begun.is_of(&now) && now.at.saturating_sub(begun.since) < LONGEST_WRITE
        });
    }
}

impl Seen {
    fn at(now: BootTime, version: &str, own: bool) -> Self {
        Self {
            version: version.to_owned(),
            boot: now.boot,
            since: now.at,
            own,
        }
    }

    /// Whether it was seen in the boot of this time.
    fn is_of(&self, now: &BootTime) -> bool {
        self.boot == now.boot && self.since <= now.at
    }
}

impl MemoryFile {
    /// Opens the file in the git directory that work trees share, and waits for whoever has it. Returns an error if it
    /// cannot be locked.
    pub(crate) fn lock(git_directory: &Path) -> Result<Self, Error> {
        let path = git_directory.join("orch");
        let fail = |source| io_error(&path, source);
        let directory = Directory::make(git_directory, &path).map_err(fail)?;
        let lock = directory.append_private(LOCK).and_then(FileLock::new);
        let lock = lock.map_err(fail)?;
        Ok(Self {
            directory,
            _lock: lock,
        })
    }

    /// What is kept; nothing if it cannot be understood. Returns an error if it cannot be read.
    pub(crate) fn read<H: for<'d> Deserialize<'d>>(
        &self,
    ) -> Result<Option<RemoteMemory<H>>, Error> {
        match read_private(&self.path()).map_err(|source| io_error(&self.path(), source))? {
            PrivateFile::Own(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            PrivateFile::Missing | PrivateFile::Foreign => Ok(None),
        }
    }

    /// Keeps this. Returns an error if it cannot be written.
    pub(crate) fn write<H: Serialize>(&self, remembered: &RemoteMemory<H>) -> Result<(), Error> {
        let bytes = serde_json::to_vec(remembered)
            .map_err(|error| Error::new(Code::LeaseStore, error.to_string()))?;
        write_private(&self.directory, NAME, &bytes)
            .map_err(|source| io_error(&self.path(), source))
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }
}
