//! Reading a repository: finds its tasks, reads their files, and evaluates them.
//!
//! A [`Workspace`] reads one source, the work tree or a commit, together with the settings in that source.
//! [`Workspace::look`] returns the [`Sight`] that every output renders. Opening a workspace completes what a
//! killed process left, and a workspace keeps caches in the git directory; nothing else here writes.

pub(crate) mod apart;
mod basis;
mod branch_relations;
mod caller;
mod callers;
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
mod leases;
mod listed;
mod loaded;
mod looks;
mod misplaced;
mod moved;
mod named;
pub(crate) mod other_glimpse;
pub(crate) mod others;
mod overview;
mod reader;
mod removed_record;
mod repository_files;
mod search;
pub(crate) mod setting;
mod setup;
mod sight;
pub(crate) mod snapshot;
mod subject;
mod task_change;
mod tasks;
mod trusted;
mod unseen;
pub(crate) mod verification_base;
pub(crate) mod verified_code;
mod versions;
mod whereabouts;
mod workflows;
mod writers;

pub use branch_relations::BranchRelations;
pub use caller::{Caller, Clock, Variables, time_zone};
pub use callers::Callers;
pub use costs::Counted;
pub use known::Keeper;
pub use known_settings::KnownSettings;
pub use leases::{HeldTasks, TaskLease, TaskLeases};
pub use loaded::{Loaded, UsableWorkflow};
pub use looks::Crew;
pub(crate) use looks::{Opener, THREAD_STACK};
pub use named::Finder;
pub use orch_base::Error;
use orch_core::decide::CodeBase;
pub use other_glimpse::OtherGlimpse;
pub use overview::{Overview, OverviewPlace, OverviewPlaceKind, OverviewTask};
pub use overview::{unjudged, unread};
pub use reader::{Reader, without_repository};
pub use setting::Settings;
pub use setup::{Purpose, start_directory};
pub use sight::{KeptKey, Look, LookDepth, Sight, SightKey};
pub use tasks::{NamedBy, TaskRef};
pub use versions::{VersionPair, WorkflowVersion, names_of};

pub(crate) use code::facts_after;
pub(crate) use held_record::has_own_remedy;
pub(crate) use sight::Placed;
pub(crate) use subject::issue_place;
pub(crate) use task_change::{RestedStep, TaskChanges};
pub(crate) use trusted::{NetworkStore, TRUST_PLACE, place_of, trust_file, trusted, untrusted};
pub(crate) use writers::OutputsNow;

use known::KnownLooks;
use orch_base::{Code, Diagnostic, Digest, Period};
use orch_git::{Environment, Store};
use reader::At;
use setting::InSource;
use std::sync::Arc;
use std::time::Duration;

/// A repository, or a plain directory, with everything needed to evaluate its tasks.
pub struct Workspace {
    /// What it reads.
    pub(crate) reader: Reader,
    /// The environment variables of git.
    pub(crate) environment: Environment,
    /// How long to wait for the locks of other processes, if the caller says.
    pub(crate) wait: Option<Duration>,
    /// In at most how many threads a command about many tasks works.
    threads: usize,
    /// Whether a task is named by its whole id alone.
    whole_ids: bool,
    /// What is known of earlier looks.
    known: Option<Arc<KnownLooks>>,
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

impl Workspace {
    /// What it reads.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The settings in its source.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.reader.settings
    }

    /// Finds tasks in its source.
    #[must_use]
    pub fn finder(&self) -> Finder<'_> {
        Finder {
            reader: &self.reader,
            crew: self.crew(),
            whole_ids: self.whole_ids,
        }
    }

    /// Those who work on many tasks at once.
    #[must_use]
    pub fn crew(&self) -> Crew<'_> {
        Crew {
            reader: &self.reader,
            known: self.known.as_deref(),
            threads: self.threads(),
        }
    }

    /// What is known of callers.
    #[must_use]
    pub fn callers(&self) -> Callers<'_> {
        Callers {
            reader: &self.reader,
            finder: self.finder(),
        }
    }

    /// Looks at a task; see [`Reader::look`].
    ///
    /// Returns an error if the source cannot be read or the workflow cannot be used.
    pub fn look(&self, task: &TaskRef) -> Result<Sight, Error> {
        self.reader.look(task)
    }

    /// The same workspace at a commit, including its settings; read-only. Returns an error if there is no
    /// repository or no such revision.
    pub fn at(mut self, revision: &str) -> Result<Self, Error> {
        let reader = &mut self.reader;
        let Some(store) = &reader.store else {
            let message = "not a git repository, so there is no revision to read";
            return Err(Diagnostic::error(Code::NoRepository, message).into());
        };
        let commit = store.refs().resolve(revision)?;
        reader.settings = Settings::read(
            &InSource(&store.objects().source_at(commit)),
            store.objects().format(),
        )
        .into();
        reader.at = At::Commit(commit);
        reader.others.forget();
        Ok(self)
    }

    /// Waits this long for the locks of other processes when something is recorded, and for an open `git
    /// commit`. By default each has its own, shorter time.
    pub fn wait_for_locks(&mut self, wait: Period) {
        let wait = Duration::from_millis(wait.milliseconds());
        self.wait = Some(wait);
        self.reader
            .store
            .iter_mut()
            .for_each(|store| store.options_mut().wait = Some(wait));
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
