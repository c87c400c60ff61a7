//! What a run has used, as the bytes that a bucket keeps.

use crate::owner::random_token;
use crate::spent::SpentBudget;
use orch_base::{Code, Error, TaskId};
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct SpentDocument {
    version: u32,
    task: String,
    /// Tells this write from all others.
    nonce: String,
    spent: SpentBudget,
}

/// The bytes in a store. Returns an error if it cannot be written as JSON.
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
pub(crate) fn read(task: &TaskId, bytes: &[u8]) -> Option<SpentBudget> {
    let document: SpentDocument = serde_json::from_slice(bytes).ok()?;
    let is_that = document.version == VERSION && document.task == task.as_str();
    is_that.then_some(document.spent)
}
