//! `orch pr`: the description of a pull request.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::gather;
use orch_view::{GITHUB_CHARACTERS, PullRequest};

/// Print the description of a pull request as Markdown.
///
/// For each task, what `orch show` shows, apart from the code: what is different and what is in doubt, the brief, the plan,
/// the verdicts with their issues, verifications and reports with the tests that failed, and what the approval rests on;
/// and from its log what people ordered against the rules and why, and the history. Most of it is folded. The last line is a comment, `<!-- orch:TASK -->`, or `<!-- orch:* -->` for a range or several
/// tasks: a program finds by it what it wrote before, and replaces it.
///
/// The same files and records give the same bytes. What is quoted from files has no effect: it closes no fold, mentions
/// nobody, and refers to no issue. Writes nothing. Exits with 1 if one of the tasks is in error.
#[derive(Debug, Args)]
pub struct PrArgs {
    /// The tasks or patterns; optional if the current directory, the branch name or a single open task
    /// identifies one.
    tasks: Vec<String>,
    /// Describe the tasks that the range `A..B` changes, as they are in B.
    #[arg(long, value_name = "RANGE", conflicts_with_all = ["tasks", "at"])]
    range: Option<String>,
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
    /// Cut the longest parts so that the description has at most N characters. GitHub permits 65536, GitLab 1048576.
    #[arg(long, value_name = "N", default_value_t = GITHUB_CHARACTERS)]
    limit: usize,
}

pub fn run(args: &PrArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let (workspace, tasks) = match &args.range {
        Some(range) => gather::tasks_of_range(context.bare_workspace()?, range)?,
        None => {
            let workspace = context.workspace_at(ui, args.at.as_deref())?;
            let tasks = match args.tasks.is_empty() {
                true => vec![report::meant(&workspace, context, None)?],
                false => gather::named(&workspace, &args.tasks)?,
            };
            (workspace, tasks)
        }
    };
    let (described, problems) = gather::described_tasks(&workspace, &tasks);
    problems.iter().for_each(|problem| ui.finding(problem));
    let exit = report::exit_of(&problems, described.iter().map(|task| task.sheet.duty.kind));
    let repository = workspace.reader().repository()?;
    let page = PullRequest::new(repository, args.range.clone(), described, args.limit);
    if page.text.cut {
        ui.status(&format!(
            "the description was cut to {} characters (--limit)",
            args.limit
        ));
    }
    if context.global.json {
        ui.document(&page)?;
    } else {
        context.page(ui, &page.text.markdown)?;
    }
    Ok(exit)
}
