//! `orch log`: the timeline of tasks, from git and the log of each task.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::{Code, Error};
use crate::survey::{Sight, TaskRef};
use crate::view::{Log, StepView};

/// Show the timeline of tasks: every recorded step with its reason, evidence and commit.
///
/// Without TASKS: that of the task of the current directory or of the branch, or else of all tasks. With
/// `--json` the branch does not count. Writes nothing.
///
/// Exits with 1 if a line of a log is not an event, so that steps may be missing.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The tasks or patterns; default: the task of the current directory or of the branch, or else all tasks.
    tasks: Vec<String>,
    /// Show all tasks, wherever `orch` is started.
    #[arg(long, conflicts_with = "tasks")]
    all: bool,
}

pub fn run(args: &LogArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let around = match args.all || !args.tasks.is_empty() {
        true => None,
        false => report::around(&workspace, context, ui, "orch log --all")?,
    };
    let tasks: Vec<TaskRef> = match around {
        Some(task) => vec![task],
        None if args.tasks.is_empty() => workspace.tasks()?,
        None => report::named(&workspace, &args.tasks)?,
    };
    let stories = crate::history::stories(&workspace, &tasks)?;
    let exit = match stories.iter().any(|story| story.is_damaged) {
        true => ExitCode::No,
        false => ExitCode::Fine,
    };
    let short = tasks.iter().zip(&stories).filter(|(_, story)| story.is_damaged || story.steps.is_empty());
    let short: Vec<(&TaskRef, bool)> = short.map(|(task, story)| (task, story.is_damaged)).collect();
    let reasons = workspace
        .map_each(&short, |workspace, (task, is_damaged)| Ok(why_short(&workspace.look(task)?, *is_damaged)));
    let mut lost: Vec<Error> = reasons.into_iter().collect::<Result<Vec<_>, Error>>()?.concat();
    let mut entries = Vec::new();
    for (task, timeline) in tasks.iter().zip(stories) {
        // A clock may have been set back between two steps; what follows a step stands after it.
        let mut latest = None;
        for (entry, commit) in timeline.steps {
            let commit = commit.map(|commit| commit.to_string());
            latest = latest.max(Some(entry.at));
            entries
                .push((latest, StepView::recorded(task.id.as_str(), &task.place, &entry, commit.as_deref())));
        }
    }
    entries.sort_by(|(a, left), (b, right)| (a, &left.task).cmp(&(b, &right.task)));
    // Without any step, the reason is the answer.
    if entries.is_empty() && !lost.is_empty() {
        return Err(Failure::from(lost.remove(0)));
    }
    lost.into_iter().for_each(|error| ui.finding(&error.into_warning()));
    let log = Log::new(workspace.repository()?, entries.into_iter().map(|(_, entry)| entry).collect());
    if context.global.json {
        ui.document(&log)?;
    } else {
        context.page(ui, &log.text(ui.paint, ui.width))?;
    }
    Ok(exit)
}

/// Why the timeline of a task lacks steps: a line of its log is damaged, or there is no step.
fn why_short(sight: &Sight, is_damaged: bool) -> Vec<Error> {
    if is_damaged {
        return sight.require_whole_record().err().into_iter().collect();
    }
    let lost = sight.decision.diagnostics.iter().filter(|finding| finding.code == Code::RecordLost);
    lost.cloned().map(Error::from).collect()
}
