//! What a watch keeps of its last look at a task.

use super::TaskNotice;
use crate::base::{Digest, RepoPath};
use crate::decide::{self, Verdict};
use crate::store::Head;
use crate::survey::{Error, KeptKey, Sight, TaskRef, UsableWorkflow, Workspace};
use serde::{Deserialize, Serialize};
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

/// What the next watch takes from a look at a task.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptTask {
    entries: Digest,
    print: Digest,
    /// The name of its workflow, if committed code can change the result.
    on_code: Option<String>,
    on_more: bool,
    required: Vec<RepoPath>,
}

/// Whether a watch that begins has nothing to do for the task and nothing to report.
fn is_at_rest(sight: &Sight) -> bool {
    let verdict = &sight.decision.verdict;
    let is_moving = matches!(verdict, Verdict::Transition(_)) || sight.runner.is_some();
    !is_moving && !sight.untracked && decide::trouble(verdict).is_none()
}

impl KeptTask {
    /// What is kept of a look; `None` if the next watch has to look again.
    pub(super) fn text_of(sight: &Sight) -> Option<String> {
        if !is_at_rest(sight) {
            return None;
        }
        let KnownTask { key, print, on_code, on_more, required, .. } = KnownTask::of(sight, None);
        let on_code = on_code.map(|code| code.workflow.name.to_string());
        serde_json::to_string(&Self { entries: key.entries(), print, on_code, on_more, required }).ok()
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What the watch knows of the task under this HEAD. Returns an error if its workflow cannot be read.
    pub(super) fn known(
        self,
        workspace: &Workspace,
        task: &TaskRef,
        head: Option<Head>,
    ) -> Result<KnownTask, Error> {
        let Self { entries, print, on_code, on_more, required } = self;
        let usable = |name: String| workspace.workflow(&name)?.usable().cloned();
        let on_code = on_code.map(usable).transpose()?;
        let key = KeptKey::of(head, entries);
        Ok(KnownTask { task: task.clone(), key, print, on_code, on_more, required, notice: None })
    }
}

/// A digest of the decision.
pub(super) fn fingerprint(judged: &Sight) -> Digest {
    Digest::of_blob(format!("{:?} {:?}", judged.decision, judged.untracked).as_bytes())
}
