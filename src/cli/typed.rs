//! Words that people type and that are no command: which command they mean.
//!
//! A word that only reads runs its command, which is printed. Any other word prints what to type.

use crate::cli::Failure;
use orch_base::{Code, Hint};
use orch_core::decide::WHY;
use std::ffi::OsString;

/// What a word means.
pub struct CommandWord {
    /// The words, which mean the same.
    pub words: &'static [&'static str],
    /// The commands, each with what it is for. `TASK` stands for the task that follows the word.
    pub commands: &'static [(&'static str, &'static str)],
    /// Whether the first command runs at once, because it only reads.
    pub runs: bool,
}

const fn reads(
    words: &'static [&'static str],
    commands: &'static [(&'static str, &'static str)],
) -> CommandWord {
    CommandWord {
        words,
        commands,
        runs: true,
    }
}

const fn tells(
    words: &'static [&'static str],
    commands: &'static [(&'static str, &'static str)],
) -> CommandWord {
    CommandWord {
        words,
        commands,
        runs: false,
    }
}

/// All words that are known. None of them is a command.
pub const TYPED: &[CommandWord] = &[
    reads(
        &["list", "ls", "tasks", "st"],
        &[("orch status", "all tasks")],
    ),
    reads(
        &["why", "info"],
        &[("orch explain TASK", "why a task is where it is")],
    ),
    reads(&["history", "timeline"], &[("orch log TASK", "its steps")]),
    reads(&["todo"], &[("orch suggest", "what to do next")]),
    tells(
        &["add", "create", "make"],
        &[("orch new TASK --title TITLE", "create a task")],
    ),
    tells(
        &[
            "rm", "remove", "delete", "drop", "cancel", "close", "abandon",
        ],
        &[
            ("orch archive TASK --force WHY", "give a task up"),
            ("orch undo TASK", "take back the last order"),
        ],
    ),
    tells(
        &["start", "begin"],
        &[
            ("orch prompt TASK", "what to write"),
            ("orch run TASK", "let an agent do it"),
        ],
    ),
    tells(
        &["write", "edit", "fill"],
        &[(
            "orch draft TASK",
            "write the file that comes next, to be filled in",
        )],
    ),
    tells(
        &["go", "continue", "advance", "move", "step"],
        &[("orch next TASK", "take the step that is due")],
    ),
    tells(
        &["done", "finish", "complete"],
        &[
            ("orch next TASK --settle", "take every step that is due"),
            (
                "orch approve TASK --to done",
                "approve the whole way, if the tests pass",
            ),
        ],
    ),
    tells(
        &["accept", "yes", "y", "ok", "lgtm"],
        &[("orch approve TASK", "let a task continue")],
    ),
    tells(
        &["no", "n", "refuse", "deny", "decline"],
        &[("orch reject TASK --reason WHY", "send a task back")],
    ),
    tells(
        &["back", "revert", "reset"],
        &[
            (
                "orch rollback TASK --reason WHY",
                "go back to an earlier phase",
            ),
            ("orch undo TASK", "take back the last order"),
        ],
    ),
    tells(
        &["mv"],
        &[("orch rename TASK NEW", "give a task another id")],
    ),
    tells(
        &["kill", "abort"],
        &[("orch stop TASK", "stop the run of a task")],
    ),
    tells(
        &["test", "tests"],
        &[("orch verify TASK", "run the verifications that are due")],
    ),
    tells(
        &["ui", "web", "kanban"],
        &[
            ("orch board", "the board in this terminal"),
            ("orch serve", "the board in a browser"),
        ],
    ),
    tells(
        &["setup", "config"],
        &[
            ("orch init", "set up a repository"),
            ("orch doctor", "what is wrong with the setup"),
        ],
    ),
];

/// The meaning of a word; `None` if it has none.
#[must_use]
pub fn typed(word: &str) -> Option<&'static CommandWord> {
    TYPED.iter().find(|typed| typed.words.contains(&word))
}

impl CommandWord {
    /// The command line with the command in the place of the word, if the command only reads.
    #[must_use]
    pub fn replaced(&self, word: &str, arguments: &[OsString]) -> Option<Vec<OsString>> {
        let (command, _) = self.commands.first().filter(|_| self.runs)?;
        let name = command.split(' ').nth(1)?;
        let at = arguments.iter().position(|argument| argument == word)?;
        let mut replaced = arguments.to_vec();
        replaced[at] = name.into();
        Some(replaced)
    }

    /// What to type in place of a word.
    #[must_use]
    pub fn refusal(&self, word: &str, arguments: &[OsString]) -> Failure {
        let mut after = arguments.iter().skip_while(|argument| *argument != word);
        let task = after.nth(1).and_then(|argument| argument.to_str());
        let task = task.filter(|task| !task.starts_with('-'));
        let mut hint = Hint::from("");
        for (number, (command, what)) in self.commands.iter().enumerate() {
            let joint = if number > 0 { "; " } else { "" };
            let argv: Vec<&str> = command
                .split(' ')
                .map(|part| match part {
                    "TASK" => task.unwrap_or("TASK"),
                    "WHY" => WHY,
                    part => part,
                })
                .collect();
            hint = hint.text(format!("{joint}{what}: ")).command(&argv);
        }
        Failure::new(Code::Usage, format!("there is no command `{word}`")).hint(hint)
    }

    /// The commands, one on each line, for `orch help`.
    #[must_use]
    pub fn lines(&self) -> String {
        let lines = self.commands.iter();
        lines
            .map(|(command, what)| format!("    {command}    {what}\n"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::manual::command_line;
    use std::collections::BTreeSet;

    #[test]
    fn no_word_is_a_command_or_means_two_things() {
        let commands = command_line();
        let mut seen = BTreeSet::new();
        for typed in TYPED {
            for word in typed.words {
                assert!(commands.find_subcommand(word).is_none(), "{word}");
                assert!(seen.insert(word), "{word}");
            }
            for (command, _) in typed.commands {
                let name = command.split(' ').nth(1).expect("a command");
                assert!(commands.find_subcommand(name).is_some(), "{command}");
            }
        }
    }

    #[test]
    fn the_glossary_lists_the_words() {
        let page = include_str!("../../docs/words.md");
        for typed in TYPED {
            let words: Vec<String> = typed.words.iter().map(|word| format!("`{word}`")).collect();
            let commands: Vec<String> = typed
                .commands
                .iter()
                .map(|(command, _)| format!("`{command}`"))
                .collect();
            let row = format!("| {} | {} |", words.join(", "), commands.join(", "));
            assert!(page.contains(&row), "missing in docs/words.md: {row}");
        }
    }
}
