//! Who works on a task: leases as values, and what may happen to them.
//!
//! A lease says that one owner works on one task, and until when. It lives in a store (`orch-agent-fleet`) that replaces it by
//! compare-and-swap; this module decides what is put there. The record of the task keeps only the generation, by a `take`
//! event before the first step that a holder records.

use core::time::Duration;
use orch_base::Timestamp;
use serde::{Deserialize, Serialize};

/// How long a lease lasts if nobody says so.
pub const DEFAULT_LENGTH: Duration = Duration::from_secs(30 * 60);

/// Who holds leases: all processes of one work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// The name that people read.
    pub name: String,
    /// What tells two owners of one name apart: 32 hexadecimal digits, kept in the git directory of the work tree.
    pub token: String,
}

/// That an owner works on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who works on it.
    pub owner: LeaseOwner,
    /// Larger than that of every earlier holder whom the store or the record of the task knows.
    pub generation: u64,
    /// Differs in each write, so two writes are never the same bytes.
    pub nonce: String,
    /// How many seconds it lasts from the last write.
    pub length: u64,
    /// When the owner took the task, by the clock of its machine. Nothing is decided by it.
    pub since: Timestamp,
    /// When it ends unless it is renewed, by the same clock, for people. Nothing is decided by it.
    pub until: Timestamp,
    /// The work tree of the owner, for people: the machine and the path.
    pub place: String,
    /// The branch on which the owner works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The run that took the task, and releases it when it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// How old a lease is: the time since it was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseAge {
    /// The store has a clock that both its writer and this reader share.
    Known(Duration),
    /// Whoever wrote it cannot write any more: the machine was started again since.
    Over,
    /// The store has no clock. The reader has watched this very write unchanged for so long.
    Watched(Duration),
}

/// A lease as its store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenLease {
    /// What was written.
    pub lease: Lease,
    /// How old it is.
    pub age: LeaseAge,
}

/// How a task stands for one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStanding {
    /// Nobody holds it.
    Free,
    /// The owner holds it, for so long yet. It is over for its holder by a twentieth of its length earlier than for others.
    Own(Duration),
    /// Another holds it, for so long yet if nothing is heard of the holder.
    Held(Duration),
    /// A lease that has ended: whoever takes the task takes it over.
    Ended,
}

impl Lease {
    /// How long it lasts from its last write.
    #[must_use]
    pub fn length(&self) -> Duration {
        Duration::from_secs(self.length)
    }
}

impl SeenLease {
    /// How long it lasts yet; nothing if it has ended.
    #[must_use]
    pub fn left(&self) -> Duration {
        match self.age {
            LeaseAge::Known(age) | LeaseAge::Watched(age) => {
                self.lease.length().saturating_sub(age)
            }
            LeaseAge::Over => Duration::ZERO,
        }
    }
}

/// How a task with this lease stands for an owner.
#[must_use]
pub fn standing(seen: Option<&SeenLease>, owner: &LeaseOwner) -> LeaseStanding {
    let Some(seen) = seen else {
        return LeaseStanding::Free;
    };
    let is_own = seen.lease.owner.token == owner.token;
    let left = if is_own {
        // What the holder began under it has to be over when others may take it over.
        seen.left().saturating_sub(seen.lease.length() / 20)
    } else {
        seen.left()
    };
    match (left.is_zero(), is_own) {
        (true, _) => LeaseStanding::Ended,
        (false, true) => LeaseStanding::Own(left),
        (false, false) => LeaseStanding::Held(left),
    }
}

/// The generation of whoever takes a task next: above that in the record and that of a lease that has ended.
#[must_use]
pub fn next_generation(recorded: u64, ended: Option<&Lease>) -> u64 {
    recorded.max(ended.map_or(0, |lease| lease.generation)) + 1
}
