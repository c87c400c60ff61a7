//! A store on the network, with a copy of what the work trees of this clone hold there.
//!
//! The copy is the local store, so a step asks nobody on the network as long as the lease lasts, and the work trees of a
//! clone see each other at once. It is written after the store on the network, with the time before that: it never lasts
//! longer. The version of a lease is its nonce, which both have. The copy knows the version in the other store as well, so a
//! lease of this clone is written without a question before: whoever has written it meanwhile wins the swap.

use crate::boot;
use crate::local::LocalStore;
use crate::seen::SeenLeases;
use crate::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use crate::trail;
use orch_base::{Error, TaskId};
use orch_core::lease::Lease;

/// Opens a store on the network, when it is asked for the first time.
pub type StoreOpener<'o> = Box<dyn Fn() -> Result<Box<dyn LeaseStore>, Error> + 'o>;

/// A store on the network with a copy.
pub struct CopiedStore<'o> {
    copy: LocalStore,
    seen: SeenLeases,
    opener: StoreOpener<'o>,
    opened: Option<Box<dyn LeaseStore>>,
}

impl<'o> CopiedStore<'o> {
    /// The store that this opens, with its copy, and where what is seen there is kept for others.
    pub fn new(copy: LocalStore, seen: SeenLeases, opener: StoreOpener<'o>) -> Self {
        Self {
            copy,
            seen,
            opener,
            opened: None,
        }
    }

    fn shared(&mut self) -> Result<&mut dyn LeaseStore, Error> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => (self.opener)()?,
        };
        Ok(self.opened.insert(opened).as_mut())
    }

    fn read_shared(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        let found = self.shared()?.read(task)?;
        trail::read(task, found.as_ref(), &boot::now());
        Ok(found)
    }

    /// The version in the store on the network of a lease with this nonce. Otherwise forgets the copy, and returns what is
    /// there.
    fn version(
        &mut self,
        task: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Result<LeaseVersion, Option<StoredLease>>, Error> {
        if let Some(copied) = self.copy.copied(task)?
            && copied.stored.version == *expected
            && let Some(shared) = copied.shared
        {
            return Ok(Ok(shared));
        }
        match self.read_shared(task)? {
            Some(there) if there.seen.lease.nonce == expected.0 => Ok(Ok(there.version)),
            there => {
                self.copy.clear(task)?;
                self.seen.saw(task, there.as_ref());
                Ok(Err(there.map(by_nonce)))
            }
        }
    }
}

impl LeaseStore for CopiedStore<'_> {
    fn list(&mut self) -> Result<Vec<StoredLease>, Error> {
        let leases = self.shared()?.list()?;
        self.seen.saw_all(&leases);
        Ok(leases.into_iter().map(by_nonce).collect())
    }

    fn read(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        match self.copy.there(task)? {
            Some(own) if !own.seen.left().is_zero() => Ok(Some(own)),
            _ => {
                let there = self.read_shared(task)?;
                self.seen.saw(task, there.as_ref());
                Ok(there.map(by_nonce))
            }
        }
    }

    fn known(&mut self, task: &TaskId) -> Result<Option<StoredLease>, Error> {
        match self.copy.there(task)? {
            Some(own) if own.seen.left().is_zero() => self.read(task),
            own => Ok(own),
        }
    }

    fn put(
        &mut self,
        task: &TaskId,
        expected: Option<&LeaseVersion>,
        lease: &Lease,
    ) -> Result<Swapped, Error> {
        let version = match expected {
            None => None,
            Some(expected) => match self.version(task, expected)? {
                Ok(version) => Some(version),
                Err(there) => return Ok(Swapped::Lost(there)),
            },
        };
        let before = boot::now();
        match self.shared()?.put(task, version.as_ref(), lease)? {
            Swapped::Done(version) => {
                trail::put(task, expected, lease, &before);
                self.copy.copy(task, lease, version, before)?;
                Ok(Swapped::Done(LeaseVersion(lease.nonce.clone())))
            }
            Swapped::Lost(there) => {
                self.copy.clear(task)?;
                self.seen.saw(task, there.as_ref());
                Ok(Swapped::Lost(there.map(by_nonce)))
            }
        }
    }

    fn remove(
        &mut self,
        task: &TaskId,
        expected: &LeaseVersion,
    ) -> Result<Option<StoredLease>, Error> {
        let version = match self.version(task, expected)? {
            Ok(version) => version,
            Err(there) => return Ok(there),
        };
        let before = boot::now();
        let there = self.shared()?.remove(task, &version)?;
        self.copy.clear(task)?;
        if there.is_none() {
            trail::removed(task, expected, &before);
        }
        self.seen.saw(task, there.as_ref());
        Ok(there.map(by_nonce))
    }

    fn clear(&mut self, task: &TaskId) -> Result<(), Error> {
        self.shared()?.clear(task)?;
        self.seen.saw(task, None);
        self.copy.clear(task)
    }
}

fn by_nonce(stored: StoredLease) -> StoredLease {
    StoredLease {
        version: LeaseVersion(stored.seen.lease.nonce.clone()),
        ..stored
    }
}
