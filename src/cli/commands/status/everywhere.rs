//! `orch status --everywhere`: the tasks of all branches and work trees.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::super::{report, runs};
use super::StatusArgs;
use orch_base::{Code, Diagnostic, Hint, Patterns};
use orch_engine::drive;
use orch_engine::survey::{OverviewPlace, OverviewPlaceKind, OverviewTask, Workspace};
use orch_view::{Everywhere, PlaceView, Whereabouts};

pub(super) fn run(args: &StatusArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    context.show_looks(&workspace, None, ui);
    let (everywhere, problems) = answer(args, &workspace)?;
    if context.global.json {
        ui.document(&everywhere)?;
    } else {
        context.page(
            ui,
            &everywhere.text(ui.paint, &args.form(context, (ui.width, ui.height))),
        )?;
    }
    Ok(report::exit_of(
        &problems,
        everywhere.tasks.iter().map(|task| task.status.duty.kind),
    ))
}

/// The overview, and the problems in it. Returns an error if a filter names nothing, or there is no repository.
pub(in crate::cli::commands) fn answer(
    args: &StatusArgs,
    workspace: &Workspace,
) -> Result<(Everywhere, Vec<Diagnostic>), Failure> {
    let overview = workspace.overview()?;
    let mut problems = overview.problems.clone();
    let tasks: Vec<&OverviewTask> = meant(args, &overview.tasks)?;
    let subjects: Vec<_> = tasks.iter().map(|task| overview.subject(task)).collect();
    args.are_known(subjects.iter().map(|subject| subject.workflow))?;
    let name = |place: &usize| overview.places[*place].name.clone();
    let whereabouts = |task: &OverviewTask| Whereabouts {
        place: name(&task.place),
        same: task.same.len(),
        behind: task.behind.len(),
        disagreeing: task.disagreeing.iter().map(name).collect(),
    };
    let listed = subjects.into_iter().zip(tasks).filter(|(subject, _)| {
        let phase = subject.decision.phase.as_ref().map(|phase| phase.as_str());
        args.selects(phase, subject.duty().owner, subject.workflow.name.as_str())
    });
    let listed = listed
        .map(|(subject, task)| (subject, whereabouts(task)))
        .collect();
    let (known, unreadable) = drive::runs_in(workspace, overview.work_trees());
    problems.extend(unreadable);
    let open = known
        .iter()
        .filter(|run| run.run.ended().is_none())
        .map(runs::line)
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
fn meant<'t>(args: &StatusArgs, all: &'t [OverviewTask]) -> Result<Vec<&'t OverviewTask>, Failure> {
    let id = |task: &OverviewTask| task.sight.task.id.clone();
    if args.tasks.is_empty() {
        return Ok(all
            .iter()
            .filter(|task| args.all || !id(task).is_archived())
            .collect());
    }
    let fits = |name: &str, task: &OverviewTask| {
        let id = id(task);
        id.as_str() == name
            || Patterns::new([name]).is_ok_and(|pattern| pattern.matches(id.as_str()))
    };
    if let Some(name) = args
        .tasks
        .iter()
        .find(|name| !all.iter().any(|task| fits(name, task)))
    {
        let failure = Failure::new(
            Code::UnknownTask,
            format!("no branch and no work tree has a task `{name}`"),
        );
        return Err(failure.hint(Hint::from("list them: ").command(&[
            "orch",
            "status",
            "--everywhere",
            "--all",
        ])));
    }
    Ok(all
        .iter()
        .filter(|task| args.tasks.iter().any(|name| fits(name, task)))
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
