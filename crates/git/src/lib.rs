//! The git repository. No other module uses git2.
//!
//! A transition changes nothing that the user works on: the branch moves by compare-and-swap, the index is
//! updated once per batch under git's own lock, and the next command completes what a killed process left
//! unfinished.

use crate::error::libgit2;

mod cache_tree;
pub mod caches;
mod changes;
mod clean;
mod code;
mod code_history;
mod commit;
mod conflict;
mod deflate;
mod delta;
mod differences;
pub mod durable;
mod entries;
mod environment;
mod error;
mod exact_change;
mod extension;
mod gc;
mod git;
mod git_processes;
mod guard;
mod held;
mod history;
mod hooks;
mod index;
mod index_entry;
mod journal;
mod listing;
mod lock;
mod lock_wait;
mod log_file;
mod loose;
mod ls_files;
mod message;
mod new_commits;
mod new_pack;
mod next_index;
mod objects;
mod pack;
mod patch;
mod places;
mod read_index;
mod recent;
mod ref_tables;
mod references;
mod removals;
mod side_work;
mod sign;
mod sources;
mod sparse;
mod splice;
mod staged;
mod torn;
mod tree;
mod update_index;
mod varint;
mod vet;
mod walk;
mod writers;

#[cfg(test)]
mod tests;

pub use changes::{KnownRefs, Range, Visited};
pub use code::{CodeCommit, CodePart, OnlyFiles, Since, Start};
pub use code_history::{CodeQuestion, CommitsOf, NamedLog};
pub use commit::{Committed, PlannedCommit, Transaction, Write};
pub use conflict::{Operation, Unmerged};
pub use environment::Environment;
pub use git::{git_pager, git_version};
pub use guard::GitGuard;
pub use history::PathChange;
pub use hooks::{Hooks, HooksLocation};
pub use index::resolving;
pub use journal::MovedPath;
pub use lock::IndexGate;
pub use lock_wait::{LockWait, PATIENCE};
pub use log_file::LogFile;
pub use message::trailers;
pub use objects::Objects;
use orch_base::{Diagnostic, Digest, Error, ObjectFormat, Patterns};
use orch_files::{Directory, io_error};
pub use places::BranchTip;
pub use places::tree_id;
pub use removals::Removal;
pub use side_work::SideWork;
pub use sign::Signature;
pub use sources::TreeSource;
pub use sparse::WorkTree;
pub use staged::{IndexSource, StagedFile};
pub use writers::SeenWriters;

use differences::{CommitDifference, DifferenceKey};
use git2::{Oid, Repository};
use listing::Listing;
use recent::Recent;
use references::RefStorage;
use sign::Person;
use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A git repository, usually with a work tree.
pub struct Store {
    objects: Objects,
    references: RefStorage,
    root: PathBuf,
    options: StoreOptions,
    shared_attributes: OnceCell<Vec<PathBuf>>,
    conversions: RefCell<clean::Conversions>,
    /// How often it was not known without the settings of git whether it converts bytes.
    converted: Cell<u64>,
    /// Cached results about parts of trees.
    parts: code::Parts,
    differences: RefCell<Recent<DifferenceKey, Arc<CommitDifference>>>,
    /// How many walks have looked for the last changes of paths.
    walks: Cell<usize>,
    removed: RefCell<Option<removals::KnownRemovals>>,
    /// The findings about journals that were set aside and that nobody was told of yet.
    set_aside: RefCell<Vec<Diagnostic>>,
}

/// The permissions of directories where the users of a machine share no repository.
const UNSHARED: u32 = 0o700;

/// Counters for tests of how often a store does expensive work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// How often HEAD was read.
    pub heads: u64,
    /// How often the lock for a transition was taken.
    pub locks: u64,
    /// How many bytes of blobs were read.
    pub blob_bytes: u64,
    /// How often an attribute file was read.
    pub attributes: u64,
    /// How many directories of commits were read.
    pub trees: u64,
    /// How many entries these directories have.
    pub tree_entries: u64,
}

#[derive(Debug, Default)]
struct StoreCosts {
    heads: AtomicU64,
    locks: AtomicU64,
    blob_bytes: AtomicU64,
    attributes: AtomicU64,
    trees: AtomicU64,
    tree_entries: AtomicU64,
}

/// The version of the library that reads and writes repositories.
#[must_use]
pub fn libgit2_version() -> String {
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    format!("{major}.{minor}.{patch}")
}

/// How many bytes of differences of commits a generation of the cache holds.
const RECENT_DIFFERENCES: usize = 8 << 20;

/// What the configuration permits.
#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    /// Whether to commit while HEAD is detached.
    pub detached_head: bool,
    /// The names of branches on which `orch` never commits.
    pub protected: Patterns,
    /// How long a transaction waits for the locks of other processes and for an open `git commit`; by default
    /// as long as suits each lock.
    pub wait: Option<Duration>,
}

/// What HEAD points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch, even if it has no commit yet; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The commit; `None` on a branch without commits.
    pub commit: Option<Digest>,
}

impl Head {
    /// The name of the branch without `refs/heads/`.
    #[must_use]
    pub fn branch_name(&self) -> Option<&str> {
        let name = self.branch.as_deref()?;
        Some(name.strip_prefix("refs/heads/").unwrap_or(name))
    }
}

/// The location of a repository, to open it again.
#[derive(Debug, Clone)]
pub struct Location {
    root: PathBuf,
    git_directory: PathBuf,
    environment: Environment,
    options: StoreOptions,
    costs: Arc<StoreCosts>,
}

impl Location {
    /// Opens the repository with the same options; `None` if it no longer exists. What it does counts with what
    /// the store does that it was made from.
    #[must_use]
    pub fn open(&self) -> Option<Store> {
        let mut store = Store::discover(&self.root, &self.environment).ok()??;
        store.options = self.options.clone();
        store.objects.costs = Arc::clone(&self.costs);
        let is_same = store.objects.repo.path() == self.git_directory;
        is_same.then_some(store)
    }
}

impl Store {
    /// Prepares for going through a whole history. More of the blobs that were read recently are kept: a command asks
    /// for the record of each task before and after a step, and many tasks take steps in turn. Less of anything else
    /// is, because it is asked for at the next commit or not again, and nothing in libgit2, which would keep 256 MB.
    pub fn prepare_for_history(&self) {
        self.objects.prepare_for_history();
        self.differences
            .replace(Recent::at_most(RECENT_DIFFERENCES / 8));
    }

    /// Opens the repository around `start`, or the one that the environment names; `None` outside git.
    /// Returns an error if it cannot be used.
    pub fn discover(start: &Path, environment: &Environment) -> Result<Option<Self>, Error> {
        let Some(repo) = environment.open(start)? else {
            return Ok(None);
        };
        // In a bare repository commits can still be checked, as a hook on a server does.
        let root = repo.workdir().unwrap_or_else(|| repo.path());
        let root = root
            .canonicalize()
            .map_err(|source| io_error(root, source))?;
        let references = RefStorage::of(&repo)?;
        let store = Self {
            objects: Objects::of(repo, environment.clone()),
            references,
            root,
            options: StoreOptions::default(),
            shared_attributes: OnceCell::new(),
            conversions: RefCell::default(),
            converted: Cell::default(),
            parts: code::Parts::default(),
            differences: Recent::at_most(RECENT_DIFFERENCES).into(),
            walks: Cell::default(),
            removed: RefCell::default(),
            set_aside: RefCell::default(),
        };
        store.refuse_old_git()?;
        Ok(Some(store))
    }

    /// The location of this repository, to open it in another thread.
    #[must_use]
    pub fn location(&self) -> Location {
        let git_directory = self.objects.repo.path().to_owned();
        let (root, environment) = (self.root.clone(), self.objects.environment.clone());
        let options = self.options.clone();
        let costs = Arc::clone(&self.objects.costs);
        Location {
            root,
            git_directory,
            environment,
            options,
            costs,
        }
    }

    /// Returns an error if the repository has no work tree: there are no tasks to evaluate or move.
    pub fn refuse_bare(&self) -> Result<(), Error> {
        match self.objects.repo.workdir() {
            Some(_) => Ok(()),
            None => Err(error::bare(self.objects.repo.path())),
        }
    }

    /// Creates a repository in an empty directory, with an identity of its own. Returns an error if git
    /// cannot write it.
    pub fn create(directory: &Path) -> Result<(), Error> {
        environment::prepare_library();
        let mut options = git2::RepositoryInitOptions::new();
        options.initial_head("main").no_reinit(true);
        let repo = Repository::init_opts(directory, &options).map_err(libgit2)?;
        let mut config = environment::settings_of_clone(&repo).map_err(libgit2)?;
        config.set_str("user.name", "Demo").map_err(libgit2)?;
        config
            .set_str("user.email", "demo@example.com")
            .map_err(libgit2)?;
        // The user's settings may require signatures, which the demo cannot create.
        config.set_bool("commit.gpgSign", false).map_err(libgit2)?;
        Ok(())
    }

    /// Commits everything in the work tree that is not ignored, like `git add -A && git commit`. Returns an
    /// error if git fails.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.git(&["add", "-A"], &[])?;
        Ok(self
            .git(&["commit", "-q", "--no-verify", "-m", message], &[])
            .map(drop)?)
    }

    /// The same repository with other options.
    #[must_use]
    pub fn with_options(self, options: StoreOptions) -> Self {
        Self { options, ..self }
    }

    /// Waits this long for the locks of other processes.
    pub fn wait_for_locks(&mut self, wait: Duration) {
        self.options.wait = Some(wait);
    }

    /// The objects of the repository.
    #[must_use]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The root of the work tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory of this work tree.
    pub fn git_directory(&self) -> &Path {
        self.objects.repo.path()
    }

    /// The git directory that all work trees of the repository share.
    pub fn common_directory(&self) -> &Path {
        self.objects.repo.commondir()
    }

    /// The format of the ids of its objects.
    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        self.objects.format
    }

    /// The path of a file of `orch` for this work tree, inside the git directory.
    #[must_use]
    pub fn own(&self, name: &str) -> PathBuf {
        self.objects.repo.path().join("orch").join(name)
    }

    /// The directory of `orch` for this work tree, created if it is missing. Returns an error if it cannot be
    /// opened or is a link.
    pub fn own_directory(&self) -> Result<Directory, Error> {
        let git = self.objects.repo.path();
        let path = git.join("orch");
        let made = Directory::make(git, &path).map_err(|source| io_error(&path, source))?;
        // Whoever may open the lock can hold it. The owner of the directory may be another user who shares it.
        if let Err(error) = made.permit(self.sharing()?) {
            tracing::debug!(%error, "cannot set the permissions of .git/orch");
        }
        Ok(made)
    }

    /// Replaces a file in the directory of `orch` for this work tree by one that only this user can read and change.
    /// Returns an error if it cannot be written.
    pub fn keep_private(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let written = durable::write_private(&self.own_directory()?, name, bytes);
        written.map_err(|source| io_error(&self.own(name), source))
    }

    /// The permissions of directories that users share, as `core.sharedRepository` says; [`UNSHARED`] if they share none.
    fn sharing(&self) -> Result<u32, Error> {
        let said = environment::settings(&self.objects.repo)
            .map_err(libgit2)?
            .get_str("core.sharedRepository")
            .map(str::to_owned);
        let said = said.unwrap_or_default().to_lowercase();
        Ok(match said.as_str() {
            "group" | "true" | "yes" | "on" | "1" => 0o770,
            "all" | "world" | "everybody" | "2" => 0o775,
            octal if octal.starts_with('0') => {
                let files = u32::from_str_radix(octal, 8).unwrap_or_default() & 0o666;
                0o700 | files | (files & 0o444) >> 2
            }
            _ => UNSHARED,
        })
    }

    /// The counters since the store was opened.
    #[must_use]
    pub fn counted(&self) -> StoreCounts {
        let StoreCosts {
            heads,
            locks,
            blob_bytes,
            attributes,
            trees,
            tree_entries,
        } = &*self.objects.costs;
        StoreCounts {
            heads: heads.load(Relaxed),
            locks: locks.load(Relaxed),
            blob_bytes: blob_bytes.load(Relaxed),
            attributes: attributes.load(Relaxed),
            trees: trees.load(Relaxed),
            tree_entries: tree_entries.load(Relaxed),
        }
    }

    /// The author name that git would record in a commit now.
    #[must_use]
    pub fn identity_name(&self) -> Option<String> {
        self.identity(Person::Author)
            .ok()?
            .name()
            .ok()
            .map(str::to_owned)
    }

    /// The email address of the author of commits; `None` if git has no identity.
    #[must_use]
    pub fn identity_address(&self) -> Option<String> {
        self.identity(Person::Author)
            .ok()?
            .email()
            .ok()
            .map(str::to_owned)
    }

    /// `Name <mail>` of the committer, for a sign-off. Returns an error if git has no identity.
    pub fn identity_line(&self) -> Result<String, Error> {
        let committer = self.identity(Person::Committer)?;
        let (name, mail) = (
            committer.name().unwrap_or_default(),
            committer.email().unwrap_or_default(),
        );
        Ok(format!("{name} <{mail}>"))
    }
}

/// Converts a git object id to a digest.
fn digest(id: Oid) -> Digest {
    // An id of git has the length of one of the two.
    Digest::from_bytes(id.as_bytes()).unwrap_or(Digest::Sha1([0; 20]))
}
