//! All tasks: for each workflow a column per phase, and in it a card per task.

use super::{
    BoardFilter, BoardPage, Chart, ServedBoard, TaskLinks, age, class, is_trouble, owner_label,
    owner_word, run_line,
};
use crate::explain::substate_text;
use crate::layout::counted;
use crate::{RunLine, TaskStatus};
use maud::{Markup, html};
use orch_base::Timestamp;
use orch_core::workflow::Owner;
use std::collections::HashMap;

/// How many tasks of a column are shown at once.
const SHOWN: usize = 30;
/// The same for the column of a terminal phase.
const FINISHED: usize = 12;
/// From which attempt on a card says so where it catches the eye.
const MANY_ATTEMPTS: u32 = 4;

/// The name of the column of tasks that are in no phase of their workflow.
const NO_PHASE: &str = "(no phase)";

impl BoardFilter {
    /// Whether everything is shown.
    fn is_open(&self) -> bool {
        self.text.trim().is_empty() && self.owner.is_empty()
    }

    /// Whether a task is not hidden.
    #[must_use]
    pub fn leaves(&self, status: &TaskStatus) -> bool {
        let is_owner = self.owner.is_empty() || status.actor().as_str() == self.owner;
        is_owner && status.says(&self.text)
    }
}

/// What is on top of a card: the id of the task, when its last step was, and its title.
pub(super) fn heading(status: &TaskStatus, link: Option<&str>, now: Timestamp) -> Markup {
    let task = &status.task;
    html! {
        p.card-title {
            @match link {
                Some(link) => a.card-link href=(link) { bdi.id { (task.id) } },
                None => bdi.id { (task.id) },
            }
            span.card-age { (age(status.unmoved_since, now)) }
        }
        @if let Some(title) = &task.title { p.card-name dir="auto" { (title) } }
    }
}

/// Who must act, and on what.
pub(super) fn to_do(status: &TaskStatus) -> Markup {
    let (what, style) = status.to_do();
    html! {
        p.card-what {
            (owner_label(status.actor())) " "
            span class=(class(style)) { bdi { (what) } }
        }
    }
}

/// What is wrong with a task, and what else should be seen at once.
pub(super) fn flags(status: &TaskStatus) -> Markup {
    let attempt = status.task.attempt;
    let words = status.flags.words();
    html! {
        @if attempt >= MANY_ATTEMPTS || !words.is_empty() || is_trouble(&status.duty) {
            p.flags {
                @if is_trouble(&status.duty) { span.flag.flag-repair { "needs repair" } }
                @for word in words { span.flag.{ "flag-" (word) } { (word) } }
                @if attempt >= MANY_ATTEMPTS { span.flag.flag-attempt { "attempt " (attempt) } }
            }
        }
    }
}

/// The attempt that is not the first, and the substate, unless a flag says the same.
fn standing(status: &TaskStatus) -> Markup {
    let task = &status.task;
    let attempt = task.attempt;
    let is_said = |text: &str| status.flags.words().contains(&text);
    let substate = substate_text(task.substate.as_ref());
    let substate = substate.trim_start_matches([' ', '/']);
    let substate = if is_said(substate) { "" } else { substate };
    let has_attempt = attempt > 1 && attempt < MANY_ATTEMPTS;
    html! {
        @if has_attempt || !substate.is_empty() {
            p.card-more {
                @if has_attempt { span.attempt { "attempt " (attempt) } }
                @if has_attempt && !substate.is_empty() { ", " }
                bdi { (substate) }
            }
        }
    }
}

/// What every card needs to know besides its task.
pub(super) struct CardSetting<'a> {
    page: &'a BoardPage<'a>,
    /// The open runs of this work tree, by task.
    runs: HashMap<&'a str, &'a RunLine>,
}

impl<'a> CardSetting<'a> {
    pub(super) fn of(page: &'a BoardPage<'a>) -> Self {
        let mut runs = HashMap::new();
        for run in page.runs {
            if run.work_tree == "." && ["running", "interrupted"].contains(&run.state) {
                runs.insert(run.task.as_str(), run);
            }
        }
        Self { page, runs }
    }

    /// The card of a task.
    fn card(&self, status: &TaskStatus) -> Markup {
        let task = &status.task;
        let duty = &status.duty;
        let link = self.page.links.to(&task.id, self.page.filter);
        let is_open = !status.is_done();
        let phase = self
            .page
            .charts
            .iter()
            .find(|chart| chart.workflow == task.workflow);
        let phase = phase.and_then(|chart| {
            chart
                .position(task.current_phase.as_deref())
                .and(task.current_phase.as_deref())
        });
        let since = status.unmoved_since.map(|since| since.to_string());
        let is_served = matches!(self.page.links, TaskLinks::Served);
        html! {
            li.card.trouble[is_trouble(duty)] data-task=(task.id) data-owner=(status.actor().as_str())
                data-workflow=[is_served.then_some(&task.workflow)]
                data-phase=[is_served.then_some(phase.unwrap_or(NO_PHASE))]
                data-urgency=[is_served.then_some(status.order.urgency())]
                data-since=[since.filter(|_| is_served)]
                hidden[!self.page.filter.leaves(status)] {
                (heading(status, link.as_deref(), self.page.now))
                @if is_open { (to_do(status)) (standing(status)) (flags(status)) }
                @if let Some(held) = &task.held { p.card-more { bdi { (held.short()) } } }
                @if let Some(run) = self.runs.get(task.id.as_str()) { p.card-run { (run_line(run)) } }
            }
        }
    }

    fn column(&self, column: &Column<'_>) -> Markup {
        let Column { name, tasks, .. } = column;
        let is_open = self.page.filter.is_open();
        let most = if column.is_end { FINISHED } else { SHOWN };
        let (first, rest) = tasks.split_at(tasks.len().min(most));
        let shown = tasks
            .iter()
            .filter(|task| self.page.filter.leaves(task))
            .count();
        html! {
            section.column.end[column.is_end].empty[shown == 0].needs[column.needs_person()]
                data-phase=(name) data-at=(column.at) {
                h3 title=(column.label) { span.column-name { (name) } " " span.count { (shown) } }
                div.stack {
                    ol.cards { @for task in first { (self.card(task)) } }
                    @if !rest.is_empty() {
                        details.more data-name={ "more:" (name) } open[!is_open] {
                            summary { "show " (rest.len()) " more" }
                            ol.cards { @for task in rest { (self.card(task)) } }
                        }
                    }
                }
            }
        }
    }

    /// The columns of a workflow: those that need a person first, and else in the order of its document.
    fn columns<'b>(&self, chart: &'b Chart, tasks: &[&'b TaskStatus]) -> Vec<Column<'b>> {
        let phases = chart.phases.iter().map(|phase| Column {
            name: &phase.id,
            label: phase.title.as_deref().unwrap_or(&phase.id),
            tasks: Vec::new(),
            is_end: phase.is_end,
            at: 0,
        });
        let mut columns = vec![Column {
            name: NO_PHASE,
            label: "in no phase",
            tasks: Vec::new(),
            is_end: false,
            at: 0,
        }];
        columns.extend(phases);
        for task in tasks {
            let at = chart
                .position(task.task.current_phase.as_deref())
                .map_or(0, |position| position + 1);
            columns[at].tasks.push(task);
        }
        for (at, column) in columns.iter_mut().enumerate() {
            column.at = at;
        }
        if columns[0].tasks.is_empty() {
            columns.remove(0);
        }
        columns.sort_by_key(|column| !column.needs_person());
        columns
    }

    /// A workflow with its tasks.
    fn workflow(&self, chart: &Chart, columns: &[Column<'_>]) -> Markup {
        let tasks = columns.iter().flat_map(|column| &column.tasks);
        let shown = tasks.filter(|task| self.page.filter.leaves(task)).count();
        html! {
            section.workflow data-workflow=(chart.workflow) {
                h2 { (chart.title) " " span.dim.tasks { (counted(shown, "task")) } }
                div.columns tabindex="0" role="group" aria-label={ "phases of " (chart.workflow) } {
                    @for column in columns { (self.column(column)) }
                }
            }
        }
    }
}

/// The tasks in a phase.
struct Column<'a> {
    name: &'a str,
    label: &'a str,
    tasks: Vec<&'a TaskStatus>,
    /// Whether tasks end there.
    is_end: bool,
    /// Its place in the document.
    at: usize,
}

impl Column<'_> {
    /// Whether a person must act on one of its tasks.
    fn needs_person(&self) -> bool {
        self.tasks.iter().any(|task| task.actor() == Owner::Human)
    }
}

/// The tasks that say what is searched for, whoever must act.
fn found<'a>(page: &BoardPage<'a>) -> Vec<&'a TaskStatus> {
    let tasks = page.status.tasks.iter().map(AsRef::as_ref);
    tasks
        .filter(|task: &&TaskStatus| task.says(&page.filter.text))
        .collect()
}

/// The number of tasks for which each owner must act; on a server, buttons of the form that filters.
fn owners(page: &BoardPage<'_>) -> Markup {
    let tasks = found(page);
    html! {
        ul.owners {
            @if page.served.is_some() { (chip(page, None, tasks.len())) }
            @for owner in [Owner::Human, Owner::Orch, Owner::Agent, Owner::Process, Owner::None] {
                @let count = tasks.iter().filter(|task| task.actor() == owner).count();
                @if page.served.is_some() {
                    (chip(page, Some(owner), count))
                } @else if count > 0 {
                    li { (owner_label(owner)) " " (count) }
                }
            }
        }
    }
}

/// The button that shows the tasks of an owner, or all.
fn chip(page: &BoardPage<'_>, owner: Option<Owner>, count: usize) -> Markup {
    let word = owner.map_or("", Owner::as_str);
    let is_chosen = page.filter.owner == word;
    html! {
        li hidden[count == 0 && !is_chosen && owner.is_some()] {
            button.owner.{ "owner-" (if word.is_empty() { "all" } else { word }) }.chosen[is_chosen]
                type="submit" form="filter" name="owner" value=(word) data-filter-owner=(word)
                aria-pressed=(if is_chosen { "true" } else { "false" }) {
                (owner.map_or("all", owner_word)) " " span.count { (count) }
            }
        }
    }
}

/// What can be done with the whole board of a server: to decide what waits, and to create a task.
fn actions(page: &BoardPage<'_>, served: ServedBoard<'_>) -> Markup {
    let tasks = found(page).into_iter();
    let waiting = tasks.filter(|task| task.actor() == Owner::Human).count();
    html! {
        div.actions {
            @if served.rights.may_order() {
                a #decide.button.primary href={ "/decide" (page.filter.query()) } hidden[waiting == 0] {
                    "Decide " span.count { (waiting) }
                }
            }
            @if let Some(order) = served.new_task {
                button #new.button type="button" hidden data-dialog="new-task" aria-haspopup="dialog" { "New task" }
                (order.dialog("new-task"))
            }
        }
    }
}

/// The cards of all tasks, without columns.
pub(super) fn cards(page: &BoardPage<'_>) -> Markup {
    let setting = CardSetting::of(page);
    html! { ol { @for task in &page.status.tasks { (setting.card(task)) } } }
}

/// All tasks of the board, in the columns of their workflows: those that need a person first.
pub(super) fn columns(page: &BoardPage<'_>) -> Markup {
    let setting = CardSetting::of(page);
    let mut tasks: HashMap<&str, Vec<&TaskStatus>> = HashMap::new();
    for task in &page.status.tasks {
        tasks
            .entry(task.task.workflow.as_str())
            .or_default()
            .push(task);
    }
    let mut workflows = Vec::new();
    for chart in page.charts {
        if let Some(tasks) = tasks.get(chart.workflow.as_str()) {
            workflows.push((chart, setting.columns(chart, tasks)));
        }
    }
    workflows.sort_by_key(|(_, columns)| !columns.iter().any(Column::needs_person));
    let is_none_shown = !page
        .status
        .tasks
        .iter()
        .any(|task| page.filter.leaves(task));
    html! {
        @if page.served.is_none() { p.summary { (page.status.summary()) } }
        @if let Some(served) = page.served { (served.rights.note()) }
        div.toolbar {
            (owners(page))
            @if let Some(served) = page.served { (actions(page, served)) }
        }
        @if !page.status.diagnostics.is_empty() {
            ul.findings { @for finding in &page.status.diagnostics { (super::task::finding(finding)) } }
        }
        @if page.status.tasks.is_empty() {
            p.none { "There are no tasks. To create one: " code.command { "orch new ID --title TEXT" } }
        } @else if page.served.is_some() {
            p #no-match.none hidden[!is_none_shown] { "No task matches. " a href="/" { "Show all" } }
        }
        @for (chart, columns) in &workflows { (setting.workflow(chart, columns)) }
    }
}
