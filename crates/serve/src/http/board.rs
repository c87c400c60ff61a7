//! The pages of the board, from what they show.

use super::gate::Asker;
use super::openapi::OUTPUT;
use super::orders::{new_task, orders_of};
use super::rights::rights;
use super::service::Service;
use orch_base::{Code, Error};
use orch_engine::gather::{self, STATUS_CACHE, TaskFilter, WantedPages};
use orch_engine::survey::{Caller, Workspace};
use orch_view::html::{
    BoardFilter, Rights, ServedBoard, ServedTask, TaskLinks, TaskPage, served_board, served_cards,
    served_link, served_overview, served_task,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// What a page is made from.
pub(super) struct PageMaker<'s> {
    pub service: &'s Service,
    pub workspace: Workspace,
    /// Who asks.
    pub asker: Asker,
    /// What the asker counts as.
    pub caller: Caller,
    /// Which tasks the asker wants to see.
    pub filter: BoardFilter,
}

/// How often the page of a task that changes is made again.
const MADE_AGAIN: usize = 3;

/// The repository as it is now, with what is known of earlier looks. Returns an error if it cannot be read.
pub(super) fn workspace(service: &Service) -> Result<Workspace, Error> {
    let mut workspace = service.runner.workspace()?;
    workspace.know_looks(STATUS_CACHE);
    Ok(workspace)
}

impl PageMaker<'_> {
    /// All tasks that are not archived. Returns an error if they cannot be read.
    pub(super) fn front(self) -> Result<String, Error> {
        let rights = self.rights();
        let roots = self.workspace.settings().config().roots.iter();
        let roots: Vec<&str> = roots.map(|root| root.path.as_str()).collect();
        let new_task = new_task(&self.service.routes, &roots).filter(|_| rights.may_write);
        let (tasks, misnamed) = gather::named_or_all(&self.workspace, &[])?;
        let gathered = gather::board(
            &self.caller,
            &self.workspace,
            &tasks,
            misnamed,
            WantedPages::None,
        )?;
        let mut page = gathered.page(&TaskLinks::Served, &self.filter, self.caller.clock.now());
        page.served = Some(ServedBoard {
            rights: &rights,
            new_task: new_task.as_ref(),
        });
        Ok(served_board(&page))
    }

    /// The cards of those of these tasks that there are. Returns an error if they cannot be read.
    pub(super) fn cards(self, names: &[String]) -> Result<String, Error> {
        let mut tasks = self.workspace.finder().tasks()?;
        tasks.retain(|task| {
            !task.id.is_archived() && names.iter().any(|name| name == task.id.as_str())
        });
        let gathered = gather::board(
            &self.caller,
            &self.workspace,
            &tasks,
            Vec::new(),
            WantedPages::None,
        )?;
        Ok(served_cards(&gathered.page(
            &TaskLinks::Served,
            &BoardFilter::default(),
            self.caller.clock.now(),
        )))
    }

    /// The tasks of all branches and work trees. Returns an error if they cannot be read.
    pub(super) fn overview(self) -> Result<String, Error> {
        let (overview, _) = gather::everywhere(TaskFilter::default(), &self.workspace)?;
        Ok(served_overview(&overview, self.caller.clock.now()))
    }

    /// Where the decision with this number is, from 1, or the first if there are not as many; the board if nothing waits
    /// for a person. Returns an error if the tasks cannot be read.
    pub(super) fn decision(self, number: usize) -> Result<String, Error> {
        let waiting = gather::waiting(&self.workspace, &self.filter)?;
        let wanted = waiting.get(number.saturating_sub(1));
        Ok(match wanted.or(waiting.first()) {
            Some(task) => served_link(task, &self.filter),
            None => format!("/{}", self.filter.query()),
        })
    }

    /// The page of a task. It is made again if the task has changed meanwhile, so that its orders rest on what it shows.
    /// Returns an error if there is no such task, or it cannot be read.
    pub(super) fn task(mut self, name: &str) -> Result<String, Error> {
        if !self.rights().may_write {
            return self.task_with(name, "");
        }
        // First, so that an order never rests on something newer than what the page shows.
        let mut tag = self.service.tag_of(name, &self.caller)?;
        for _ in 0..MADE_AGAIN {
            let page = self.task_with(name, &tag)?;
            let after = self.service.tag_of(name, &self.caller)?;
            if after == tag {
                return Ok(page);
            }
            tag = after;
            self.workspace = workspace(self.service)?;
        }
        self.task_with(name, &tag)
    }

    /// The page of a task, whose orders rest on the state with this tag.
    fn task_with(&self, name: &str, tag: &str) -> Result<String, Error> {
        let unknown = || Error::new(Code::UnknownTask, format!("there is no task `{name}`"));
        let rights = self.rights();
        let tasks = self.workspace.finder().tasks()?;
        let task = tasks
            .into_iter()
            .find(|task| task.id.as_str() == name)
            .ok_or_else(unknown)?;
        let sheet = gather::sheet(&self.workspace, &task)?;
        let gathered = gather::board(
            &self.caller,
            &self.workspace,
            &[task],
            Vec::new(),
            WantedPages::WithOrders,
        )?;
        let now = self.caller.clock.now();
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
        let mut orders = Vec::new();
        if rights.may_write {
            let suggestion = &page.explanation.suggestion;
            let all = orders_of(&self.service.routes, suggestion, page.run, &detail.orders);
            orders.extend(
                all.into_iter()
                    .filter(|order| rights.may_order() || !order.needs_person()),
            );
        }
        let output = OUTPUT.replace(
            "{task}",
            &utf8_percent_encode(name, NON_ALPHANUMERIC).to_string(),
        );
        let waiting = gather::waiting(&self.workspace, &self.filter)?;
        let served = Some(ServedTask {
            repository: &gathered.status.repository,
            sheet: &sheet,
            orders: &orders,
            tag,
            output: page.run.map(|_| output.as_str()),
            rights: &rights,
            filter: &self.filter,
            waiting: &waiting,
        });
        Ok(served_task(&TaskPage { served, ..page }))
    }

    fn rights(&self) -> Rights {
        let is_read_only = self.service.gate.read_only;
        rights(&self.workspace, &self.caller, &self.asker, is_read_only)
    }
}
