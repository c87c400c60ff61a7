//! What the diagnostic log says of leases: what was asked for and answered, and what stores have read and written. A test
//! replays these lines in the model of leases.

use crate::boot::BootTime;
use crate::store::{LeaseVersion, StoredLease};
use orch_base::{Digest, TaskId};
use orch_core::lease::{Lease, LeaseOwner};

/// A question about a lease, for one owner.
pub(crate) struct LeaseQuestion<'q> {
    /// `take`, `keep` or `release`.
    pub what: &'static str,
    pub task: &'q TaskId,
    pub owner: &'q LeaseOwner,
    /// The generation that the record of the task knows.
    pub recorded: u64,
    /// Whether the lease of another is taken over although it has not ended.
    pub breaks: bool,
}

impl LeaseQuestion<'_> {
    /// Notes what was answered, in a word.
    pub(crate) fn answered(&self, answer: &str) {
        tracing::debug!(
            what = self.what,
            task = %self.task,
            owner = mark(self.owner),
            recorded = self.recorded,
            breaks = self.breaks,
            answer,
            "asked for a lease"
        );
    }
}

/// Notes that a store was read at a time. A line of the log names a write by the nonce of the lease.
pub(crate) fn read(task: &TaskId, found: Option<&StoredLease>, at: &BootTime) {
    let nonce = found.map(|found| found.seen.lease.nonce.as_str());
    tracing::trace!(%task, nonce, at = milliseconds(at), "read a lease");
}

/// What tells owners apart and says nothing of them.
fn mark(owner: &LeaseOwner) -> String {
    format!("{:.9}", Digest::of_blob(owner.token.as_bytes()).to_string())
}

/// The time since the machine was started.
fn milliseconds(at: &BootTime) -> u64 {
    u64::try_from(at.at.as_millis()).unwrap_or(u64::MAX)
}

/// Notes that a lease is written where the store has this one, and lasts from this time on. A store with a lock does so under it and before the write, so
/// whoever reads the lease notes that later.
pub(crate) fn put(task: &TaskId, before: Option<&LeaseVersion>, lease: &Lease, at: &BootTime) {
    tracing::debug!(
        %task,
        before = before.map(|before| before.0.as_str()),
        nonce = lease.nonce,
        owner = mark(&lease.owner),
        generation = lease.generation,
        at = milliseconds(at),
        "put a lease"
    );
}

/// Notes that a lease is removed, in the same way.
pub(crate) fn removed(task: &TaskId, before: &LeaseVersion, at: &BootTime) {
    tracing::debug!(%task, before = before.0, at = milliseconds(at), "removed a lease");
}
