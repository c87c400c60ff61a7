//! The task in use, and how a line is executed.

use super::super::next::NextArgs;
use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::super::report;
use super::board::{Board, gone, line};
use super::own::{OwnCommand, Typed, own_help, typed};
use crate::cli::{Cli, Command};
use clap::{Parser, ValueEnum};
use orch_base::{Code, TaskId};
use orch_engine::survey::Workspace;
use orch_view::{Suggestion, next_step};
use std::ffi::OsString;

/// The prompt, or the lines of a script.
pub(super) struct Session<'c> {
    context: &'c Context,
    ui: &'c Ui,
    in_use: Option<TaskId>,
    /// Whether commands may read what the person types.
    shares_input: bool,
    first_failure: ExitCode,
}

impl<'c> Session<'c> {
    /// Begins with this task, or the one that the directory, the branch or a single open task identifies; with none
    /// if nothing does. Returns an error if there is no task of this name.
    pub(super) fn begin(
        workspace: &Workspace,
        task: Option<&str>,
        context: &'c Context,
        ui: &'c Ui,
    ) -> Result<Self, Failure> {
        let in_use = match report::meant(workspace, context, task) {
            Ok(found) => Some(found.id),
            Err(failure) if task.or(context.global.task_in_use.as_deref()).is_some() => {
                return Err(failure);
            }
            Err(_) => None,
        };
        Ok(Self {
            context,
            ui,
            in_use,
            shares_input: false,
            first_failure: ExitCode::Fine,
        })
    }

    /// From now on commands read from the terminal, too.
    pub(super) fn share_input(&mut self) {
        self.shares_input = true;
    }

    /// The code of the first line that failed.
    pub(super) fn first_failure(&self) -> ExitCode {
        self.first_failure
    }

    /// The task in use.
    pub(super) fn in_use(&self) -> Option<&TaskId> {
        self.in_use.as_ref()
    }

    /// Executes a line and reports what is wrong with it. Returns whether more lines are wanted, and an error if
    /// stdout is closed.
    pub(super) fn execute(&mut self, text: &str) -> Result<bool, Failure> {
        match self.carry_out(text) {
            Ok(None) => return Ok(false),
            Ok(Some(code)) => self.ended_with(code),
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => self.refuse(&failure),
        }
        Ok(true)
    }

    /// Reports what is wrong with a line that is not executed.
    pub(super) fn refuse(&mut self, failure: &Failure) {
        crate::cli::report(failure, self.context.global.json, self.ui);
        self.ended_with(failure.exit());
    }

    fn ended_with(&mut self, code: ExitCode) {
        if self.first_failure == ExitCode::Fine {
            self.first_failure = code;
        }
    }

    /// Executes a line. Returns its exit code, or `None` if it ends the prompt.
    fn carry_out(&mut self, text: &str) -> Result<Option<ExitCode>, Failure> {
        match typed(text)? {
            Typed::Nothing => {}
            Typed::Own(OwnCommand::Quit) => return Ok(None),
            Typed::Own(OwnCommand::Use { task: None }) => self.in_use = None,
            Typed::Own(OwnCommand::Use { task: Some(name) }) => {
                self.in_use = Some(self.workspace()?.finder().task(&name)?.id);
            }
            Typed::OwnHelp => self.ui.answer(&own_help())?,
            Typed::Orch(words) => return self.orch(&words).map(Some),
        }
        Ok(Some(ExitCode::Fine))
    }

    /// Runs `orch` with these arguments, and with the global options and the task in use of this prompt.
    fn orch(&self, words: &[String]) -> Result<ExitCode, Failure> {
        let arguments = self.arguments(words);
        let parsed = Cli::try_parse_from([OsString::from("orch")].iter().chain(&arguments));
        if let Ok(Cli {
            global,
            command: Some(Command::Next(args)),
        }) = &parsed
            && !global.json
        {
            self.say_what_is_next(args)?;
        }
        let ended = self
            .context
            .interrupts
            .run_self(&arguments, self.shares_input)
            .map_err(|error| Failure::new(Code::Io, format!("cannot start orch: {error}")))?;
        let is_help = words == ["help"];
        if is_help {
            self.ui.answer(&format!("\n{}", own_help()))?;
        }
        let known = ExitCode::ALL
            .into_iter()
            .find(|code| ended.code() == Some(*code as i32));
        // A process without a code was ended by a signal.
        Ok(known.unwrap_or(if ended.code().is_none() {
            ExitCode::Interrupted
        } else {
            ExitCode::Fault
        }))
    }

    /// The arguments of the process that executes a command.
    fn arguments(&self, words: &[String]) -> Vec<OsString> {
        let global = &self.context.global;
        let mut found: Vec<OsString> = Vec::new();
        if let Some(directory) = &global.directory {
            found.extend(["-C".into(), directory.into()]);
        }
        let flags = [
            (global.json, "--json"),
            (global.quiet, "--quiet"),
            (global.no_pager, "--no-pager"),
        ];
        found.extend(
            flags
                .iter()
                .filter(|(is_set, _)| *is_set)
                .map(|(_, flag)| flag.into()),
        );
        found.extend((0..global.verbose).map(|_| "-v".into()));
        if let Some(colour) = global.color.to_possible_value() {
            found.extend(["--color".into(), colour.get_name().into()]);
        }
        if let Some(task) = &self.in_use {
            found.extend(["--use".into(), task.as_str().into()]);
        }
        found.extend(words.iter().map(OsString::from));
        found
    }

    /// Prints the current phase of the task of a command `/next`, the suggested next one, and the reason. Of several
    /// tasks, or one that cannot be read, the command itself says enough.
    fn say_what_is_next(&self, args: &NextArgs) -> Result<(), Failure> {
        let workspace = self.workspace()?;
        let name = args
            .task
            .as_deref()
            .or(self.in_use.as_ref().map(TaskId::as_str));
        let Ok(task) = report::meant(&workspace, self.context, name) else {
            return Ok(());
        };
        let Ok(sight) = workspace.look(&task) else {
            return Ok(());
        };
        let suggestion = Suggestion::of(&workspace.reader().subject(&sight));
        Ok(self
            .ui
            .answer(&next_step(&suggestion, self.ui.paint, self.ui.width))?)
    }

    /// Shows where the task in use stands now.
    pub(super) fn renew(&self, board: &Board) {
        let text = match &self.in_use {
            None => "no task".to_owned(),
            Some(task) => self.stands(task).unwrap_or_else(|| gone(task)),
        };
        board.show(self.in_use.clone(), text);
    }

    fn stands(&self, task: &TaskId) -> Option<String> {
        let workspace = self.workspace().ok()?;
        let sight = workspace
            .look(&workspace.finder().task(task.as_str()).ok()?)
            .ok()?;
        Some(line(&workspace, &sight, self.ui.paint_status))
    }

    /// The repository as it is now: its settings may have changed since the last line.
    fn workspace(&self) -> Result<Workspace, Failure> {
        self.context.bare_workspace()
    }
}
