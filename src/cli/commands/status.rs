//! `orch status`: one line a task.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::view::{Status, pretty};

/// Shows one line a task: phase, attempt, who must act and on what, due moves; and how many tasks
/// are in each phase.
#[derive(Debug, Default, Args)]
pub struct StatusArgs {
    /// Look at what a commit holds, by the settings in it.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
}

pub fn run(args: &StatusArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    let (tasks, misnamed) = workspace.survey();
    let (judged, mut problems) = report::judge_all(&workspace, &tasks);
    problems.extend(misnamed);
    let outside = workspace.outside_git();
    problems.extend(outside.clone());
    let subjects = report::subjects(&workspace, &judged)?;
    let status = Status::new(workspace.repository(), &subjects, &problems);
    if context.global.json {
        ui.answer(&pretty(&status))?;
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
    Ok(ExitCode::Fine)
}
