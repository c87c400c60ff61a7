//! The git repository. No other crate uses git2.
//!
//! A transition changes nothing that the user works on: the branch moves by compare-and-swap, the index is
//! updated once per batch under git's own lock, and the next command completes what a killed process left
//! unfinished.

use crate::error::libgit2;

mod ancestors;
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
mod follow;
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
mod known_work_trees;
mod layout;
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
mod pipe;
mod push;
mod read_index;
mod recent;
mod ref_guard;
mod ref_tables;
mod references;
mod remote_refs;
mod removals;
mod separate;
mod side_work;
mod sign;
mod sources;
mod sparse;
mod splice;
mod staged;
mod torn;
mod update_index;
mod varint;
mod vet;
mod walk;
mod work_trees;
mod writers;

#[cfg(test)]
mod tests;

pub use ancestors::Ancestors;
pub use changes::{KnownRefs, Range, Visited};
pub use clean::Filters;
pub use code::{CodeCommit, CodePart, CodeParts, OnlyFiles, Since, Start};
pub use code_history::{BaseBranch, CodeQuestion, CommitsOf, NamedLog};
pub use commit::{Committed, LockOrder, PlannedCommit, Transaction, Transactions, Write};
pub use conflict::{GitSettings, Operation, Unmerged};
pub use environment::Environment;
pub use follow::Follow;
pub use git::{git_editor, git_pager, git_version};
pub use guard::GitGuard;
pub use history::{History, PathChange};
pub use hooks::{ConfiguredHook, Hooks, HooksLocation};
pub use index::{Index, resolving};
pub use journal::MovedPath;
pub use known_work_trees::KnownWorkTree;
pub use layout::Layout;
pub use lock::IndexGate;
pub use lock_wait::{LockWait, PATIENCE};
pub use log_file::LogFile;
pub use message::{Messages, trailers};
pub use objects::Objects;
use orch_base::{Diagnostic, Digest, Error, Patterns};
use orch_files::io_error;
pub use patch::patch;
pub use push::{PushOutcome, Pushes, Upstream};
pub use ref_guard::RefGuard;
pub use references::{BranchTip, Refs};
pub use remote_refs::{Carrier, Probed, RefAnswer, RefChange, RemotePlace, RemoteRefs};
pub use removals::{Removal, Removals};
pub use separate::{
    CheckoutChanges, CloneSource, SeparateCheckout, SeparateClone, SeparateEntry, Submodule,
};
pub use side_work::SideWork;
pub use sign::{Identity, Signature};
pub use sources::{TreeSource, tree_id};
pub use sparse::WorkTree;
pub use staged::{IndexSource, StagedFile};
pub use work_trees::{BranchMoved, Joined, Uncommitted, WorkTrees};
pub use writers::SeenWriters;

use differences::Differences;
use git::GitProgram;
use git2::{Oid, Repository};
use listing::Listing;
use ref_tables::RefTables;
use references::RefStorage;
use std::cell::{Cell, OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A git repository, usually with a work tree. Its parts do the work; each says what it needs.
pub struct Store {
    objects: Objects,
    references: RefStorage,
    /// Where the references are since `git refs migrate`.
    migrated: OnceCell<RefStorage>,
    root: PathBuf,
    options: StoreOptions,
    filters: clean::FilterState,
    parts: code::Parts,
    differences: Differences,
    walks: Cell<usize>,
    removed: RefCell<Option<removals::KnownRemovals>>,
    set_aside: RefCell<Vec<Diagnostic>>,
}

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
    /// How often a commit was read.
    pub commits: u64,
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
    commits: AtomicU64,
    trees: AtomicU64,
    tree_entries: AtomicU64,
}

/// The version of the library that reads and writes repositories.
#[must_use]
pub fn libgit2_version() -> String {
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    format!("{major}.{minor}.{patch}")
}

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
    /// Opens the repository with the same options; `None` if it no longer exists. It shares its counters with the
    /// original store.
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
        self.differences.prepare_for_history();
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
            migrated: OnceCell::new(),
            root,
            options: StoreOptions::default(),
            filters: clean::FilterState::default(),
            parts: code::Parts::default(),
            differences: Differences::default(),
            walks: Cell::default(),
            removed: RefCell::default(),
            set_aside: RefCell::default(),
        };
        store.refs().refuse_old_git()?;
        Ok(Some(store))
    }

    /// Opens another repository in the same environment; `None` if there is none. Returns an error if it cannot be used.
    pub fn another(&self, start: &Path) -> Result<Option<Self>, Error> {
        Self::discover(start, &self.objects.environment.elsewhere())
    }

    /// The location of this repository, to open it in another thread.
    #[must_use]
    pub fn location(&self) -> Location {
        let git_directory = self.objects.repo.path().to_owned();
        let root = self.root.clone();
        let environment = self.objects.environment.clone();
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

    /// The options, to change them.
    pub fn options_mut(&mut self) -> &mut StoreOptions {
        &mut self.options
    }

    /// The objects of the repository.
    #[must_use]
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Its directories and files.
    #[must_use]
    pub fn layout(&self) -> Layout<'_> {
        Layout {
            objects: &self.objects,
            root: &self.root,
        }
    }

    fn git(&self) -> GitProgram<'_> {
        GitProgram {
            objects: &self.objects,
            root: &self.root,
        }
    }

    /// Its references.
    #[must_use]
    pub fn refs(&self) -> Refs<'_> {
        let references = if self.references.is_migrated(&self.objects.repo) {
            self.migrated
                .get_or_init(|| RefStorage::Tables(RefTables::of(&self.objects.repo)))
        } else {
            &self.references
        };
        Refs {
            objects: &self.objects,
            references,
            git: self.git(),
            layout: self.layout(),
            wait: self.options.wait,
        }
    }

    /// What git converts on the way from the work tree to its objects.
    #[must_use]
    pub fn filters(&self) -> Filters<'_> {
        Filters {
            objects: &self.objects,
            git: self.git(),
            layout: self.layout(),
            state: &self.filters,
        }
    }

    /// Its index.
    #[must_use]
    pub fn index(&self) -> Index<'_> {
        Index {
            objects: &self.objects,
            git: self.git(),
            layout: self.layout(),
            filters: self.filters(),
            wait: self.options.wait,
        }
    }

    /// Its commits.
    #[must_use]
    pub fn history(&self) -> History<'_> {
        History {
            objects: &self.objects,
            refs: self.refs(),
            differences: &self.differences,
            walks: &self.walks,
        }
    }

    /// Its pushes.
    #[must_use]
    pub fn pushes(&self) -> Pushes<'_> {
        Pushes {
            git: self.git(),
            history: self.history(),
        }
    }

    /// Its work trees.
    #[must_use]
    pub fn work_trees(&self) -> WorkTrees<'_> {
        WorkTrees {
            git: self.git(),
            refs: self.refs(),
            history: self.history(),
        }
    }

    /// What remotes have of its branches.
    #[must_use]
    pub fn follow(&self) -> Follow<'_> {
        Follow {
            git: self.git(),
            refs: self.refs(),
            history: self.history(),
        }
    }

    /// The references of its remotes.
    #[must_use]
    pub fn remote_refs(&self) -> RemoteRefs<'_> {
        RemoteRefs {
            git: self.git(),
            objects: &self.objects,
            layout: self.layout(),
            history: self.history(),
            limit: remote_refs::LIMIT,
        }
    }

    /// The commits that remove files.
    #[must_use]
    pub fn removals(&self) -> Removals<'_> {
        Removals {
            history: self.history(),
            removed: &self.removed,
        }
    }

    /// The code in its commits.
    #[must_use]
    pub fn code(&self) -> CodeParts<'_> {
        CodeParts {
            objects: &self.objects,
            history: self.history(),
            parts: &self.parts,
        }
    }

    /// Who commits, and signs.
    #[must_use]
    pub fn identity(&self) -> Identity<'_> {
        Identity {
            objects: &self.objects,
            git: self.git(),
        }
    }

    /// The messages of commits that git is making.
    #[must_use]
    pub fn messages(&self) -> Messages<'_> {
        Messages {
            objects: &self.objects,
            git: self.git(),
            layout: self.layout(),
        }
    }

    /// Its settings about merges, commands and hooks.
    #[must_use]
    pub fn settings(&self) -> GitSettings<'_> {
        GitSettings {
            objects: &self.objects,
            git: self.git(),
            layout: self.layout(),
        }
    }

    /// Commits batches of transitions.
    #[must_use]
    pub fn transactions(&self) -> Transactions<'_> {
        Transactions {
            objects: &self.objects,
            refs: self.refs(),
            index: self.index(),
            layout: self.layout(),
            git: self.git(),
            filters: self.filters(),
            identity: self.identity(),
            options: &self.options,
            set_aside: &self.set_aside,
        }
    }

    /// The counters since the store was opened.
    #[must_use]
    pub fn counted(&self) -> StoreCounts {
        let StoreCosts {
            heads,
            locks,
            blob_bytes,
            attributes,
            commits,
            trees,
            tree_entries,
        } = &*self.objects.costs;
        StoreCounts {
            heads: heads.load(Relaxed),
            locks: locks.load(Relaxed),
            blob_bytes: blob_bytes.load(Relaxed),
            attributes: attributes.load(Relaxed),
            commits: commits.load(Relaxed),
            trees: trees.load(Relaxed),
            tree_entries: tree_entries.load(Relaxed),
        }
    }
}

/// Converts a git object id to a digest.
fn digest(id: Oid) -> Digest {
    // An id of git has the length of one of the two.
    Digest::from_bytes(id.as_bytes()).unwrap_or(Digest::Sha1([0; 20]))
}
