//! The routes as faces of commands, for the page that says what every face can do.

use super::gate::HEALTH;
use super::openapi;
use super::orders::BUTTONS;
use super::routes::Route;
use std::sync::Arc;

/// A route, as a face of its command.
pub struct RouteFace {
    /// The command, as it is typed.
    pub command: String,
    /// Whether the board has a button for it where it is offered.
    pub is_button: bool,
    method: &'static str,
    path: &'static str,
}

impl RouteFace {
    /// The method and the path, as Markdown.
    #[must_use]
    pub fn text(&self) -> String {
        format!("`{} {}`", self.method, self.path)
    }
}

/// The routes, each with its command.
pub fn faces(routes: &[Arc<Route>]) -> impl Iterator<Item = RouteFace> {
    routes.iter().map(|route| RouteFace {
        // What follows the command are options.
        command: route
            .command
            .iter()
            .take_while(|word| !word.starts_with("--"))
            .copied()
            .collect::<Vec<_>>()
            .join(" "),
        is_button: BUTTONS.contains(&route.name),
        method: if route.writes { "POST" } else { "GET" },
        path: route.path,
    })
}

/// The paths that no command answers.
#[must_use]
pub fn paths_without_command() -> [&'static str; 5] {
    [
        HEALTH,
        openapi::PATH,
        openapi::EVENTS,
        openapi::OUTPUT,
        openapi::CONTENT,
    ]
}
