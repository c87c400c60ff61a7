//! The tasks of all branches and work trees, and which tasks of an answer are wanted.

use super::runs::run_line;
use crate::drive;
use crate::survey::{OverviewPlace, OverviewPlaceKind, OverviewTask, Workspace};
use orch_base::{Code, Diagnostic, Error, Hint, Patterns, nearest};
use orch_core::workflow::{Owner, Workflow};
use orch_view::{Everywhere, PlaceView, Whereabouts};
use std::collections::BTreeMap;

/// Which tasks of an answer are wanted; by default those that are not archived.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskFilter<'a> {
    /// Their ids, or patterns of them.
    pub tasks: &'a [String],
    /// Their phases; any if there is none.
    pub phases: &'a [String],
    /// Who must act; anybody if there is none.
    pub owners: &'a [String],
    /// Their workflows; any if there is none.
    pub workflows: &'a [String],
    /// Whether archived ones are wanted, too.
    pub all: bool,
}

impl TaskFilter<'_> {
    /// Whether the filters leave a task.
    pub fn selects(self, phase: Option<&str>, owner: Owner, workflow: &str) -> bool {
        let has = |wanted: &[String], text: Option<&str>| {
            wanted.is_empty() || wanted.iter().any(|one| Some(one.as_str()) == text)
        };
        has(self.phases, phase)
            && has(self.owners, Some(owner.as_str()))
            && has(self.workflows, Some(workflow))
    }

    /// Returns an error if a filter names a phase or a workflow that no task has.
    pub fn are_known<'w>(self, workflows: impl Iterator<Item = &'w Workflow>) -> Result<(), Error> {
        let workflows: BTreeMap<&str, &Workflow> = workflows
            .map(|workflow| (workflow.name.as_str(), workflow))
            .collect();
        let phases = workflows.values().flat_map(|workflow| &workflow.phases);
        let phases: Vec<&str> = phases.map(|phase| phase.id.as_str()).collect();
        let workflows: Vec<&str> = workflows.into_keys().collect();
        for (wanted, known, what, code) in [
            (self.phases, phases, "phase", Code::UnknownPhase),
            (self.workflows, workflows, "workflow", Code::WorkflowMissing),
        ] {
            if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
                let failure = Error::new(code, format!("no task has a {what} `{name}`"));
                let near = nearest(name, known.iter().copied())
                    .map(|near| format!("did you mean `{near}`?"));
                let all = || format!("those of tasks are {}", known.join(", "));
                return Err(failure.with_hint(near.unwrap_or_else(all)));
            }
        }
        Ok(())
    }
}

/// The overview, and the problems in it. Returns an error if a filter names nothing, or there is no repository.
pub fn everywhere(
    filter: TaskFilter<'_>,
    workspace: &Workspace,
) -> Result<(Everywhere, Vec<Diagnostic>), Error> {
    let overview = workspace.overview()?;
    let mut problems = overview.problems.clone();
    let tasks: Vec<&OverviewTask> = meant(filter, &overview.tasks)?;
    let subjects: Vec<_> = tasks.iter().map(|task| overview.subject(task)).collect();
    filter.are_known(subjects.iter().map(|subject| subject.workflow))?;
    let name = |place: &usize| overview.places[*place].name.clone();
    let whereabouts = |task: &OverviewTask| Whereabouts {
        place: name(&task.place),
        same: task.same.len(),
        behind: task.behind.len(),
        disagreeing: task.disagreeing.iter().map(name).collect(),
    };
    let listed = subjects.into_iter().zip(tasks).filter(|(subject, _)| {
        let phase = subject.decision.phase.as_ref().map(|phase| phase.as_str());
        filter.selects(phase, subject.duty().owner, subject.workflow.name.as_str())
    });
    let listed = listed
        .map(|(subject, task)| (subject, whereabouts(task)))
        .collect();
    let (known, unreadable) = drive::runs_in(workspace, overview.work_trees());
    problems.extend(unreadable);
    let open = known
        .iter()
        .filter(|run| run.run.ended().is_none())
        .map(run_line)
        .collect();
    let places = overview.places.iter().map(place).collect();
    Ok((
        Everywhere::new(
            workspace.reader().repository()?,
            places,
            listed,
            open,
            &problems,
        ),
        problems,
    ))
}

/// The tasks that the command line means: by their ids or patterns; otherwise those that are not archived, or all.
fn meant<'t>(
    filter: TaskFilter<'_>,
    all: &'t [OverviewTask],
) -> Result<Vec<&'t OverviewTask>, Error> {
    let id = |task: &OverviewTask| task.sight.task.id.clone();
    if filter.tasks.is_empty() {
        return Ok(all
            .iter()
            .filter(|task| filter.all || !id(task).is_archived())
            .collect());
    }
    let fits = |name: &str, task: &OverviewTask| {
        let id = id(task);
        id.as_str() == name
            || Patterns::new([name]).is_ok_and(|pattern| pattern.matches(id.as_str()))
    };
    if let Some(name) = filter
        .tasks
        .iter()
        .find(|name| !all.iter().any(|task| fits(name, task)))
    {
        let failure = Error::new(
            Code::UnknownTask,
            format!("no branch and no work tree has a task `{name}`"),
        );
        return Err(failure.with_hint(Hint::from("list them: ").command(&[
            "orch",
            "status",
            "--everywhere",
            "--all",
        ])));
    }
    Ok(all
        .iter()
        .filter(|task| filter.tasks.iter().any(|name| fits(name, task)))
        .collect())
}

fn place(place: &OverviewPlace) -> PlaceView {
    PlaceView {
        place: place.name.clone(),
        kind: match place.kind {
            OverviewPlaceKind::WorkTree => "work-tree",
            OverviewPlaceKind::Branch => "branch",
            OverviewPlaceKind::Remote => "remote",
        },
        commit: place.commit.map(|commit| commit.to_string()),
        work_tree: place.work_tree.clone(),
    }
}
