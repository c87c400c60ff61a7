//! The only writer: transitions, orders, adoption and results, each as one commit; recovery and merges.
//!
//! A [`Writer`] acts for one caller in one workspace. Everything it records is decided again under the lock,
//! from files that are read once.

mod advance;
mod attempts;
mod authority;
mod batch;
mod commit_plan;
mod conflicted;
mod create;
mod draft;
mod first_step;
mod group;
mod lease;
mod merge_driver;
mod migrate;
mod new_id;
mod new_place;
mod new_result;
mod older_log;
mod orders;
mod preflight;
mod record_files;
mod recover;
mod relate;
mod relocate;
mod resolve;
mod results;
mod ruled;
mod split;
mod suggestion;

pub use advance::{Advance, AdvancePlan, Applied, AppliedStep, TaskOutcome};
pub use authority::{Authority, Refusal};
pub use conflicted::Conflicts;
pub use create::{Create, Created, NewTask, PlannedTask};
pub use draft::{Drafts, TaskDraft};
pub use group::CommitGroup;
pub use lease::{Holding, TakeWish, TakenTask, Taking};
pub(crate) use lease::{held, secret_of};
pub use merge_driver::DRIVER;
pub use migrate::{Migrate, PlannedMigration, TaskMigration};
pub use new_id::ids_like;
pub use new_place::PlaceWish;
use new_place::Places;
pub use new_result::NewResult;
pub use orders::{Order, Orders, WayBack, last_order};
use record_files::Records;
pub use recover::{Recover, Recovered};
pub use relate::{Relate, RelationWish};
pub use relocate::{Relocate, Relocation};
pub use resolve::{Chosen, Dispute, MergeSide, Resolve, Resolved, ResolvedBy, Settlement};
pub use results::Results;
pub use split::{NewIdFor, Separate, SplitRecord};

pub use advance::Wanted;
pub(crate) use orders::first_applied;
pub(crate) use preflight::refuse_link;

use crate::survey::{Caller, Error, Sight, Workspace};
use orch_base::Timestamp;
use orch_core::decide::{Stamp, Transition};

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

    /// The current time of the caller's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.authority().now()
    }

    /// The stamp of a record that the caller orders; see [`Authority::stamp`].
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.authority().stamp()
    }

    /// What the caller may order.
    #[must_use]
    pub fn authority(&self) -> Authority<'w> {
        Authority {
            callers: self.workspace.callers(),
            caller: self.caller,
        }
    }

    /// Applies transitions.
    #[must_use]
    pub fn advance(&self) -> Advance<'w> {
        Advance {
            reader: &self.workspace.reader,
            wait: self.workspace.wait,
            authority: self.authority(),
            records: self.records(),
            stops: self.stops,
            group: self.group,
            holds: self.holds,
            results: &[],
            together: false,
        }
    }

    /// Records the results of verifications.
    #[must_use]
    pub fn results(&self) -> Results<'w> {
        Results {
            reader: &self.workspace.reader,
            authority: self.authority(),
            advance: self.advance(),
        }
    }

    /// Gives orders.
    #[must_use]
    pub fn orders(&self) -> Orders<'w> {
        Orders {
            reader: &self.workspace.reader,
            authority: self.authority(),
            advance: self.advance(),
            results: &[],
        }
    }

    /// Takes and releases tasks.
    #[must_use]
    pub fn taking(&self) -> Taking<'w> {
        Taking {
            holding: self.holding_of_tree(),
            advance: self.advance(),
        }
    }

    /// The leases of this work tree.
    pub(crate) fn holding_of_tree(&self) -> Holding<'w> {
        Holding {
            reader: &self.workspace.reader,
            authority: self.authority(),
        }
    }

    /// Creates and adopts tasks.
    #[must_use]
    pub fn create(&self) -> Create<'w> {
        Create {
            reader: &self.workspace.reader,
            wait: self.workspace.wait,
            authority: self.authority(),
            records: self.records(),
            advance: self.advance(),
            places: self.places(),
            relate: self.relate(),
        }
    }

    /// Relates tasks to others.
    #[must_use]
    pub fn relate(&self) -> Relate<'w> {
        Relate {
            reader: &self.workspace.reader,
            finder: self.workspace.finder(),
            authority: self.authority(),
            advance: self.advance(),
        }
    }

    /// Moves tasks to the present version of their workflow.
    #[must_use]
    pub fn migrate(&self) -> Migrate<'w> {
        Migrate {
            reader: &self.workspace.reader,
            authority: self.authority(),
            advance: self.advance(),
        }
    }

    /// Renames and archives tasks.
    #[must_use]
    pub fn relocate(&self) -> Relocate<'w> {
        Relocate {
            reader: &self.workspace.reader,
            wait: self.workspace.wait,
            authority: self.authority(),
            holding: self.holding_of_tree(),
            records: self.records(),
            places: self.places(),
            relate: self.relate(),
        }
    }

    /// Finds conflicted records.
    #[must_use]
    pub fn conflicts(&self) -> Conflicts<'w> {
        Conflicts {
            reader: &self.workspace.reader,
            finder: self.workspace.finder(),
        }
    }

    /// Resolves conflicted records.
    #[must_use]
    pub fn resolve(&self) -> Resolve<'w> {
        Resolve {
            reader: &self.workspace.reader,
            authority: self.authority(),
            records: self.records(),
            advance: self.advance(),
            conflicts: self.conflicts(),
        }
    }

    /// Separates tasks that share one record.
    #[must_use]
    pub fn separate(&self) -> Separate<'w> {
        Separate {
            reader: &self.workspace.reader,
            wait: self.workspace.wait,
            authority: self.authority(),
            records: self.records(),
            conflicts: self.conflicts(),
            relocate: self.relocate(),
        }
    }

    /// Recovers damaged records.
    #[must_use]
    pub fn recover(&self) -> Recover<'w> {
        Recover {
            reader: &self.workspace.reader,
            authority: self.authority(),
            records: self.records(),
            conflicts: self.conflicts(),
            holding: self.holding_of_tree(),
        }
    }

    /// Makes drafts.
    #[must_use]
    pub fn drafts(&self) -> Drafts<'w> {
        Drafts {
            reader: &self.workspace.reader,
            authority: self.authority(),
            records: self.records(),
        }
    }

    /// Writes the files of records.
    pub(crate) fn records(&self) -> Records<'w> {
        Records {
            reader: &self.workspace.reader,
        }
    }

    fn places(&self) -> Places<'w> {
        Places {
            reader: &self.workspace.reader,
            finder: self.workspace.finder(),
        }
    }

    /// Commits everything in the work tree; only for repositories that `orch` created. Returns an error if
    /// git fails.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.workspace
            .reader
            .store
            .as_ref()
            .map_or(Ok(()), |store| {
                store.transactions().commit_everything(message)
            })
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
        let _ =
            |workspace: Workspace, caller: Caller, task: crate::survey::TaskRef, order: Order| {
                on_another_thread(move || {
                    Writer::new(&workspace, &caller)
                        .orders()
                        .give(&task, &order, false)
                })
            };
    }
}
