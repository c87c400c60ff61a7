//! The one place that puts the rooms together: source, facts, decision, transition, commit.
//!
//! Watch, command line and every later face go through [`Engine`], so they cannot disagree.

mod advance;
mod archive;
mod audit;
mod caller;
mod check;
mod code;
mod compared;
mod conflicted;
mod create;
mod driver;
mod error;
mod gates;
mod join;
mod judge;
mod merged;
mod orders;
mod parallel;
mod preflight;
mod proof;
mod reconstruction;
mod records;
mod recover;
mod resolve;
mod run;
mod setting;
mod setup;
mod snapshot;
mod suggestion;
mod tasks;
mod timeline;
mod watching;
mod workflows;

pub use advance::{AdvancePlan, Applied, TaskOutcome};
pub use audit::{Audit, Audited};
pub use caller::{Caller, Clock};
pub use check::Checked;
pub use create::Created;
pub use driver::DRIVER;
pub use error::{Error, ErrorKind};
pub use judge::{Judged, Runner};
pub use orders::Order;
pub use recover::Recovered;
pub use resolve::{Chosen, Dispute, MergeSide, Resolved, ResolvedBy, Settlement};
pub use run::{Asked, Controlled, Happened, RunEnd, RunInfo, RunOptions, Standstill, StopFlag};
pub use tasks::TaskRef;
pub use watching::{WatchEffect, WatchEvent, Watching};
pub use workflows::Loaded;

use crate::base::{Diagnostic, Digest, TaskId, Timestamp};
use crate::config::{Commit as CommitMode, Config};
use crate::scan::{Raw, Source, ValidationCache, WorkDir};
use crate::store::Store;
use crate::workflow::System;
use code::CodeAt;
use setting::{InSource, Setting};
use snapshot::Snapshot;
use std::path::{Path, PathBuf};

/// A repository (or a plain directory) with everything needed to judge its tasks.
pub struct Engine {
    root: PathBuf,
    store: Option<Store>,
    setting: Setting,
    /// The settings of the past.
    history: archive::Settings,
    validations: ValidationCache,
    caller: Caller,
    at: At,
    /// The task that this process drives.
    driving: Option<TaskId>,
}

/// Which source an engine judges by.
enum At {
    /// The files as they lie there.
    WorkDir,
    /// What a commit holds.
    Commit(Digest),
}

impl Engine {
    /// Looks at the engine's source.
    fn snapshot<R>(&self, look: impl FnOnce(&Snapshot<'_>) -> R) -> R {
        let work_dir;
        let work_tree;
        let tree;
        let source: &dyn Source = match (&self.at, &self.store) {
            (At::Commit(commit), Some(store)) => {
                tree = store.tree_source(*commit);
                &tree
            }
            (_, Some(store)) => {
                work_tree = store.work_tree();
                &work_tree
            }
            (_, None) => {
                work_dir = WorkDir::new(&self.root, &Raw);
                &work_dir
            }
        };
        let code = match (&self.at, &self.store) {
            (At::Commit(commit), Some(store)) => CodeAt::Commit(store, Some(*commit)),
            (_, Some(store)) => CodeAt::Head(store),
            (_, None) => CodeAt::Nowhere,
        };
        look(&Snapshot { setting: &self.setting, source, validations: &self.validations, code })
    }

    /// The same engine over what a commit holds, its settings included; it can only look.
    pub fn at(mut self, revision: &str) -> Result<Self, Error> {
        let Some(store) = &self.store else {
            let message = "there is no repository here, so there is no revision to look at";
            return Err(Diagnostic::error("no-repository", message).into());
        };
        let commit = store.resolve(revision)?;
        self.setting = Setting::read(&InSource(&store.tree_source(commit)));
        self.at = At::Commit(commit);
        Ok(self)
    }

    /// Whether it judges the files as they lie there, so that it may also write.
    fn reads_work_dir(&self) -> bool {
        matches!(self.at, At::WorkDir)
    }

    /// The work directory that every path is relative to.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.setting.config
    }

    /// The repository, if there is one.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// A note that nothing is committed here, because this is no repository.
    #[must_use]
    pub fn outside_git(&self) -> Option<Diagnostic> {
        let message = "this is no git repository: moves are written, and nothing is committed";
        self.store.is_none().then(|| Diagnostic::note("no-repository", message).hint("git init"))
    }

    /// Commits everything in the work directory; only for repositories that `orch` made itself.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.store.as_ref().map_or(Ok(()), |store| Ok(store.commit_everything(message)?))
    }

    /// The texts in force: what ships, with the repository's own laid over it.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.setting.system
    }

    /// Where the repository keeps its own texts, if it does.
    #[must_use]
    pub fn system_directory(&self) -> Option<&str> {
        self.setting.has_own_texts.then(|| self.setting.config.system.as_str())
    }

    /// Findings about `orch.toml` and the system directory.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        &self.setting.findings
    }

    /// The present time, as the caller has it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.caller.clock.now()
    }

    /// Whether git signs the commits of whoever calls.
    pub fn signs_commits(&self) -> Result<bool, Error> {
        match self.store.as_ref().filter(|_| self.commits()) {
            Some(store) => Ok(store.signs()?),
            None => Ok(false),
        }
    }

    /// Whether transitions are committed to git.
    #[must_use]
    pub fn commits(&self) -> bool {
        self.store.is_some() && self.setting.config.git.commit == CommitMode::Each
    }
}
