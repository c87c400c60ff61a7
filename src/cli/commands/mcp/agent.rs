//! Executes commands of `orch` for an agent, one at a time.

use crate::cli::Context;
use crate::cli::remote::{CallTerms, CommandRunner};
use crate::survey::{Error, Workspace};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Executes commands as an agent.
#[derive(Clone)]
pub(super) struct Agent {
    runner: CommandRunner,
    /// Is told what a command has printed.
    told: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Agent {
    /// An agent that calls from where this process was started. A person who starts it is none here.
    pub(super) fn of(context: &Context) -> Self {
        Self::by(CommandRunner::of(context), |_| {})
    }

    /// An agent whose commands `runner` executes. `told` is told what a command has printed.
    pub(super) fn by(runner: CommandRunner, told: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { runner, told: Arc::new(told) }
    }

    /// Executes a command and returns the document that it prints. `client` names the agent in records, unless the
    /// environment does.
    pub(super) fn execute(&self, words: &[String], client: Option<&str>) -> String {
        let runner = &self.runner;
        let execute = || runner.execute(runner.agent(client), words, CallTerms::default());
        let printed = runner.alone(execute).printed;
        (self.told)(&printed);
        printed
    }

    /// The repository as it is now. Returns an error if there is none that can be read.
    pub(super) fn workspace(&self) -> Result<Workspace, Error> {
        self.runner.workspace()
    }

    /// Waits until the command in progress has ended, at most until `patience` is over. No other begins.
    pub(super) fn finish(&self, patience: Duration) {
        self.runner.finish(patience);
    }
}

/// The document that a command printed, if it is one.
pub(super) fn document(printed: &str) -> Option<Value> {
    serde_json::from_str(printed).ok()
}
