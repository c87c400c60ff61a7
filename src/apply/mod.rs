//! The only writer: transitions, orders, adoption, recovery and merges, each as one commit.
//!
//! A [`Writer`] acts for one caller on one workspace. Everything it records is decided anew under the
//! lock, from bytes that are read once.

mod advance;
mod conflicted;
mod create;
mod merge_driver;
mod orders;
mod preflight;
mod record_files;
mod recover;
mod resolve;
mod suggestion;

pub use advance::{AdvancePlan, Applied, TaskOutcome};
pub use create::Created;
pub use merge_driver::DRIVER;
pub use orders::Order;
pub use recover::Recovered;
pub use resolve::{Chosen, Dispute, MergeSide, Resolved, ResolvedBy, Settlement};

pub(crate) use advance::Wanted;
pub(crate) use orders::first_applied;

use crate::base::Timestamp;
use crate::decide::Stamp;
use crate::store::Store;
use crate::survey::{Caller, Error, Workspace};

/// Who writes, and where.
///
/// A writer borrows both and is free to create. It is not `Send`, because a [`Workspace`] holds an open
/// repository and so is not `Sync`. Send the workspace and the caller to another thread, and create the
/// writer there.
#[derive(Clone, Copy)]
pub struct Writer<'w> {
    /// Where.
    pub workspace: &'w Workspace,
    /// On whose order.
    pub caller: &'w Caller,
}

impl<'w> Writer<'w> {
    /// A writer for a caller.
    #[must_use]
    pub fn new(workspace: &'w Workspace, caller: &'w Caller) -> Self {
        Self { workspace, caller }
    }

    /// The present time, as the caller has it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.caller.clock.now()
    }

    /// The stamp of a record made on the caller's order.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let identity = self.workspace.store.as_ref().and_then(Store::identity_name);
        self.caller.stamp(identity.as_deref())
    }

    /// Commits everything in the work directory; only for repositories that `orch` made itself.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.workspace.store.as_ref().map_or(Ok(()), |store| store.commit_everything(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server takes an order on one thread and carries it out on another.
    #[test]
    fn a_writer_is_made_on_the_thread_that_its_workspace_was_sent_to() {
        fn on_another_thread<T: Send>(order: impl FnOnce() -> T + Send) -> impl FnOnce() -> T + Send {
            order
        }
        let _ = |workspace: Workspace, caller: Caller, task: crate::survey::TaskRef, order: Order| {
            on_another_thread(move || Writer::new(&workspace, &caller).order(&task, &order, false))
        };
    }
}
