//! The only writer: transitions, orders, adoption and results, each as one commit; recovery and merges.
//!
//! A [`Writer`] acts for one caller in one workspace. Everything it records is decided again under the lock,
//! from files that are read once.

mod advance;
mod attempts;
mod batch;
mod commit_plan;
mod conflicted;
mod create;
mod draft;
mod group;
mod merge_driver;
mod new_id;
mod new_place;
mod older_log;
mod orders;
mod people;
mod preflight;
mod record_files;
mod recover;
mod relocate;
mod resolve;
mod ruled;
mod split;
mod suggestion;

pub use advance::{AdvancePlan, Applied, AppliedStep, TaskOutcome};
pub use create::{Created, NewTask};
pub use draft::TaskDraft;
pub use group::CommitGroup;
pub use merge_driver::DRIVER;
pub use new_place::PlaceWish;
pub use orders::Order;
pub use recover::Recovered;
pub use relocate::Relocation;
pub use resolve::{Chosen, Dispute, MergeSide, Resolved, ResolvedBy, Settlement};
pub use split::{NewIdFor, SplitRecord};

pub use advance::Wanted;
pub(crate) use orders::first_applied;

use crate::base::Timestamp;
use crate::decide::{ActorKind, Stamp, Transition};
use crate::store::Store;
use crate::survey::{Caller, Error, Sight, Workspace};

/// Writes in a workspace on behalf of a caller.
///
/// A writer borrows both and is free to create. It is not `Send`, because a [`Workspace`] holds an open
/// repository and so is not `Sync`. Send the workspace and the caller to another thread, and create the
/// writer there.
#[derive(Clone, Copy)]
pub struct Writer<'w> {
    /// The workspace to write in.
    pub workspace: &'w Workspace,
    /// The caller, whose name and clock go into the records.
    pub caller: &'w Caller,
    /// Whether what several tasks wait for is to end after the task that is in progress.
    stops: Option<&'w (dyn Fn() -> bool + 'w)>,
    /// The others of this process, with which it commits.
    group: Option<&'w CommitGroup>,
    /// Which transitions of a task it holds back although they are due.
    holds: Option<&'w Holds<'w>>,
}

/// Whether a transition of a task is held back although it is due.
pub(crate) type Holds<'w> = dyn Fn(&Sight, &Transition) -> bool + 'w;

impl<'w> Writer<'w> {
    /// A writer for a caller.
    #[must_use]
    pub fn new(workspace: &'w Workspace, caller: &'w Caller) -> Self {
        Self {
            workspace,
            caller,
            stops: None,
            group: None,
            holds: None,
        }
    }

    /// The same, but it commits steps together with the others of this group.
    #[must_use]
    pub fn among(self, group: Option<&'w CommitGroup>) -> Self {
        Self { group, ..self }
    }

    /// The same, but of several tasks it leaves those that it has not begun with as soon as `stops` says so.
    #[must_use]
    pub fn until(self, stops: &'w (dyn Fn() -> bool + 'w)) -> Self {
        Self {
            stops: Some(stops),
            ..self
        }
    }

    /// The same, but it leaves transitions that are held back.
    #[must_use]
    pub(crate) fn holding(self, holds: &'w Holds<'w>) -> Self {
        Self {
            holds: Some(holds),
            ..self
        }
    }

    /// Whether the tasks that were not begun are left.
    fn is_stopped(&self) -> bool {
        self.stops.is_some_and(|stops| stops())
    }

    /// The current time of the caller's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.caller.clock.now()
    }

    /// The stamp of a record that the caller orders: an agent's if anything shows that the caller is one.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let identity = self.workspace.store.as_ref().and_then(Store::identity_name);
        let mut stamp = self.caller.stamp(identity.as_deref());
        // Who gives another name than that of git may be somebody else.
        let is_of_git = self.caller.name.is_none();
        let address = self
            .workspace
            .store
            .as_ref()
            .and_then(Store::identity_address);
        stamp.address = address.filter(|_| is_of_git);
        if self.workspace.agent_because(self.caller).is_some() {
            stamp.by.kind = ActorKind::Agent;
        }
        stamp
    }

    /// Commits everything in the work tree; only for repositories that `orch` created. Returns an error if
    /// git fails.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.workspace
            .store
            .as_ref()
            .map_or(Ok(()), |store| store.commit_everything(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server takes an order on one thread and carries it out on another.
    #[test]
    fn a_writer_is_made_on_the_thread_that_its_workspace_was_sent_to() {
        fn on_another_thread<T: Send>(
            order: impl FnOnce() -> T + Send,
        ) -> impl FnOnce() -> T + Send {
            order
        }
        let _ = |workspace: Workspace,
                 caller: Caller,
                 task: crate::survey::TaskRef,
                 order: Order| {
            on_another_thread(move || Writer::new(&workspace, &caller).order(&task, &order, false))
        };
    }
}
