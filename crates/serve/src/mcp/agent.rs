//! Executes commands of `orch` for an agent.

use super::tools::{AgentTool, tools};
use crate::{CallTerms, CommandRunner};
use orch_base::Period;
use orch_engine::survey::{Error, Workspace};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Executes commands as an agent.
#[derive(Clone)]
pub(super) struct Agent {
    runner: Arc<dyn CommandRunner>,
    /// Is told what a command has printed.
    report: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Agent {
    /// An agent whose commands `runner` executes. `report` gets what a command has printed.
    pub(super) fn by(
        runner: Arc<dyn CommandRunner>,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            runner,
            report: Arc::new(report),
        }
    }

    /// Executes a command and returns the document that it prints. `client` names the agent in records, unless the
    /// environment does; `waited` is how long the call has waited already.
    pub(super) fn execute(
        &self,
        words: &[String],
        client: Option<&str>,
        waited: Duration,
    ) -> String {
        let waited =
            Period::from_milliseconds(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
        let terms = CallTerms {
            waited,
            ..CallTerms::default()
        };
        let printed = self
            .runner
            .execute(self.runner.agent(client), words, terms)
            .printed;
        (self.report)(&printed);
        printed
    }

    /// What comes next, in a sentence or two, for the task that a document is about, or else the one that was named;
    /// `None` if it failed or nothing is known.
    pub(super) fn next_line(&self, printed: &str, named: Option<String>) -> Option<String> {
        let done = document(printed)?;
        if done["kind"] == "error" {
            return None;
        }
        let own = [&done["task"], &done["transitions"][0]["task"]];
        let own = own.iter().find_map(|task| task.as_str());
        let words = ["suggest".to_owned()]
            .into_iter()
            .chain(own.map(str::to_owned).or(named))
            .chain(["--brief".to_owned()]);
        let words: Vec<String> = words.collect();
        let asked = self
            .runner
            .execute(self.runner.agent(None), &words, CallTerms::default());
        let brief = &document(&asked.printed)?["tasks"][0];
        let text = |key: &str| brief[key].as_str().unwrap_or_default();
        let task = text("task");
        let phase = text("currentPhase");
        let reason = text("reason");
        let call = match (text("owner"), brief["command"].as_str()) {
            ("agent", _) => " Call `prompt` for what to write, then `check` and `next`.".to_owned(),
            (_, Some(command)) => format!(" Not for an agent: tell the person about `{command}`."),
            (_, None) => String::new(),
        };
        (!task.is_empty()).then(|| format!("Next for {task} ({phase}): {reason}.{call}"))
    }

    /// The tools that it has.
    pub(super) fn tools(&self) -> Vec<AgentTool> {
        tools(&self.runner.commands())
    }

    /// The repository as it is now. Returns an error if there is none that can be read.
    pub(super) fn workspace(&self) -> Result<Workspace, Error> {
        self.runner.workspace()
    }
}

/// The document that a command printed, if it is one.
pub(super) fn document(printed: &str) -> Option<Value> {
    serde_json::from_str(printed).ok()
}
