//! What a board shows of tasks, gathered by one look at each.

use super::runs::run_line;
use super::tasks::{
    answers_of_each, named_or_all, repository, statuses, unread_status, unread_task,
};
use crate::apply::{WayBack, last_order};
use crate::drive;
use crate::history::stories;
use crate::survey::{Caller, Reader, Sight, TaskRef, Workspace, unjudged};
use orch_base::{Diagnostic, Error, Timestamp};
use orch_core::decide::{ActorKind, Choice, HistoryEntry, PersonOrder, is_order};
use orch_core::workflow::Owner;
use orch_view::html::{BoardFilter, BoardPage, Chart, TaskLinks, TaskPage};
use orch_view::{Explanation, RunLine, Status, StepView, TaskStatus};
use std::collections::HashMap;
use std::iter;
use std::sync::Arc;

/// The tasks of a board.
pub struct GatheredTasks {
    /// All tasks, the most urgent first.
    pub status: Status,
    /// Their workflows, by name.
    pub charts: Vec<Chart>,
    /// The last run of each task of this work tree.
    pub runs: Vec<RunLine>,
    /// What the pages of tasks show, in the order of the tasks.
    pub details: Vec<TaskDetail>,
    /// What is wrong apart from the tasks.
    pub problems: Vec<Diagnostic>,
}

impl GatheredTasks {
    /// The page of all tasks.
    pub fn page<'a>(
        &'a self,
        links: &'a TaskLinks,
        filter: &'a BoardFilter,
        now: Timestamp,
    ) -> BoardPage<'a> {
        BoardPage {
            status: &self.status,
            charts: &self.charts,
            runs: &self.runs,
            now,
            links,
            filter,
            served: None,
        }
    }

    /// The page of a task; `None` if its workflow cannot be used.
    pub fn task_page<'a>(&'a self, detail: &'a TaskDetail, now: Timestamp) -> Option<TaskPage<'a>> {
        let TaskDetail {
            explanation,
            steps,
            unmoved_since,
            ..
        } = detail;
        let task = &explanation.suggestion.task;
        let chart = self
            .charts
            .iter()
            .find(|chart| chart.workflow == task.workflow)?;
        let run = self.runs.iter().find(|run| run.task == task.id);
        Some(TaskPage {
            explanation,
            steps,
            run,
            chart,
            unmoved_since: *unmoved_since,
            now,
            served: None,
        })
    }
}

/// What the page of a task shows.
pub struct TaskDetail {
    /// Why it is where it is.
    pub explanation: Explanation,
    /// Its timeline, oldest first.
    pub steps: Vec<StepView>,
    /// The time of its last step.
    pub unmoved_since: Option<Timestamp>,
    /// What a person may order in any case, if that is wanted.
    pub orders: Vec<PersonOrder>,
}

/// Which pages of tasks are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedPages {
    /// None.
    None,
    /// Those of open tasks.
    Open,
    /// All.
    All,
    /// All, with what a person may order in any case.
    WithOrders,
}

/// What is kept of a look.
struct LookedTask {
    task: TaskRef,
    status: Box<TaskStatus>,
    detail: Option<TaskDetail>,
}

/// The tasks that wait for a person and say what a filter searches for, in the order of suggestions. What is known of
/// earlier looks is used. Returns an error if the tasks cannot be listed.
pub fn waiting(workspace: &Workspace, filter: &BoardFilter) -> Result<Vec<String>, Error> {
    let (tasks, _) = named_or_all(workspace, &[])?;
    let (mut rows, _) = statuses(workspace, &tasks);
    rows.retain(|row| row.actor() == Owner::Human && row.says(&filter.text));
    rows.sort_by(|one, other| one.in_order(other));
    Ok(rows.into_iter().map(|row| row.task.id).collect())
}

/// Looks at these tasks; without pages, what is known of earlier looks is used. Returns an error if git cannot be read.
pub fn board(
    caller: &Caller,
    workspace: &Workspace,
    tasks: &[TaskRef],
    misnamed: Vec<Diagnostic>,
    pages: WantedPages,
) -> Result<GatheredTasks, Error> {
    let is_agent = caller.kind == ActorKind::Agent;
    let card = |reader: &Reader, sight: &Sight| {
        let subject = reader.subject(sight);
        let has_page = match pages {
            WantedPages::None => false,
            WantedPages::Open => !sight.decision.is_done(),
            WantedPages::All | WantedPages::WithOrders => true,
        };
        let detail = has_page.then(|| {
            let mut explanation = Explanation::of(&subject, None);
            explanation
                .suggestion
                .options
                .retain(|option| !(is_agent && is_order(&option.id)));
            let mut orders = Vec::new();
            if pages == WantedPages::WithOrders {
                orders = sight.person_orders();
                orders.extend(undo(reader, sight));
            }
            TaskDetail {
                explanation,
                steps: Vec::new(),
                unmoved_since: subject.unmoved_since,
                orders,
            }
        });
        LookedTask {
            task: sight.task.clone(),
            status: TaskStatus::of(&subject).into(),
            detail,
        }
    };
    let failed = |task: &TaskRef, error: &Error| {
        let status = unread_status(task, error);
        LookedTask {
            task: task.clone(),
            status,
            detail: None,
        }
    };
    let (looked, mut problems) = if pages == WantedPages::None {
        let (rows, problems) = statuses(workspace, tasks);
        let looked = tasks.iter().zip(rows).map(|(task, status)| LookedTask {
            task: task.clone(),
            status,
            detail: None,
        });
        (looked.collect(), problems)
    } else {
        answers_of_each(workspace, tasks, card, failed)
    };
    problems.extend(misnamed);
    problems.extend(workspace.reader().outside_git());
    let detailed: Vec<TaskRef> = looked
        .iter()
        .filter(|one| one.detail.is_some())
        .map(|one| one.task.clone())
        .collect();
    let timelines = stories(workspace, &detailed).unwrap_or_else(|error| {
        // The cards are there all the same.
        problems.push(unjudged(&error));
        Vec::new()
    });
    let mut timelines = timelines.into_iter();
    let mut rows = Vec::new();
    let mut details = HashMap::new();
    for LookedTask {
        task,
        status,
        detail,
    } in looked
    {
        if let Some(mut detail) = detail {
            let recorded = timelines.next().transpose().unwrap_or_else(|error| {
                problems.push(unread_task(&task, &error));
                None
            });
            let recorded = recorded.unwrap_or_default();
            let step = |(entry, commit): &(Arc<_>, Option<_>)| {
                let commit = commit.as_ref().map(ToString::to_string);
                StepView::recorded(task.id.as_str(), &task.place, entry, commit.as_deref())
            };
            detail.steps = recorded.steps.iter().map(step).collect();
            details.insert(status.task.path.clone(), detail);
        }
        rows.push(status);
    }
    let repository = repository(workspace, &mut problems);
    let status = Status::of_tasks(repository, rows, &problems);
    let mut names: Vec<&str> = status
        .tasks
        .iter()
        .map(|task| task.task.workflow.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let chart = |name| {
        let loaded = workspace.settings().workflow(name).ok();
        let usable = loaded
            .as_ref()
            .and_then(|loaded| loaded.workflow())
            .map(Chart::of);
        usable.unwrap_or_else(|| Chart::of_unusable(name))
    };
    let charts = names.into_iter().map(chart).collect();
    let (known, unreadable) = drive::runs_in(workspace, iter::once(workspace));
    let new: Vec<Diagnostic> = unreadable
        .into_iter()
        .filter(|found| !problems.contains(found))
        .collect();
    problems.extend(new);
    Ok(GatheredTasks {
        charts,
        runs: known.iter().map(run_line).collect(),
        details: status
            .tasks
            .iter()
            .filter_map(|task| details.remove(&task.task.path))
            .collect(),
        status,
        problems,
    })
}

/// The order that takes back the last one, if there is one that can be taken back.
fn undo(reader: &Reader, sight: &Sight) -> Option<PersonOrder> {
    let effect = match last_order(reader, sight).ok()? {
        WayBack::Undo(taken) => {
            let HistoryEntry {
                seq,
                kind,
                from,
                to,
                ..
            } = &*taken.order;
            let from = from.as_ref().unwrap_or(to);
            let kind = kind.as_str();
            format!("take back step {seq} ({kind}), from `{from}` to `{to}`")
        }
        WayBack::Rollback(phase) => format!("take back the approval of `{phase}`"),
    };
    Some(PersonOrder {
        choice: Choice {
            id: "undo",
            argv: ["orch", "undo", sight.task.id.as_str()]
                .map(str::to_owned)
                .to_vec(),
            by: Owner::Human,
            effect,
        },
        targets: Vec::new(),
    })
}
