//! Gates on code: decides which paths outside a task may change in the task's current phase.

use super::compared::Compared;
use crate::survey::snapshot::{Snapshot, first};
use crate::survey::{Error, TaskRef, UsableWorkflow};
use orch_base::{Code, Diagnostic, Hint, PhaseId, Place, RepoPath, TaskId, nearest, trailer};
use orch_core::decide::Recorded;
use orch_core::workflow::{Phase, Workflow};
use orch_git::trailers;
use std::sync::Arc;

/// The sources that name the task of a commit.
pub(super) struct ChangeOwner<'a> {
    /// The commit message, if known.
    pub message: Option<&'a str>,
    /// The branch of the commit, without `refs/heads/`.
    pub branch: Option<&'a str>,
    /// `ORCH_TASK`, if the caller creates the commit.
    pub caller: Option<&'a TaskId>,
}

impl ChangeOwner<'_> {
    /// The task ids in the trailers `Orch-Task`, or else in the branch name, or else in `ORCH_TASK`. The flag
    /// says whether each of them must be a task; a branch name may only look like one.
    fn ids(&self, snapshot: &Snapshot<'_>) -> (Vec<String>, bool) {
        let named = trailer::named_tasks(&self.message.map(trailers).unwrap_or_default());
        if !named.is_empty() {
            return (named, true);
        }
        let by_branch = self
            .branch
            .and_then(|branch| snapshot.setting.config.git.task_branch.task(branch));
        match (by_branch, self.caller) {
            (Some(id), _) => (vec![id.to_string()], false),
            (None, Some(id)) => (vec![id.to_string()], true),
            (None, None) => (Vec::new(), false),
        }
    }
}

/// Returns a finding for each changed path outside a task that the phase of the task does not permit to
/// change, and the tasks of the commit. If the commit names several tasks, each permits its own paths.
///
/// # Errors
///
/// git cannot list a side.
pub(super) fn gate(
    owner: &ChangeOwner<'_>,
    compared: &Compared<'_, '_>,
) -> Result<(Vec<Diagnostic>, Vec<TaskRef>), Error> {
    let after = &compared.after;
    let (ids, is_certain) = owner.ids(after);
    let mut findings = Vec::new();
    let mut gates = Vec::new();
    for id in ids {
        let named = |id: TaskId| match after.search().task_named(&id)? {
            None => first(compared.befores.iter(), |before| {
                compared.before(before).search().task_named(&id)
            }),
            task => Ok(task),
        };
        let task = TaskId::new(&id).ok().map(named).transpose()?.flatten();
        match task {
            Some(task) => gates.extend(Gate::of(task, compared)),
            None if is_certain => {
                let known = after.search().tasks()?;
                let near = nearest(&id, known.iter().map(|task| task.id.as_str()));
                let message = format!("the commit names task `{id}`, which does not exist");
                let mut finding = Diagnostic::error(Code::UnknownTask, message);
                finding.hint = near.map(|near| Hint::from(format!("did you mean `{near}`?")));
                findings.push(finding);
            }
            None => {}
        }
    }
    if gates.iter().any(|gate| !gate.is_open()) {
        for path in compared.changed(&RepoPath::root())? {
            if !gates.iter().any(|gate| gate.allows(&path)) {
                findings.extend(gates.first().map(|gate| gate.finding(&path)));
            }
        }
    }
    Ok((findings, gates.into_iter().map(|gate| gate.task).collect()))
}

/// The paths that a task permits to change.
struct Gate {
    task: TaskRef,
    compiled: Arc<UsableWorkflow>,
    /// The phases of the task, before and after the change.
    phases: Vec<PhaseId>,
}

impl Gate {
    /// The gate of a task; `None` if neither side of the task can be read.
    fn of(task: TaskRef, compared: &Compared<'_, '_>) -> Option<Self> {
        let befores = compared
            .befores
            .iter()
            .map(|before| compared.before(before));
        let seen: Vec<_> = std::iter::once(compared.after)
            .chain(befores)
            .filter_map(|snapshot| snapshot.observe(&task, u64::MAX).ok())
            .collect();
        let compiled = Arc::clone(&seen.first()?.compiled);
        let workflow = &compiled.workflow;
        let phases = seen
            .iter()
            .filter_map(|seen| Some(phase_of(workflow, &seen.recorded)?.id.clone()));
        let phases = phases.collect();
        Some(Self {
            task,
            compiled,
            phases,
        })
    }

    fn phases(&self) -> &[Phase] {
        &self.compiled.workflow.phases
    }

    /// Whether its workflow restricts no paths.
    fn is_open(&self) -> bool {
        self.phases().iter().all(|phase| phase.touches.is_empty())
    }

    /// The phases in which a path may change; empty if the workflow does not mention it.
    fn naming(&self, path: &RepoPath) -> Vec<&PhaseId> {
        let names = |phase: &&Phase| phase.touches.matches(path.as_str());
        self.phases()
            .iter()
            .filter(names)
            .map(|phase| &phase.id)
            .collect()
    }

    fn allows(&self, path: &RepoPath) -> bool {
        let naming = self.naming(path);
        self.task.place.owns(path)
            || naming.is_empty()
            || self.phases.iter().any(|phase| naming.contains(&phase))
    }

    fn finding(&self, path: &RepoPath) -> Diagnostic {
        let naming: Vec<&str> = self.naming(path).into_iter().map(PhaseId::as_str).collect();
        let now = self.phases.first().map_or("no phase", PhaseId::as_str);
        let task = &self.task.id;
        let message = format!(
            "{path} may change in {}; task {task} is in {now}",
            naming.join(", ")
        );
        let hint = Hint::run(&["orch", "suggest", task.as_str()])
            .text(", or name another task: Orch-Task: ID");
        Diagnostic::error(Code::Gate, message)
            .at(Place::file(path))
            .hint(hint)
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
