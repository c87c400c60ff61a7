//! Executes commands of `orch` for an agent, and keeps what they print.

use crate::base::Code;
use crate::cli::logging::Logging;
use crate::cli::pager::Pager;
use crate::cli::{Cli, Command, Context, Global, Interrupts, Ui, commands, report, usage_message};
use crate::decide::ActorKind;
use crate::survey::{Caller, Error, Workspace};
use crate::view::layout::one_line;
use crate::view::{ErrorView, line};
use clap::Parser;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most characters of a client's name in a record.
const NAME: usize = 60;

/// Executes commands as an agent, one at a time.
#[derive(Clone)]
pub(super) struct Agent(Arc<AgentParts>);

struct AgentParts {
    caller: Caller,
    start: PathBuf,
    task_in_use: Option<String>,
    interrupts: Interrupts,
    logging: Arc<Logging>,
    one: Mutex<()>,
}

impl Agent {
    /// An agent that calls from where this process was started. A person who starts it is none here.
    pub(super) fn of(context: &Context) -> Self {
        let caller = Caller { kind: ActorKind::Agent, at_terminal: false, ..context.caller.clone() };
        Self(Arc::new(AgentParts {
            caller,
            start: context.start.clone(),
            task_in_use: context.global.task_in_use.clone(),
            interrupts: context.interrupts.clone(),
            logging: Arc::clone(&context.logging),
            one: Mutex::default(),
        }))
    }

    /// Executes a command with `--json` and returns the document that it prints; a command that fails prints one of
    /// the kind `error`. `client` names the agent in records, unless the environment does.
    pub(super) fn execute(&self, words: &[String], client: Option<&str>) -> String {
        let _one = self.one();
        let (ui, printed) = Ui::keeping();
        let typed = ["orch", "--json"].into_iter().map(str::to_owned).chain(words.iter().cloned());
        let cli = match Cli::try_parse_from(typed) {
            Ok(cli) => cli,
            Err(error) => return line(&ErrorView::new(Code::Usage, usage_message(&error), None)),
        };
        let mut caller = self.0.caller.clone();
        let named = client.map(one_line).filter(|name| !name.trim().is_empty());
        caller.name = caller.name.or_else(|| named.map(|name| name.chars().take(NAME).collect()));
        let context = Context {
            wait: cli.command.as_ref().and_then(Command::wait),
            global: Global { task_in_use: self.0.task_in_use.clone(), ..cli.global },
            caller,
            start: self.0.start.clone(),
            interrupts: self.0.interrupts.clone(),
            logging: Arc::clone(&self.0.logging),
            pager: Pager::default(),
        };
        if let Err(failure) = commands::run(cli.command, &context, &ui) {
            report(&failure, &context, &ui);
        }
        printed.take()
    }

    /// The repository as it is now. Returns an error if there is none that can be read.
    pub(super) fn workspace(&self) -> Result<Workspace, Error> {
        Workspace::open_to_look(&self.0.start, self.0.caller.environment.clone())
    }

    /// Waits until the command in progress has ended. No other begins.
    pub(super) fn finish(&self) {
        // The lock is kept for the rest of the process, so that a command that waits for it does not begin.
        std::mem::forget(self.one());
    }

    fn one(&self) -> MutexGuard<'_, ()> {
        self.0.one.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The document that a command printed, if it is one.
pub(super) fn document(printed: &str) -> Option<Value> {
    serde_json::from_str(printed).ok()
}
