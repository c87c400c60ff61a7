//! Creates a task, or adopts an existing directory as one.

use super::Writer;
use super::advance::Applied;
use super::orders::first_applied;
use crate::base::{Code, Diagnostic, TaskId, WorkflowName, command, shell_word};
use crate::decide::{self, Recorded, Stamp, Step, initial_state};
use crate::scan::io_error;
use crate::survey::{Error, Sight, TaskRef};

/// A task that was created or adopted.
pub struct Created {
    /// The task and its location.
    pub task: TaskRef,
    /// Whether the directory already contained artifacts.
    pub adopted: bool,
    /// The recorded step with its commit.
    pub applied: Applied,
}

impl Writer<'_> {
    /// Creates the task `id`, or adopts a directory with artifacts unchanged. Returns an error if no root
    /// permits the task, it already exists, or the commit is not possible now.
    pub fn create(&self, id: &TaskId, workflow: Option<&str>, title: Option<&str>) -> Result<Created, Error> {
        let mut task = self.workspace.place_for(id).ok_or_else(|| self.no_place(id))?;
        if let Some(name) = workflow {
            self.workspace.workflow(name)?;
            task.workflow = WorkflowName::new(name)
                .map_err(|error| Diagnostic::error(Code::WorkflowName, error.to_string()))?;
        }
        if let Some(parent) = task.directory.parent()
            && let Some(above) = self.workspace.task_of_path(&parent)?
        {
            let message = format!("`{id}` would be inside task `{}`; a task cannot contain a task", above.id);
            return Err(Diagnostic::error(Code::TaskInsideTask, message).into());
        }
        if self.workspace.snapshot(|snapshot| snapshot.source.is_behind_link(&task.directory))? {
            let message = format!("the path {} contains a symbolic link", task.directory);
            let hint = "replace the link with a directory; a task must be inside the repository";
            return Err(Diagnostic::error(Code::Symlink, message).hint(hint).into());
        }
        self.workspace.refuse_elsewhere(&task.directory)?;
        let adopted = self.workspace.task_at(&task.directory)?.is_some();
        let directory = task.directory.under(&self.workspace.root);
        std::fs::create_dir_all(&directory).map_err(|source| io_error(&directory, source))?;
        let outcomes = self.apply(std::slice::from_ref(&task), false, &|judged| {
            if !judged.untracked {
                let message = format!("task `{}` already exists", judged.task.id);
                let hint = format!("orch status, or: orch suggest {}", shell_word(judged.task.id.as_str()));
                return Err(Diagnostic::error(Code::TaskExists, message).hint(hint).into());
            }
            Ok(self.workspace.after(judged, vec![self.creation(judged, adopted, title, &self.stamp())?]))
        })?;
        Ok(Created { task, adopted, applied: first_applied(outcomes)? })
    }

    /// The first step of an untracked task, in the phase that a foreign state names or else the initial one.
    /// Returns an error if its state cannot be used.
    pub(crate) fn creation(
        &self,
        judged: &Sight,
        adopted: bool,
        title: Option<&str>,
        stamp: &Stamp,
    ) -> Result<Step, Error> {
        let workflow = judged.workflow();
        let mut state = match &judged.recorded {
            Recorded::Known(foreign) => (**foreign).clone(),
            Recorded::New => initial_state(workflow),
            Recorded::Lost | Recorded::Broken(_) => {
                let hint = command(&["orch", "recover", judged.task.id.as_str()]);
                let message = judged.decision.reason.clone();
                return Err(Error::new(Code::StateUnusable, message).with_hint(hint));
            }
        };
        if let Some(title) = title {
            state.title = Some(title.to_owned());
        }
        let mut transition =
            decide::create(workflow, if adopted { "the task was adopted" } else { "the task was created" });
        if let Some(phase) = state.phase.as_deref().and_then(|name| workflow.phase_named(name)) {
            transition.to = phase.id.clone();
        }
        let state = decide::apply(workflow, &state, &judged.observed.facts, &transition, stamp);
        Ok(Step { transition, state })
    }

    fn no_place(&self, id: &TaskId) -> Error {
        let roots: Vec<String> =
            self.workspace.setting.config.roots.iter().map(|root| root.path.to_string()).collect();
        let message = format!("no root permits a task `{id}`; the roots are {}", roots.join(", "));
        Diagnostic::error(Code::NoRoot, message)
            .hint("add a [[root]] to orch.toml, or choose another id")
            .into()
    }
}
