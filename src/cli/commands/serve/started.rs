//! Runs that clients start: each is a command in a thread of its own, which goes on after the answer.

use super::live::RunNews;
use crate::base::{Code, Error};
use crate::cli::remote::{CallTerms, CommandRunner, Executed};
use crate::cli::{Interrupts, LaterWork};
use crate::run::RunFiles;
use crate::survey::Caller;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many runs are driven at once.
const MOST: usize = 16;
/// How often a client that started a run looks whether it has begun.
const TICK: Duration = Duration::from_millis(10);

/// The runs that this server drives.
#[derive(Clone, Default)]
pub(super) struct StartedRuns(Arc<StartedParts>);

#[derive(Default)]
struct StartedParts {
    driven: Mutex<DrivenRuns>,
    ended: Condvar,
}

#[derive(Default)]
struct DrivenRuns {
    /// How to end the run of each task.
    runs: BTreeMap<String, Interrupts>,
    /// How many runs have ended whose notifications are still sent.
    telling: usize,
}

/// What has come of a command that starts a run.
pub(super) enum StartOutcome {
    /// The run goes on.
    Begun,
    /// The command has ended.
    Ended(Box<Executed>),
}

impl StartedRuns {
    /// Executes a command that drives a task, and waits until its run has begun or it has ended. Returns an error if
    /// this server drives the task already, or too many.
    pub(super) fn start(
        &self,
        runner: &CommandRunner,
        caller: Caller,
        task: &str,
        words: Vec<String>,
        news: &RunNews,
    ) -> Result<StartOutcome, Error> {
        let (interrupts, files) = (runner.interrupts_of_its_own(), files(runner, task)?);
        let mut driven = self.driven();
        if driven.runs.contains_key(task) {
            return Err(Error::new(Code::Busy, format!("a run of `{task}` is in progress"))
                .with_hint(format!("orch stop {task}")));
        }
        if driven.runs.len() >= MOST {
            return Err(Error::busy(format!("this server drives {MOST} runs already")));
        }
        driven.runs.insert(task.to_owned(), interrupts.clone());
        drop(driven);
        let result: Arc<Mutex<Option<Executed>>> = Arc::default();
        let (runs, runner, name) = (self.clone(), runner.clone(), task.to_owned());
        let (left, news) = (Arc::clone(&result), news.clone());
        thread::spawn(move || {
            let later = LaterWork::default();
            let terms = CallTerms {
                interrupts: Some(interrupts),
                whole_ids: true,
                later: Some(later.clone()),
                ..CallTerms::default()
            };
            let executed = runner.execute(caller, &words, terms);
            *left.lock().unwrap_or_else(PoisonError::into_inner) = Some(executed);
            {
                let mut driven = runs.driven();
                driven.runs.remove(&name);
                driven.telling += 1;
            }
            runs.0.ended.notify_all();
            news.changed();
            later.finish();
            runs.driven().telling -= 1;
            runs.0.ended.notify_all();
        });
        loop {
            if let Some(executed) = result.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Ok(StartOutcome::Ended(Box::new(executed)));
            }
            // Only this server drives the task, or the command fails.
            let run = files.read().ok().flatten().filter(|run| run.pid == std::process::id());
            if files.is_driven() && run.is_some_and(|run| run.ended().is_none()) {
                return Ok(StartOutcome::Begun);
            }
            thread::sleep(TICK);
        }
    }

    /// Whether this server drives a task.
    pub(super) fn drives(&self, task: &str) -> bool {
        self.driven().runs.contains_key(task)
    }

    /// Ends all runs as Ctrl-C does, and waits until they have ended and their notifications are sent, at most until
    /// `patience` is over. They can be continued.
    pub(super) fn end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut driven = self.driven();
        while (!driven.runs.is_empty() || driven.telling > 0) && Instant::now() < until {
            // A run that is about to start an executor takes a signal a moment later.
            driven.runs.values().for_each(Interrupts::interrupt);
            let waited = self.0.ended.wait_timeout(driven, Duration::from_millis(50));
            driven = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn driven(&self) -> MutexGuard<'_, DrivenRuns> {
        self.0.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of the last run of a task.
pub(super) fn files(runner: &CommandRunner, task: &str) -> Result<RunFiles, Error> {
    let (workspace, task) = runner.task(task)?;
    Ok(RunFiles::of(workspace.root(), task.directory()))
}
