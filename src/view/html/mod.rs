//! The board as HTML: all tasks by phase, and a page for each task.
//!
//! Pages are made of the wire structs of this room and of the charts of workflows; they decide nothing. `maud` escapes
//! every text, and [`finished`], through which every page leaves this module, replaces the characters that would
//! control or reorder what is shown. No page has inline styles or scripts, so that it works under a strict content
//! security policy; only a file, which has no policy, has its style embedded.

mod chart;
mod columns;
mod frame;
mod task;
#[cfg(test)]
mod tests;

pub use chart::Chart;
pub use frame::{file_end, file_start, file_task};

use super::layout::visible;
use super::{Explanation, RunLine, Status, StepView, Style};
use crate::base::Timestamp;
use crate::decide::DutyKind;
use crate::workflow::Owner;
use maud::{Markup, html};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use std::collections::BTreeSet;

/// What a board shows.
#[derive(Debug, Clone, Copy)]
pub struct BoardPage<'a> {
    /// The tasks, most urgent first.
    pub status: &'a Status,
    /// The workflows of these tasks, each once.
    pub charts: &'a [Chart],
    /// The runs that are known.
    pub runs: &'a [RunLine],
    /// The present time, for ages.
    pub now: Timestamp,
    /// Where the pages of tasks are.
    pub links: &'a TaskLinks,
}

/// What the page of a task shows.
#[derive(Debug, Clone, Copy)]
pub struct TaskPage<'a> {
    /// Why the task is where it is.
    pub explanation: &'a Explanation,
    /// Its timeline, oldest first.
    pub steps: &'a [StepView],
    /// Its last run, if there was one.
    pub run: Option<&'a RunLine>,
    /// Its workflow.
    pub chart: &'a Chart,
    /// The time of its last step.
    pub unmoved_since: Option<Timestamp>,
    /// The present time, for ages.
    pub now: Timestamp,
}

/// Where the pages of tasks are.
#[derive(Debug, Clone)]
pub enum TaskLinks {
    /// Further down in the same file, for the tasks with these ids; the others have no page.
    InFile(BTreeSet<String>),
}

/// The characters of an id that are not written as they are in a link.
const IN_LINK: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`');

impl TaskLinks {
    /// The link to the page of a task; `None` if it has no page.
    fn to(&self, task: &str) -> Option<String> {
        match self {
            Self::InFile(tasks) => {
                tasks.contains(task).then(|| format!("#{}", utf8_percent_encode(&anchor(task), IN_LINK)))
            }
        }
    }
}

/// The name of the page of a task in a file.
fn anchor(task: &str) -> String {
    format!("task:{}", task.replace(char::is_whitespace, "_"))
}

/// The last step of every page: no character of it may control or reorder what is shown.
fn finished(page: Markup) -> String {
    let text = page.into_string();
    let is_plain = |c: char| c == '\n' || visible(c) == c;
    if text.chars().all(is_plain) {
        return text;
    }
    text.chars().map(|c| if is_plain(c) { c } else { visible(c) }).collect()
}

/// The class of a style.
fn class(style: Style) -> &'static str {
    match style {
        Style::Strong => "strong",
        Style::Dim => "dim",
        Style::Bad => "bad",
        Style::Good => "good",
        Style::Warn => "warn",
        Style::Command => "command",
    }
}

/// Who must act, as a label.
fn owner_label(owner: Owner) -> Markup {
    let word = match owner {
        Owner::Human => "person",
        Owner::Agent => "agent",
        Owner::Orch => "orch",
        Owner::Process => "running",
        Owner::None => "finished",
    };
    html! { span class={ "owner owner-" (owner.as_str()) } { (word) } }
}

/// Whether something must be repaired before the rules can go on.
fn is_trouble(kind: DutyKind) -> bool {
    matches!(kind, DutyKind::Error | DutyKind::Inconsistent | DutyKind::Livelock | DutyKind::Stalled)
}

/// How long ago something was; nothing if it is unknown.
fn age(since: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @if let Some(since) = since {
            time datetime=(since.to_string()) { (super::layout::ago(since, now)) }
        }
    }
}

/// The beginning of an id of git.
fn short(id: &str) -> String {
    id.chars().take(10).collect()
}

/// A run in one line: its state, its turns, its cost and its work.
fn run_line(run: &RunLine) -> Markup {
    html! {
        span class={ "run-state run-" (run.state) } { (run.state) }
        " turn " (run.turns) " of " (run.max_turns)
        @if run.cost > 0.0 { ", cost " (format!("{:.2}", run.cost)) }
        @if let Some(work) = &run.work { ", " span.mono { (work) } }
    }
}
