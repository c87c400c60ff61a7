//! What a workspace reads: one source of files, with the settings in it.

use super::costs::Costs;
use super::other_glimpse::KnownOthers;
use super::setting::Settings;
use super::snapshot::Snapshot;
use super::{CodeAt, Error, Look, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Digest, Hint};
use orch_core::config::Commit as CommitMode;
use orch_core::record::KnownLog;
use orch_files::{Raw, Source, WorkDir};
use orch_git::{Head, Store, WorkTree};
use orch_read::ValidationCache;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One source, the work tree or a commit, with the settings in it, and what reading it needs.
pub struct Reader {
    /// The directory that every path is relative to.
    pub(crate) root: PathBuf,
    /// The repository, if there is one.
    pub(crate) store: Option<Store>,
    /// The settings in the source.
    pub(crate) settings: Arc<Settings>,
    pub(crate) validations: Arc<ValidationCache>,
    pub(crate) costs: Arc<Costs>,
    /// The log that was read last, by a look or to record a step.
    pub(crate) known_log: RefCell<KnownLog>,
    /// What the present series of looks has read of other tasks.
    pub(super) others: KnownOthers,
    pub(super) at: At,
}

/// The source that is read.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// The files of the work tree.
    WorkDir,
    /// The files of a commit.
    Commit(Digest),
}

impl Reader {
    /// Looks at a task: reads its files once, and evaluates them.
    ///
    /// Returns an error if the source cannot be read or the workflow cannot be used.
    pub fn look(&self, task: &TaskRef) -> Result<Sight, Error> {
        Look::begin(self)?.at(task)
    }

    /// Reads the workspace's source without code.
    pub(crate) fn snapshot<R>(&self, look: impl FnOnce(&Snapshot<'_>) -> R) -> R {
        self.snapshot_at(None, look)
    }

    /// Reads the workspace's source; `head` is the commit that HEAD points to.
    pub(crate) fn snapshot_at<R>(
        &self,
        head: Option<Digest>,
        look: impl FnOnce(&Snapshot<'_>) -> R,
    ) -> R {
        let work_dir;
        let work_tree;
        let tree;
        let source: &dyn Source = match (&self.at, &self.store) {
            (At::Commit(commit), Some(store)) => {
                tree = store.objects().source_at(*commit);
                &tree
            }
            (_, Some(store)) => {
                work_tree = WorkTree::of(store);
                &work_tree
            }
            (_, None) => {
                work_dir = WorkDir::new(&self.root, &Raw);
                &work_dir
            }
        };
        let code = match (&self.at, &self.store) {
            (At::Commit(commit), Some(store)) => CodeAt::Commit(store, Some(*commit)),
            (_, Some(store)) => CodeAt::Present(store, head),
            (_, None) => CodeAt::Nowhere,
        };
        let costs = Some(&*self.costs);
        let known_log = Some(&self.known_log);
        let others = Some(&self.others);
        let plain = Snapshot::new(&self.settings, source, &self.validations, code);
        look(&Snapshot {
            costs,
            known_log,
            others,
            ..plain
        })
    }

    /// Whether the workspace reads the work tree, so that it may also write.
    pub(crate) fn reads_work_dir(&self) -> bool {
        matches!(self.at, At::WorkDir)
    }

    /// Calls `report` after each look with the number of looks so far.
    pub fn report_looks(&self, report: impl Fn(u64) + Send + 'static) {
        self.costs.report_looks(Box::new(report));
    }

    /// The directory that every path is relative to.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The repository, if there is one.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Returns an error if the work tree or its git directory was removed or moved since it was opened.
    pub(crate) fn require_present(&self) -> Result<(), Error> {
        let git = self
            .store
            .as_ref()
            .map(|store| store.layout().git_directory());
        for place in [Some(&*self.root), git].into_iter().flatten() {
            let gone = place.symlink_metadata().err();
            if gone.is_some_and(|error| error.kind() == ErrorKind::NotFound) {
                let message = format!("{} was removed or moved", place.display());
                let error = Diagnostic::error(Code::NoDirectory, message);
                return Err(error
                    .hint("start orch again where the work tree is now")
                    .into());
            }
        }
        Ok(())
    }

    /// A note that nothing is committed, if there is no git repository.
    #[must_use]
    pub fn outside_git(&self) -> Option<Diagnostic> {
        let message = "not a git repository: transitions are applied but not committed";
        self.store.is_none().then(|| {
            Diagnostic::note(Code::NoRepository, message).hint(without_repository(&self.root))
        })
    }

    /// The repository. Returns an error if there is none.
    pub fn repository_or_refuse(&self) -> Result<&Store, Error> {
        self.store.as_ref().ok_or_else(|| {
            let message = "not a git repository, so there is no history";
            Diagnostic::error(Code::NoRepository, message)
                .hint(without_repository(&self.root).text(", or choose another directory with -C"))
                .into()
        })
    }

    /// Whether transitions are committed to git.
    #[must_use]
    pub fn commits(&self) -> bool {
        self.store.is_some() && self.settings.config.git.commit != CommitMode::Off
    }

    /// How long no further transition must become due before the watch commits, in seconds.
    pub(crate) fn quiet_seconds(&self) -> u64 {
        if self.settings.joins_tasks() && self.commits() {
            self.settings.config.git.batch_seconds
        } else {
            0
        }
    }

    /// The settings in the source.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The name of the current branch without `refs/heads/`. Returns an error if HEAD cannot be read.
    pub fn branch(&self) -> Result<Option<String>, Error> {
        Ok(self
            .present_head()?
            .as_ref()
            .and_then(Head::branch_name)
            .map(str::to_owned))
    }

    /// HEAD; `None` outside git. Returns an error if it cannot be read.
    pub(crate) fn present_head(&self) -> Result<Option<Head>, Error> {
        self.store
            .as_ref()
            .map(|store| store.refs().head())
            .transpose()
    }

    /// The commit of HEAD, if there is one. Returns an error if HEAD cannot be read.
    pub fn head(&self) -> Result<Option<Digest>, Error> {
        Ok(self.present_head()?.and_then(|head| head.commit))
    }
}

/// What to do in a directory without a repository. A workspace of jj has a repository of git elsewhere, or none that git
/// sees.
#[must_use]
pub fn without_repository(root: &Path) -> Hint {
    let jj = root.join(".jj");
    // In a workspace that was added, this is a file with the place of the repository.
    if let Ok(place) = std::fs::read_to_string(jj.join("repo")) {
        let repository = jj.join(place.trim());
        let repository = repository.canonicalize().unwrap_or(repository);
        let main = repository.ancestors().nth(2).unwrap_or(&repository);
        let told = format!(
            "this workspace of jj has no repository of git; run orch in {}",
            main.display()
        );
        return Hint::from(told);
    }
    if jj.is_dir() {
        return Hint::run(&["jj", "git", "colocation", "enable"]);
    }
    Hint::run(&["git", "init"])
}
