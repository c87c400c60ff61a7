//! All tasks: for each workflow a column per phase, and in it a card per task.

use super::{
    BoardFilter, BoardPage, Chart, TaskLinks, age, class, is_trouble, owner_label, owner_word,
    run_line,
};
use crate::explain::substate_text;
use crate::layout::counted;
use crate::{RunLine, TaskStatus};
use maud::{Markup, html};
use orch_base::Timestamp;
use orch_core::workflow::Owner;
use std::collections::HashMap;

/// How many finished tasks of a column are shown at once.
const FINISHED: usize = 12;

/// The name of the column of tasks that are in no phase of their workflow.
const NO_PHASE: &str = "(no phase)";

impl BoardFilter {
    /// Whether a task is not hidden.
    fn leaves(&self, status: &TaskStatus) -> bool {
        let task = &status.task;
        if !self.owner.is_empty() && status.duty.owner.as_str() != self.owner {
            return false;
        }
        let wanted = self.text.trim().to_lowercase();
        let said = [
            Some(&task.id),
            task.title.as_ref(),
            task.current_phase.as_ref(),
            Some(&status.headline.0),
        ];
        let mut said = said.into_iter().flatten();
        wanted.is_empty() || said.any(|text| text.to_lowercase().contains(&wanted))
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
    let (what, style) = &status.headline;
    html! {
        p.card-what {
            (owner_label(status.duty.owner)) " "
            span class=(class(*style)) { bdi { (what) } }
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
        let link = self.page.links.to(&task.id);
        let is_open = duty.owner != Owner::None;
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
            li.card.trouble[is_trouble(duty)] data-task=(task.id) data-owner=(duty.owner.as_str())
                data-workflow=[is_served.then_some(&task.workflow)]
                data-phase=[is_served.then_some(phase.unwrap_or(NO_PHASE))]
                data-urgency=[is_served.then_some(status.order.urgency())]
                data-since=[since.filter(|_| is_served)]
                hidden[!self.page.filter.leaves(status)] {
                (heading(status, link.as_deref(), self.page.now))
                @if is_open {
                    (to_do(status))
                    @if task.attempt > 1 || task.substate.is_some() {
                        p.card-more {
                            @if task.attempt > 1 { span.attempt { "attempt " (task.attempt) } }
                            @if task.attempt > 1 && task.substate.is_some() { ", " }
                            @let substate = substate_text(task.substate.as_ref());
                            bdi { (substate.trim_start_matches([' ', '/'])) }
                        }
                    }
                }
                @if let Some(run) = self.runs.get(task.id.as_str()) { p.card-run { (run_line(run)) } }
            }
        }
    }

    fn column(&self, name: &str, label: &str, tasks: &[&TaskStatus], is_end: bool) -> Markup {
        let shown = if is_end {
            tasks.len().min(FINISHED)
        } else {
            tasks.len()
        };
        let (first, rest) = tasks.split_at(shown);
        html! {
            section.column.end[is_end].empty[tasks.is_empty()] data-phase=(name) {
                h3 title=(label) { (name) " " span.count { (tasks.len()) } }
                ol.cards { @for task in first { (self.card(task)) } }
                @if !rest.is_empty() {
                    details.more data-name={ "more:" (name) } {
                        summary { (rest.len()) " more" }
                        ol.cards { @for task in rest { (self.card(task)) } }
                    }
                }
            }
        }
    }

    /// A workflow with its tasks.
    fn workflow(&self, chart: &Chart, tasks: &[&TaskStatus]) -> Markup {
        let mut columns: Vec<Vec<&TaskStatus>> = vec![Vec::new(); chart.phases.len()];
        let mut elsewhere = Vec::new();
        for task in tasks {
            match chart.position(task.task.current_phase.as_deref()) {
                Some(position) => columns[position].push(task),
                None => elsewhere.push(*task),
            }
        }
        html! {
            section.workflow data-workflow=(chart.workflow) {
                h2 { (chart.title) " " span.dim { (counted(tasks.len(), "task")) } }
                div.columns tabindex="0" role="group" aria-label={ "phases of " (chart.workflow) } {
                    @if !elsewhere.is_empty() { (self.column(NO_PHASE, "in no phase", &elsewhere, false)) }
                    @for (phase, tasks) in chart.phases.iter().zip(&columns) {
                        (self.column(&phase.id, phase.title.as_deref().unwrap_or(&phase.id), tasks, phase.is_end))
                    }
                }
            }
        }
    }
}

/// The number of tasks for which each owner must act; on a server, buttons of the form that filters.
fn owners(page: &BoardPage<'_>) -> Markup {
    let is_served = matches!(page.links, TaskLinks::Served);
    html! {
        ul.owners {
            @for owner in [Owner::Human, Owner::Orch, Owner::Agent, Owner::Process, Owner::None] {
                @let count = page.status.tasks.iter().filter(|task| task.duty.owner == owner).count();
                @let is_chosen = page.filter.owner == owner.as_str();
                @if is_served {
                    li hidden[count == 0 && !is_chosen] {
                        button.owner.{ "owner-" (owner.as_str()) }.chosen[is_chosen] type="submit" form="filter"
                            name="owner" value=(if is_chosen { "" } else { owner.as_str() })
                            data-filter-owner=(owner.as_str()) aria-pressed=(if is_chosen { "true" } else { "false" }) {
                            (owner_word(owner)) " " span.count { (count) }
                        }
                    }
                } @else if count > 0 {
                    li { (owner_label(owner)) " " (count) }
                }
            }
        }
    }
}

/// The cards of all tasks, without columns.
pub(super) fn cards(page: &BoardPage<'_>) -> Markup {
    let setting = CardSetting::of(page);
    html! { ol { @for task in &page.status.tasks { (setting.card(task)) } } }
}

/// All tasks of the board, in the columns of their workflows.
pub(super) fn columns(page: &BoardPage<'_>) -> Markup {
    let setting = CardSetting::of(page);
    let mut tasks: HashMap<&str, Vec<&TaskStatus>> = HashMap::new();
    for task in &page.status.tasks {
        tasks
            .entry(task.task.workflow.as_str())
            .or_default()
            .push(task);
    }
    html! {
        @if matches!(page.links, TaskLinks::InFile(_)) { p.summary { (page.status.summary()) } }
        (owners(page))
        @if !page.status.diagnostics.is_empty() {
            ul.findings { @for finding in &page.status.diagnostics { (super::task::finding(finding)) } }
        }
        @if page.status.tasks.is_empty() { p.dim { "There are no tasks." } }
        @for chart in page.charts {
            @if let Some(tasks) = tasks.get(chart.workflow.as_str()) { (setting.workflow(chart, tasks)) }
        }
    }
}
