//! The pages of the board, from what they show.

use orch_base::{Code, Error};
use orch_core::decide::PersonOrder;
use orch_engine::gather::{self, TaskFilter, WantedPages};
use orch_engine::survey::{Caller, Workspace};
use orch_view::html::{
    BoardFilter, OrderForm, ServedTask, TaskLinks, TaskPage, served_board, served_cards,
    served_overview, served_task,
};
use orch_view::{RunLine, Suggestion};

/// All tasks that are not archived. Returns an error if they cannot be read.
pub(super) fn front(
    workspace: &Workspace,
    caller: &Caller,
    filter: &BoardFilter,
) -> Result<String, Error> {
    let (tasks, misnamed) = gather::named_or_all(workspace, &[])?;
    let gathered = gather::board(caller, workspace, &tasks, misnamed, WantedPages::None)?;
    Ok(served_board(&gathered.page(
        &TaskLinks::Served,
        filter,
        caller.clock.now(),
    )))
}

/// The cards of those of these tasks that there are. Returns an error if they cannot be read.
pub(super) fn cards(
    workspace: &Workspace,
    caller: &Caller,
    names: &[String],
) -> Result<String, Error> {
    let mut tasks = workspace.finder().tasks()?;
    tasks
        .retain(|task| !task.id.is_archived() && names.iter().any(|name| name == task.id.as_str()));
    let gathered = gather::board(caller, workspace, &tasks, Vec::new(), WantedPages::None)?;
    Ok(served_cards(&gathered.page(
        &TaskLinks::Served,
        &BoardFilter::default(),
        caller.clock.now(),
    )))
}

/// The tasks of all branches and work trees. Returns an error if they cannot be read.
pub(super) fn overview(workspace: &Workspace, caller: &Caller) -> Result<String, Error> {
    let (overview, _) = gather::everywhere(TaskFilter::default(), workspace)?;
    Ok(served_overview(&overview, caller.clock.now()))
}

/// The page of a task. `orders` returns the orders that may be given, `tag` identifies its state, and at `output` is
/// the output of its run. Returns an error if there is no such task, or it cannot be read.
pub(super) fn task(
    workspace: &Workspace,
    caller: &Caller,
    name: &str,
    (tag, output): (&str, &str),
    orders: impl Fn(&Suggestion, Option<&RunLine>, &[PersonOrder]) -> Vec<OrderForm>,
) -> Result<String, Error> {
    let unknown = || Error::new(Code::UnknownTask, format!("there is no task `{name}`"));
    let tasks = workspace.finder().tasks()?;
    let task = tasks
        .into_iter()
        .find(|task| task.id.as_str() == name)
        .ok_or_else(unknown)?;
    let sheet = gather::sheet(workspace, &task)?;
    let gathered = gather::board(
        caller,
        workspace,
        &[task],
        Vec::new(),
        WantedPages::WithOrders,
    )?;
    let now = caller.clock.now();
    let detail = gathered.details.first();
    let Some((detail, page)) =
        detail.and_then(|detail| Some((detail, gathered.task_page(detail, now)?)))
    else {
        let problem = gathered
            .problems
            .into_iter()
            .find(|problem| problem.is_error());
        return Err(problem.map_or_else(unknown, Error::from));
    };
    let orders = orders(&page.explanation.suggestion, page.run, &detail.orders);
    let repository = &gathered.status.repository;
    let output = page.run.map(|_| output);
    let served = Some(ServedTask {
        repository,
        sheet: &sheet,
        orders: &orders,
        tag,
        output,
    });
    Ok(served_task(&TaskPage { served, ..page }))
}
