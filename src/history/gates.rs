//! Gates on code: which paths outside a task may change in its phase.

use super::compared::Compared;
use crate::base::{Code, Diagnostic, PhaseId, Place, RepoPath, TaskId, nearest, shell_word};
use crate::decide::Recorded;
use crate::store::trailers;
use crate::survey::snapshot::{Snapshot, first};
use crate::survey::{Error, TaskRef, UsableWorkflow};
use crate::workflow::{Phase, Workflow};
use std::sync::Arc;

/// What says which task a commit belongs to.
pub(super) struct ChangeOwner<'a> {
    /// The message of the commit, as far as it is known.
    pub message: Option<&'a str>,
    /// The branch that it is made on, without `refs/heads/`.
    pub branch: Option<&'a str>,
    /// `ORCH_TASK`, where the caller makes the commit.
    pub caller: Option<&'a TaskId>,
}

impl ChangeOwner<'_> {
    /// The ids that are named: by the trailers `Orch-Task`, else by the branch, else by the caller; and
    /// whether whoever named them meant a task for certain.
    fn ids(&self, snapshot: &Snapshot<'_>) -> (Vec<String>, bool) {
        let trailers = self.message.map(trailers).unwrap_or_default();
        let named: Vec<String> = trailers
            .into_iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case("Orch-Task"))
            .map(|(_, id)| id.trim().to_owned())
            .collect();
        if !named.is_empty() {
            return (named, true);
        }
        let by_branch = self.branch.and_then(|branch| snapshot.setting.config.git.task_branch.task(branch));
        match (by_branch, self.caller) {
            (Some(id), _) => (vec![id.to_string()], false),
            (None, Some(id)) => (vec![id.to_string()], true),
            (None, None) => (Vec::new(), false),
        }
    }
}

/// Findings about paths outside a task that its phase does not let change, and the tasks that were
/// asked. Where several tasks are named, each lets its own paths change.
pub(super) fn gate(
    owner: &ChangeOwner<'_>,
    compared: &Compared<'_, '_>,
) -> Result<(Vec<Diagnostic>, Vec<TaskRef>), Error> {
    let after = &compared.after;
    let (ids, is_certain) = owner.ids(after);
    let (mut findings, mut gates) = (Vec::new(), Vec::new());
    for id in ids {
        let named = |id: TaskId| match after.task_named(&id)? {
            None => first(compared.befores.iter(), |before| compared.before(before).task_named(&id)),
            task => Ok(task),
        };
        let task = TaskId::new(&id).ok().map(named).transpose()?.flatten();
        match task {
            Some(task) => gates.extend(Gate::of(task, compared)),
            None if is_certain => {
                let known = after.tasks()?;
                let near = nearest(&id, known.iter().map(|task| task.id.as_str()));
                let message = format!("the commit is said to belong to task `{id}`, which there is not");
                let mut finding = Diagnostic::error(Code::UnknownTask, message);
                finding.hint = near.map(|near| format!("did you mean `{near}`?"));
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

/// What a task lets change.
struct Gate {
    task: TaskRef,
    compiled: Arc<UsableWorkflow>,
    /// The phases it is in, before and after.
    phases: Vec<PhaseId>,
}

impl Gate {
    /// The gate of a task; `None` where its files cannot be judged.
    fn of(task: TaskRef, compared: &Compared<'_, '_>) -> Option<Self> {
        let befores = compared.befores.iter().map(|before| compared.before(before));
        let seen: Vec<_> = std::iter::once(compared.after)
            .chain(befores)
            .filter_map(|snapshot| snapshot.observe(&task, u64::MAX).ok())
            .collect();
        let compiled = Arc::clone(&seen.first()?.compiled);
        let workflow = &compiled.workflow;
        let phases = seen.iter().filter_map(|seen| Some(phase_of(workflow, &seen.recorded)?.id.clone()));
        let phases = phases.collect();
        Some(Self { task, compiled, phases })
    }

    fn phases(&self) -> &[Phase] {
        &self.compiled.workflow.phases
    }

    /// Whether its workflow says nothing about paths.
    fn is_open(&self) -> bool {
        self.phases().iter().all(|phase| phase.touches.is_empty())
    }

    /// The phases that name a path.
    fn naming(&self, path: &RepoPath) -> Vec<&PhaseId> {
        let names = |phase: &&Phase| phase.touches.matches(path.as_str());
        self.phases().iter().filter(names).map(|phase| &phase.id).collect()
    }

    fn allows(&self, path: &RepoPath) -> bool {
        let naming = self.naming(path);
        path.below(&self.task.directory).is_some()
            || naming.is_empty()
            || self.phases.iter().any(|phase| naming.contains(&phase))
    }

    fn finding(&self, path: &RepoPath) -> Diagnostic {
        let naming: Vec<&str> = self.naming(path).into_iter().map(PhaseId::as_str).collect();
        let now = self.phases.first().map_or("no phase", PhaseId::as_str);
        let task = &self.task.id;
        let message = format!("{path} may change in {}; task {task} is in {now}", naming.join(", "));
        let hint = format!("orch suggest {}, or name another task: Orch-Task: ID", shell_word(task.as_str()));
        Diagnostic::error(Code::Gate, message).at(Place::file(path)).hint(hint)
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
