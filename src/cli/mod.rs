//! The command line: parse, call the workspace, print through the one door, end with a documented code.

mod args;
mod commands;
mod failure;
mod interrupt;
mod ui;

pub use args::{Cli, Command, Global};
pub use commands::reference;
pub use failure::{ExitCode, Failure};
pub use interrupt::Interrupts;
pub use ui::{Colour, Ui};

use crate::apply::Writer;
use crate::base::RepoPath;
use crate::survey::Workspace;
use crate::survey::{Caller, Error, ErrorKind};
use crate::view::{self, Style};
use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;

/// What every command is given.
pub struct Context {
    /// The global options.
    pub global: Global,
    /// Who calls.
    pub caller: Caller,
    /// Where `orch` was started, or `-C`.
    pub start: PathBuf,
    /// What Ctrl-C does.
    pub interrupts: Interrupts,
}

impl Context {
    /// Opens the repository around the start directory, and tells what is wrong with its settings.
    pub fn workspace(&self, ui: &Ui) -> Result<Workspace, Failure> {
        self.interrupts.listen();
        let workspace = Workspace::open(&self.start, self.caller.environment.clone())?;
        for finding in workspace.findings() {
            ui.problem(&format!("{finding}"));
        }
        match workspace.findings().iter().find(|finding| finding.is_error()) {
            Some(first) => Err(Failure::from(first.clone())),
            None => Ok(workspace),
        }
    }

    /// The same over what a commit holds, where one is named.
    pub fn workspace_at(&self, ui: &Ui, revision: Option<&str>) -> Result<Workspace, Failure> {
        let Some(revision) = revision else { return self.workspace(ui) };
        let workspace = self.bare_workspace()?.at(revision)?;
        match workspace.findings().iter().find(|finding| finding.is_error()) {
            Some(first) => Err(Failure::from(first.clone())),
            None => Ok(workspace),
        }
    }

    /// Opens the repository to look at what is staged or committed, whatever the settings in its work
    /// directory are.
    pub fn bare_workspace(&self) -> Result<Workspace, Failure> {
        Ok(Workspace::open_to_look(&self.start, self.caller.environment.clone())?)
    }

    /// A writer on the caller's order.
    #[must_use]
    pub fn writer<'w>(&'w self, workspace: &'w Workspace) -> Writer<'w> {
        Writer::new(workspace, &self.caller)
    }

    /// Where the start directory lies in the repository, if inside.
    #[must_use]
    pub fn here(&self, workspace: &Workspace) -> Option<RepoPath> {
        let start = self.start.canonicalize().ok()?;
        RepoPath::new(start.strip_prefix(workspace.root()).ok()?.to_str()?).ok()
    }
}

/// Runs the command line and returns the exit code. `variable` is the only door to the environment.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>, variable: impl Fn(&str) -> Option<String>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, arguments.iter().any(|argument| argument == "--json"), no_color),
    };
    let ui = Ui::new(cli.global.color, cli.global.quiet, no_color);
    let start = cli.global.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    let caller = Caller::from_environment(variable);
    let context = Context { caller, start, global: cli.global, interrupts: Interrupts::default() };
    let result = commands::run(cli.command, &context, &ui);
    match result {
        Ok(code) => code as u8,
        Err(failure) => {
            tell(&failure, &context, &ui);
            failure.exit() as u8
        }
    }
}

fn tell(failure: &Failure, context: &Context, ui: &Ui) {
    let Failure::Said { code, message, hint, .. } = failure else { return };
    if context.global.json {
        // A reader that is gone cannot be told; the exit code still says it.
        let _ =
            ui.answer(&view::pretty(&view::ErrorView::new(code.as_str(), message.as_str(), hint.clone())));
        return;
    }
    ui.problem(&format!("{} {message}", ui.paint_status.paint(Style::Bad, "error:")));
    if let Some(hint) = hint {
        ui.problem(&format!("{} {hint}", ui.paint_status.paint(Style::Command, "hint:")));
    }
}

fn usage(error: &clap::Error, json: bool, no_color: bool) -> u8 {
    let ui = Ui::new(Colour::Auto, false, no_color);
    if !error.use_stderr() {
        let _ = ui.answer(&error.to_string());
        return ExitCode::Fine as u8;
    }
    if json {
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let _ =
            ui.answer(&view::pretty(&view::ErrorView::new("usage", message, Some("orch --help".to_owned()))));
    } else {
        ui.problem(&error.to_string());
    }
    ExitCode::Usage as u8
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::No => ExitCode::No,
            ErrorKind::Wrong => ExitCode::Usage,
            ErrorKind::Busy => ExitCode::Busy,
            ErrorKind::NotNow => ExitCode::NotNow,
            ErrorKind::Fault => ExitCode::Fault,
        };
        let failure = Self::new(exit, error.code().to_owned(), chain(&error));
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// An error and what caused it, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let message = inner.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = inner.source();
    }
    text
}
