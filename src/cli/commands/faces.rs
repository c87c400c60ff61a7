//! What every face of `orch` can do: the generated page `docs/faces.md`.
//!
//! The command line is the whole; the table says which part of it the other faces have. It is made of what they are
//! made of: the definition of the commands, the table of routes, the buttons of the board and the list of tools.

use super::repl;
use crate::cli::described::described;
use orch_serve::http::{self, RouteFace};
use orch_serve::mcp;

/// The commands that the HTTP API does not have, and why. A name stands for its subcommands, too.
const NOT_IN_API: [(&str, &str); 22] = [
    ("board", "`orch serve` is the live board"),
    (
        "ci",
        "it judges the clone of a host, and `check` and `audit` have routes",
    ),
    ("completions", "it is about a shell"),
    ("demo", "it makes a repository of its own"),
    (
        "doctor",
        "it is about the machine and the repository, and for those who may repair them",
    ),
    ("generate", "`POST /api/loops/v2/{id}/generate` executes it"),
    ("hook", "it changes the configuration of git"),
    (
        "init",
        "it sets up the repository, before there is anything to serve",
    ),
    (
        "lsp",
        "it is on stdin and stdout, for the editor of a person",
    ),
    ("man", "its pages are about the command line"),
    (
        "mcp",
        "it is on stdin and stdout; the server has the same at `/mcp`",
    ),
    ("repl", "it needs a terminal"),
    (
        "resolve",
        "it ends a merge that is in progress in the work tree",
    ),
    (
        "review",
        "it opens an editor at a terminal; `show`, `approve` and `reject` are its parts",
    ),
    ("serve", "it is the server"),
    (
        "trust",
        "programs are trusted by a person at a terminal, never by a request",
    ),
    (
        "verify",
        "it takes as long as the tests of a project; a run and the watch verify what is due",
    ),
    (
        "watch",
        "the server watches meanwhile, and `/api/v1/events` reports what it does",
    ),
    (
        "work",
        "it works until it is told to stop; a route starts the run of one task",
    ),
    (
        "migrate",
        "it follows a change of a document, which somebody has committed at a command line",
    ),
    (
        "workflow",
        "`diff`, `fmt`, `new`, `play` and `test` are for whoever edits the documents",
    ),
    (
        "worktrees",
        "they are directories beside the repository, for whoever works there",
    ),
];

/// The commands whose answers the pages of the board show.
const ON_PAGES: [&str; 5] = ["explain", "log", "runs", "show", "status"];

/// The text of `docs/faces.md`. A test compares it with the file.
#[must_use]
pub fn faces() -> String {
    let mut page = String::from(
        "# What every face can do\n\n\
         The command line can do everything. At the [prompt](cli.md#orch-repl), `/COMMAND` is the command with the task\n\
         in use. A route of the [HTTP API](serve.md) and a tool of [MCP](mcp.md) is a command that is executed for the\n\
         caller, with its checks and rights. The [board](board.md) shows what commands answer, and has a button for\n\
         each order that is offered for a task. This page is generated from the program; a test keeps it complete.\n\n\
         | command | prompt | HTTP API | board | MCP |\n| --- | --- | --- | --- | --- |\n",
    );
    let faces = Faces::of_commands();
    for command in &faces.commands {
        let routes: Vec<String> = faces.routes_of(command).map(RouteFace::text).collect();
        let prompt = if command == repl::PROMPT {
            String::new()
        } else {
            format!("`/{command}`")
        };
        let is_button = faces.routes_of(command).any(|route| route.is_button);
        let board = match (is_button, ON_PAGES.contains(&command.as_str())) {
            (true, _) => "button",
            (_, true) => "shown",
            _ => "",
        };
        let tool = if faces.tools.iter().any(|tool| tool == command) {
            format!("`{command}`")
        } else {
            String::new()
        };
        let cells = [
            &format!("`orch {command}`"),
            &prompt,
            &routes.join("<br>"),
            board,
            &tool,
        ];
        page.push_str(&row(&cells));
    }
    page.push_str("\n## Not in the HTTP API\n\n| command | why |\n| --- | --- |\n");
    for (command, why) in NOT_IN_API {
        page.push_str(&row(&[&format!("`orch {command}`"), why]));
    }
    page.push_str(
        "\n## Not commands\n\nThe API has these besides, `/mcp`, `/ws`, and the routes of `/api/loops/v2`:\n\n",
    );
    for path in http::paths_without_command() {
        page.push_str(&format!("- `GET {path}`\n"));
    }
    page
}

/// A line of a table. An empty cell shows that there is nothing.
fn row(cells: &[&str]) -> String {
    let cells: Vec<&str> = cells
        .iter()
        .map(|cell| if cell.is_empty() { "–" } else { cell })
        .collect();
    format!("| {} |\n", cells.join(" | "))
}

/// What every face has, by the commands, as they are typed.
struct Faces {
    commands: Vec<String>,
    routes: Vec<RouteFace>,
    tools: Vec<&'static str>,
}

impl Faces {
    fn of_commands() -> Self {
        let described = described();
        let tools = mcp::tools(&described);
        Self {
            routes: http::faces(&http::routes(&described)).collect(),
            tools: tools.iter().map(|tool| tool.name).collect(),
            commands: described.0.into_iter().map(|one| one.name).collect(),
        }
    }

    fn routes_of(&self, command: &str) -> impl Iterator<Item = &RouteFace> {
        self.routes
            .iter()
            .filter(move |route| route.command == command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new command gets a route, or a reason why it has none.
    #[test]
    fn every_command_has_a_route_or_a_reason_and_nothing_else_is_named() {
        let faces = Faces::of_commands();
        let commands = &faces.commands;
        let is_of = |command: &str, name: &str| {
            command == name
                || command
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(' '))
        };
        for command in commands {
            let has_route = faces.routes_of(command).next().is_some();
            let has_reason = NOT_IN_API.iter().any(|(name, _)| is_of(command, name));
            // Some subcommands of a group with a reason have a route.
            let is_documented = if command.contains(' ') {
                has_route || has_reason
            } else {
                has_route != has_reason
            };
            assert!(is_documented, "{command}: {has_route} {has_reason}");
        }
        for (name, _) in NOT_IN_API {
            assert!(
                commands.iter().any(|command| is_of(command, name)),
                "{name}"
            );
            let without = commands.iter().filter(|command| is_of(command, name));
            assert!(
                without
                    .into_iter()
                    .any(|command| faces.routes_of(command).next().is_none()),
                "{name}"
            );
        }
        let named = faces.routes.iter().map(|route| route.command.clone());
        let shown = ON_PAGES.into_iter().map(str::to_owned);
        for name in named
            .chain(faces.tools.iter().map(|tool| (*tool).to_owned()))
            .chain(shown)
        {
            assert!(commands.contains(&name), "{name}");
        }
    }
}
