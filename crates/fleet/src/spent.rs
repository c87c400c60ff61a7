//! What a run has used of its budget, where all machines see it: one document for each task, beside the leases in NATS. The
//! other stores have none: there a run that goes on in another clone begins with a new budget.

use crate::owner::random_token;
use orch_base::{Code, Error, TaskId};
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes.
const VERSION: u32 = 1;

/// What the run of a task has used, on whatever machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SpentBudget {
    /// The turns.
    pub turns: u32,
    /// The time in milliseconds.
    pub milliseconds: u64,
    /// The sum of reported costs.
    pub cost: f64,
}

/// Where it is kept.
pub trait SpentStore {
    /// Replaces what is kept for a task by what `change` makes of it, by compare-and-swap; `None` removes it. `change` is called
    /// again if another process was faster. Returns what is kept then, and an error if the store cannot be reached.
    fn change(
        &mut self,
        task: &TaskId,
        change: &mut dyn FnMut(Option<SpentBudget>) -> Option<SpentBudget>,
    ) -> Result<Option<SpentBudget>, Error>;
}

#[derive(Serialize, Deserialize)]
struct SpentDocument {
    version: u32,
    task: String,
    /// Tells this write from all others.
    nonce: String,
    spent: SpentBudget,
}

/// The bytes in a store. Returns an error if it cannot be written as JSON.
#[cfg_attr(
    not(feature = "nats"),
    expect(dead_code, reason = "only NATS has these")
)]
pub(crate) fn written(task: &TaskId, spent: SpentBudget) -> Result<Vec<u8>, Error> {
    let document = SpentDocument {
        version: VERSION,
        task: task.to_string(),
        nonce: random_token()?,
        spent,
    };
    serde_json::to_vec_pretty(&document)
        .map_err(|error| Error::new(Code::LeaseStore, format!("cannot write a budget: {error}")))
}

/// What these bytes say; `None` if they are damaged, or of another task or version: then the budget is new.
#[cfg_attr(
    not(feature = "nats"),
    expect(dead_code, reason = "only NATS has these")
)]
pub(crate) fn read(task: &TaskId, bytes: &[u8]) -> Option<SpentBudget> {
    let document: SpentDocument = serde_json::from_slice(bytes).ok()?;
    let is_that = document.version == VERSION && document.task == task.as_str();
    is_that.then_some(document.spent)
}
