//! Runs that clients start: each is a command in a thread of its own, which continues after the answer.

use super::live::RunNews;
use crate::{CallTerms, CommandRunner, Executed};
use orch_base::{Code, Error, Hint, locked};
use orch_engine::drive::{Interruption, LaterWork};
use orch_engine::run::RunFiles;
use orch_engine::survey::Caller;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many runs are driven at once.
const MOST: usize = 16;
/// How often a client that started a run looks whether it has begun.
const TICK: Duration = Duration::from_millis(10);

/// How often what is to end is told so: what is about to start an executor hears it a moment later.
const SIGNALS: Duration = Duration::from_millis(50);

/// The runs that this server drives.
#[derive(Clone, Default)]
pub struct StartedRuns(Arc<StartedParts>);

#[derive(Default)]
struct StartedParts {
    driven: Mutex<DrivenRuns>,
    ended: Condvar,
}

#[derive(Default)]
struct DrivenRuns {
    /// How to end the run of each task.
    runs: BTreeMap<String, Interruption>,
    /// How many runs have ended whose notifications are still sent.
    reporting: usize,
    /// Whether the server ends, so that no run begins.
    is_ending: bool,
}

/// What has come of a command that starts a run.
pub enum StartOutcome {
    /// The run continues.
    Begun,
    /// The command has ended.
    Ended(Box<Executed>),
}

/// What a command has done, once it has ended.
#[derive(Clone, Default)]
struct StartedResult(Arc<Mutex<Option<Executed>>>);

impl StartedResult {
    /// Waits until the command has ended, or has begun what it does.
    fn wait(&self, has_begun: impl Fn() -> bool) -> StartOutcome {
        loop {
            if let Some(executed) = locked(&self.0).take() {
                return StartOutcome::Ended(Box::new(executed));
            }
            if has_begun() {
                return StartOutcome::Begun;
            }
            thread::sleep(TICK);
        }
    }
}

/// A command that drives a task.
pub struct DrivingCommand<'c> {
    /// What executes it.
    pub runner: &'c Arc<dyn CommandRunner>,
    /// Who gives it.
    pub caller: Caller,
    /// The task.
    pub task: &'c str,
    /// Its words, without `orch`.
    pub words: Vec<String>,
}

/// The error for a task that somebody drives.
fn busy(task: &str) -> Error {
    Error::new(Code::Busy, format!("a run of `{task}` is in progress"))
        .with_hint(Hint::run(&["orch", "stop", task]))
}

impl StartedRuns {
    /// Executes a command that drives a task, and waits until its run has begun or it has ended. Returns an error if
    /// this server drives the task already, or too many.
    pub(super) fn start(
        &self,
        command: DrivingCommand<'_>,
        news: &RunNews,
    ) -> Result<StartOutcome, Error> {
        let files = run_files(command.runner, command.task)?;
        let news = news.clone();
        let result = self.spawn(command, move |_| news.changed())?;
        Ok(result.wait(|| {
            // Only this server drives the task, or the command fails.
            let run = files
                .read()
                .ok()
                .flatten()
                .filter(|run| run.pid == std::process::id());
            files.is_driven() && run.is_some_and(|run| run.ended().is_none())
        }))
    }

    /// Executes a command that drives a task without a run, and waits until it drives it or has ended; `ended` is
    /// called with what it has done. Returns an error if somebody drives the task already, or this server too many.
    pub fn start_without_run(
        &self,
        command: DrivingCommand<'_>,
        ended: impl FnOnce(&Executed) + Send + 'static,
    ) -> Result<StartOutcome, Error> {
        let files = run_files(command.runner, command.task)?;
        if files.is_driven() {
            return Err(busy(command.task));
        }
        let result = self.spawn(command, ended)?;
        Ok(result.wait(|| files.is_driven()))
    }

    /// Executes a command that drives a task in a thread of its own, and calls `ended` with what it has done.
    fn spawn(
        &self,
        command: DrivingCommand<'_>,
        ended: impl FnOnce(&Executed) + Send + 'static,
    ) -> Result<StartedResult, Error> {
        let DrivingCommand {
            runner,
            caller,
            task,
            words,
        } = command;
        let interruption = Interruption::default();
        let mut driven = locked(&self.0.driven);
        if driven.is_ending {
            return Err(Error::busy("the server ends"));
        }
        if driven.runs.contains_key(task) {
            return Err(busy(task));
        }
        if driven.runs.len() >= MOST {
            return Err(Error::busy(format!(
                "this server already drives {MOST} runs"
            )));
        }
        driven.runs.insert(task.to_owned(), interruption.clone());
        drop(driven);
        let result = StartedResult::default();
        let runs = self.clone();
        let runner = runner.clone();
        let name = task.to_owned();
        let left = result.clone();
        thread::spawn(move || {
            let later = LaterWork::default();
            let terms = CallTerms {
                interruption: Some(interruption),
                whole_ids: true,
                later: Some(later.clone()),
                ..CallTerms::default()
            };
            let executed = runner.execute(caller, &words, terms);
            {
                let mut driven = locked(&runs.0.driven);
                driven.runs.remove(&name);
                driven.reporting += 1;
            }
            runs.0.ended.notify_all();
            ended(&executed);
            *locked(&left.0) = Some(executed);
            later.finish();
            locked(&runs.0.driven).reporting -= 1;
            runs.0.ended.notify_all();
        });
        Ok(result)
    }

    /// Whether this server drives a task.
    pub fn drives(&self, task: &str) -> bool {
        locked(&self.0.driven).runs.contains_key(task)
    }

    /// Ends what drives a task as Ctrl-C does, and waits until it has ended, at most until `patience` is over. Returns
    /// whether it has.
    pub fn end_one(&self, task: &str, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut driven = locked(&self.0.driven);
        while let Some(interruption) = driven.runs.get(task).filter(|_| Instant::now() < until) {
            let _has_heard = interruption.interrupt();
            let waited = self.0.ended.wait_timeout(driven, SIGNALS);
            driven = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        !driven.runs.contains_key(task)
    }

    /// Ends all runs as Ctrl-C does, and waits until they have ended and their notifications are sent, at most until
    /// `patience` is over. They can be continued. No other run begins.
    pub(super) fn end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut driven = locked(&self.0.driven);
        driven.is_ending = true;
        while (!driven.runs.is_empty() || driven.reporting > 0) && Instant::now() < until {
            for interruption in driven.runs.values() {
                let _has_heard = interruption.interrupt();
            }
            let waited = self.0.ended.wait_timeout(driven, SIGNALS);
            driven = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The files of the last run of a task.
pub fn run_files(runner: &Arc<dyn CommandRunner>, task: &str) -> Result<RunFiles, Error> {
    let (workspace, task) = runner.task(task)?;
    Ok(workspace.reader().run_files(&task))
}
