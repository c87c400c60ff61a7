//! What a run has used of its budget, where all machines see it: one document for each task, beside the leases in NATS. The
//! other stores have none: there a run that goes on in another clone begins with a new budget.

use orch_base::{Error, TaskId};
use serde::{Deserialize, Serialize};

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
