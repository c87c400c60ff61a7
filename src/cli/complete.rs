//! Completion in a shell: the values that may stand at the cursor, taken from the repository.
//!
//! The script of `orch completions` starts `orch` with the variable [`VARIABLE`] and the words of the line.

use super::commands::help;
use super::manual::command_line;
use super::{Colour, ExitCode, Ui};
use clap::Command;
pub(super) use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use orch_base::Code;
use orch_core::decide::{Recorded, lost_tests};
use orch_engine::drive::{self, Standstill};
use orch_engine::survey::{Caller, Loaded, TaskRef, Workspace};
use orch_git::Environment;
use orch_view::{FieldView, question};
use serde_json::Value;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The environment variable that names the shell that asks.
pub(super) const VARIABLE: &str = "ORCH_COMPLETE";

/// What the value of an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Task,
    Phase,
    Workflow,
    Schema,
    Root,
    /// A task, or one of its artifacts after it.
    Artifact,
    /// A test that is lost in the task.
    LostTest,
    /// A task, or answers to its question after it.
    Answer,
    Command,
    /// A command, or a code.
    Topic,
}

/// What the arguments name, by their ids in the command line.
const ARGUMENTS: [(&str, Named); 21] = [
    ("task", Named::Task),
    ("after", Named::Task),
    ("not_after", Named::Task),
    ("parent", Named::Task),
    ("task_in_use", Named::Task),
    ("tasks", Named::Task),
    ("old", Named::Task),
    ("to", Named::Phase),
    ("expect", Named::Phase),
    ("phase", Named::Phase),
    ("phases", Named::Phase),
    ("workflow", Named::Workflow),
    ("workflows", Named::Workflow),
    ("schema_name", Named::Schema),
    ("root", Named::Root),
    ("names", Named::Artifact),
    ("artifact", Named::Artifact),
    ("lost", Named::LostTest),
    ("words", Named::Answer),
    ("page", Named::Command),
    ("topic", Named::Topic),
];

/// The line to complete.
struct Line {
    words: Vec<String>,
    environment: Environment,
}

/// The script that lets a shell ask. Returns an error if the shell has none.
pub(super) fn script(shell: Shell) -> io::Result<String> {
    let name = shell.to_string();
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&name) else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    shell.write_registration(VARIABLE, "orch", "orch", "orch", &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Prints the answer to a shell and returns the exit code. `arguments` are those of the process; the words of the
/// line follow `--`. An error prints nothing, because its text would become part of the line.
pub(super) fn run(
    shell: &str,
    arguments: &[OsString],
    variable: impl Fn(&str) -> Option<String>,
) -> u8 {
    let name = Path::new(shell)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let words: Vec<OsString> = arguments
        .iter()
        .skip_while(|word| *word != "--")
        .skip(1)
        .cloned()
        .collect();
    let shells = Shells::builtins();
    let mut out = Vec::new();
    let Some(shell) = shells.completer(&name) else {
        return ExitCode::Usage as u8;
    };
    let texts = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = Arc::new(Line {
        words: texts,
        environment: Caller::from_environment(variable).environment,
    });
    let mut command = with_candidates(command_line(), &line);
    let written = shell.write_complete(&mut command, words, Some(&line.directory()), &mut out);
    let ui = Ui::new(Colour::Never, true, true);
    match written.and_then(|()| ui.answer(&String::from_utf8_lossy(&out))) {
        Ok(()) => ExitCode::Fine as u8,
        Err(_) => ExitCode::Fault as u8,
    }
}

/// What may stand in place of the last of these words, which follow the name of the program, each with its help.
/// `in_use` is the task of a line that names none.
#[cfg(feature = "repl")]
pub(super) fn at_prompt(
    command: Command,
    words: Vec<String>,
    in_use: Option<&str>,
    start: &Path,
    environment: Environment,
) -> Vec<(String, Option<String>)> {
    let start_words = ["-C".to_owned(), start.to_string_lossy().into_owned()];
    let texts = start_words
        .into_iter()
        .chain(in_use.map(str::to_owned))
        .chain(words.iter().cloned())
        .collect();
    let line = Arc::new(Line {
        words: texts,
        environment,
    });
    let index = words.len();
    let typed = ["orch".to_owned()]
        .into_iter()
        .chain(words)
        .map(OsString::from)
        .collect();
    let mut command = with_candidates(command, &line);
    let found = clap_complete::engine::complete(&mut command, typed, index, Some(start))
        .unwrap_or_default();
    let shown = found
        .into_iter()
        .filter(|candidate| !candidate.is_hide_set());
    let text =
        |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().into_owned();
    shown
        .map(|candidate| {
            (
                text(&candidate),
                candidate.get_help().map(ToString::to_string),
            )
        })
        .collect()
}

fn with_candidates(command: Command, line: &Arc<Line>) -> Command {
    let command = command.mut_args(|argument| match named(argument.get_id().as_str()) {
        Some(named) => {
            let line = Arc::clone(line);
            argument.add(ArgValueCandidates::new(move || line.candidates(named)))
        }
        None => argument,
    });
    command.mut_subcommands(|sub| with_candidates(sub, line))
}

fn named(id: &str) -> Option<Named> {
    ARGUMENTS
        .iter()
        .find(|(known, _)| *known == id)
        .map(|(_, named)| *named)
}

impl Line {
    fn directory(&self) -> PathBuf {
        let place = self.words.iter().skip_while(|word| *word != "-C").nth(1);
        place.map_or_else(|| PathBuf::from("."), PathBuf::from)
    }

    fn candidates(&self, named: Named) -> Vec<CompletionCandidate> {
        match named {
            Named::Command => return commands(),
            Named::Topic => return topics(),
            _ => {}
        }
        let Ok(workspace) = Workspace::open_to_look(&self.directory(), self.environment.clone())
        else {
            return Vec::new();
        };
        let tasks = workspace.finder().tasks().unwrap_or_default();
        let task = tasks.iter().find(|task| self.names(task));
        match named {
            Named::Task => self.tasks(&tasks),
            Named::Phase => self.phases(&workspace, task, &tasks),
            Named::Workflow => workspace
                .settings()
                .workflow_names()
                .into_iter()
                .map(CompletionCandidate::new)
                .collect(),
            Named::Schema => {
                let names = workspace
                    .settings()
                    .system()
                    .names("schemas", ".schema.json");
                names.map(CompletionCandidate::new).collect()
            }
            Named::Root => {
                let bases = workspace.settings().config().roots.bases();
                bases
                    .map(|base| CompletionCandidate::new(base.as_str()))
                    .collect()
            }
            Named::Artifact => {
                task.map_or_else(|| self.tasks(&tasks), |task| artifacts(&workspace, task))
            }
            Named::LostTest => task.map_or_else(Vec::new, |task| lost(&workspace, task)),
            Named::Answer => {
                task.map_or_else(|| self.tasks(&tasks), |task| answers(&workspace, task))
            }
            Named::Command | Named::Topic => Vec::new(),
        }
    }

    /// The phases that may follow: all of them, or for a command that goes back those up to the current one.
    fn phases(
        &self,
        workspace: &Workspace,
        task: Option<&TaskRef>,
        tasks: &[TaskRef],
    ) -> Vec<CompletionCandidate> {
        let mut found = phases(workspace, task, tasks);
        let goes_back = self
            .words
            .iter()
            .any(|word| ["rollback", "reject"].contains(&word.as_str()));
        let sight = task
            .filter(|_| goes_back)
            .and_then(|task| workspace.look(task).ok());
        if let Some(sight) = sight
            && let Some(current) = &sight.decision.phase
        {
            let later = sight
                .workflow()
                .phases
                .iter()
                .skip_while(|phase| phase.id != *current)
                .skip(1);
            let later: Vec<&str> = later.map(|phase| phase.id.as_str()).collect();
            found.retain(|phase| {
                phase
                    .get_value()
                    .to_str()
                    .is_none_or(|name| !later.contains(&name))
            });
        }
        found
    }

    fn names(&self, task: &TaskRef) -> bool {
        self.words.iter().any(|word| word == task.id.as_str())
    }

    /// The tasks that the line does not name yet; archived ones only where it begins to name one.
    fn tasks(&self, tasks: &[TaskRef]) -> Vec<CompletionCandidate> {
        let archived = self.words.iter().any(|word| word.starts_with("archive/"));
        let open = tasks
            .iter()
            .filter(|task| archived || !task.id.is_archived());
        let new = open.filter(|task| !self.names(task));
        new.map(|task| CompletionCandidate::new(task.id.as_str()))
            .collect()
    }
}

/// The phases of the task's workflow, or of the workflows of all tasks, each once.
fn phases(
    workspace: &Workspace,
    task: Option<&TaskRef>,
    tasks: &[TaskRef],
) -> Vec<CompletionCandidate> {
    let mut workflows: Vec<_> = match task {
        Some(task) => vec![task.workflow.as_str()],
        None => tasks.iter().map(|task| task.workflow.as_str()).collect(),
    };
    workflows.sort_unstable();
    workflows.dedup();
    let loaded: Vec<Arc<Loaded>> = workflows
        .into_iter()
        .filter_map(|name| workspace.settings().workflow(name).ok())
        .collect();
    let mut found: Vec<CompletionCandidate> = Vec::new();
    for phase in loaded
        .iter()
        .filter_map(|loaded| loaded.workflow())
        .flat_map(|workflow| &workflow.phases)
    {
        if !found
            .iter()
            .any(|known| known.get_value() == phase.id.as_str())
        {
            let title = phase.title.clone().map(Into::into);
            found.push(CompletionCandidate::new(phase.id.as_str()).help(title));
        }
    }
    found
}

fn artifacts(workspace: &Workspace, task: &TaskRef) -> Vec<CompletionCandidate> {
    let Ok(sight) = workspace.look(task) else {
        return Vec::new();
    };
    let artifacts = sight.workflow().artifacts.iter();
    artifacts
        .map(|artifact| CompletionCandidate::new(artifact.name.as_str()))
        .collect()
}

fn lost(workspace: &Workspace, task: &TaskRef) -> Vec<CompletionCandidate> {
    let Ok(sight) = workspace.look(task) else {
        return Vec::new();
    };
    let Recorded::Known(state) = &sight.recorded else {
        return Vec::new();
    };
    let lost = lost_tests(sight.workflow(), state, &sight.observed.facts, "*");
    let tests = lost.into_iter().flatten().flat_map(|(_, tests)| tests);
    tests.map(CompletionCandidate::new).collect()
}

/// What may be typed after the task: the keys of its question, each with its values where these are known, or the
/// actions to pick from.
fn answers(workspace: &Workspace, task: &TaskRef) -> Vec<CompletionCandidate> {
    let Ok(sight) = workspace.look(task) else {
        return Vec::new();
    };
    let texts: Vec<String> = match drive::standstill(&sight) {
        Some(Standstill::Question(_)) => {
            let question = question(&workspace.reader().subject(&sight));
            question
                .iter()
                .flat_map(|question| &question.fields)
                .flat_map(of_field)
                .collect()
        }
        Some(Standstill::Pick(actions)) => actions
            .iter()
            .map(|action| format!("action={action}"))
            .collect(),
        None => Vec::new(),
    };
    texts.into_iter().map(CompletionCandidate::new).collect()
}

fn of_field(field: &FieldView) -> Vec<String> {
    let typed = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match &field.values {
        None => vec![format!("{}=", field.key)],
        Some(values) => values
            .iter()
            .map(|value| format!("{}={}", field.key, typed(value)))
            .collect(),
    }
}

fn commands() -> Vec<CompletionCandidate> {
    let command = command_line();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown
        .map(|sub| CompletionCandidate::new(sub.get_name()).help(sub.get_about().cloned()))
        .collect()
}

/// The commands, the table of exit codes, and the codes.
fn topics() -> Vec<CompletionCandidate> {
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let others = [help::EXIT_CODES]
        .into_iter()
        .chain(codes)
        .map(CompletionCandidate::new);
    commands().into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a person invents, or what is a path, a number, a revision or a process.
    const FREE: [&str; 60] = [
        "also",
        "assignee",
        "at",
        "base",
        "breaks",
        "brief",
        "brief_text",
        "command",
        "comment",
        "commit",
        "count",
        "dir",
        "directory",
        "emit",
        "env_file",
        "file",
        "force",
        "former",
        "from",
        "host",
        "html",
        "id",
        "issue",
        "janitor",
        "length",
        "limit",
        "lines",
        "listen",
        "max",
        "max_turns",
        "message",
        "name",
        "new",
        "newest",
        "now",
        "ours",
        "parallel",
        "parent_process",
        "path",
        "patience",
        "place",
        "publish",
        "queue",
        "range",
        "reason",
        "remote",
        "rename_ours",
        "rename_theirs",
        "report",
        "sample",
        "seed",
        "since",
        "source",
        "summary",
        "theirs",
        "timeout",
        "times",
        "title",
        "tool",
        "wait",
    ];

    /// A new argument completes to something, or is listed here.
    #[test]
    fn every_argument_with_a_value_completes_or_is_free() {
        let mut unknown = Vec::new();
        let mut free = Vec::new();
        let mut commands = vec![command_line()];
        while let Some(command) = commands.pop() {
            for argument in command
                .get_arguments()
                .filter(|argument| argument.get_action().takes_values())
            {
                let id = argument.get_id().as_str();
                let closed = !argument.get_possible_values().is_empty();
                match named(id) {
                    Some(_) => assert!(
                        !closed,
                        "{id} of {} has values of its own",
                        command.get_name()
                    ),
                    None if closed => {}
                    None if FREE.contains(&id) => free.push(id.to_owned()),
                    None => unknown.push(format!("{} {id}", command.get_name())),
                }
            }
            commands.extend(command.get_subcommands().cloned());
        }
        assert_eq!(unknown, Vec::<String>::new());
        free.sort_unstable();
        free.dedup();
        assert_eq!(free, FREE);
    }
}
