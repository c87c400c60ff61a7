//! Opens a workspace: finds the root and reads the settings.

use super::other_glimpse::KnownOthers;
use super::reader::At;
use super::setting::{OnDisk, Settings, Sparse};
use super::{Error, KnownSettings, Reader, Workspace};
use orch_base::{Code, Diagnostic, RepoPath};
use orch_core::config;
use orch_git::{Environment, Store, StoreOptions, WorkTree, caches};
use orch_read::ValidationCache;
use std::cell::RefCell;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

/// The maximum number of threads that work for one command. Each of them opens the repository.
const MOST_THREADS: usize = 8;

/// How many cores there are. Counted when a command first needs it, because the limits of control groups are in files.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// What a workspace is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To write, and to complete first what a killed process left.
    Work,
    /// To read, see [`Workspace::open_to_look`].
    Look,
}

impl Workspace {
    /// Opens the repository around `start`; outside git, the nearest directory with an `orch.toml`, or else
    /// `start` itself. Also completes what a killed process left.
    ///
    /// Returns an error if the directory or the repository cannot be used, but not for a faulty
    /// configuration: its faulty parts fall back to their defaults and are listed in [`Settings::findings`].
    pub fn open(start: &Path, environment: Environment) -> Result<Self, Error> {
        Self::open_for(Purpose::Work, start, environment, None)
    }

    /// Opens a workspace for reading the index or commits, and writes nothing at all, not even what a killed
    /// process left unfinished: a hook runs in the middle of the user's commit. Returns the same errors as
    /// [`Workspace::open`].
    pub fn open_to_look(start: &Path, environment: Environment) -> Result<Self, Error> {
        Self::open_for(Purpose::Look, start, environment, None)
    }

    /// Opens a workspace with the settings that this process knows, as far as they have not changed. Returns the same
    /// errors as [`Workspace::open`].
    pub fn open_for(
        purpose: Purpose,
        start: &Path,
        environment: Environment,
        known: Option<&KnownSettings>,
    ) -> Result<Self, Error> {
        let start = start_directory(start)?;
        let environment = environment.seen_from(&start);
        let found = Store::discover(&start, &environment)?;
        let writes = purpose != Purpose::Look;
        if writes {
            found
                .as_ref()
                .map(|store| store.layout().refuse_bare())
                .transpose()?;
        }
        let root = found.as_ref().map_or_else(
            || configured_root(&start),
            |store| store.layout().root().to_owned(),
        );
        if let Some(store) = found.as_ref().filter(|_| writes) {
            // A killed process may have left a transition half done; every command completes it. If that
            // fails now, the next command tries again.
            let _ = store.transactions().recover_leftovers();
        }
        let format = found
            .as_ref()
            .map(|store| store.objects().format())
            .unwrap_or_default();
        let settings = match known.filter(|_| {
            !found
                .as_ref()
                .is_some_and(|store| store.index().is_sparse())
        }) {
            Some(known) => known.read(&root, format),
            None => read_setting(&root, found.as_ref()).into(),
        };
        let store = found.map(|mut store| {
            *store.options_mut() = StoreOptions {
                detached_head: settings.config.git.detached_head,
                protected: settings.config.git.protected.clone(),
                wait: None,
            };
            store
        });
        let validations = store
            .as_ref()
            .map_or_else(ValidationCache::default, |store| {
                // Each version of `orch` has its own, because its readers may differ.
                let place =
                    store
                        .layout()
                        .own(&format!("{}{}", caches::VALID, env!("CARGO_PKG_VERSION")));
                let cache = ValidationCache::kept_in(store.layout().git_directory(), place);
                if writes { cache } else { cache.only_read() }
            });
        Ok(Self {
            reader: Reader {
                root,
                store,
                settings,
                validations: validations.into(),
                costs: Arc::default(),
                known_log: RefCell::default(),
                others: KnownOthers::default(),
                at: At::WorkDir,
            },
            environment,
            wait: None,
            whole_ids: false,
            known: None,
            threads: MOST_THREADS,
        })
    }

    /// In how many threads a command about many tasks may work.
    pub(crate) fn threads(&self) -> usize {
        self.threads.min(cores())
    }

    /// The files of the settings that have changed since they were read, sorted.
    pub(crate) fn changed_settings(&self) -> Vec<RepoPath> {
        let reader = &self.reader;
        reader
            .settings
            .changed_files(&read_setting(&reader.root, reader.store.as_ref()))
    }

    /// Reads the settings again after they have changed. Returns an error if the workspace cannot be opened.
    pub(crate) fn reload(&mut self) -> Result<(), Error> {
        let mut fresh = Self::open(&self.reader.root, self.environment.clone())?;
        fresh.reader.validations = std::mem::take(&mut self.reader.validations);
        let wait = self.wait;
        let threads = self.threads;
        let whole_ids = self.whole_ids;
        *self = Self {
            threads,
            whole_ids,
            ..fresh
        };
        if let Some(wait) = wait {
            self.wait = Some(wait);
            self.reader
                .store
                .iter_mut()
                .for_each(|store| store.options_mut().wait = Some(wait));
        }
        Ok(())
    }
}

/// The directory in which to start, without links. Returns an error if there is none.
pub fn start_directory(start: &Path) -> Result<PathBuf, Error> {
    let found = start.canonicalize().and_then(|found| match found.is_dir() {
        true => Ok(found),
        false => Err(io::ErrorKind::NotADirectory.into()),
    });
    found.map_err(|error| no_directory(start, &error))
}

fn no_directory(path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot open {}: {error}", path.display());
    if !matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) {
        return Error::new(Code::Io, message);
    }
    Diagnostic::error(Code::NoDirectory, message)
        .hint("choose an existing directory with -C")
        .into()
}

/// The settings of a work tree.
fn read_setting(root: &Path, store: Option<&Store>) -> Settings {
    let format = store
        .map(|store| store.objects().format())
        .unwrap_or_default();
    match store.filter(|store| store.index().is_sparse()) {
        Some(store) => Settings::read(&Sparse(root, WorkTree::of(store)), format),
        None => Settings::read(&OnDisk(root), format),
    }
}

/// The nearest directory at or above `start` that contains an `orch.toml`, or else `start`.
fn configured_root(start: &Path) -> PathBuf {
    start
        .ancestors()
        .find(|directory| directory.join(config::FILE).is_file())
        .unwrap_or(start)
        .to_owned()
}
