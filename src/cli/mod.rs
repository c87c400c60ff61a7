//! The command line: parses arguments, runs commands, prints through [`Ui`], and returns a documented exit
//! code.

mod args;
mod commands;
mod complete;
#[cfg(any(feature = "api", feature = "mcp"))]
mod described;
mod editor;
mod failure;
mod interrupt;
#[cfg(feature = "board")]
mod keyboard;
mod lock_args;
mod logging;
mod manual;
mod pager;
mod progress;
#[cfg(any(feature = "api", feature = "mcp"))]
mod runner;
mod threads;
mod typed;
mod ui;

pub use args::{Cli, Command, Global};
#[cfg(all(feature = "api", feature = "mcp", feature = "repl"))]
pub use commands::faces;
pub use commands::{codes, reference};
pub use failure::{ExitCode, Failure};
pub use interrupt::Interrupts;
pub use ui::{Colour, Ui};

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use logging::Logging;
use orch_base::{Code, Diagnostic, Error, Hint, Period, RepoPath};
use orch_engine::apply::{CommitGroup, Writer};
use orch_engine::drive::LaterWork;
use orch_engine::run::{FENCED, put_up_fence};
use orch_engine::survey::{Caller, KnownSettings, Purpose, Variables, Workspace, start_directory};
use orch_view::{ErrorView, Style};
use pager::Pager;
use progress::{WorkProgress, of_total};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use typed::CommandWord;

/// What every command receives.
pub struct Context {
    /// The global options of the command line.
    pub global: Global,
    /// The actor on whose behalf the command runs.
    pub caller: Caller,
    /// The directory in which `orch` was started, or the one given with `-C`.
    pub start: PathBuf,
    /// What signals do in this process.
    pub interrupts: Interrupts,
    /// How long to wait for the locks of other processes, if the command line says.
    wait: Option<Period>,
    /// Whether a task is named by its whole id alone, as by the clients of a server.
    whole_ids: bool,
    /// Where work goes that follows the answer; `None` if the command does it itself.
    later: Option<LaterWork>,
    /// What a server keeps of the settings between its commands.
    settings: Option<KnownSettings>,
    /// Where the orders of a server meet, to be committed together.
    group: Option<Arc<CommitGroup>>,
    logging: Arc<Logging>,
    pager: Pager,
}

impl Context {
    /// Does what follows the answer of the command: now, or in a server after it.
    fn after_answer(&self, job: impl FnOnce() + Send + 'static) {
        match &self.later {
            Some(later) => later.add(Box::new(job)),
            None => job(),
        }
    }

    /// Opens the repository around the start directory and prints the findings in its settings. Returns an
    /// error if there is no usable repository or if a finding is an error.
    pub fn workspace(&self, ui: &Ui) -> Result<Workspace, Failure> {
        self.interrupts.listen();
        let mut workspace = self.open(Purpose::Work)?;
        self.wait
            .into_iter()
            .for_each(|wait| workspace.wait_for_locks(wait));
        if self.whole_ids {
            workspace.take_whole_ids_alone();
        }
        if self.global.directory.is_none()
            && let Some(here) = self.here(&workspace)
        {
            ui.begin_at(here);
        }
        workspace
            .reader()
            .store()
            .map(|store| store.transactions().take_set_aside())
            .unwrap_or_default()
            .iter()
            .for_each(|one| ui.finding(one));
        // One of the errors is that of the command, which tells it at its end. Later ones may follow from the first.
        let mut errors = workspace
            .settings()
            .findings()
            .iter()
            .filter(|finding| finding.is_error());
        let own = if self.global.json {
            errors.next()
        } else {
            errors.next_back()
        }
        .cloned();
        let others = workspace
            .settings()
            .findings()
            .iter()
            .filter(|finding| Some(*finding) != own.as_ref());
        others.for_each(|finding| ui.finding(finding));
        own.map_or(Ok(workspace), |error| Err(Failure::from(error)))
    }

    /// Also writes the diagnostic log to this repository from now on. Outside git there is no place for it.
    fn keep_log(&self, workspace: &Workspace) {
        if let Some(store) = workspace.reader().store() {
            self.logging.keep(&store.layout().own(logging::FILE));
        }
    }

    /// Opens the repository at `revision`, if given, or else its work tree. Returns an error if the revision
    /// or its settings are invalid.
    pub fn workspace_at(&self, ui: &Ui, revision: Option<&str>) -> Result<Workspace, Failure> {
        let Some(revision) = revision else {
            return self.workspace(ui);
        };
        let workspace = self.bare_workspace()?.at(revision)?;
        match workspace
            .settings()
            .findings()
            .iter()
            .find(|finding| finding.is_error())
        {
            Some(first) => Err(Failure::from(first.clone())),
            None => Ok(workspace),
        }
    }

    /// Opens the repository to read the index or commits, even if the settings in its work tree are invalid.
    /// Returns an error if there is no usable repository.
    pub fn bare_workspace(&self) -> Result<Workspace, Failure> {
        let mut workspace = self.open(Purpose::Look)?;
        if self.whole_ids {
            workspace.take_whole_ids_alone();
        }
        Ok(workspace)
    }

    fn open(&self, purpose: Purpose) -> Result<Workspace, Failure> {
        let environment = self.caller.environment.clone();
        Ok(Workspace::open_for(
            purpose,
            &self.start,
            environment,
            self.settings.as_ref(),
        )?)
    }

    /// Shows how many tasks were looked at, as soon as that takes longer than a moment.
    fn show_looks(&self, workspace: &Workspace, total: Option<usize>, ui: &Ui) {
        if ui.live && !self.global.json {
            let progress = WorkProgress::new(ui);
            workspace.reader().report_looks(move |looks| {
                progress.show(|| format!("looked at {}", of_total(looks, total, "tasks")))
            });
        }
    }

    /// Prints an answer that may be long, on a terminal through a pager. Returns an error if stdout cannot be written.
    pub fn page(&self, ui: &Ui, text: &str) -> std::io::Result<()> {
        self.pager.print(text, ui, &self.interrupts)
    }

    /// A writer that acts for the caller.
    #[must_use]
    pub fn writer<'w>(&'w self, workspace: &'w Workspace) -> Writer<'w> {
        Writer::new(workspace, &self.caller).among(self.group.as_deref())
    }

    /// The path of the start directory relative to the root of the repository; `None` if it is outside.
    #[must_use]
    pub fn here(&self, workspace: &Workspace) -> Option<RepoPath> {
        let start = self.start.canonicalize().ok()?;
        RepoPath::new(
            start
                .strip_prefix(workspace.reader().root())
                .ok()?
                .to_str()?,
        )
        .ok()
    }
}

/// The text of `docs/openapi.json`. A test compares it with the file.
#[cfg(feature = "api")]
#[must_use]
pub fn openapi() -> String {
    use orch_serve::http;
    http::openapi(&http::routes(&described::described()))
}

/// Runs the command line and returns the exit code. `variable` reads environment variables; nothing else
/// does.
#[must_use]
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<String> + Clone + Send + Sync + 'static,
) -> u8 {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    // The start of an executor: nothing may have been done before, and no other thread may be there.
    if arguments.get(1).is_some_and(|word| word == FENCED) {
        return put_up_fence(&arguments[2..]);
    }
    if let Some(shell) = variable(complete::VARIABLE).filter(|shell| !shell.is_empty()) {
        return complete::run(&shell, &arguments, variable);
    }
    let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut parsed = parse(&arguments);
    if let Err(error) = &parsed
        && let Some((word, meant)) = meant(error)
    {
        let is_json = arguments.iter().any(|argument| argument == "--json");
        let ui = Ui::new(Colour::Auto, false, no_color);
        let Some(replaced) = meant.replaced(&word, &arguments) else {
            let failure = meant.refusal(&word, &arguments);
            report(&failure, is_json, &ui);
            return failure.exit() as u8;
        };
        let is_quiet = ["-q", "--quiet"];
        if !is_json
            && !arguments
                .iter()
                .any(|one| is_quiet.iter().any(|quiet| one == quiet))
        {
            ui.status(&format!("`{word}` is {}", meant.commands[0].0));
        }
        parsed = parse(&replaced);
        arguments = replaced;
    }
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            return usage(
                &error,
                arguments.iter().any(|argument| argument == "--json"),
                no_color,
            );
        }
    };
    let ui = Ui::new(cli.global.color, cli.global.quiet, no_color);
    let start = cli
        .global
        .directory
        .clone()
        .unwrap_or_else(|| PathBuf::from("."));
    let logging = Arc::new(Logging::begin(
        cli.global.verbose,
        variable("ORCH_LOG"),
        &ui,
    ));
    let pager = Pager::of(!cli.global.no_pager, start.clone(), &variable);
    let at_terminal = std::io::stdin().is_terminal();
    let process = Some(std::process::id());
    let variables = Variables::of(variable.clone());
    let caller = Caller {
        at_terminal,
        process,
        variables,
        ..Caller::from_environment(variable)
    };
    let interrupts = Interrupts::new(caller.environment.index_gate.clone());
    let wait = cli.command.as_ref().and_then(Command::wait);
    let global = cli.global;
    let whole_ids = false;
    let later = None;
    let settings = None;
    let group = None;
    let context = Context {
        caller,
        start,
        global,
        interrupts,
        wait,
        whole_ids,
        later,
        settings,
        group,
        logging,
        pager,
    };
    let result = require_directory(cli.command.as_ref(), &context)
        .and_then(|()| commands::run(cli.command, &context, &ui));
    match &result {
        Ok(code) => tracing::info!(exit = *code as u8, "orch exits"),
        Err(failure) => {
            let exit = failure.exit() as u8;
            let code = failure.code().map(|code| code.as_str());
            tracing::warn!(exit, code, "orch exits");
        }
    }
    context.logging.end();
    match result {
        Ok(code) => code as u8,
        Err(failure) => {
            report(&failure, context.global.json, &ui);
            failure.exit() as u8
        }
    }
}

/// Parses a command line. Only help and usage errors show other commands, the groups and the examples.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::of(arguments).or_else(|error| {
        if error.kind() == ErrorKind::DisplayVersion {
            return Err(error);
        }
        let matches = manual::command_line().try_get_matches_from(arguments)?;
        Cli::from_arg_matches(&matches)
    })
}

/// What the word means that stands in the place of a command and is none; `None` if it means nothing.
fn meant(error: &clap::Error) -> Option<(String, &'static CommandWord)> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    Some((word.clone(), typed::typed(word)?))
}

/// Returns an error if the directory given with `-C` cannot be opened. A hook answers its caller in its own way.
fn require_directory(command: Option<&Command>, context: &Context) -> Result<(), Failure> {
    if context.global.directory.is_some() && !matches!(command, Some(Command::Hook(_))) {
        start_directory(&context.start)?;
    }
    Ok(())
}

fn report(failure: &Failure, json: bool, ui: &Ui) {
    let Failure::Reported { error, .. } = failure else {
        return;
    };
    if json {
        // If stdout is closed, nothing can be printed; the exit code still reports the failure.
        let _ = ui.document(&ErrorView::of(error));
        return;
    }
    let finding = Diagnostic::from(error.clone());
    if finding.place.is_some() {
        ui.finding(&finding);
        return;
    }
    ui.problem(&format!(
        "{} {}",
        ui.paint_status.paint(Style::Bad, "error:"),
        finding.message
    ));
    finding.hint.iter().for_each(|hint| ui.hint(hint));
}

fn usage(error: &clap::Error, json: bool, no_color: bool) -> u8 {
    let ui = Ui::new(Colour::Auto, false, no_color);
    if !error.use_stderr() {
        let Err(error) = ui.answer(&error.to_string()) else {
            return ExitCode::Fine as u8;
        };
        let failure = Failure::from(error);
        report(&failure, json, &ui);
        return failure.exit() as u8;
    }
    if json {
        let error = Error::new(Code::Usage, usage_message(error));
        let _ = ui.document(&ErrorView::of(
            &error.with_hint(Hint::run(&["orch", "--help"])),
        ));
    } else {
        ui.problem(&error.to_string());
    }
    ExitCode::Usage as u8
}

/// What is wrong with a command line, in one line.
fn usage_message(error: &clap::Error) -> String {
    let text = error.to_string();
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned()
}
