//! What a typed line is: a command of `orch`, or one of the prompt's own.

use crate::cli::manual::command_line;
use crate::cli::{Failure, usage_message};
use clap::{Command, CommandFactory, Parser, Subcommand};
use orch_base::{Code, TypedLine, nearest};

/// The command that shows the prompt.
pub(in crate::cli::commands) const PROMPT: &str = "repl";

/// The commands that only the prompt has.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(super) enum OwnCommand {
    /// Use a task: it is the one that a command without a task is about. Without TASK, use none.
    Use {
        /// The task.
        task: Option<String>,
    },
    /// End the prompt.
    Quit,
}

/// The parser of the prompt's own commands.
#[derive(Debug, Parser)]
#[command(
    name = "",
    no_binary_name = true,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
struct OwnLine {
    #[command(subcommand)]
    command: OwnCommand,
}

/// A typed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// Nothing, or a comment.
    Nothing,
    /// A command of the prompt.
    Own(OwnCommand),
    /// The manual of the prompt's own commands.
    OwnHelp,
    /// The arguments of a command of `orch`.
    Orch(Vec<String>),
}

/// Whether a line is empty or a comment.
pub(super) fn is_skipped(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// Whether a line continues after its end, because a quote is open.
pub(super) fn goes_on(line: &str) -> bool {
    !is_skipped(line) && TypedLine::of(line).is_open
}

/// What a typed line is. Returns an error if a quote is open, the slash is missing, there is no such command, or one of
/// the prompt has other arguments. The arguments of other commands are not checked.
pub(super) fn typed(line: &str) -> Result<Typed, Failure> {
    if is_skipped(line) {
        return Ok(Typed::Nothing);
    }
    let split = TypedLine::of(line);
    let mut words = split.texts();
    if split.is_open {
        let failure = Failure::new(
            Code::Usage,
            "a quote is open, or a backslash ends the input",
        );
        return Err(failure.hint("close the quote, or write the quote as \\' or \\\""));
    }
    // A backslash and a line end are no word.
    let Some(first) = words.first_mut() else {
        return Ok(Typed::Nothing);
    };
    let Some(name) = first.strip_prefix('/').map(str::to_owned) else {
        return Err(without_slash(first));
    };
    first.clone_from(&name);
    if OwnCommand::has_subcommand(&name) {
        let parsed = OwnLine::try_parse_from(&words);
        return parsed
            .map(|parsed| Typed::Own(parsed.command))
            .map_err(|error| Failure::new(Code::Usage, usage_message(&error)).hint("/help"));
    }
    match name.as_str() {
        "repl" => Err(Failure::new(Code::Usage, "this is the prompt already")
            .hint("/use TASK changes the task")),
        "help"
            if words
                .get(1)
                .is_some_and(|word| OwnCommand::has_subcommand(word.trim_start_matches('/'))) =>
        {
            Ok(Typed::OwnHelp)
        }
        "help" => {
            words[1..]
                .iter_mut()
                .for_each(|word| *word = word.trim_start_matches('/').to_owned());
            Ok(Typed::Orch(words))
        }
        _ if !name.starts_with('-') && command_line().find_subcommand(&name).is_none() => Err(
            with_nearest(&format!("there is no command `/{name}`"), &name),
        ),
        _ => Ok(Typed::Orch(words)),
    }
}

fn without_slash(word: &str) -> Failure {
    with_nearest("a command begins with a slash", word)
}

/// An error whose hint is the command that a word could mean.
fn with_nearest(message: &str, word: &str) -> Failure {
    let line = whole_line();
    let shown = line.get_subcommands().filter(|sub| !sub.is_hide_set());
    let names: Vec<&str> = shown.map(Command::get_name).chain(["help"]).collect();
    let failure = Failure::new(Code::Usage, message);
    let meant = if word == "orch" {
        None
    } else {
        nearest(word, names.iter().copied())
    };
    failure.hint(match meant {
        Some(near) => format!("did you mean `/{near}`? All commands: /help"),
        None => "for example: /next. All commands: /help".to_owned(),
    })
}

/// All that can be typed: the commands of `orch` but this one, and those of the prompt.
pub(super) fn whole_line() -> Command {
    OwnCommand::augment_subcommands(command_line()).mut_subcommand(PROMPT, |sub| sub.hide(true))
}

/// What can be typed after the name of a command: those of the prompt have no options.
pub(super) fn line_of(name: &str) -> Command {
    if !OwnCommand::has_subcommand(name) {
        return whole_line();
    }
    OwnCommand::augment_subcommands(Command::new("orch").disable_help_flag(true))
}

/// The commands of the prompt, each with its manual.
pub(super) fn own_help() -> String {
    let line = OwnLine::command();
    let mut out = String::from(
        "At this prompt, every command begins with a slash. Besides those of orch there are:\n",
    );
    for sub in line.get_subcommands() {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let usage = if sub.get_positionals().next().is_some() {
            format!("/{} [TASK]", sub.get_name())
        } else {
            format!("/{}", sub.get_name())
        };
        out.push_str(&format!("  {usage:<12} {about}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Typed {
        Typed::Orch(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn a_line_is_a_command_of_orch_or_of_the_prompt() {
        let named = |task: &str| {
            Typed::Own(OwnCommand::Use {
                task: Some(task.to_owned()),
            })
        };
        for (line, expected) in [
            ("", Typed::Nothing),
            ("  # a comment, it's skipped", Typed::Nothing),
            ("/next", words(&["next"])),
            (
                " /next --override \"why not\"",
                words(&["next", "--override", "why not"]),
            ),
            ("/run -- claude -p", words(&["run", "--", "claude", "-p"])),
            ("/use t-1", named("t-1")),
            ("/use", Typed::Own(OwnCommand::Use { task: None })),
            ("/quit", Typed::Own(OwnCommand::Quit)),
            ("/help /next", words(&["help", "next"])),
            ("/help use", Typed::OwnHelp),
            ("/--version", words(&["--version"])),
            ("\\\n", Typed::Nothing),
        ] {
            assert_eq!(typed(line).expect(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_is_none_says_why() {
        for (line, expected) in [
            (
                "next",
                "a command begins with a slash (did you mean `/next`? All commands: /help)",
            ),
            (
                "orch next",
                "a command begins with a slash (for example: /next. All commands: /help)",
            ),
            (
                "/us",
                "there is no command `/us` (did you mean `/use`? All commands: /help)",
            ),
            (
                "/hlep",
                "there is no command `/hlep` (did you mean `/help`? All commands: /help)",
            ),
            (
                "/nonsense",
                "there is no command `/nonsense` (for example: /next. All commands: /help)",
            ),
            (
                "/",
                "there is no command `/` (for example: /next. All commands: /help)",
            ),
            ("/use a b", "unexpected argument 'b' found (/help)"),
            (
                "/repl",
                "this is the prompt already (/use TASK changes the task)",
            ),
            (
                "/next --override \"why",
                "a quote is open, or a backslash ends the input (close the quote, or write the quote as \\' or \\\")",
            ),
        ] {
            let Err(Failure::Reported { error, .. }) = typed(line) else {
                panic!("{line}")
            };
            let shown = format!(
                "{} ({})",
                error.message(),
                error.hint().cloned().unwrap_or_default()
            );
            assert_eq!(
                (shown.as_str(), error.code()),
                (expected, Code::Usage),
                "{line}"
            );
        }
    }

    #[test]
    fn the_prompt_offers_its_own_commands_and_not_itself() {
        let line = whole_line();
        let shown = line.get_subcommands().filter(|sub| !sub.is_hide_set());
        let names: Vec<&str> = shown.map(Command::get_name).collect();
        assert!(
            names.contains(&"use") && names.contains(&"quit") && names.contains(&"next"),
            "{names:?}"
        );
        assert!(!names.contains(&PROMPT), "{names:?}");
        assert!(
            own_help().contains("  /use [TASK]  Use a task"),
            "{}",
            own_help()
        );
    }

    /// A command of `orch` with the name of one of the prompt's could not be typed.
    #[test]
    fn no_command_of_orch_has_the_name_of_one_of_the_prompt() {
        let line = command_line();
        let taken = line
            .get_subcommands()
            .flat_map(|sub| sub.get_name_and_visible_aliases());
        let taken: Vec<&str> = taken
            .filter(|name| OwnCommand::has_subcommand(name))
            .collect();
        assert_eq!(taken, [""; 0]);
    }
}
