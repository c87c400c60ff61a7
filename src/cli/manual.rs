//! What the help adds to the options: the groups of commands, and two examples for each command and subcommand.

use super::Cli;
use clap::{Command, CommandFactory};
use orch_view::layout::wrap;

/// The examples of one command, the first of which begins with its name: what to type, and what it does.
type Examples = [(&'static str, &'static str); 2];

/// The groups of `orch --help` with their commands, in order.
const GROUPS: [(&str, &[Examples]); 6] = [
    (
        "See what to do",
        &[
            [
                ("orch status --owner human", "what waits for you"),
                ("orch status --everywhere --watch", "all branches, live"),
            ],
            [
                ("orch suggest", "the most urgent tasks"),
                ("orch suggest t-1 --brief", "for an agent"),
            ],
            [
                ("orch free", "what can be taken now"),
                ("orch free --json", "for a program"),
            ],
            [
                ("orch show t-1", "all that you decide about"),
                ("orch show t-1 --stat", "without the code"),
            ],
            [
                ("orch explain t-1", "why it is where it is"),
                ("orch explain t-1 --at HEAD~3", "as it was"),
            ],
            #[cfg(feature = "board")]
            [
                ("orch board --html board.html", "all tasks as one file"),
                ("orch board --html - 'team/*'", "some, on stdout"),
            ],
            [
                ("orch graph", "what waits for what"),
                ("orch graph --format mermaid", "as a flowchart"),
            ],
            [
                ("orch log t-1", "its timeline"),
                ("orch log --json", "all steps, for a program"),
            ],
            [
                (
                    "orch diff t-1 plan",
                    "what is new since the plan was judged",
                ),
                ("orch diff t-1 plan --json", "for a program"),
            ],
            [
                ("orch pr t-1", "for the pull request of its branch"),
                ("orch pr --range main..HEAD", "all tasks that it changes"),
            ],
        ],
    ),
    (
        "Work on a task",
        &[
            [
                ("orch new t-1", "create a task"),
                ("orch new t-1 --brief brief.md", "with what is wanted"),
            ],
            [
                ("orch take", "the first that is free"),
                ("orch take t-1 --for 2h", "this one, for longer"),
            ],
            [
                ("orch release", "the task that you hold"),
                ("orch release t-1", "this one"),
            ],
            [
                ("orch prompt t-1", "what to write"),
                (
                    "orch prompt t-1 | claude -p --permission-mode acceptEdits",
                    "let an agent do it",
                ),
            ],
            [
                (
                    "orch draft t-1",
                    "write the file that comes next, to be filled in",
                ),
                ("orch draft t-1 plan --stdout", "print it"),
            ],
            [
                ("orch schema plan", "what a file must match"),
                ("orch schema plan --example", "a file that does"),
            ],
            [
                ("orch next t-1", "apply what is due"),
                ("orch next 'team/*'", "for several tasks"),
            ],
            [
                ("orch verify t-1", "run what is due, and record it"),
                ("orch verify", "only try what HEAD gives"),
            ],
            [
                ("orch relate t-2 --after t-1", "it waits for t-1"),
                ("orch relate t-2 --priority high", "it comes first"),
            ],
            [
                ("orch migrate --plan", "where each task would go on"),
                ("orch migrate", "move all of them"),
            ],
            [
                ("orch rename t-1 t-2", "give it another id"),
                ("orch rename archive/t-1 t-1", "take it out of the archive"),
            ],
            [
                ("orch archive t-1", "a finished task"),
                (
                    "orch archive t-1 --force 'given up'",
                    "as a person, one that is not",
                ),
            ],
            [
                ("orch check", "validate every task"),
                ("orch check --staged", "what is about to be committed"),
            ],
            [
                ("orch watch", "apply transitions as files change"),
                ("orch watch --once", "once, then exit"),
            ],
            #[cfg(feature = "repl")]
            [
                ("orch repl", "type commands at a prompt"),
                ("orch repl t-1 -c /next", "one, and exit"),
            ],
        ],
    ),
    (
        "Let agents work",
        &[
            [
                (
                    "orch run t-1 -- claude -p --permission-mode acceptEdits",
                    "with this agent",
                ),
                ("orch run t-1 --dry-run", "only say what it would do"),
            ],
            [
                ("orch runs", "the last run of every task"),
                ("orch runs --json", "for a program"),
            ],
            [
                (
                    "orch work --max 4 --phases plan",
                    "on four free tasks at once, only plans",
                ),
                (
                    "orch work --queue --remote origin",
                    "beside the workers of other clones",
                ),
            ],
            [
                ("orch worktrees", "the work trees of tasks"),
                (
                    "orch worktrees --clean",
                    "remove those that are no longer needed",
                ),
            ],
            [
                ("orch pause t-1", "after the action in progress"),
                ("orch pause t-1 --json", "for a program"),
            ],
            [
                ("orch resume t-1", "continue"),
                (
                    "orch resume t-1 -- claude -p --permission-mode acceptEdits",
                    "with another agent",
                ),
            ],
            [
                ("orch stop t-1", "end the run now"),
                ("orch stop t-1 --json", "for a program"),
            ],
            [
                ("orch answer t-1 rounds=3", "answer a question"),
                ("orch answer t-1 rounds=3 --dry-run", "only check it"),
            ],
            [
                ("orch generate loop-1", "more tasks for a development loop"),
                (
                    "orch generate loop-1 --count 3 --tool codex",
                    "at most three, by this executor",
                ),
            ],
            [
                ("orch lsp", "what an editor starts"),
                ("orch -v lsp", "with a report of what it does on stderr"),
            ],
            #[cfg(feature = "mcp")]
            [
                ("orch mcp", "what an agent's program starts"),
                ("orch -C ../other mcp", "for another repository"),
            ],
            #[cfg(feature = "api")]
            [
                ("orch serve", "at http://127.0.0.1:4747"),
                (
                    "orch serve --listen 127.0.0.1:0 --read-only",
                    "at any free port, without orders",
                ),
            ],
        ],
    ),
    (
        "Decide, as a person",
        &[
            [
                ("orch review t-1", "read it, and write your verdict"),
                ("orch review", "the task of this branch"),
            ],
            [
                ("orch approve t-1", "let it continue"),
                ("orch approve t-1 --dry-run", "only show the step"),
            ],
            [
                ("orch reject t-1 --reason 'no test'", "send it back"),
                (
                    "orch reject t-1 --reason 'wrong scope' --to planning",
                    "to this phase",
                ),
            ],
            [
                (
                    "orch confirm t-1 plan --reason 'read again'",
                    "the same bytes are right",
                ),
                (
                    "orch confirm t-1 --lost 'tests::old_*' --reason renamed",
                    "tests that are gone on purpose",
                ),
            ],
            [
                (
                    "orch rollback t-1 --reason 'wrong scope'",
                    "to the last consistent phase",
                ),
                (
                    "orch rollback t-1 --to planning --reason 'wrong scope'",
                    "to this phase",
                ),
            ],
            [
                ("orch reopen t-1 --reason 'it came back'", "a finished task"),
                (
                    "orch reopen t-1 --to planning --reason 'it came back'",
                    "in this phase",
                ),
            ],
            [
                ("orch undo t-1", "take back the last order"),
                ("orch undo t-1 --dry-run", "only show what it takes back"),
            ],
        ],
    ),
    (
        "Prove and repair the record",
        &[
            [
                ("orch ci", "in CI: the range of the pull request"),
                (
                    "orch ci --range main..HEAD --verify",
                    "here, with its tests",
                ),
            ],
            [
                ("orch audit", "the whole history"),
                ("orch audit main..HEAD", "a branch"),
            ],
            [
                ("orch recover t-1", "rebuild a lost record"),
                ("orch recover t-1 --json", "for a program"),
            ],
            [
                ("orch resolve", "every conflicted task"),
                ("orch resolve t-1", "this one"),
            ],
            [
                ("orch hook install", "check every commit"),
                ("orch hook status", "what is installed"),
            ],
        ],
    ),
    (
        "Set up",
        &[
            [
                ("orch init", "write orch.toml and system/"),
                ("orch init --agent claude", "write what Claude Code reads"),
            ],
            [
                ("orch workflow list", "what there is"),
                ("orch workflow check", "find problems in the documents"),
            ],
            [
                (
                    "orch trust --show",
                    "what orch may start, and whether it is trusted",
                ),
                ("orch trust", "trust it as it is now"),
            ],
            [
                (
                    "orch doctor",
                    "what is wrong around the tasks, and what to type",
                ),
                ("orch doctor --fix", "repair what is safe to repair"),
            ],
            [
                ("orch demo", "a task's whole life"),
                ("orch demo sample", "in this directory"),
            ],
            [
                ("orch completions bash", "for `source <(…)` in ~/.bashrc"),
                ("orch completions fish | source", "in config.fish"),
            ],
            [
                ("orch man next | man -l -", "read a page"),
                (
                    "orch man --dir ~/.local/share/man/man1",
                    "for `man orch-next`",
                ),
            ],
            [
                ("orch help next", "the manual of a command"),
                ("orch help json-syntax", "what `error[json-syntax]` means"),
            ],
        ],
    ),
];

/// The examples of subcommands.
const SUBCOMMANDS: &[Examples] = &[
    [
        ("orch workflow list", "what there is, and where from"),
        ("orch workflow list --json", "for a program"),
    ],
    [
        ("orch workflow show openspec", "read a document"),
        ("orch workflow show ccw-loop | less", "page by page"),
    ],
    [
        ("orch workflow check", "every workflow"),
        (
            "orch workflow check --overlaps article",
            "which rules may hold together, and when",
        ),
    ],
    [
        ("orch workflow fmt", "redraw every diagram"),
        (
            "orch workflow fmt --check",
            "only say whether one is out of date",
        ),
    ],
    [
        ("orch workflow diagram openspec", "as Mermaid"),
        (
            "orch workflow diagram openspec --format dot | dot -Tsvg",
            "as a picture",
        ),
    ],
    [
        (
            "orch workflow diff",
            "what the changes since HEAD decide differently",
        ),
        (
            "orch workflow diff main:article article",
            "one workflow, and that of a branch",
        ),
    ],
    [
        (
            "orch workflow new papers --pattern article",
            "a text that three readers review",
        ),
        (
            "orch workflow new my-loop --from skill-config.json",
            "from a configuration",
        ),
    ],
    [
        ("orch workflow play article", "choose what happens next"),
        (
            "orch workflow play article --seed 7",
            "let it play by itself",
        ),
    ],
    [
        (
            "orch workflow test article --coverage",
            "what the tests cover",
        ),
        (
            "orch workflow test article --missing",
            "print tests for the rest",
        ),
    ],
    [
        ("orch hook install", "check every commit"),
        (
            "orch hook install --pre-commit --pre-push",
            "and every push",
        ),
    ],
    [
        ("orch hook uninstall", "restore the hooks that were there"),
        ("orch hook uninstall --json", "for a program"),
    ],
    [
        ("orch hook status", "what is installed"),
        ("orch hook status --json", "for a program"),
    ],
    [
        (
            "orch hook prepare-commit-msg .git/COMMIT_EDITMSG",
            "name the task of the branch",
        ),
        (
            "orch hook prepare-commit-msg .git/COMMIT_EDITMSG message",
            "of a message that was given with -m",
        ),
    ],
    [
        (
            "orch hook commit-msg .git/COMMIT_EDITMSG",
            "after the editor",
        ),
        (
            "orch -C repository hook commit-msg .git/COMMIT_EDITMSG",
            "of a repository elsewhere",
        ),
    ],
];

/// The template of `orch --help`: the groups take the place of clap's flat list.
const TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

/// The command line with its groups and examples, built.
#[must_use]
pub fn command_line() -> Command {
    let mut command = Cli::command();
    // Commands are made when one of them is asked for, so the whole has to be asked for.
    command.build();
    let groups = groups(&command);
    let commands: Vec<Examples> = GROUPS
        .iter()
        .flat_map(|(_, commands)| *commands)
        .copied()
        .collect();
    let command = command.mut_subcommands(|sub| {
        let name = sub.get_name().to_owned();
        let sub = with_examples(sub, &[name.as_str()], &commands);
        sub.mut_subcommands(|below| {
            let below_name = below.get_name().to_owned();
            with_examples(below, &[name.as_str(), below_name.as_str()], SUBCOMMANDS)
        })
    });
    command
        .help_template(TEMPLATE)
        .before_help(groups.clone())
        .before_long_help(groups)
}

/// A command with those of these examples that begin with its words.
fn with_examples(command: Command, words: &[&str], all: &[Examples]) -> Command {
    match all.iter().find(|examples| begins_with(examples, words)) {
        Some(examples) => command.after_long_help(examples_text(examples)),
        None => command,
    }
}

fn begins_with(examples: &Examples, words: &[&str]) -> bool {
    let first = words_of(examples).take(words.len());
    first.eq(words.iter().copied())
}

/// The words of the first example, after the name of the program.
fn words_of(examples: &Examples) -> impl Iterator<Item = &'static str> + use<> {
    let [(typed, _), _] = *examples;
    typed.split(' ').skip(1)
}

/// The command of these examples.
fn name_of(examples: &Examples) -> &'static str {
    words_of(examples).next().unwrap_or_default()
}

/// The groups as text: each command with its first sentence.
fn groups(command: &Command) -> String {
    let mut out = String::new();
    for (heading, commands) in GROUPS {
        out.push_str(&format!("{heading}:\n"));
        for name in commands.iter().map(name_of) {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            // 80 columns hold the name and the text; the rest of the text continues below its beginning.
            let lines = wrap(&about, 64).join(&format!("\n{:15}", ""));
            out.push_str(&format!("  {name:<11}  {lines}\n"));
        }
        out.push('\n');
    }
    out
}

fn examples_text(examples: &[(&str, &str); 2]) -> String {
    let wide = examples
        .iter()
        .map(|(typed, _)| typed.len())
        .max()
        .unwrap_or_default();
    let lines = examples.map(|(typed, effect)| format!("\n  {typed:wide$}  # {effect}"));
    format!("Examples:{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use std::ffi::OsString;

    /// The commands are in the same order, none is left out, and every example is a valid command line.
    #[test]
    fn every_command_is_in_a_group_and_has_examples_that_parse() {
        let command = Cli::command();
        let shown = command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(Command::get_name);
        let shown: Vec<&str> = shown.collect();
        let listed = GROUPS.iter().flat_map(|(_, commands)| *commands);
        let named: Vec<&str> = listed.clone().map(name_of).collect();
        assert_eq!(shown, named);
        for examples in listed {
            for (typed, _) in examples {
                let name = name_of(examples);
                assert_eq!(parsed(typed).subcommand_name(), Some(name), "{typed}");
            }
        }
    }

    #[test]
    fn every_subcommand_has_examples_that_parse() {
        let command = command_line();
        let mut shown = Vec::new();
        for parent in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let subs = parent.get_subcommands().filter(|sub| !sub.is_hide_set());
            for sub in subs {
                shown.push(format!("{} {}", parent.get_name(), sub.get_name()));
                let help = sub.clone().render_long_help().to_string();
                assert_eq!(help.matches("\n  orch ").count(), 2, "{help}");
            }
        }
        let mut named = Vec::new();
        for examples in SUBCOMMANDS {
            let path: Vec<&str> = words_of(examples).take(2).collect();
            named.push(path.join(" "));
            for (typed, _) in examples {
                let parsed = parsed(typed);
                let (name, below) = parsed.subcommand().expect("a command");
                assert_eq!(
                    [Some(name), below.subcommand_name()],
                    [Some(path[0]), Some(path[1])],
                    "{typed}"
                );
            }
        }
        shown.sort_unstable();
        named.sort_unstable();
        assert_eq!(shown, named);
    }

    /// A line means the same without the commands that it does not name.
    #[test]
    fn a_command_is_parsed_without_the_others() {
        let examples = GROUPS.iter().flat_map(|(_, commands)| *commands).flatten();
        let below = SUBCOMMANDS.iter().flatten();
        let odd = [
            "orch",
            "orch --json",
            "orch -C next status",
            "orch --use status next t -q",
            "orch status --json next",
            "orch redo t",
            "orch next -C there",
            "orch suggest next",
            "orch -- status",
            "orch status -- next",
            "orch help next",
            "orch --version",
            "orch next --version",
            "orch nothing",
            "orch status --nothing",
            "orch next --json -h",
            "orch -C",
            "orch run t -- orch next",
            "orch hook",
            "orch --color never hook install",
            "orch -qv",
        ];
        let lines = examples.chain(below).map(|(typed, _)| *typed).chain(odd);
        let mut valid = 0;
        for typed in lines {
            let words: Vec<OsString> = words(typed).into_iter().map(OsString::from).collect();
            // An error is left to all of them; it may come from a value that is named like a command.
            let Ok(alone) = Cli::of(&words) else { continue };
            valid += 1;
            let among_all = Cli::try_parse_from(&words).expect(typed);
            assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{typed}");
        }
        assert!(valid > 100, "{valid}");
        let version =
            |parsed: Result<Cli, clap::Error>| parsed.expect_err("no command").to_string();
        let words: Vec<OsString> = ["orch", "--version"].map(OsString::from).to_vec();
        assert_eq!(
            version(Cli::of(&words)),
            version(Cli::try_parse_from(&words))
        );
    }

    /// What a line means to the command line.
    fn parsed(typed: &str) -> clap::ArgMatches {
        let parsed = command_line().try_get_matches_from(words(typed));
        parsed.unwrap_or_else(|error| panic!("{typed}: {error}"))
    }

    /// The words of a line up to a pipe, in which quotes hold words together.
    fn words(typed: &str) -> Vec<String> {
        let line = typed
            .split(" | ")
            .next()
            .expect("a command")
            .replace('\'', "\"");
        let parts = line.split('"').enumerate();
        parts
            .flat_map(|(number, part)| match number % 2 {
                1 => vec![part.to_owned()],
                _ => part.split_whitespace().map(str::to_owned).collect(),
            })
            .collect()
    }
}
