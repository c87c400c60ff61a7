//! What verifications of a task would judge now, whether or not they are due.

use super::evaluation::SeenTask;
use super::order::current;
use super::{Facts, State};
use crate::verification::VerifiedCode;
use crate::workflow::Workflow;
use orch_base::{Digest, VerificationName};

/// What a verification would judge now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedCode {
    /// Its name.
    pub name: VerificationName,
    /// The code.
    pub code: VerifiedCode,
    /// The digest of its table.
    pub table: Digest,
    /// Whether its last result is not about this code, or there is none.
    pub is_due: bool,
    /// How long it took the last time, in milliseconds.
    pub milliseconds: Option<u64>,
}

/// What these verifications of a task would judge now, or those of its phase if none is named. Those that are not defined
/// are left out.
#[must_use]
pub fn wanted_code(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    names: &[VerificationName],
) -> Vec<WantedCode> {
    let state = &*state.under_own_names(workflow);
    let Ok(phase) = current(workflow, state) else {
        return Vec::new();
    };
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    evaluation.verifications().wanted_code(names)
}
