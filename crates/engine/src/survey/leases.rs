//! Who holds which task, as the store of leases says. Looking costs one small file for a task, and writes nothing.

use super::{Error, Reader};
use orch_base::{Code, TaskId};
use orch_core::config::LeaseStoreKind;
use orch_core::lease::{Lease, LeaseOwner};
use orch_files::Directory;
use orch_fleet::home::lease_home;
use orch_fleet::local::LocalStore;
use orch_fleet::owner::known_owner;
use orch_fleet::publish::KnownLeases;
use orch_fleet::seen::{LeaseSeen, SeenLeases};
use orch_fleet::store::{LeaseStore, StoredLease};
use orch_view::LeaseView;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A lease that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLease {
    /// What it says.
    pub lease: Lease,
    /// Whether this work tree has it.
    pub is_own: bool,
    /// How long ago it was seen in a store on the network; `None` for a lease of this clone.
    pub ago: Option<Duration>,
}

impl TaskLease {
    /// The lease as outputs show it.
    #[must_use]
    pub fn view(&self) -> LeaseView {
        let seen = self.ago.map(|ago| ago.as_secs());
        LeaseView::of(&self.lease, self.is_own).seen_ago(seen)
    }
}

/// The leases that have not ended, by their tasks.
pub type TaskLeases = BTreeMap<TaskId, TaskLease>;

/// The leases of a repository, as a work tree sees them.
#[derive(Clone, Copy)]
pub struct HeldTasks<'w> {
    reader: &'w Reader,
}

impl<'w> HeldTasks<'w> {
    /// Those of the repository that is read.
    #[must_use]
    pub fn of(reader: &'w Reader) -> Self {
        Self { reader }
    }

    /// The store of the leases of this repository, to read them; `None` outside git.
    #[must_use]
    pub fn store(&self) -> Option<LocalStore> {
        let home = self.home()?;
        let directory = home.join("orch").join("leases");
        Some(LocalStore::new(&home, &directory))
    }

    /// The git directory with the leases; `None` outside git.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        let layout = self.reader.store.as_ref()?.layout();
        Some(lease_home(layout.common_directory()))
    }

    /// The same, and what was seen of a store on the network, to write them, too. Returns an error outside git.
    pub(crate) fn known_to_write(&self) -> Result<KnownLeases, Error> {
        let layout = self.reader.repository_or_refuse()?.layout();
        let (Some(copy), Some(seen)) = (self.store(), self.seen()) else {
            return Err(Error::new(Code::NoRepository, "not a git repository"));
        };
        Ok(KnownLeases {
            copy: copy.with_mode(layout.shared_mode()),
            seen,
        })
    }

    /// What this clone saw last of a store on the network; `None` outside git.
    fn seen(&self) -> Option<SeenLeases> {
        Some(SeenLeases::new(&self.home()?))
    }

    /// What was seen of leases on the network that have not ended, and that no work tree of this clone has. Returns an error if
    /// that cannot be read.
    fn elsewhere(&self) -> Result<Vec<LeaseSeen>, Error> {
        let is_shared = self.reader.settings.config.leases.store != LeaseStoreKind::Local;
        match self.seen().filter(|_| is_shared) {
            Some(seen) => {
                let mut all = seen.read()?;
                all.retain(|one| !one.stored.seen.left().is_zero());
                Ok(all)
            }
            None => Ok(Vec::new()),
        }
    }

    /// The owner of this work tree, if it has ever taken a task. Returns an error if its file is damaged.
    pub(crate) fn known_owner(&self) -> Result<Option<LeaseOwner>, Error> {
        match &self.reader.store {
            Some(store) => known_owner(&store.layout().git_directory().join("orch")),
            None => Ok(None),
        }
    }

    /// The owner of this work tree, made if it has none; see [`orch_fleet::owner::owner`]. Returns an error if its file
    /// cannot be read or written, or outside git.
    pub(crate) fn owner(
        &self,
        name: Option<&str>,
        who: impl FnOnce() -> String,
    ) -> Result<LeaseOwner, Error> {
        let layout = self.reader.repository_or_refuse()?.layout();
        let directory: Directory = layout.own_directory()?;
        let tree = self
            .reader
            .root
            .file_name()
            .map(|name| name.to_string_lossy());
        let default = || match tree {
            Some(tree) => format!("{} in {tree}", who()),
            None => who(),
        };
        orch_fleet::owner::owner(&directory, name, default)
    }

    /// The lease of a task, if it has not ended. Returns an error if it cannot be read.
    pub fn lease_of(&self, task: &TaskId) -> Result<Option<TaskLease>, Error> {
        let Some(mut store) = self.store() else {
            return Ok(None);
        };
        let own = match store.read(task)? {
            Some(stored) => self.live(stored, None, &mut None)?,
            None => None,
        };
        if own.is_some() {
            return Ok(own);
        }
        let mut others = self.elsewhere()?.into_iter();
        match others.find(|other| other.stored.task == *task) {
            Some(other) => self.live(other.stored, Some(other.ago), &mut None),
            None => Ok(None),
        }
    }

    /// Who holds a task, for whoever is shown it; nobody if that cannot be read, which a command about leases says.
    pub(crate) fn held(&self, task: &TaskId) -> Option<LeaseView> {
        let known = match self.lease_of(task) {
            Ok(known) => known?,
            Err(error) => {
                tracing::warn!(%task, error = error.logged(), "the lease cannot be read");
                return None;
            }
        };
        Some(known.view())
    }

    /// All leases that have not ended. Returns an error if one cannot be read.
    pub fn all(&self) -> Result<TaskLeases, Error> {
        let Some(mut store) = self.store() else {
            return Ok(TaskLeases::new());
        };
        let mut owner = None;
        let mut live = TaskLeases::new();
        for other in self.elsewhere()? {
            let task = other.stored.task.clone();
            let ago = Some(other.ago);
            let lease = self.live(other.stored, ago, &mut owner)?;
            live.extend(lease.map(|lease| (task, lease)));
        }
        for stored in store.list()? {
            let task = stored.task.clone();
            let lease = self.live(stored, None, &mut owner)?;
            live.extend(lease.map(|lease| (task, lease)));
        }
        Ok(live)
    }

    /// A lease, if it has not ended, and how long ago it was seen in a store on the network; `owner` is that of this work tree, once it is known.
    fn live(
        &self,
        stored: StoredLease,
        ago: Option<Duration>,
        owner: &mut Option<Option<LeaseOwner>>,
    ) -> Result<Option<TaskLease>, Error> {
        if stored.seen.left().is_zero() {
            return Ok(None);
        }
        let known = match owner {
            Some(known) => known,
            None => owner.insert(self.known_owner()?),
        };
        let lease = stored.seen.lease;
        let is_own = known
            .as_ref()
            .is_some_and(|own| own.token == lease.owner.token);
        Ok(Some(TaskLease { lease, is_own, ago }))
    }
}
