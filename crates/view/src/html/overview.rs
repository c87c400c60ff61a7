//! The tasks of all branches and work trees, each once, where it is furthest.

use super::columns::{flags, heading, to_do};
use super::{BoardFilter, is_trouble, marked, run_line, served_link, short};
use crate::explain::substate_text;
use crate::layout::counted;
use crate::{Everywhere, PlaceView, TaskEverywhere};
use maud::{Markup, html};
use orch_base::Timestamp;

/// The work tree from which the overview was made.
const HERE: &str = ".";

/// All of the overview.
pub(super) fn overview(everywhere: &Everywhere, now: Timestamp) -> Markup {
    let here = everywhere
        .places
        .iter()
        .find(|place| place.work_tree.as_deref() == Some(HERE));
    html! {
        h1.task-name { "All branches and work trees" }
        p.facts {
            span { (counted(everywhere.places.len(), "place")) }
            span { (counted(everywhere.tasks.len(), "task")) }
            span { (counted(everywhere.runs.len(), "open run")) }
        }
        @if !everywhere.diagnostics.is_empty() {
            ul.findings { @for finding in &everywhere.diagnostics { (super::task::finding(finding)) } }
        }
        @if !everywhere.runs.is_empty() {
            section.workflow {
                h2 { "Runs" }
                ul.facts-list {
                    @for run in &everywhere.runs {
                        li {
                            bdi.id { (run.task) } " " (run_line(run))
                            @if run.work_tree != HERE { ", in " bdi.mono { (run.work_tree) } }
                            @if run.state == "running" { ", process " (run.pid) }
                            ", since " time datetime=(run.since) { (run.since) }
                        }
                    }
                }
            }
        }
        section.workflow {
            h2 { "Tasks" }
            @if everywhere.tasks.is_empty() { p.dim { "There are no tasks." } }
            ol.cards { @for task in &everywhere.tasks { (card(task, here, now)) } }
        }
        section.workflow {
            h2 { "Places" }
            ul.facts-list {
                @for place in &everywhere.places {
                    li {
                        bdi.mono { (place.place) } " " span.dim { (place.kind.replace('-', " ")) }
                        @if let Some(root) = place.work_tree.as_deref().filter(|root| *root != HERE) {
                            " " bdi.mono.dim { (root) }
                        }
                        @if let Some(commit) = &place.commit { " " span.mono.dim { (short(commit)) } }
                    }
                }
            }
        }
    }
}

/// The card of a task. It leads to the page of the task if the task is furthest in this work tree.
fn card(task: &TaskEverywhere, here: Option<&PlaceView>, now: Timestamp) -> Markup {
    let status = &task.status;
    let at = &task.whereabouts;
    let is_here = here.is_some_and(|here| here.place == at.place);
    let link = if is_here {
        Some(served_link(&status.task.id, &BoardFilter::default()))
    } else {
        None
    };
    html! {
        li.card.trouble[is_trouble(&status.duty)] data-task=(status.task.id) data-owner=(status.duty.owner.as_str()) {
            (heading(status, link.as_deref(), now))
            p.card-more {
                strong { (status.task.phase()) } (substate_text(status.task.substate.as_ref())) " in " bdi.mono { (at.place) }
                @if at.same > 1 { ", the same in " (at.same - 1) " more" }
                @if at.behind > 0 { ", older in " (at.behind) }
            }
            (to_do(status))
            (flags(status))
            @if let Some(question) = &task.question { p.card-more { bdi { (marked(&question.title)) } } }
            @if !at.disagreeing.is_empty() {
                p.card-more.warn { "other steps in: " bdi.mono { (at.disagreeing.join(", ")) } }
            }
        }
    }
}
