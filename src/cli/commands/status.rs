//! `orch status`: one line per task.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::view::Status;

/// Show one line per task: its phase, its attempt, and who must act.
///
/// Also shows the transitions that are due, and how many tasks are in each phase. `orch` without a command
/// does the same. Writes nothing.
#[derive(Debug, Default, Args)]
pub struct StatusArgs {
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
}

pub fn run(args: &StatusArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    let (tasks, misnamed) = workspace.survey()?;
    let (judged, mut problems) = report::judge_all(&workspace, &tasks);
    problems.extend(misnamed);
    let outside = workspace.outside_git();
    problems.extend(outside.clone());
    let subjects = report::subjects(&workspace, &judged)?;
    let status = Status::new(workspace.repository(), &subjects, &problems);
    if context.global.json {
        ui.document(&status)?;
    } else if tasks.is_empty() && problems.is_empty() {
        ui.answer("There are no tasks yet.\n")?;
        let ready = workspace.root().join(crate::config::FILE).is_file();
        ui.status(if ready { "next: orch new ID" } else { "next: orch init" });
        if let Some(note) = outside {
            ui.status(&note.to_string());
        }
    } else {
        ui.answer(&status.text(ui.paint, ui.width))?;
    }
    Ok(report::exit_after(&problems, ExitCode::Fine))
}
