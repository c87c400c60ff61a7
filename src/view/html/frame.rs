//! Whole pages: what is around the tasks.

use super::columns::columns;
use super::task::task;
use super::{BoardPage, TaskPage, finished};
use crate::view::Repository;
use crate::workflow::System;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style of all pages, below `system/`.
const STYLE: &str = "board/board.css";

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
    format!("{} · orch", repository.root.rsplit('/').next().unwrap_or_default())
}

/// The begin of a file: its style, all tasks, and the heading of their pages. [`file_task`] and [`file_end`] follow.
///
/// The file refers to nothing outside of it.
#[must_use]
pub fn file_start(page: &BoardPage<'_>) -> String {
    let repository = &page.status.repository;
    // Only a finished element can be rendered, so the ends of what stays open are cut off.
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title(repository)) }
                link rel="icon" href="data:,";
                style { (PreEscaped(System::built_in(STYLE))) }
            }
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
        }
    };
    let text = finished(whole);
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
