//! What a watch keeps of its last look at a task.

use super::TaskNotice;
use crate::base::{Digest, RepoPath};
use crate::survey::{KeptKey, Sight, TaskRef, UsableWorkflow};
use std::sync::Arc;

/// The last reported result of a task.
pub(super) struct KnownTask {
    pub task: TaskRef,
    /// What that result depends on.
    pub key: KeptKey,
    pub print: Digest,
    /// Its workflow, if committed code can change the result.
    pub on_code: Option<Arc<UsableWorkflow>>,
    /// Whether more of the history than its own record and that code can change it, or what cannot be told.
    pub on_more: bool,
    /// The files outside of it that can change it.
    pub required: Vec<RepoPath>,
    /// The event that it has come to, if any; `None` until someone wants to know.
    pub notice: Option<Option<TaskNotice>>,
}

impl KnownTask {
    /// What is kept of a look, and of the event that the task has come to.
    pub(super) fn of(judged: &Sight, notice: Option<Option<TaskNotice>>) -> Self {
        Self {
            task: judged.task.clone(),
            key: judged.key.kept(),
            print: fingerprint(judged),
            on_code: judged.rests_on_code().then(|| Arc::clone(&judged.compiled)),
            on_more: judged.rests_on_more(),
            required: judged.workflow().required_files().cloned().collect(),
            notice,
        }
    }
}

/// A digest of the decision.
pub(super) fn fingerprint(judged: &Sight) -> Digest {
    Digest::of_blob(format!("{:?} {:?}", judged.decision, judged.untracked).as_bytes())
}
