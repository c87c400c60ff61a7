//! `orch board`: all tasks as one HTML file.

mod gather;
#[cfg(feature = "api")]
pub(super) mod served;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::Code;
use crate::store::durable;
use crate::view::html::{BoardFilter, TaskLinks, file_end, file_start, file_task};
use crate::view::layout::counted;
use gather::{GatheredTasks, WantedPages, gather};
use std::path::{Path, PathBuf};

/// Write the tasks as one HTML file, for example as an artifact of CI.
///
/// A column per phase, and in it a card per task: who must act, and on what. Below, a page for each open task: the
/// reason, the rules with the values they saw, the artifacts, the findings, a diagram with the way that the task went,
/// and its timeline. The file refers to nothing outside of it and contains no script. Writes nothing else.
#[derive(Debug, Args)]
pub struct BoardArgs {
    /// The tasks or patterns; default: every task that is not archived.
    tasks: Vec<String>,
    /// Write the page to FILE, or to stdout if FILE is `-`.
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
    /// Also write the pages of finished tasks.
    #[arg(long)]
    details: bool,
}

pub fn run(args: &BoardArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let (tasks, misnamed) = report::named_or_all(&workspace, &args.tasks)?;
    context.show_looks(&workspace, Some(tasks.len()), ui);
    let pages = if args.details { WantedPages::All } else { WantedPages::Open };
    let gathered = gather(&context.caller, &workspace, &tasks, misnamed, pages)?;
    let exit = report::exit_of(&gathered.problems, gathered.status.tasks.iter().map(|task| task.duty.kind));
    // The page shows them, too; whoever reads only the exit code has to find the reason.
    gathered.problems.iter().filter(|problem| problem.is_error()).for_each(|problem| ui.finding(problem));
    if args.html == Path::new("-") && !context.global.json {
        write(&gathered, context, |part| Ok(ui.answer(part)?))?;
        return Ok(exit);
    }
    let mut whole = String::new();
    write(&gathered, context, |part| {
        whole.push_str(part);
        Ok(())
    })?;
    if args.html == Path::new("-") {
        report::text(context, ui, &whole)?;
        return Ok(exit);
    }
    let target = context.start.join(&args.html);
    let target = target.canonicalize().unwrap_or(target);
    if target.symlink_metadata().is_ok_and(|there| !there.is_file()) {
        let message = format!("{} is no regular file", args.html.display());
        return Err(Failure::new(Code::Usage, message).hint("--html - writes to stdout"));
    }
    durable::write_atomic(durable::parent(&target), &target, whole.as_bytes())?;
    let told = counted(gathered.status.tasks.len(), "task");
    report::text(context, ui, &format!("wrote {told} to {}\n", args.html.display()))?;
    Ok(exit)
}

/// Writes the file part by part.
fn write(
    gathered: &GatheredTasks,
    context: &Context,
    mut part: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let now = context.caller.clock.now();
    let names = gathered.details.iter().map(|detail| detail.explanation.suggestion.task.id.clone());
    let links = TaskLinks::InFile(names.collect());
    part(&file_start(&gathered.page(&links, &BoardFilter::default(), now)))?;
    for page in gathered.details.iter().filter_map(|detail| gathered.task_page(detail, now)) {
        part(&file_task(&page))?;
    }
    part(&file_end())
}
