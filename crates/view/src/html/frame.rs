//! Whole pages: what is around the tasks.

use super::columns::{cards, columns};
use super::overview::overview;
use super::task::task;
use super::{BoardFilter, BoardPage, ServedTask, TaskPage, finished, hinted, marked, served_link};
use crate::layout::counted;
use crate::{Everywhere, Repository};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use orch_base::{Error, Timestamp};
use orch_core::workflow::System;

/// The style of all pages, below `system/`.
const STYLE: &str = "board/board.css";

/// The assets of served pages: the name, the type, and the path below `system/`.
pub const ASSETS: [(&str, &str, &str); 2] = [
    ("board.css", "text/css; charset=utf-8", STYLE),
    (
        "board.js",
        "text/javascript; charset=utf-8",
        "board/board.js",
    ),
];

/// The keys of the live board, and what they do.
const KEYS: [(&str, &str); 11] = [
    (
        "j k",
        "the next or previous card; on a task, the next or previous decision",
    ),
    ("arrows", "go from card to card"),
    ("Enter", "open the task; in a dialog, give the order"),
    ("d", "decide what waits, one after the other"),
    ("a", "approve"),
    ("r", "reject"),
    ("u", "undo the last order"),
    ("n", "new task"),
    ("/", "search"),
    ("b", "back to all tasks"),
    ("? Escape", "show these keys; close a dialog"),
];

/// Where the repository stands.
fn place(repository: &Repository) -> Markup {
    let name = repository.root.rsplit('/').next().unwrap_or_default();
    html! {
        bdi.repository { (name) }
        @if let Some(branch) = &repository.branch { " " bdi.branch { (branch) } }
        @if let Some(head) = &repository.head { " " span.mono.dim { (super::short(head)) } }
    }
}

/// The name of a page in the list of a browser's tabs.
fn title(repository: &Repository) -> String {
    format!(
        "{} · orch",
        repository.root.rsplit('/').next().unwrap_or_default()
    )
}

/// A whole document: its name, what else is in its head, and its body.
fn document(name: &str, head: &Markup, body: &Markup) -> String {
    finished(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (name) }
                link rel="icon" href="data:,";
                (head)
            }
            (body)
        }
    })
}

/// What a served page is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServedPage<'a> {
    Board,
    Overview,
    Task(&'a str),
}

/// A served page: its head, the bar on top, what it shows, and the script.
fn served(
    repository: &Repository,
    page: ServedPage<'_>,
    filter: &BoardFilter,
    bar: &Markup,
    shown: &Markup,
) -> String {
    let (class, task, name) = match page {
        ServedPage::Board => ("served board", None, title(repository)),
        ServedPage::Overview => (
            "served one overview",
            None,
            format!("overview · {}", title(repository)),
        ),
        ServedPage::Task(task) => (
            "served one",
            Some(task),
            format!("{task} · {}", title(repository)),
        ),
    };
    let head = html! {
        link rel="stylesheet" href="/assets/board.css";
        script src="/assets/board.js" defer {}
    };
    let body = html! {
        body class=(class) data-task=[task] {
            header.top {
                @if page == ServedPage::Board {
                    h1 { a href="/" { "orch" } }
                } @else {
                    p.home { a #back href={ "/" (filter.query()) } { span aria-hidden="true" { "‹ " } "all tasks" } }
                }
                p.place { (place(repository)) }
                (bar)
                button #keys type="button" hidden aria-label="Keys" { "?" }
            }
            main { (shown) }
            p #live role="status" {}
            div #told hidden {
                p role="status" {}
                button #take-back type="button" hidden { "Undo" }
            }
            dialog #help aria-labelledby="help-name" {
                h2 #help-name { "Keys" }
                dl { @for (key, effect) in KEYS { dt { kbd { (key) } } dd { (effect) } } }
                form method="dialog" { button { "Close" } }
            }
        }
    };
    document(&name, &head, &body)
}

/// All tasks, as a page of a server.
#[must_use]
pub fn served_board(page: &BoardPage<'_>) -> String {
    let bar = html! {
        a.elsewhere href="/overview" { "all branches" }
        form #filter role="search" action="/" {
            label.unseen for="search" { "Search tasks" }
            input #search type="search" name="q" value=(page.filter.text) placeholder="Search" autocomplete="off";
            @if !page.filter.owner.is_empty() { input type="hidden" name="owner" value=(page.filter.owner); }
        }
    };
    served(
        &page.status.repository,
        ServedPage::Board,
        page.filter,
        &bar,
        &columns(page),
    )
}

/// The tasks of all branches and work trees, as a page of a server.
#[must_use]
pub fn served_overview(everywhere: &Everywhere, now: Timestamp) -> String {
    served(
        &everywhere.repository,
        ServedPage::Overview,
        &BoardFilter::default(),
        &html! {},
        &overview(everywhere, now),
    )
}

/// What a browser is shown that is not signed in. It has no style, as that is behind the gate, too.
#[must_use]
pub fn sign_in() -> String {
    let body = html! {
        body {
            main {
                h1 { "Sign in" }
                p {
                    "Open the URL that " code { "orch serve" } " printed where it was started: it ends with "
                    code { "/?token=…" } "."
                }
                p {
                    "To open it by itself, start the server with " code { "orch serve --open" }
                    ". A browser then stays signed in for two weeks, also when the server is started again."
                }
            }
        }
    };
    document("Sign in · orch", &html! {}, &body)
}

/// Why there is no such page, as a page of a server. It has no script: it shows nothing that changes.
#[must_use]
pub fn served_problem(error: &Error) -> String {
    let head = html! { link rel="stylesheet" href="/assets/board.css"; };
    let body = html! {
        body.served.one {
            header.top { p.home { a href="/" { "orch" } } }
            main {
                h1.task-name { (error.code().entry().meaning) }
                p.bad { bdi { (marked(&error.to_string())) } " " span.code { (error.code().as_str()) } }
                @if let Some(hint) = error.hint() { p.hint { bdi { (hinted(hint)) } } }
                p { a href="/" { "all tasks" } }
            }
        }
    };
    document("Problem · orch", &head, &body)
}

/// The cards of these tasks, which replace those of a page.
#[must_use]
pub fn served_cards(page: &BoardPage<'_>) -> String {
    finished(cards(page))
}

/// A task, as a page of a server. Empty if the page is that of a file.
#[must_use]
pub fn served_task(page: &TaskPage<'_>) -> String {
    let Some(setting) = page.served else {
        return String::new();
    };
    let name = &page.explanation.suggestion.task.id;
    served(
        setting.repository,
        ServedPage::Task(name),
        setting.filter,
        &queue(name, setting),
        &task(page),
    )
}

/// Where a task is among those that wait for a person, and the ways to the one before and after it.
fn queue(task: &str, setting: ServedTask<'_>) -> Markup {
    let ServedTask {
        waiting, filter, ..
    } = setting;
    let at = waiting.iter().position(|one| one == task);
    let link = |at: Option<usize>| Some(served_link(waiting.get(at?)?, filter));
    let before = link(at.and_then(|at| at.checked_sub(1)));
    let after = link(at.map(|at| at + 1));
    html! {
        @if !waiting.is_empty() {
            nav.queue aria-label="decisions" {
                @match at {
                    Some(at) => {
                        (turn("previous", "‹", before.as_deref()))
                        span #place data-at=(at + 1) { "decision " (at + 1) " of " (waiting.len()) }
                        (turn("next", "›", after.as_deref()))
                    },
                    None => a #first-decision href={ "/decide" (filter.query()) } {
                        (counted(waiting.len(), "decision")) @if waiting.len() == 1 { " waits" } @else { " wait" }
                    },
                }
            }
        }
    }
}

/// A way to another decision, if there is one.
fn turn(name: &str, sign: &str, link: Option<&str>) -> Markup {
    html! {
        @match link {
            Some(link) => a.turn id=(name) href=(link) aria-label={ (name) " decision" } { (sign) },
            None => span.turn.dim aria-hidden="true" { (sign) },
        }
    }
}

/// The begin of a file: its style, all tasks, and the heading of their pages. [`file_task`] and [`file_end`] follow.
///
/// The file refers to nothing outside it.
#[must_use]
pub fn file_start(page: &BoardPage<'_>) -> String {
    let repository = &page.status.repository;
    let head = html! {
        meta name="referrer" content="no-referrer";
        style { (PreEscaped(System::built_in(STYLE))) }
    };
    let body = html! {
        body.file {
            header.top {
                h1 { "orch" }
                p.place { (place(repository)) }
                p.dim { "as of " time datetime=(page.now.to_string()) { (page.now.to_string()) } }
            }
            main {
                (columns(page))
                div.charts hidden { @for chart in page.charts { (chart.symbol()) } }
            }
        }
    };
    // Only a finished element can be rendered, so the ends of what stays open are cut off.
    let text = document(&title(repository), &head, &body);
    text.strip_suffix(END).map(str::to_owned).unwrap_or(text)
}

/// What [`file_start`] leaves open.
const END: &str = "</main></body></html>";

/// The page of a task in a file: folded, with its name as an anchor.
#[must_use]
pub fn file_task(page: &TaskPage<'_>) -> String {
    let view = &page.explanation.suggestion.task;
    finished(html! {
        details.task {
            summary {
                bdi.id { (view.id) } " "
                @if let Some(title) = &view.title { bdi { (title) } }
            }
            (task(page))
        }
        "\n"
    })
}

/// The end of a file.
#[must_use]
pub fn file_end() -> String {
    format!("{END}\n")
}
