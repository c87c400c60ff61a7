//! What every face of `orch` can do: the generated page `docs/faces.md`.
//!
//! The command line is the whole; the table says which part of it the other faces have. It is made of what they are
//! made of: the definition of the commands, the table of routes, the buttons of the board and the list of tools.

use super::repl;
use crate::cli::manual::command_line;
use clap::Command;
use orch_serve::http;
use orch_serve::mcp::TOOLS;

/// The commands that the HTTP API does not have, and why. A name stands for its subcommands, too.
const NOT_IN_API: [(&str, &str); 15] = [
    ("board", "`orch serve` is the live board"),
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
    ("serve", "it is the server"),
    (
        "trust",
        "programs are trusted by a person at a terminal, never by a request",
    ),
    (
        "watch",
        "the server watches meanwhile, and `/api/v1/events` tells what it does",
    ),
    (
        "workflow",
        "`fmt` and `new` write documents that belong into an editor",
    ),
];

/// The commands whose answers the pages of the board show.
const ON_PAGES: [&str; 4] = ["explain", "log", "runs", "status"];

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
    for command in commands() {
        let routes: Vec<String> = routes_of(&command).map(|route| route.text()).collect();
        let prompt = if command == repl::PROMPT {
            String::new()
        } else {
            format!("`/{command}`")
        };
        let is_button = routes_of(&command).any(|route| route.is_button);
        let board = match (is_button, ON_PAGES.contains(&command.as_str())) {
            (true, _) => "button",
            (_, true) => "shown",
            _ => "",
        };
        let tool = if TOOLS.iter().any(|tool| tool.name == command) {
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

/// The commands that are not groups, as they are typed.
fn commands() -> Vec<String> {
    let mut found = Vec::new();
    collect(&command_line(), "", &mut found);
    found
}

fn collect(command: &Command, before: &str, found: &mut Vec<String>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = [before, sub.get_name()].join(" ").trim_start().to_owned();
        if sub.has_subcommands() {
            collect(sub, &name, found);
        } else {
            found.push(name);
        }
    }
}

fn routes_of(command: &str) -> impl Iterator<Item = http::RouteFace> {
    http::faces().filter(move |route| route.command == command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;
    use orch_serve::{Argument, ArgumentForm};
    use serde_json::{Map, Value, json};

    /// A new command gets a route, or a reason why it has none.
    #[test]
    fn every_command_has_a_route_or_a_reason_and_nothing_else_is_named() {
        let commands = commands();
        let is_of = |command: &str, name: &str| {
            command == name
                || command
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(' '))
        };
        for command in &commands {
            let has_route = routes_of(command).next().is_some();
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
                    .any(|command| routes_of(command).next().is_none()),
                "{name}"
            );
        }
        let named = http::faces().map(|route| route.command);
        let shown = ON_PAGES.into_iter().map(str::to_owned);
        for name in named
            .chain(TOOLS.iter().map(|tool| tool.name.to_owned()))
            .chain(shown)
        {
            assert!(commands.contains(&name), "{name}");
        }
    }

    /// A value of each argument.
    fn example(argument: &Argument) -> (String, Value) {
        let value = match argument.form {
            ArgumentForm::Duration(_) => json!("3s"),
            ArgumentForm::SomeOf(_, values) => json!(values),
            ArgumentForm::Word | ArgumentForm::Text(_) => json!("x"),
            ArgumentForm::Texts(_) => json!(["x", "y"]),
            ArgumentForm::Number(_) => json!(3),
            ArgumentForm::OneOf(_, values) => json!(values[0]),
            ArgumentForm::Flag(_) => json!(true),
            ArgumentForm::Pairs => json!({"key": 1}),
        };
        (argument.name.to_owned(), value)
    }

    fn assert_parses(words: Vec<String>) {
        let typed = [vec!["orch".to_owned()], words].concat();
        Cli::try_parse_from(&typed).unwrap_or_else(|error| panic!("{typed:?}: {error}"));
    }

    /// Every argument at once is a command line that `orch` accepts, and so is what is required alone.
    #[test]
    fn every_route_is_a_command_that_parses() {
        for route in http::ROUTES {
            for all in [true, false] {
                let arguments = route.in_path.iter().chain(route.arguments);
                // `--interactive` is the alternative to `--auto`.
                let is_given = |argument: &&Argument| {
                    argument.is_required || (all && argument.name != "interactive")
                };
                let given: Map<String, Value> = arguments.filter(is_given).map(example).collect();
                assert_parses(route.words(&given).expect("accepted"));
            }
        }
    }

    /// Every argument at once is a command line that `orch` accepts.
    #[test]
    fn every_tool_is_a_command_that_parses() {
        for tool in &TOOLS {
            let given: Map<String, Value> = tool.arguments.iter().map(example).collect();
            assert_parses(tool.command(&given).expect("valid"));
        }
    }
}
