//! What a watch keeps of its last look at a task.

use super::TaskNotice;
use crate::survey::{KeptKey, Sight, TaskRef, UsableWorkflow, Workspace};
use orch_base::{Digest, RepoPath, TaskId, Timestamp};
use orch_core::decide::{self, Verdict};
use orch_files::FileStamp;
use orch_git::Head;
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
    /// The files outside it that can change it.
    pub required: Vec<RepoPath>,
    /// When the next of its deadlines passes.
    pub next_lapse: Option<Timestamp>,
    /// The tasks that it waits for.
    pub after: Vec<TaskId>,
    /// Whether the tasks that are part of it can change it.
    pub on_parts: bool,
    /// The event that it has come to, if any; `None` until someone wants to know.
    pub notice: Option<Option<TaskNotice>>,
}

impl KnownTask {
    /// Whether it can change when the record of another task does.
    pub(super) fn rests_on(&self, other: &TaskRef) -> bool {
        let before = other.id.unarchived();
        let mut after = self.after.iter();
        other.id != self.task.id
            && (self.on_parts || after.any(|id| *id == other.id || before == Some(id.as_str())))
    }

    /// What is kept of a look, and of the event that the task has come to.
    pub(super) fn of(sight: &Sight, notice: Option<Option<TaskNotice>>) -> Self {
        Self {
            task: sight.task.clone(),
            key: sight.key.kept(),
            print: fingerprint(sight),
            on_code: sight.rests_on_code().then(|| Arc::clone(&sight.compiled)),
            on_more: sight.rests_on_more(),
            required: sight.workflow().required_files().cloned().collect(),
            next_lapse: sight.next_lapse(),
            after: sight.decision.relations.after.clone(),
            on_parts: sight.workflow().reads_children() && !sight.decision.is_done(),
            notice,
        }
    }
}

/// What the next watch takes from a look at a task.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptTask {
    entries: Digest,
    print: Digest,
    /// The branch and the commit that were checked out: `suggestion.json` names the branch, and a commit of its history.
    branch: Option<String>,
    commit: Option<Digest>,
    /// The stamp of `suggestion.json` during the look. If the watch has written it since, the next one looks again.
    suggestion: Option<Digest>,
    /// The name of its workflow, if committed code can change the result.
    on_code: Option<String>,
    on_more: bool,
    required: Vec<RepoPath>,
    next_lapse: Option<i64>,
}

/// Whether a watch that begins has nothing to do for the task and nothing to report.
fn is_at_rest(sight: &Sight) -> bool {
    let verdict = &sight.decision.verdict;
    let is_moving = matches!(verdict, Verdict::Transition(_));
    !is_moving && !sight.untracked && decide::trouble(verdict).is_none()
}

impl KeptTask {
    /// What is kept of a look, given the stamp of `suggestion.json`; `None` if the next watch has to look again.
    pub(super) fn text_of((sight, suggestion): &(Sight, Option<FileStamp>)) -> Option<String> {
        if !is_at_rest(sight) {
            return None;
        }
        let KnownTask {
            key,
            print,
            on_code,
            on_more,
            required,
            next_lapse,
            ..
        } = KnownTask::of(sight, None);
        let kept = Self {
            entries: key.entries(),
            print,
            branch: sight
                .key
                .head
                .as_ref()
                .and_then(Head::branch_name)
                .map(str::to_owned),
            commit: sight.key.head.as_ref().and_then(|head| head.commit),
            suggestion: suggestion.as_ref().map(stamp_digest),
            on_code: on_code.map(|code| code.workflow.name.to_string()),
            on_more,
            required,
            next_lapse: next_lapse.map(Timestamp::seconds),
        };
        serde_json::to_string(&kept).ok()
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What the watch knows of the task under this HEAD, whose history contains what `contains` says; `None` if it has to
    /// look: `suggestion.json` may be out of date, or the workflow cannot be read.
    pub(super) fn known(
        self,
        workspace: &Workspace,
        (task, head): (&TaskRef, Option<&Head>),
        contains: &mut impl FnMut(Digest) -> bool,
    ) -> Option<KnownTask> {
        let path = task.suggestion_path();
        let present = FileStamp::at(&path.under(workspace.reader.root()))
            .as_ref()
            .map(stamp_digest);
        // It is written only where git ignores it.
        let is_missing = present.is_none()
            && workspace
                .reader
                .store()
                .is_some_and(|store| store.filters().is_ignored(&path).unwrap_or(true));
        let is_same = present == self.suggestion
            && self.branch.as_deref() == head.and_then(Head::branch_name);
        if is_missing || !is_same || !self.commit.is_none_or(contains) {
            return None;
        }
        let usable = |name: String| workspace.settings().workflow(&name)?.usable().cloned();
        Some(KnownTask {
            task: task.clone(),
            key: KeptKey::of(head.cloned(), self.entries),
            print: self.print,
            on_code: self.on_code.map(usable).transpose().ok()?,
            on_more: self.on_more,
            required: self.required,
            next_lapse: self.next_lapse.map(Timestamp::from_seconds),
            // Of a task that rests on others nothing is kept.
            after: Vec::new(),
            on_parts: false,
            notice: None,
        })
    }
}

fn stamp_digest(stamp: &FileStamp) -> Digest {
    Digest::of_blob(&stamp.bytes())
}

/// A digest of the decision.
pub(super) fn fingerprint(sight: &Sight) -> Digest {
    Digest::of_blob(format!("{:?} {:?}", sight.decision, sight.untracked).as_bytes())
}
