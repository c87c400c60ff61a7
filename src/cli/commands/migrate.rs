//! `orch migrate`: moves tasks to the present version of their workflow.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use orch_base::{Diagnostic, Hint};
use orch_engine::apply::{PlannedMigration, TaskMigration, TaskOutcome};
use orch_engine::gather;
use orch_engine::survey::TaskRef;
use orch_view::layout::counted;
use orch_view::{Finding, MigrationLine, MigrationList};

/// Move tasks to the present version of their workflow.
///
/// A task goes on in its phase, also if that has another name now (`aliases`), or in the one that the document names for a
/// phase that is no more: `phases` under `[migrate]`. A task never comes forward by this, and one that would is refused. Each
/// move is one event, which the audit derives again from the document in the commit before.
///
/// What was used up stays used up. A task that goes on in another phase does the work of that phase and of later ones anew.
/// Tasks that follow the present version, or one that differs only in prose or layout, and finished ones stay as they are.
///
/// Exits with 1 if a task cannot move, with 3 if none has to.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The tasks or patterns; default: all.
    tasks: Vec<String>,
    /// Write nothing; print how each task would move, and what of its record would count no more.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &MigrateArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let (tasks, misnamed) = gather::named_or_all(&workspace, &args.tasks)?;
    let writer = context.writer(&workspace);
    let migrate = writer.migrate();
    let mut problems = misnamed;
    let mut moving: Vec<TaskRef> = Vec::new();
    let mut lines = Vec::new();
    let mut refused = Vec::new();
    let mut unchanged = 0;
    for task in tasks.iter().filter(|task| !task.id.is_archived()) {
        match migrate.plan(task) {
            Ok(PlannedMigration::Nothing) => unchanged += 1,
            Ok(PlannedMigration::Refused(why)) => refused.push(why),
            Ok(PlannedMigration::Moves(moved)) => {
                lines.push(line(task, &moved));
                moving.push(task.clone());
            }
            Err(error) => problems.push(gather::unread_task(task, &error)),
        }
    }
    if !args.plan && !moving.is_empty() {
        let outcomes = migrate.tasks(&moving)?;
        for outcome in outcomes {
            let TaskOutcome::Applied(applied) = outcome else {
                continue;
            };
            writer.renew_suggestion(&applied.sight)?;
            let id = applied.sight.task.id.as_str();
            let commit = applied.steps.last().and_then(|step| step.commit);
            let mut moved = lines.iter_mut();
            if let Some(line) = moved.find(|line| line.task == id) {
                line.commit = commit.map(|commit| commit.short());
            }
        }
    }
    let has_refused = !refused.is_empty() || problems.iter().any(Diagnostic::is_error);
    let is_idle = lines.is_empty();
    let list = MigrationList {
        applied: !args.plan,
        migrations: lines,
        refused: refused.iter().map(Finding::of).collect(),
        unchanged,
    };
    problems.iter().for_each(|problem| ui.finding(problem));
    if context.global.json {
        ui.document(&list)?;
    } else {
        refused.iter().for_each(|problem| ui.finding(problem));
        ui.answer(&list.text(ui.paint, ui.width))?;
        status(&list, args.plan, ui);
    }
    Ok(match (has_refused, is_idle) {
        (true, _) => ExitCode::No,
        (false, true) => ExitCode::Nothing,
        (false, false) => ExitCode::Fine,
    })
}

fn status(list: &MigrationList, is_plan: bool, ui: &Ui) {
    let moves = counted(list.migrations.len(), "task");
    let rest = format!("{} unchanged", list.unchanged);
    if !is_plan {
        return ui.status(&format!("{moves} moved, {rest}"));
    }
    let hint = if list.migrations.is_empty() {
        String::new()
    } else {
        format!("; {}", Hint::run(&["orch", "migrate"]))
    };
    ui.status(&format!("{moves} would move, {rest}{hint}"));
}

fn line(task: &TaskRef, moved: &TaskMigration) -> MigrationLine {
    MigrationLine {
        task: task.id.to_string(),
        from: moved.from.clone(),
        to: moved.to.to_string(),
        from_workflow: moved.migration.from.to_string(),
        to_workflow: moved.migration.to.to_string(),
        dropped: moved.dropped.clone(),
        commit: None,
    }
}
