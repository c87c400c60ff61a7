//! Reading a repository: finds its tasks, reads their files, and evaluates them.
//!
//! A [`Workspace`] reads one source, the work tree or a commit, together with the settings in that source.
//! [`Workspace::look`] returns the [`Sight`] that every output renders. Opening a workspace completes what a
//! killed process left, and a workspace keeps caches in the git directory; nothing else here writes.

pub(crate) mod apart;
mod basis;
mod caller;
pub(crate) mod code;
mod costs;
pub(crate) mod evidence;
pub(crate) mod former;
mod furthest;
mod glance;
mod held_record;
mod judged_code;
mod known;
mod known_settings;
mod listed;
mod loaded;
mod looks;
mod misplaced;
mod moved;
mod named;
mod overview;
mod people;
mod removed_record;
mod search;
pub(crate) mod setting;
mod setup;
mod sight;
pub(crate) mod snapshot;
mod subject;
mod tasks;
mod unseen;
mod whereabouts;
mod workflows;
mod writers;

pub use crate::base::Error;
use crate::decide::CodeBase;
pub use caller::{Caller, Clock, Variables};
pub use costs::Counted;
pub use known::Keeper;
pub use known_settings::KnownSettings;
pub use loaded::{Loaded, UsableWorkflow};
pub(crate) use looks::{Opener, THREAD_STACK};
pub use overview::{Overview, OverviewPlace, OverviewPlaceKind, OverviewTask};
pub use overview::{unjudged, unread};
pub use setup::Purpose;
pub use sight::{KeptKey, LookDepth, Sight, SightKey};
pub use tasks::{NamedBy, TaskRef};

pub(crate) use held_record::has_own_remedy;
pub(crate) use sight::Placed;
pub(crate) use writers::OutputsNow;

use crate::base::{Code, Diagnostic, Digest, Period, RepoPath, WorkflowName};
use crate::config::{Commit as CommitMode, Config};
use crate::record::KnownLog;
use crate::scan::{Raw, Source, ValidationCache, WorkDir};
use crate::store::{Environment, Store};
use crate::workflow::System;
use costs::Costs;
use known::KnownLooks;
use setting::{InSource, Setting};
use snapshot::Snapshot;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A repository, or a plain directory, with everything needed to evaluate its tasks.
pub struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) store: Option<Store>,
    pub(crate) setting: Arc<Setting>,
    pub(crate) validations: Arc<ValidationCache>,
    /// The environment variables of git.
    pub(crate) environment: Environment,
    pub(crate) costs: Arc<Costs>,
    /// How long to wait for the locks of other processes, if the caller says.
    pub(crate) wait: Option<Duration>,
    /// In at most how many threads a command about many tasks works.
    threads: usize,
    /// Whether a task is named by its whole id alone.
    whole_ids: bool,
    /// What is known of earlier looks.
    known: Option<Arc<KnownLooks>>,
    /// The log that was read last, by a look or to record a step.
    pub(crate) known_log: RefCell<KnownLog>,
    /// Which files outside of the tasks are there, as the last look or series of looks has found.
    files_outside: RefCell<HashMap<RepoPath, bool>>,
    at: At,
}

/// Where the base of the task's commits is taken from.
#[derive(Clone, Copy)]
pub(crate) enum BaseOf<'a> {
    /// From the branches, as they are.
    Branch,
    /// From the record of a step.
    Recorded(Option<&'a CodeBase>),
}

/// The commit whose tree is the code.
#[derive(Clone, Copy)]
pub(crate) enum CodeAt<'a> {
    /// There is no repository.
    Nowhere,
    /// HEAD, whose cache may be used; `None` on a branch without commits.
    Present(&'a Store, Option<Digest>),
    /// A commit; `None` stands for an empty tree.
    Commit(&'a Store, Option<Digest>),
}

/// The source that a workspace reads.
#[derive(Clone, Copy)]
enum At {
    /// The files of the work tree.
    WorkDir,
    /// The files of a commit.
    Commit(Digest),
}

impl Workspace {
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
            (_, Some(store)) => CodeAt::Present(store, head),
            (_, None) => CodeAt::Nowhere,
        };
        let (costs, known_log) = (Some(&*self.costs), Some(&self.known_log));
        let plain = Snapshot::new(&self.setting, source, &self.validations, code);
        look(&Snapshot {
            costs,
            known_log,
            ..plain
        })
    }

    /// The same workspace at a commit, including its settings; read-only. Returns an error if there is no
    /// repository or no such revision.
    pub fn at(mut self, revision: &str) -> Result<Self, Error> {
        let Some(store) = &self.store else {
            let message = "not a git repository, so there is no revision to read";
            return Err(Diagnostic::error(Code::NoRepository, message).into());
        };
        let commit = store.resolve(revision)?;
        self.setting = Setting::read(&InSource(&store.tree_source(commit)), store.format()).into();
        self.at = At::Commit(commit);
        Ok(self)
    }

    /// Whether the workspace reads the work tree, so that it may also write.
    pub(crate) fn reads_work_dir(&self) -> bool {
        matches!(self.at, At::WorkDir)
    }

    /// Calls `told` after each look with the number of looks so far.
    pub fn tell_looks(&self, told: impl Fn(u64) + Send + 'static) {
        self.costs.tell_looks(Box::new(told));
    }

    /// Waits this long for the locks of other processes when something is recorded, and for an open `git
    /// commit`. By default each has its own, shorter time.
    pub fn wait_for_locks(&mut self, wait: Period) {
        let wait = Duration::from_millis(wait.milliseconds());
        self.wait = Some(wait);
        self.store
            .iter_mut()
            .for_each(|store| store.wait_for_locks(wait));
    }

    /// From now on a task is named by its whole id alone: not by the beginning of one, a path or a pattern.
    pub fn take_whole_ids_alone(&mut self) {
        self.whole_ids = true;
    }

    /// Works in at most this many threads where a command is about many tasks. By default, in as many as there are
    /// cores.
    pub fn limit_threads(&mut self, most: usize) {
        self.threads = most.max(1);
    }

    /// The directory that every path is relative to.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The configuration: `orch.toml` over the defaults.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.setting.config
    }

    /// The repository, if there is one.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// A note that nothing is committed, if there is no git repository.
    #[must_use]
    pub fn outside_git(&self) -> Option<Diagnostic> {
        let message = "not a git repository: transitions are applied but not committed";
        self.store
            .is_none()
            .then(|| Diagnostic::note(Code::NoRepository, message).hint("git init"))
    }

    /// The effective workflows, schemas and agent instructions: the built-in ones, overridden by the
    /// repository's own.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.setting.system
    }

    /// The findings about `orch.toml` and the system directory.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        &self.setting.findings
    }

    /// The same, without those about a workflow that `orch.toml` names but that is still to be made.
    pub fn findings_before(&self, made: &WorkflowName) -> impl Iterator<Item = &Diagnostic> {
        let is_awaited = move |finding: &Diagnostic| {
            let mut unknown = self.setting.unknown_workflows.iter();
            unknown.any(|unknown| unknown.name == *made && unknown.finding == *finding)
        };
        self.setting
            .findings
            .iter()
            .filter(move |finding| !is_awaited(finding))
    }

    /// The repository. Returns an error if there is none.
    pub fn repository_or_refuse(&self) -> Result<&Store, Error> {
        self.store.as_ref().ok_or_else(|| {
            let message = "not a git repository, so there is no history";
            Diagnostic::error(Code::NoRepository, message)
                .hint("git init, or choose another directory with -C")
                .into()
        })
    }

    /// The value of `$schema` in a state.
    pub(crate) fn state_schema(&self) -> String {
        format!("{}/schemas/state.schema.json", self.setting.config.system)
    }

    /// Whether transitions are committed to git.
    #[must_use]
    pub fn commits(&self) -> bool {
        self.store.is_some() && self.setting.config.git.commit != CommitMode::Off
    }

    /// How long no further transition must become due before the watch commits, in seconds.
    pub(crate) fn quiet_seconds(&self) -> u64 {
        let git = &self.setting.config.git;
        if self.batches() && self.commits() {
            git.batch_seconds
        } else {
            0
        }
    }

    /// Whether transitions that are due together become a single commit.
    pub(crate) fn batches(&self) -> bool {
        self.setting.config.git.commit == CommitMode::Batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server passes its workspace and its results between threads.
    #[test]
    fn what_a_look_needs_and_yields_can_be_sent() {
        fn is_send<T: Send>() {}
        is_send::<Workspace>();
        is_send::<Sight>();
        is_send::<Caller>();
        is_send::<Error>();
    }
}
