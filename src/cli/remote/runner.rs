//! Executes command lines in this process, and keeps what they print.

use crate::cli::logging::Logging;
use crate::cli::pager::Pager;
use crate::cli::{
    Cli, Command, Context, ExitCode, Failure, Global, Interrupts, LaterWork, Ui, commands, report,
    usage_message,
};
use clap::Parser;
use orch_base::{Code, Error, Period};
use orch_core::decide::ActorKind;
use orch_engine::apply::CommitGroup;
#[cfg(feature = "api")]
use orch_engine::survey::TaskRef;
use orch_engine::survey::{Caller, KnownSettings, Purpose, Workspace};
use orch_view::layout::one_line;
use orch_view::{ErrorView, line};
use std::path::PathBuf;
use std::sync::Arc;

/// The most characters of a client's name in a record.
const NAME: usize = 60;

/// Executes command lines where the server was started.
#[derive(Clone)]
pub struct CommandRunner(Arc<RunnerParts>);

struct RunnerParts {
    caller: Caller,
    start: PathBuf,
    task_in_use: Option<String>,
    interrupts: Interrupts,
    logging: Arc<Logging>,
    /// What was compiled of the settings, for every command.
    settings: KnownSettings,
    /// Where the orders of all clients meet.
    group: Arc<CommitGroup>,
}

/// How a command of a client differs from one that is typed.
#[derive(Clone, Default)]
pub struct CallTerms {
    /// What the command does on a signal, it does when these are told so; by default those of the server.
    pub interrupts: Option<Interrupts>,
    /// Whether a task is named by its whole id alone.
    pub whole_ids: bool,
    /// How long the call has waited already. It is deducted from what the command may wait for locks.
    pub waited: Period,
    /// Receives the work that follows the answer; by default the command does it before it answers.
    pub later: Option<LaterWork>,
}

/// What a command has done.
pub struct Executed {
    /// The exit code that its process would have.
    pub exit: ExitCode,
    /// What it printed: one document. A command that fails prints one of the kind `error`.
    pub printed: String,
    /// Why it failed.
    pub error: Option<Error>,
}

impl CommandRunner {
    /// Commands are executed as if they were typed where this process was started.
    pub fn of(context: &Context) -> Self {
        Self(Arc::new(RunnerParts {
            caller: context.caller.clone(),
            start: context.start.clone(),
            task_in_use: context.global.task_in_use.clone(),
            interrupts: context.interrupts.clone(),
            logging: Arc::clone(&context.logging),
            settings: context.settings.clone().unwrap_or_default(),
            group: context.group.clone().unwrap_or_default(),
        }))
    }

    /// Who started the server.
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// An agent, whoever started the server. `client` names it in records, unless the environment does.
    pub fn agent(&self, client: Option<&str>) -> Caller {
        let named = client.map(one_line).filter(|name| !name.trim().is_empty());
        let named = || named.map(|name| name.chars().take(NAME).collect());
        let caller = self.0.caller.clone();
        Caller {
            kind: ActorKind::Agent,
            at_terminal: false,
            name: caller.name.clone().or_else(named),
            ..caller
        }
    }

    /// Executes a command with `--json` for a caller.
    pub fn execute(&self, caller: Caller, words: &[String], terms: CallTerms) -> Executed {
        let (ui, printed) = Ui::keeping();
        let typed = ["orch", "--json"]
            .into_iter()
            .map(str::to_owned)
            .chain(words.iter().cloned());
        let cli = match Cli::try_parse_from(typed) {
            Ok(cli) => cli,
            Err(error) => {
                let error = Error::new(Code::Usage, usage_message(&error));
                let printed = line(&ErrorView::of(&error));
                return Executed {
                    exit: ExitCode::Usage,
                    printed,
                    error: Some(error),
                };
            }
        };
        let context = Context {
            wait: cli
                .command
                .as_ref()
                .and_then(Command::wait)
                .map(|wait| wait.without(terms.waited)),
            global: Global {
                task_in_use: cli
                    .global
                    .task_in_use
                    .or_else(|| self.0.task_in_use.clone()),
                ..cli.global
            },
            caller,
            start: self.0.start.clone(),
            interrupts: terms
                .interrupts
                .unwrap_or_else(|| self.0.interrupts.clone()),
            whole_ids: terms.whole_ids,
            later: terms.later,
            settings: Some(self.0.settings.clone()),
            group: Some(Arc::clone(&self.0.group)),
            logging: Arc::clone(&self.0.logging),
            pager: Pager::default(),
        };
        let result = commands::run(cli.command, &context, &ui);
        let (exit, failure) = result.map_or_else(
            |failure| (failure.exit(), Some(failure)),
            |exit| (exit, None),
        );
        if let Some(failure) = &failure {
            report(failure, &context, &ui);
        }
        let error = failure.and_then(Failure::into_error);
        Executed {
            exit,
            printed: printed.take(),
            error,
        }
    }

    /// Signals for one command: only the server sends them.
    #[cfg(feature = "api")]
    pub fn interrupts_of_its_own(&self) -> Interrupts {
        self.0.interrupts.of_served_command()
    }

    /// The repository as it is now. Returns an error if there is none that can be read.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        let environment = self.0.caller.environment.clone();
        Workspace::open_for(
            Purpose::Look,
            &self.0.start,
            environment,
            Some(&self.0.settings),
        )
    }

    /// The task with exactly this id, and the repository as it is now. Returns an error if there is none.
    #[cfg(feature = "api")]
    pub fn task(&self, id: &str) -> Result<(Workspace, TaskRef), Error> {
        let mut workspace = self.workspace()?;
        workspace.take_whole_ids_alone();
        let task = workspace.finder().task(id)?;
        Ok((workspace, task))
    }
}
