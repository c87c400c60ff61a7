//! Gates on code: which paths outside a task may change in its phase.

use super::audit::Side;
use super::snapshot::Snapshot;
use super::{Engine, Error};
use crate::base::{Diagnostic, Place, RepoPath, TaskId, shell_word};
use crate::decide::Recorded;
use crate::store::trailers;
use crate::workflow::{Phase, Workflow};

/// What says which task a commit belongs to.
pub(super) struct Owner<'a> {
    /// The message of the commit, as far as it is known.
    pub message: Option<&'a str>,
    /// The branch that it is made on, without `refs/heads/`.
    pub branch: Option<&'a str>,
    /// `ORCH_TASK`, where the caller makes the commit.
    pub caller: Option<&'a TaskId>,
}

impl Owner<'_> {
    /// The task: by the last trailer `Orch-Task`, else by the branch, else by the caller.
    fn task(&self, snapshot: &Snapshot<'_>) -> Option<TaskId> {
        let by_message = || {
            let trailers = trailers(self.message?);
            let (_, id) = trailers.into_iter().rfind(|(key, _)| key.eq_ignore_ascii_case("Orch-Task"))?;
            TaskId::new(id.trim()).ok()
        };
        let by_branch = || snapshot.setting.config.git.task_branch.task(self.branch?);
        by_message().or_else(by_branch).or_else(|| self.caller.cloned())
    }
}

impl Engine {
    /// Findings about paths outside a task that its phase does not let change. `changed` is asked
    /// only where some phase says anything about paths.
    pub(super) fn gate(
        &self,
        owner: &Owner<'_>,
        before: &Side<'_>,
        after: &Snapshot<'_>,
        changed: impl FnOnce() -> Result<Vec<RepoPath>, Error>,
    ) -> Result<Vec<Diagnostic>, Error> {
        let Some(id) = owner.task(after) else { return Ok(Vec::new()) };
        let Some(task) = after.task_named(&id) else { return Ok(Vec::new()) };
        let Ok(seen) = after.observe(&task) else { return Ok(Vec::new()) };
        let Some(workflow) = &seen.loaded.workflow else { return Ok(Vec::new()) };
        if workflow.phases.iter().all(|phase| phase.touches.is_empty()) {
            return Ok(Vec::new());
        }
        let mut phases: Vec<&Phase> = phase_of(workflow, &seen.recorded).into_iter().collect();
        let earlier = before.snapshot(&self.verdicts).observe(&task).ok();
        phases.extend(earlier.and_then(|seen| phase_of(workflow, &seen.recorded)));
        let mut findings = Vec::new();
        for path in changed()?.iter().filter(|path| path.below(&task.directory).is_none()) {
            let names = |phase: &&Phase| phase.touches.matches(path.as_str());
            let allowed: Vec<&str> =
                workflow.phases.iter().filter(names).map(|phase| phase.id.as_str()).collect();
            if allowed.is_empty() || phases.iter().any(|phase| allowed.contains(&phase.id.as_str())) {
                continue;
            }
            let now = phases.first().map_or("no phase", |phase| phase.id.as_str());
            let message =
                format!("{path} may change in {}; task {} is in {now}", allowed.join(", "), task.id);
            let hint =
                format!("orch suggest {}, or name another task: Orch-Task: ID", shell_word(task.id.as_str()));
            findings.push(Diagnostic::error("gate", message).at(Place::file(path)).hint(hint));
        }
        Ok(findings)
    }
}

fn phase_of<'w>(workflow: &'w Workflow, recorded: &Recorded) -> Option<&'w Phase> {
    match recorded {
        Recorded::New => workflow.phase(&workflow.initial),
        Recorded::Known(state) => {
            workflow.phase_named(state.phase.as_deref().unwrap_or(workflow.initial.as_str()))
        }
        Recorded::Lost | Recorded::Broken(_) => None,
    }
}
