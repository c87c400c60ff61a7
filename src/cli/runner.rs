//! Executes command lines in this process for the clients of a server, and keeps what they print.

use crate::cli::described::described;
use crate::cli::logging::Logging;
use crate::cli::pager::Pager;
use crate::cli::{
    Cli, Command, Context, ExitCode, Failure, Global, Interrupts, Ui, commands, report,
    usage_message,
};
use clap::Parser;
use orch_base::{Code, Error};
use orch_engine::apply::CommitGroup;
use orch_engine::survey::{Caller, KnownSettings, Purpose, Workspace};
use orch_serve::{CallTerms, CommandDescriptions, CommandRunner, Executed};
use orch_view::{ErrorView, line};
use std::path::PathBuf;
use std::sync::Arc;

/// Executes command lines where the server was started.
pub struct CommandLineRunner {
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

impl CommandLineRunner {
    /// Commands are executed as if they were typed where this process was started.
    pub fn of(context: &Context) -> Self {
        Self {
            caller: context.caller.clone(),
            start: context.start.clone(),
            task_in_use: context.global.task_in_use.clone(),
            interrupts: context.interrupts.clone(),
            logging: Arc::clone(&context.logging),
            settings: context.settings.clone().unwrap_or_default(),
            group: context.group.clone().unwrap_or_default(),
        }
    }
}

impl CommandRunner for CommandLineRunner {
    fn commands(&self) -> CommandDescriptions {
        described()
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn workspace(&self) -> Result<Workspace, Error> {
        let environment = self.caller.environment.clone();
        Workspace::open_for(
            Purpose::Look,
            &self.start,
            environment,
            Some(&self.settings),
        )
    }

    fn execute(&self, caller: Caller, words: &[String], terms: CallTerms) -> Executed {
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
                    exit: ExitCode::Usage as u8,
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
                task_in_use: cli.global.task_in_use.or_else(|| self.task_in_use.clone()),
                ..cli.global
            },
            caller,
            start: self.start.clone(),
            interrupts: match terms.interruption {
                Some(interruption) => self.interrupts.of_served_command(interruption),
                None => self.interrupts.clone(),
            },
            whole_ids: terms.whole_ids,
            later: terms.later,
            settings: Some(self.settings.clone()),
            group: Some(Arc::clone(&self.group)),
            logging: Arc::clone(&self.logging),
            pager: Pager::default(),
        };
        let result = commands::run(cli.command, &context, &ui);
        let (exit, failure) = result.map_or_else(
            |failure| (failure.exit(), Some(failure)),
            |exit| (exit, None),
        );
        if let Some(failure) = &failure {
            report(failure, context.global.json, &ui);
        }
        let error = failure.and_then(Failure::into_error);
        Executed {
            exit: exit as u8,
            printed: printed.take(),
            error,
        }
    }
}
