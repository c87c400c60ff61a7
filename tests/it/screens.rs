//! What a person sees of each command: the stories of tests/screens, each command with all it printed and its exit code.
//! A file holds what is typed and what is shown, so that to add a screen is to write its commands: `make screens` adds
//! the rest, and shows what has changed.
//!
//! A heading begins a story, in a new directory. `$` begins a line for the shell, with `>` before lines that go on;
//! `2>` is before what was printed on stderr, and `[exit 3]` follows what did not end with 0. `%` begins one of
//! the [`steps`] that take many lines to type.

use crate::harness::{Ended, World, program, project, started};
use clap::Subcommand as _;
use orch::cli;
use snapbox::Data;
use snapbox::data::DataFormat;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A part of a screen file.
enum Part {
    /// A heading begins a new story; other text only says something to the reader.
    Text(String),
    /// A step that prepares something.
    Step(String),
    /// A line, or several, for the shell.
    Typed(String),
}

fn parts(file: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for line in file.lines() {
        if let Some(typed) = line.strip_prefix("    $ ") {
            parts.push(Part::Typed(typed.to_owned()));
        } else if let Some(step) = line.strip_prefix("    % ") {
            parts.push(Part::Step(step.to_owned()));
        } else if let Some(more) = line.strip_prefix("    >") {
            if let Some(Part::Typed(typed)) = parts.last_mut() {
                typed.push('\n');
                typed.push_str(more.strip_prefix(' ').unwrap_or(more));
            }
        } else if !line.is_empty() && !line.starts_with("    ") {
            match parts.last_mut() {
                Some(Part::Text(text)) if !line.starts_with('#') && !text.starts_with('#') => {
                    text.push('\n');
                    text.push_str(line);
                }
                _ => parts.push(Part::Text(line.to_owned())),
            }
        }
    }
    parts
}

/// Does what would take many lines to type, and shows nothing.
fn step(world: &mut Option<World>, step: &str) {
    let words: Vec<&str> = step.split(' ').collect();
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("no number: {step}"));
    if let Some(world) = world {
        match words[..] {
            ["plan", task, nth] => world.plan(task, number(nth)),
            ["plan-review", task, ok, nth] => world.plan_review(task, ok == "ok", number(nth)),
            ["patch", task, nth] => world.patch(task, number(nth)),
            ["code-review", task, ok, nth] => world.code_review(task, ok == "ok", number(nth)),
            ["tests", task, failures, nth] => world.tests(task, number(failures), number(nth)),
            ["decision", task] => world.accept(task),
            ["walk", task, "to", phase] => world.walk_to(task, phase),
            ["walk", task, "from", from, "to", phase] => world.walk_to_from(task, from, phase),
            ["commit"] => world.commit("By hand"),
            _ => panic!("no such step: {step}"),
        }
        return;
    }
    *world = Some(match words[..] {
        ["repository"] => World::new(),
        ["directory"] => World::without_git(),
        ["ready"] => World::ready(),
        ["started", phase] => started(phase),
        _ => panic!("a story begins with a place: {step}"),
    });
}

/// Runs a line as a person types it, with the program under test as `orch`.
fn run(world: &World, typed: &str) -> Ended {
    let mut command = world.command("sh");
    let program = PathBuf::from(program());
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&directories);
    let path = program.parent().map(Path::to_owned).into_iter();
    let path = std::env::join_paths(path.chain(directories)).expect("a path");
    command.env("PATH", path).stdin(world.keyboard());
    let output = command.args(["-c", typed]).output().expect("sh runs");
    let mut ended = world.end(output);
    let base = world.base().to_string_lossy();
    for text in [&mut ended.stdout, &mut ended.stderr] {
        *text = text
            .replace(&*base, "[BASE]")
            .replace(&*program.to_string_lossy(), "[ORCH]")
            .replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
        *text = with_colours(text);
        *text = without_number(text, "process ", "[PID]");
        *text = without_number(text, "/.orch/logs/", "[TIME]");
        *text = without_number(text, "[TIME]-", "[PID]");
    }
    ended
}

/// Writes colours and the like so that they can be read: `␛[31]`.
fn with_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        named.push_str("␛[");
        named.push_str(&part.replacen('m', "]", 1));
    }
    named
}

/// Puts a name in the place of each number that follows certain words.
fn without_number(text: &str, before: &str, name: &str) -> String {
    let mut parts = text.split(before);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        named.push_str(before);
        if rest.len() < part.len() {
            named.push_str(name);
        }
        named.push_str(rest);
    }
    named
}

/// The ids of git that were shown, by their first digits, which differ from one format of the record to the next.
#[derive(Default)]
struct Ids(BTreeMap<String, usize>);

impl Ids {
    /// Puts a name as long as the id in the place of each.
    fn named(&mut self, text: &str) -> String {
        let mut named = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            named.push_str(&self.name(&rest[..end]));
            rest = &rest[end..];
            let next = rest
                .find(|c: char| c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            named.push_str(&rest[..next]);
            rest = &rest[next..];
        }
        named
    }

    fn name(&mut self, word: &str) -> String {
        let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let mixed =
            word.contains(|c: char| c.is_ascii_digit()) && word.contains(char::is_alphabetic);
        // An id of seven or ten signs may have no letter, or no digit. These numbers are none: sizes and the largest one.
        let number = word.parse::<u64>();
        let is_number = number
            .is_ok_and(|number| number.is_multiple_of(1 << 20) || number == u64::from(u32::MAX));
        let is_short = matches!(word.len(), 7 | 10) && !is_number;
        let is_id = mixed || is_short;
        if word.len() < 7 || !is_id || !word.chars().all(hexadecimal) {
            return word.to_owned();
        }
        let count = self.0.len() + 1;
        let nth = self.0.entry(word[..7].to_owned()).or_insert(count);
        let width = word.len();
        let name = format!("id{nth}");
        format!("{name:_<width$}")
    }
}

/// A screen file with what its commands show now.
fn played(file: &str) -> String {
    let mut world = None;
    let mut ids = Ids::default();
    let mut shown = String::new();
    let mut in_block = false;
    for part in parts(file) {
        let is_text = matches!(part, Part::Text(_));
        if !shown.is_empty() && (is_text || !in_block) {
            shown.push('\n');
        }
        in_block = !is_text;
        match part {
            Part::Text(text) => {
                if text.starts_with('#') {
                    world = None;
                    ids = Ids::default();
                }
                shown.push_str(&format!("{text}\n"));
            }
            Part::Step(text) => {
                step(&mut world, &text);
                shown.push_str(&format!("    % {text}\n"));
            }
            Part::Typed(typed) => {
                let world = world.as_ref().expect("a story begins with its place");
                let ended = run(world, &typed);
                let typed = typed.replace('\n', "\n    > ");
                shown.push_str(&format!("    $ {typed}\n"));
                for line in ids.named(&ended.stdout).lines() {
                    show(&mut shown, "", line);
                }
                for line in ids.named(&ended.stderr).lines() {
                    show(&mut shown, "2> ", line);
                }
                if ended.code != 0 {
                    shown.push_str(&format!("    [exit {}]\n", ended.code));
                }
            }
        }
    }
    shown
}

/// Adds a line of output. What would be taken for a line that is typed begins with a backslash.
fn show(shown: &mut String, mark: &str, line: &str) {
    let typed = ["$ ", "% ", ">"]
        .iter()
        .any(|typed| line.starts_with(typed));
    let escape = if typed && mark.is_empty() { "\\" } else { "" };
    shown.push_str(format!("    {mark}{escape}{line}").trim_end());
    shown.push('\n');
}

fn directory() -> PathBuf {
    project().join("tests/screens")
}

/// Plays a file, and compares it with what was kept.
#[track_caller]
fn kept(name: &str) {
    let path = directory().join(format!("{name}.md"));
    let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let now = Data::text(played(&file)).raw();
    let kept = Data::read_from(&path, Some(DataFormat::Text)).raw();
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(now, kept);
}

/// A test for each file, so that they are played at the same time.
macro_rules! screens {
    ($($name:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                kept(stringify!($name));
            }
        )*
    };
}

screens! {
    agents bad check doctor empty help hook look next orders recover rename runs setup sheet workflow
}

#[test]
fn every_file_is_played() {
    let files = fs::read_dir(directory()).expect("screens");
    let files: BTreeSet<String> = files
        .map(|file| file.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().replace(".md", ""))
        .collect();
    let played = FILES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(files, played);
}

/// Each command by its words, without those that only hold others.
pub fn commands() -> Vec<String> {
    let orch = cli::Command::augment_subcommands(clap::Command::new("orch"));
    let mut commands = Vec::new();
    for command in orch.get_subcommands() {
        let name = command.get_name();
        if command.get_subcommands().next().is_none() {
            commands.push(name.to_owned());
        }
        for below in command.get_subcommands() {
            commands.push(format!("{name} {}", below.get_name()));
        }
    }
    commands
}

/// The lines of a file that call a command, each with whether it ended well.
fn calls(file: &str, command: &str) -> Vec<bool> {
    let called = |typed: &str| {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let command: Vec<&str> = command.split(' ').collect();
        words.contains(&"orch") && words.windows(command.len()).any(|part| part == command)
    };
    let mut calls: Vec<bool> = Vec::new();
    let mut in_call = false;
    for line in file.lines() {
        if let Some(typed) = line.strip_prefix("    $ ") {
            in_call = called(typed);
            if in_call {
                calls.push(true);
            }
        } else if in_call && line.starts_with("    [exit ") {
            *calls.last_mut().expect("a call") = false;
        }
    }
    calls
}

/// What no story shows: a server, an executor that answers and an editor are started by tests of their own, and what a hook of git
/// cannot do is no reason to refuse a commit.
const ELSEWHERE: &[(&str, &str)] = &[
    ("serve", "a success"),
    ("generate", "a success"),
    ("review", "a success"),
    ("hook prepare-commit-msg", "a refusal"),
    ("hook commit-msg", "a refusal"),
];

#[test]
fn every_command_has_its_screens() {
    let read = |name: &str| {
        let path = directory().join(format!("{name}.md"));
        fs::read_to_string(path).expect("a file of screens")
    };
    let stories: String = FILES.iter().map(|name| read(name)).collect();
    let empty = read("empty");
    let help = read("help");
    let mut lacking = Vec::new();
    for command in commands() {
        let calls_of = calls(&stories, &command);
        for (screen, is_there) in [
            ("an empty repository", !calls(&empty, &command).is_empty()),
            ("help", !calls(&help, &command).is_empty()),
            ("a success", calls_of.contains(&true)),
            ("a refusal", calls_of.contains(&false)),
        ] {
            if !is_there && !ELSEWHERE.contains(&(command.as_str(), screen)) {
                lacking.push(format!("{command}: {screen}"));
            }
        }
    }
    assert_eq!(lacking, [""; 0]);
}
