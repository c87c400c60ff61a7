//! Opens the store of leases that the settings name.

use crate::git::GitLeases;
use crate::local::LocalStore;
#[cfg(feature = "nats")]
use crate::nats::leases::NatsLeases;
use crate::queue::{QueueEar, QueuePlace, WakeQueue};
use crate::spent::SpentStore;
use crate::store::LeaseStore;
use orch_base::{Code, Error};
use orch_core::config::{LeaseSettings, LeaseStoreKind};
use orch_git::Store;

/// What a store of leases is opened for.
pub struct StoreContext<'c> {
    /// The repository, from one of its work trees.
    pub repository: &'c Store,
    /// What the variable contains that `secret` of the settings names.
    pub secret: Option<String>,
}

/// Opens the store of leases of a repository. Whether it may be used over the network is the caller's question. Returns an
/// error if the store cannot be reached, or this program was built without it.
pub fn open_store(
    settings: &LeaseSettings,
    context: StoreContext<'_>,
) -> Result<Box<dyn LeaseStore>, Error> {
    match settings.store {
        LeaseStoreKind::Local => {
            let layout = context.repository.layout();
            let base = layout.common_directory();
            let directory = base.join("orch/leases");
            let store = LocalStore::new(base, &directory);
            Ok(Box::new(store.with_mode(layout.shared_mode())))
        }
        LeaseStoreKind::Git => Ok(Box::new(open_remote(context.repository, &settings.remote)?)),
        LeaseStoreKind::Nats => open_bucket(settings, context.secret),
    }
}

/// Opens the leases on a remote of a repository, which can push steps too. Returns an error as [`GitLeases::open`] does.
pub fn open_remote(repository: &Store, remote: &str) -> Result<GitLeases, Error> {
    let own = repository.location().open();
    let own = own.ok_or_else(|| Error::new(Code::Git, "the repository is not there any more"))?;
    GitLeases::open(own, remote)
}

/// Opens the store of what runs have used, if the leases are where all machines see it; `None` if not. Whether it may be used is
/// the caller's question. Returns an error as [`open_store`] does.
pub fn open_spent(
    settings: &LeaseSettings,
    secret: Option<String>,
) -> Result<Option<Box<dyn SpentStore>>, Error> {
    match settings.store {
        LeaseStoreKind::Local | LeaseStoreKind::Git => Ok(None),
        LeaseStoreKind::Nats => bucket(settings, secret),
    }
}

/// Begins to reach a queue, of which the ear is told, and does not wait for that. Returns an error if this program was built
/// without NATS, or there can be no thread.
#[cfg(feature = "nats")]
pub fn open_queue(place: QueuePlace, ear: QueueEar) -> Result<WakeQueue, Error> {
    let (goes_on, ended) = std::sync::mpsc::channel();
    let orders = crate::nats::listener::begin(place, ear, goes_on)?;
    Ok(WakeQueue::of(orders, ended))
}

/// The same of a program without NATS.
#[cfg(not(feature = "nats"))]
pub fn open_queue(_place: QueuePlace, _ear: QueueEar) -> Result<WakeQueue, Error> {
    Err(without_nats())
}

#[cfg(feature = "nats")]
fn bucket(
    settings: &LeaseSettings,
    secret: Option<String>,
) -> Result<Option<Box<dyn SpentStore>>, Error> {
    let place = place(settings, secret);
    Ok(Some(Box::new(NatsLeases::open(&place)?)))
}

#[cfg(not(feature = "nats"))]
fn bucket(
    _settings: &LeaseSettings,
    _secret: Option<String>,
) -> Result<Option<Box<dyn SpentStore>>, Error> {
    Err(without_nats())
}

#[cfg(feature = "nats")]
fn place(settings: &LeaseSettings, secret: Option<String>) -> QueuePlace {
    QueuePlace {
        url: settings.url.clone().unwrap_or_default(),
        bucket: settings.bucket.clone().unwrap_or_default(),
        secret,
    }
}

#[cfg(feature = "nats")]
fn open_bucket(
    settings: &LeaseSettings,
    secret: Option<String>,
) -> Result<Box<dyn LeaseStore>, Error> {
    let place = place(settings, secret);
    Ok(Box::new(NatsLeases::open(&place)?))
}

#[cfg(not(feature = "nats"))]
fn open_bucket(
    _settings: &LeaseSettings,
    _secret: Option<String>,
) -> Result<Box<dyn LeaseStore>, Error> {
    Err(without_nats())
}

/// The error of a program that was built without NATS.
#[cfg(not(feature = "nats"))]
fn without_nats() -> Error {
    let hint = "install an orch with it, or choose another store under `[leases]` in orch.toml";
    let message = "this orch is built without the feature `nats`";
    Error::new(Code::LeaseStore, message).with_hint(hint)
}
