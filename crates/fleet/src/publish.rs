//! Pushes the steps of a task that is held, each with the renewal of its lease.
//!
//! Where the leases are references of the same remote, both are one atomic push. Otherwise the lease is renewed first, and
//! the branch pushed after that: nobody takes the task over before the branch has moved, or the lease has ended again.

use crate::boot::{self, BootTime};
use crate::forward::RemoteBranches;
use crate::git::{GitLeases, PushedStep, StepPush};
use crate::leases::{LeaseTerms, renewed};
use crate::local::LocalStore;
use crate::seen::SeenLeases;
use crate::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use crate::trail;
use orch_base::{Digest, Error, TaskId};
use orch_core::lease::{Lease, LeaseAge, LeaseOwner, LeaseStanding, standing};
use orch_git::{RemotePlace, RemoteRefs, Store};
use std::time::Duration;

/// Where leases are, as whoever pushes steps sees them.
pub enum PublishedLeases {
    /// On the remote to which steps are pushed.
    Together(Box<GitLeases>),
    /// In another store.
    Apart(Box<dyn LeaseStore>),
}

/// What a clone knows of leases in a store on the network.
pub struct KnownLeases {
    /// Those of its work trees.
    pub copy: LocalStore,
    /// Those that were seen.
    pub seen: SeenLeases,
}

/// Pushes the steps of one work tree.
pub struct StepPublisher<'p> {
    repository: &'p Store,
    place: RemotePlace,
    known: KnownLeases,
    leases: PublishedLeases,
    owner: LeaseOwner,
}

/// A branch of a task that has moved on.
#[derive(Debug, Clone, Copy)]
pub struct BranchStep<'s> {
    /// The task.
    pub task: &'s TaskId,
    /// The full name of the branch.
    pub branch: &'s str,
    /// Where it is.
    pub commit: Digest,
    /// What the lease says from here on.
    pub terms: &'s LeaseTerms,
    /// For how long the remote may be asked.
    pub patience: Duration,
}

/// For how long a task is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldFor {
    /// How long yet, for its holder.
    pub left: Duration,
    /// How long from each renewal.
    pub length: Duration,
}

/// What came of pushing a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepPublished {
    /// The branch is there, and the lease is renewed.
    Done,
    /// Somebody else has the lease now, or nobody. The branch is as it was.
    Lost(Option<Box<StoredLease>>),
    /// The branch has moved to this commit.
    BranchMoved(Digest),
}

impl<'p> StepPublisher<'p> {
    /// Pushes to a remote of a repository what its owner holds. Returns an error if there is no such remote.
    pub fn new(
        repository: &'p Store,
        remote: &str,
        known: KnownLeases,
        leases: PublishedLeases,
        owner: LeaseOwner,
    ) -> Result<Self, Error> {
        Ok(Self {
            place: repository.remote_refs().place(remote)?,
            repository,
            known,
            leases,
            owner,
        })
    }

    /// Where steps are pushed to.
    #[must_use]
    pub fn place(&self) -> &RemotePlace {
        &self.place
    }

    /// The references there, asked for so long at most.
    #[must_use]
    pub fn refs(&self, patience: Duration) -> RemoteRefs<'_> {
        self.repository.remote_refs().within(patience)
    }

    /// How long the owner holds a task yet, by what this clone knows; nothing if he does not. Returns an error if that cannot
    /// be read.
    pub fn held_for(&mut self, task: &TaskId) -> Result<HeldFor, Error> {
        let Some(known) = self.known.copy.read(task)? else {
            return Ok(HeldFor::default());
        };
        let length = known.seen.lease.length();
        let left = match standing(Some(&known.seen), &self.owner) {
            LeaseStanding::Own(left) => left,
            LeaseStanding::Free | LeaseStanding::Held(_) | LeaseStanding::Ended => Duration::ZERO,
        };
        Ok(HeldFor { left, length })
    }

    /// Pushes a step and renews its lease. Returns an error if nothing is known of whether it took place: try again.
    pub fn push(&mut self, step: &BranchStep<'_>) -> Result<StepPublished, Error> {
        let known = self.known.copy.read(step.task)?;
        let own = known.filter(|known| known.seen.lease.owner.token == self.owner.token);
        let Some(mut own) = own.map(|own| own.seen.lease) else {
            return self.lost(step.task, None);
        };
        loop {
            let new = renewed(&own, step.terms)?;
            let before = boot::now();
            match self.pushed(step, &own, &new)? {
                StepPush::Done(version) => {
                    let expected = LeaseVersion(own.nonce.clone());
                    trail::put(step.task, Some(&expected), &new, &before);
                    self.known.copy.copy(step.task, &new, version, before)?;
                    return Ok(StepPublished::Done);
                }
                StepPush::BranchMoved(tip) => return Ok(StepPublished::BranchMoved(tip)),
                // A write of this owner of which no answer came.
                StepPush::LeaseLost(Some(there))
                    if there.seen.lease.owner.token == self.owner.token
                        && there.seen.lease.nonce != own.nonce =>
                {
                    let written = written_at(&there);
                    let version = there.version.clone();
                    let lease = &there.seen.lease;
                    self.known.copy.copy(step.task, lease, version, written)?;
                    own = there.seen.lease;
                }
                StepPush::LeaseLost(there) => return self.lost(step.task, there),
            }
        }
    }

    fn pushed(
        &mut self,
        step: &BranchStep<'_>,
        own: &Lease,
        new: &Lease,
    ) -> Result<StepPush, Error> {
        let store = match &mut self.leases {
            PublishedLeases::Together(leases) => {
                leases.wait_at_most(step.patience);
                let expected = leases.version(step.task, own)?;
                return leases.push_step(&PushedStep {
                    task: step.task,
                    expected: Some(&expected),
                    lease: new,
                    branch: step.branch,
                    commit: step.commit,
                });
            }
            PublishedLeases::Apart(store) => store,
        };
        let there = match store.read(step.task)? {
            Some(there) if there.seen.lease.nonce == own.nonce => there,
            there => return Ok(StepPush::LeaseLost(there.map(Box::new))),
        };
        let version = match store.put(step.task, Some(&there.version), new)? {
            Swapped::Done(version) => version,
            Swapped::Lost(there) => return Ok(StepPush::LeaseLost(there.map(Box::new))),
        };
        let branches = RemoteBranches::new(self.refs(step.patience), &self.place);
        Ok(match branches.push(step.branch, step.commit)? {
            None => StepPush::Done(version),
            Some(tip) => StepPush::BranchMoved(tip),
        })
    }

    /// Forgets what this clone knew of the lease.
    fn lost(
        &mut self,
        task: &TaskId,
        there: Option<Box<StoredLease>>,
    ) -> Result<StepPublished, Error> {
        let there = match there {
            Some(there) => Some(there),
            None => match &mut self.leases {
                PublishedLeases::Together(leases) => leases.read(task)?.map(Box::new),
                PublishedLeases::Apart(store) => store.read(task)?.map(Box::new),
            },
        };
        self.known.copy.clear(task)?;
        self.known.seen.saw(task, there.as_deref());
        Ok(StepPublished::Lost(there))
    }
}

/// When a lease was written, by the clock of this boot.
fn written_at(stored: &StoredLease) -> BootTime {
    let now = boot::now();
    let age = match stored.seen.age {
        LeaseAge::Known(age) | LeaseAge::Watched(age) => age,
        LeaseAge::Over => now.at,
    };
    BootTime {
        at: now.at.saturating_sub(age),
        ..now
    }
}
