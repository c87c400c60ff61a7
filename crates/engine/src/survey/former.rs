//! The document of a workflow as it was when a task was finished. A finished task is read by its own record: that its
//! document was removed or renamed since, or has errors now, says nothing about it.

use super::setting::{InSource, Settings};
use super::snapshot::Snapshot;
use super::{CodeAt, Error, Loaded, TaskRef};
use orch_base::{Code, Diagnostic, Digest, RepoPath};
use orch_core::decide::WorkflowRef;
use orch_core::record::EventLog;
use orch_git::Store;
use std::sync::Arc;

/// How many versions of a document are looked at.
const MOST_VERSIONS: usize = 32;

impl Snapshot<'_> {
    /// The workflow by which the last step of a task was recorded, if that finished it and the workflow cannot be used
    /// any more because of `error`; with a note. Returns an error if git cannot be read.
    pub(super) fn former_workflow(
        &self,
        task: &TaskRef,
        error: &Error,
    ) -> Result<Option<(Arc<Loaded>, Diagnostic)>, Error> {
        let (CodeAt::Present(store, Some(commit)) | CodeAt::Commit(store, Some(commit))) =
            self.code
        else {
            return Ok(None);
        };
        let log = self.source.read_log(&task.transcript_path(), u64::MAX)?;
        let (log, _) = EventLog::parse(log.whole().unwrap_or_default());
        let [head] = log.heads()[..] else {
            return Ok(None);
        };
        let Some(last) = log.get(&head) else {
            return Ok(None);
        };
        let former = workflow_then(store, commit, &self.setting.config.system, &last.workflow)?;
        let finished = former.filter(|former| {
            let phase = former
                .workflow()
                .and_then(|workflow| workflow.phase(&last.entry.to));
            phase.is_some_and(|phase| phase.terminal)
        });
        let note = |former| {
            let message = format!(
                "{}; the task is finished, and is read by the workflow that recorded it",
                error.message()
            );
            let mut note = Diagnostic::note(Code::WorkflowMissing, message);
            note.place = error.place().cloned();
            (former, note)
        };
        Ok(finished.map(note))
    }
}

/// The workflow with this name and digest, as far back from `commit` as its document was changed; `None` if it is not in
/// this history. Returns an error if git cannot be read.
pub(crate) fn workflow_then(
    store: &Store,
    commit: Digest,
    system: &RepoPath,
    named: &WorkflowRef,
) -> Result<Option<Arc<Loaded>>, Error> {
    let Ok(path) = system.join(&format!("workflows/{}.md", named.name)) else {
        return Ok(None);
    };
    let mut at = Some(commit);
    for _ in 0..MOST_VERSIONS {
        let Some(now) = at else { break };
        if store
            .objects()
            .source_at(Some(now))
            .blob_at(&path)?
            .is_some()
        {
            let setting = Settings::read(
                &InSource(&store.objects().source_at(now)),
                store.objects().format(),
            );
            let loaded = setting.workflow(named.name.as_str())?;
            if loaded
                .workflow()
                .is_some_and(|workflow| workflow.has_digest(named.digest))
            {
                return Ok(Some(loaded));
            }
        }
        let changed = store
            .history()
            .last_changes(now, std::slice::from_ref(&path))?;
        let Some(changed) = changed.first().copied().flatten() else {
            break;
        };
        at = store.history().visit(changed)?.parents.first().copied();
    }
    Ok(None)
}
