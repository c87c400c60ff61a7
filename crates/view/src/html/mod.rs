//! The board as HTML: all tasks by phase, and a page for each task.
//!
//! Pages are made of the wire structs of this room and of the charts of workflows; they decide nothing. `maud` escapes
//! every text, and `finished`, through which every page leaves this module, replaces the characters that would
//! control or reorder what is shown. No page has inline styles or scripts, so that it works under a strict content
//! security policy; only a file, which has no policy, has its style embedded.

mod chart;
mod columns;
mod frame;
mod order_form;
mod overview;
mod rights;
mod sheet;
mod task;
#[cfg(test)]
mod tests;

pub use chart::Chart;
pub use frame::{
    ASSETS, file_end, file_start, file_task, served_board, served_cards, served_overview,
    served_problem, served_task, sign_in,
};
pub use order_form::{InputForm, OrderForm, OrderInput};
pub use rights::Rights;

use super::layout::visible;
use super::run::cost_text;
use super::{DutyView, Explanation, Repository, RunLine, Status, StepView, Style, TaskSheet, uri};
use maud::{Markup, html};
use orch_base::{Hint, HintPart, Timestamp, command};
use orch_core::decide::Do;
use orch_core::workflow::Owner;
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
    /// Which tasks are not hidden.
    pub filter: &'a BoardFilter,
    /// What a server adds; `None` in a file.
    pub served: Option<ServedBoard<'a>>,
}

/// What the board has only on a server.
#[derive(Debug, Clone, Copy)]
pub struct ServedBoard<'a> {
    /// What whoever asks may do.
    pub rights: &'a Rights,
    /// The order that creates a task, if it may be given.
    pub new_task: Option<&'a OrderForm>,
}

/// Which tasks of a board are not hidden.
#[derive(Debug, Clone, Default)]
pub struct BoardFilter {
    /// What the id, the title, the phase or what to do contains, in any case; empty: anything.
    pub text: String,
    /// Who must act; empty: anyone.
    pub owner: String,
}

impl BoardFilter {
    /// The filter that the query of a URL has. What it does not know is left out: a link may have been made for another
    /// version.
    #[must_use]
    pub fn of(query: Vec<(String, String)>) -> Self {
        let mut filter = Self::default();
        for (name, value) in query {
            match name.as_str() {
                "q" => value.trim().clone_into(&mut filter.text),
                "owner" => filter.owner = value,
                _ => {}
            }
        }
        filter
    }

    /// The query of a URL with this filter, with its question mark; empty if everything is shown.
    #[must_use]
    pub fn query(&self) -> String {
        let pairs = [("q", self.text.trim()), ("owner", self.owner.as_str())];
        let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, uri::SEGMENT)))
            .collect();
        if pairs.is_empty() {
            String::new()
        } else {
            format!("?{}", pairs.join("&"))
        }
    }
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
    /// What a server adds; `None` in a file.
    pub served: Option<ServedTask<'a>>,
}

/// What the page of a task has only on a server.
#[derive(Debug, Clone, Copy)]
pub struct ServedTask<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// All that whoever decides about the task has to see.
    pub sheet: &'a TaskSheet,
    /// The orders that may be given now.
    pub orders: &'a [OrderForm],
    /// What the state of the task is identified by, for orders that must not rest on another one.
    pub tag: &'a str,
    /// Where the output of its last run is, as a stream; `None` if there was no run.
    pub output: Option<&'a str>,
    /// What whoever asks may do.
    pub rights: &'a Rights,
    /// The filter of the board that the page was reached from.
    pub filter: &'a BoardFilter,
    /// The tasks that wait for a person and match the filter, in the order of suggestions.
    pub waiting: &'a [String],
}

/// Where the pages of tasks are.
#[derive(Debug, Clone)]
pub enum TaskLinks {
    /// Further down in the same file, for the tasks with these ids; the others have no page.
    InFile(BTreeSet<String>),
    /// Each at a path of the server.
    Served,
}

/// The characters of an id that are not written as they are in a link.
const IN_LINK: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`');

/// The link to the page of a task on a server, reached from a board with a filter.
#[must_use]
pub fn served_link(task: &str, filter: &BoardFilter) -> String {
    let task = utf8_percent_encode(task, uri::SEGMENT);
    format!("/tasks/{task}{}", filter.query())
}

impl TaskLinks {
    /// The link to the page of a task, from a board with this filter; `None` if it has no page.
    fn to(&self, task: &str, filter: &BoardFilter) -> Option<String> {
        match self {
            Self::Served => Some(served_link(task, filter)),
            Self::InFile(tasks) if tasks.contains(task) => {
                Some(format!("#{}", utf8_percent_encode(&anchor(task), IN_LINK)))
            }
            Self::InFile(_) => None,
        }
    }
}

/// The name of the page of a task in a file. Names have no spaces; no two tasks have the same one.
fn anchor(task: &str) -> String {
    format!("task:{}", task.replace('%', "%25").replace(' ', "%20"))
}

/// The last step of every page: no character of it may control or reorder what is shown.
fn finished(page: Markup) -> String {
    let text = page.into_string();
    if text.chars().all(|c| shown(c) == c) {
        return text;
    }
    text.chars().map(shown).collect()
}

fn shown(c: char) -> char {
    if c == '\n' { c } else { visible(c) }
}

/// A text in which what stands between two backticks is code, as in the messages of `orch`.
fn marked(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without a second one is a character.
    let whole = if parts.len() % 2 == 1 {
        parts.len()
    } else {
        parts.len() - 2
    };
    html! {
        @for (number, part) in parts[..whole].iter().enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
        @if whole < parts.len() { (parts[whole]) "`" (parts[whole + 1]) }
    }
}

/// A hint, with its commands as code.
fn hinted(hint: &Hint) -> Markup {
    html! {
        @for part in hint.parts() {
            @match part {
                HintPart::Text(text) => { (marked(text)) }
                HintPart::Command(argv) => { code { (command(argv)) } }
            }
        }
    }
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

/// Who must act, in one word.
fn owner_word(owner: Owner) -> &'static str {
    match owner {
        Owner::Human => "person",
        Owner::Agent => "agent",
        Owner::Orch => "orch",
        Owner::Process => "running",
        Owner::None => "nobody",
    }
}

/// Who must act, as a label.
fn owner_label(owner: Owner) -> Markup {
    html! { span class={ "owner owner-" (owner.as_str()) } { (owner_word(owner)) } }
}

/// Whether something must be repaired before the rules can continue.
fn is_trouble(duty: &DutyView) -> bool {
    duty.r#do == Do::Repair
}

/// How long ago something was; nothing if it is unknown.
fn age(since: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @if let Some(since) = since {
            time datetime=(since.to_string()) data-age { (super::layout::ago(since, now)) }
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
        @let cost = cost_text(run.cost, run.unpriced_turns);
        @if !cost.is_empty() { ", " (cost) }
        @if let Some(until) = &run.waits_until { ", waits until " time datetime=(until) { (until) } }
        @if let Some(work) = &run.work { ", " span.mono { (work) } }
    }
}
