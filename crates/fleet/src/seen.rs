//! What a clone saw last of the leases in a store on the network, so that whoever shows them asks nobody.
//!
//! Nothing is decided by it but what is offered and shown: a lease may have been renewed or given back since.

use crate::boot::{self, BootTime};
use crate::store::{LeaseVersion, StoredLease};
use orch_base::{Code, Error, TaskId};
use orch_core::lease::{Lease, LeaseAge, SeenLease};
use orch_files::{Directory, io_error};
use orch_git::durable::{PrivateFile, read_private, write_private};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "leases-seen.json";
const LOCK: &str = "leases-seen.lock";

/// The file of a clone.
#[derive(Debug, Clone)]
pub struct SeenLeases {
    /// The git directory that all work trees share.
    base: PathBuf,
}

/// A lease that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSeen {
    /// The lease, as old as it is now if nobody has renewed it since.
    pub stored: StoredLease,
    /// How long ago it was seen.
    pub ago: Duration,
}

/// What is kept.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SeenDocument {
    /// The boot that all times count from.
    boot: Option<String>,
    leases: BTreeMap<String, SeenEntry>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenEntry {
    lease: Lease,
    written: Duration,
    seen: Duration,
}

impl SeenLeases {
    /// The file below the git directory that all work trees of a clone share.
    #[must_use]
    pub fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
        }
    }

    /// What was seen, also leases that have ended since. Returns an error if it cannot be read.
    pub fn read(&self) -> Result<Vec<LeaseSeen>, Error> {
        let now = boot::now();
        let document = self.document(&now)?;
        let seen = document.leases.into_iter().filter_map(|(task, entry)| {
            let task = TaskId::new(task).ok()?;
            let age = LeaseAge::Known(now.at.saturating_sub(entry.written));
            let version = LeaseVersion(entry.lease.nonce.clone());
            let lease = entry.lease;
            Some(LeaseSeen {
                stored: StoredLease {
                    task,
                    seen: SeenLease { lease, age },
                    version,
                },
                ago: now.at.saturating_sub(entry.seen),
            })
        });
        Ok(seen.collect())
    }

    /// Keeps all leases of a store.
    pub(crate) fn saw_all(&self, leases: &[StoredLease]) {
        let entry = |stored: &StoredLease| (stored.task.to_string(), entry_of(stored));
        self.keep(|document| document.leases = leases.iter().map(entry).collect());
    }

    /// Keeps the lease of one task, or that there is none.
    pub(crate) fn saw(&self, task: &TaskId, lease: Option<&StoredLease>) {
        self.keep(|document| {
            match lease {
                Some(stored) => document.leases.insert(task.to_string(), entry_of(stored)),
                None => document.leases.remove(task.as_str()),
            };
        });
    }

    /// Changes what is kept. A failure is logged: it costs others a look.
    fn keep(&self, change: impl FnOnce(&mut SeenDocument)) {
        if let Err(error) = self.try_keep(change) {
            tracing::warn!(
                error = error.logged(),
                "cannot keep what was seen of leases"
            );
        }
    }

    fn try_keep(&self, change: impl FnOnce(&mut SeenDocument)) -> Result<(), Error> {
        let path = self.base.join("orch");
        let fail = |source| io_error(&path, source);
        let directory = Directory::make(&self.base, &path).map_err(fail)?;
        let lock = directory.append_private(LOCK).map_err(fail)?;
        lock.lock().map_err(fail)?;
        let now = boot::now();
        let mut document = self.document(&now)?;
        change(&mut document);
        document.boot = now.boot;
        let bytes = serde_json::to_vec(&document)
            .map_err(|error| Error::new(Code::LeaseStore, error.to_string()))?;
        write_private(&directory, NAME, &bytes).map_err(fail)
    }

    /// What is kept; nothing of another boot, and nothing that cannot be understood.
    fn document(&self, now: &BootTime) -> Result<SeenDocument, Error> {
        let path = self.base.join("orch").join(NAME);
        let read = read_private(&path).map_err(|source| io_error(&path, source))?;
        let document: Option<SeenDocument> = match read {
            PrivateFile::Own(bytes) => serde_json::from_slice(&bytes).ok(),
            PrivateFile::Missing | PrivateFile::Foreign => None,
        };
        let document = document.filter(|document| document.boot == now.boot);
        Ok(document.unwrap_or_default())
    }
}

fn entry_of(stored: &StoredLease) -> SeenEntry {
    let now = boot::now().at;
    let age = match stored.seen.age {
        LeaseAge::Known(age) | LeaseAge::Watched(age) => age,
        LeaseAge::Over => stored.seen.lease.length(),
    };
    SeenEntry {
        lease: stored.seen.lease.clone(),
        written: now.saturating_sub(age),
        seen: now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::conformance::lease;

    fn stored(task: &str, owner: &str, age: u64) -> StoredLease {
        let lease = lease(owner, 1);
        StoredLease {
            task: TaskId::new(task).expect("valid"),
            version: LeaseVersion(lease.nonce.clone()),
            seen: SeenLease {
                lease,
                age: LeaseAge::Known(Duration::from_secs(age)),
            },
        }
    }

    fn known(seen: &SeenLeases) -> Vec<(String, String, bool)> {
        let all = seen.read().expect("read");
        all.into_iter()
            .map(|one| {
                assert!(one.ago < Duration::from_secs(60));
                let lives = !one.stored.seen.left().is_zero();
                let owner = one.stored.seen.lease.owner.name;
                (one.stored.task.to_string(), owner, lives)
            })
            .collect()
    }

    #[test]
    fn what_was_seen_last_of_each_task_is_known() {
        let home = tempfile::tempdir().expect("a directory");
        let seen = SeenLeases::new(home.path());
        assert_eq!(known(&seen), []);
        let row = |task: &str, owner: &str, lives| (task.to_owned(), owner.to_owned(), lives);
        seen.saw_all(&[stored("a", "ann", 0), stored("b", "ben", 1_000_000)]);
        assert_eq!(
            known(&seen),
            [row("a", "ann", true), row("b", "ben", false)]
        );
        seen.saw(
            &TaskId::new("b").expect("valid"),
            Some(&stored("b", "eve", 0)),
        );
        seen.saw(&TaskId::new("a").expect("valid"), None);
        assert_eq!(known(&seen), [row("b", "eve", true)]);
        // What cannot be understood is nothing.
        let file = home.path().join("orch").join(NAME);
        std::fs::write(&file, "{").expect("written");
        assert_eq!(known(&seen), []);
        seen.saw_all(&[stored("c", "ann", 0)]);
        assert_eq!(known(&seen), [row("c", "ann", true)]);
    }
}
