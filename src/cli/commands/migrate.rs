//! `orch migrate`: moves tasks to the present version of their workflow.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use orch_base::{Diagnostic, Hint, Severity};
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
/// A document that HEAD does not have as it is moves nothing, because no audit could verify it: commit it first.
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
    let mut uncommitted: Vec<Diagnostic> = Vec::new();
    let mut cannot = 0;
    let mut unchanged = 0;
    for task in tasks.iter().filter(|task| !task.id.is_archived()) {
        match migrate.plan(task) {
            Ok(PlannedMigration::Nothing) => unchanged += 1,
            Ok(PlannedMigration::Refused(why)) => refused.push(why),
            Ok(PlannedMigration::Moves(moved)) => {
                let is_held = moved.unverifiable.is_some() && !args.plan;
                let why = moved.unverifiable.clone().map(|why| held(why, args.plan));
                uncommitted.extend(why.filter(|why| !uncommitted.contains(why)));
                if is_held {
                    cannot += 1;
                    continue;
                }
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
    let has_refused =
        cannot > 0 || !refused.is_empty() || problems.iter().any(Diagnostic::is_error);
    cannot += refused.len();
    let is_idle = lines.is_empty();
    let list = MigrationList {
        applied: !args.plan,
        migrations: lines,
        refused: refused.iter().map(Finding::of).collect(),
        unchanged,
    };
    problems.extend(uncommitted);
    problems.iter().for_each(|problem| ui.finding(problem));
    if context.global.json {
        ui.document(&list)?;
    } else {
        refused.iter().for_each(|problem| ui.finding(problem));
        ui.answer(&list.text(ui.paint, ui.width))?;
        ui.status(&summary(&list, cannot));
    }
    Ok(match (has_refused, is_idle) {
        (true, _) => ExitCode::No,
        (false, true) => ExitCode::Nothing,
        (false, false) => ExitCode::Fine,
    })
}

/// The finding about a document that HEAD does not have: it holds every move, and a plan only warns of it.
fn held(why: Diagnostic, is_plan: bool) -> Diagnostic {
    let severity = if is_plan {
        why.severity
    } else {
        Severity::Error
    };
    Diagnostic { severity, ..why }
}

/// How many tasks move, stay in their phase, cannot move and need not.
fn summary(list: &MigrationList, cannot: usize) -> String {
    let migrations = list.migrations.iter();
    let stay = migrations.filter(|line| line.from == line.to).count();
    let moves = counted(list.migrations.len() - stay, "task");
    let (moved, stays) = if list.applied {
        ("moved", "stayed in the same phase")
    } else {
        ("would move", "would stay in the same phase")
    };
    let mut parts = vec![format!("{moves} {moved}")];
    if stay > 0 {
        parts.push(format!("{stay} {stays}"));
    }
    if cannot > 0 {
        parts.push(format!("{cannot} cannot"));
    }
    parts.push(format!("{} unchanged", list.unchanged));
    let hint = if list.applied || list.migrations.is_empty() {
        String::new()
    } else {
        format!("; {}", Hint::run(&["orch", "migrate"]))
    };
    format!("{}{hint}", parts.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_stands_in_one_number_of_the_summary() {
        let line = |from: &str, to: &str| MigrationLine {
            task: "t".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            from_workflow: "w@1".to_owned(),
            to_workflow: "w@2".to_owned(),
            dropped: Vec::new(),
            commit: None,
        };
        let list = |applied, migrations| MigrationList {
            applied,
            migrations,
            refused: Vec::new(),
            unchanged: 4,
        };
        let (stays, moves) = (line("a", "a"), line("a", "b"));
        for (applied, migrations, cannot, said) in [
            (true, vec![], 0, "0 tasks moved, 4 unchanged"),
            (true, vec![], 2, "0 tasks moved, 2 cannot, 4 unchanged"),
            (
                true,
                vec![stays.clone(), moves.clone()],
                0,
                "1 task moved, 1 stayed in the same phase, 4 unchanged",
            ),
            (
                false,
                vec![stays, moves],
                1,
                "1 task would move, 1 would stay in the same phase, 1 cannot, 4 unchanged; orch migrate",
            ),
        ] {
            assert_eq!(summary(&list(applied, migrations), cannot), said);
        }
    }
}
