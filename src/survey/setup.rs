//! Opening a workspace: find the root, read the configuration, lay the repository's texts over what ships.

use super::costs::Costs;
use super::setting::{OnDisk, Setting, Sparse};
use super::{At, Error, Workspace};
use crate::base::{Code, Diagnostic};
use crate::config;
use crate::scan::ValidationCache;
use crate::store::{self, Environment, Store};
use std::path::{Path, PathBuf};

/// Where contents known to be valid are kept; another reader of artifacts gets another name.
const KNOWN_VALID: &str = concat!("valid-", env!("CARGO_PKG_VERSION"));

/// What a workspace is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Work,
    Look,
}

impl Workspace {
    /// Opens the repository that `start` lies in; outside git, the nearest directory with an
    /// `orch.toml`, else `start` itself.
    ///
    /// A faulty configuration does not keep it from opening: what is faulty falls back to its
    /// default and is among [`Workspace::findings`].
    pub fn open(start: &Path, environment: Environment) -> Result<Self, Error> {
        Self::open_to(start, environment, Purpose::Work)
    }

    /// Opens it to look at what is staged or committed, and writes nothing at all, not even what a
    /// killed process left to finish: a hook runs in the middle of a commit of the user's.
    pub fn open_to_look(start: &Path, environment: Environment) -> Result<Self, Error> {
        Self::open_to(start, environment, Purpose::Look)
    }

    fn open_to(start: &Path, environment: Environment, purpose: Purpose) -> Result<Self, Error> {
        let start = start.canonicalize().map_err(|error| no_directory(start, &error))?;
        let environment = environment.seen_from(&start);
        let found = Store::discover(&start, &environment)?;
        if purpose == Purpose::Work {
            found.as_ref().map(Store::refuse_bare).transpose()?;
        }
        let root = found.as_ref().map_or_else(|| configured_root(&start), |store| store.root().to_owned());
        if let Some(store) = found.as_ref().filter(|_| purpose == Purpose::Work) {
            // A killed process may have left a transition half placed; everybody who looks finishes it.
            // Where that is not possible now, the next one does.
            let _ = store.recover_leftovers();
        }
        let setting = match found.as_ref().filter(|store| store.is_sparse()) {
            Some(store) => Setting::read(&Sparse(&root, store.work_tree())),
            None => Setting::read(&OnDisk(&root)),
        };
        let store = found.map(|store| {
            store.with_options(store::StoreOptions {
                detached_head: setting.config.git.detached_head,
                protected: setting.config.git.protected.clone(),
            })
        });
        let validations = store.as_ref().map_or_else(ValidationCache::default, |store| match purpose {
            Purpose::Work => ValidationCache::kept_in(store.own(KNOWN_VALID)),
            Purpose::Look => ValidationCache::known_in(store.own(KNOWN_VALID)),
        });
        Ok(Self { root, store, setting, validations, environment, costs: Costs::default(), at: At::WorkDir })
    }

    /// Reads configuration and texts anew, after they have changed.
    pub(crate) fn reload(&mut self) -> Result<(), Error> {
        let fresh = Self::open(&self.root, self.environment.clone())?;
        let validations = std::mem::take(&mut self.validations);
        *self = Self { validations, ..fresh };
        Ok(())
    }
}

fn no_directory(path: &Path, error: &std::io::Error) -> Error {
    let message = format!("{} cannot be opened: {error}", path.display());
    Diagnostic::error(Code::NoDirectory, message).hint("name a directory that exists with -C").into()
}

/// The nearest directory at or above `start` that holds an `orch.toml`, else `start`.
fn configured_root(start: &Path) -> PathBuf {
    start.ancestors().find(|directory| directory.join(config::FILE).is_file()).unwrap_or(start).to_owned()
}
