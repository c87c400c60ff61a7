//! What a store of leases does.

use orch_base::{Error, TaskId};
use orch_core::lease::{Lease, SeenLease};
use serde::{Deserialize, Serialize};

/// What names one write of a lease in its store: the id of a blob, the revision of a key, a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseVersion(pub String);

/// A lease in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLease {
    /// The task.
    pub task: TaskId,
    /// What was written, and how long ago.
    pub seen: SeenLease,
    /// The write.
    pub version: LeaseVersion,
}

/// What came of a swap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each answer of a store, and none is kept"
)]
pub enum Swapped {
    /// The store has what was to be written, and no other write came between.
    Done(LeaseVersion),
    /// The store had something else: what it has now.
    Lost(Option<StoredLease>),
}

/// A store of leases: one document for each task, replaced by compare-and-swap.
///
/// An error means that nothing is known of whether a write took place; the caller reads before it believes anything.
pub trait LeaseStore {
    /// All leases, also those that have ended. Returns an error if the store cannot be reached or read.
    fn list(&mut self) -> Result<Vec<StoredLease>, Error>;

    /// The lease of a task, also one that has ended. Returns an error if the store cannot be reached or read.
    fn read(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error>;

    /// The lease of a task as far as it is known without a question to a server. It may be another by now, which the next
    /// write finds out. Returns an error if the store cannot be reached or read.
    fn known(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        self.read(task)
    }

    /// Puts a lease where the store has this version, or none. Returns an error if the store cannot be reached.
    fn put(
        &mut self,
        task: &TaskId,
        expected: Option<&LeaseVersion>,
        lease: &Lease,
    ) -> Result<Swapped, Error>;

    /// Removes the lease of a task where the store has this version. Returns what stands there if it has another, and an
    /// error if the store cannot be reached.
    fn remove(
        &mut self,
        task: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Option<StoredLease>, Error>;

    /// Removes whatever stands there for a task, also what cannot be read; only for a person who breaks a lease. Returns an
    /// error if the store cannot be reached.
    fn clear(&mut self, task: &TaskId) -> Result<(), Error>;
}
