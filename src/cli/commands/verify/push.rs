//! `orch verify --push`: what is verified then, and the push of what was recorded.

use super::super::prelude::Failure;
use orch_base::VerificationName;
use orch_engine::survey::{TaskRef, Workspace};
use orch_git::{PushOutcome, Upstream};
use orch_view::PushLine;

/// Where to push; nowhere on a detached HEAD, on which nothing is recorded either.
pub(super) struct Pushing {
    upstream: Option<Upstream>,
}

impl Pushing {
    /// Returns an error if the branch has no upstream.
    pub(super) fn prepared(workspace: &Workspace) -> Result<Self, Failure> {
        let upstream = match workspace.reader().store() {
            Some(store) => store.pushes().upstream()?,
            None => None,
        };
        Ok(Self { upstream })
    }

    /// What to verify: the given task, or every one of which something is due. `None` stands for HEAD.
    pub(super) fn tasks(
        &self,
        workspace: &Workspace,
        task: Option<TaskRef>,
        names: &[VerificationName],
    ) -> Result<Vec<Option<TaskRef>>, Failure> {
        if self.upstream.is_none() {
            return Ok(vec![None]);
        }
        if task.is_some() {
            return Ok(vec![task]);
        }
        let mut found = Vec::new();
        for task in workspace.finder().tasks()? {
            let sight = workspace.look(&task)?;
            let mut due = sight.decision.verifications.iter();
            let is_meant = due.any(|due| names.is_empty() || names.contains(&due.name));
            if is_meant && !sight.untracked {
                found.push(Some(task));
            }
        }
        if found.is_empty() {
            found.push(None);
        }
        Ok(found)
    }

    /// Pushes HEAD, if anything was recorded.
    pub(super) fn push(
        &self,
        workspace: &Workspace,
        is_recorded: bool,
    ) -> Result<PushLine, Failure> {
        let (Some(upstream), Some(store)) = (&self.upstream, workspace.reader().store()) else {
            return Ok(PushLine::of_none("detached"));
        };
        let head = store.refs().head()?.commit;
        let Some(head) = head.filter(|_| is_recorded) else {
            return Ok(PushLine::of_none("nothing"));
        };
        let (outcome, message) = match store.pushes().push(upstream, head)? {
            PushOutcome::Pushed => ("pushed", None),
            PushOutcome::Overtaken(tip) => ("overtaken", Some(tip.to_string())),
            PushOutcome::Refused(why) => ("refused", Some(why)),
        };
        Ok(PushLine {
            outcome,
            remote: Some(upstream.remote.clone()),
            branch: Some(upstream.branch.clone()),
            message,
        })
    }
}
