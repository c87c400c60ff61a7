//! The board as pages of `orch serve`.

use super::gather::gather;
use crate::base::{Code, Error};
use crate::cli::Failure;
use crate::cli::commands::report;
use crate::survey::{Caller, Workspace};
use crate::view::html::{
    BoardFilter, BoardPage, OrderForm, ServedTask, TaskLinks, TaskPage, served_board, served_cards,
    served_task,
};
use crate::view::{RunLine, Suggestion};

/// All tasks that are not archived. Returns an error if they cannot be read.
pub(in crate::cli::commands) fn front(
    workspace: &Workspace,
    caller: &Caller,
    filter: &BoardFilter,
) -> Result<String, Failure> {
    let (tasks, misnamed) = report::named_or_all(workspace, &[])?;
    let gathered = gather(caller, workspace, &tasks, misnamed, |_| false)?;
    let page = BoardPage {
        status: &gathered.status,
        charts: &gathered.charts,
        runs: &gathered.runs,
        now: caller.clock.now(),
        links: &TaskLinks::Served,
        filter,
    };
    Ok(served_board(&page))
}

/// The cards of those of these tasks that there are. Returns an error if they cannot be read.
pub(in crate::cli::commands) fn cards(
    workspace: &Workspace,
    caller: &Caller,
    names: &[String],
) -> Result<String, Failure> {
    let mut tasks = workspace.tasks()?;
    tasks.retain(|task| !task.id.is_archived() && names.iter().any(|name| name == task.id.as_str()));
    let gathered = gather(caller, workspace, &tasks, Vec::new(), |_| false)?;
    Ok(served_cards(&BoardPage {
        status: &gathered.status,
        charts: &gathered.charts,
        runs: &gathered.runs,
        now: caller.clock.now(),
        links: &TaskLinks::Served,
        filter: &BoardFilter::default(),
    }))
}

/// The page of a task. `orders` returns the orders that may be given, `tag` identifies its state, and at `output` is
/// the output of its run. Returns an error if there is no such task, or it cannot be read.
pub(in crate::cli::commands) fn task(
    workspace: &Workspace,
    caller: &Caller,
    name: &str,
    (tag, output): (&str, &str),
    orders: impl Fn(&Suggestion, Option<&RunLine>) -> Vec<OrderForm>,
) -> Result<String, Failure> {
    let unknown = || Error::new(Code::UnknownTask, format!("there is no task `{name}`"));
    let tasks = workspace.tasks()?;
    let task = tasks.into_iter().find(|task| task.id.as_str() == name).ok_or_else(unknown)?;
    let gathered = gather(caller, workspace, &[task], Vec::new(), |_| true)?;
    let (Some(detail), Some(chart)) = (gathered.details.first(), gathered.charts.first()) else {
        let problem = gathered.problems.into_iter().find(|problem| problem.is_error());
        return Err(problem.map_or_else(|| unknown().into(), Failure::from));
    };
    let run = gathered.runs.iter().find(|run| run.task == name);
    let orders = orders(&detail.explanation.suggestion, run);
    let repository = &gathered.status.repository;
    Ok(served_task(&TaskPage {
        explanation: &detail.explanation,
        steps: &detail.steps,
        run,
        chart,
        unmoved_since: detail.unmoved_since,
        now: caller.clock.now(),
        served: Some(ServedTask { repository, orders: &orders, tag, output: run.map(|_| output) }),
    }))
}
