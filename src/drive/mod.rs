//! Driving a task: decide, perform, record, again, until the pure core says that it is over.

mod answer;
mod attended;
mod control;
mod driver;
mod perform;
mod recording;
mod runs;
mod watch_loop;
mod watching;

pub use answer::{Asked, Standstill, answer, standstill};
pub use attended::{Attendant, run_attended};
pub use control::{Controlled, control, resume};
pub use driver::run;
pub use runs::{RunInfo, runs};
pub use watch_loop::{Waited, WatchHandle, WatchLoop, wait_for};
pub use watching::{OrderRequest, WatchEffect, WatchEvent, Watching};

use crate::apply::{Applied, Writer};
use crate::base::{Code, Diagnostic, Period, TaskId, command};
use crate::config::ExecutorConfig;
use crate::decide::{Budget, Ending, Mode, NextStep, State, Usage, Work, next};
use crate::run::{RunFiles, RunningExecutor, unstartable};
use crate::survey::{Error, Sight, TaskRef};
use crate::workflow::{Times, Workflow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a run is to go.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Whether people are asked; by default as before, at first yes.
    pub mode: Option<Mode>,
    /// A limit below the workflow's own.
    pub max_turns: Option<u32>,
    /// The command that performs everything, instead of those in the settings.
    pub command: Vec<String>,
}

/// Says from another thread that the run should end.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    is_set: Arc<AtomicBool>,
    running: RunningExecutor,
}

impl StopFlag {
    /// Wants the end.
    pub fn stop(&self) {
        self.is_set.store(true, Ordering::SeqCst);
    }

    /// Ends the executor that runs now at once; for a process that is about to end itself.
    pub fn kill(&self) {
        self.running.kill();
    }

    pub(super) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }
}

/// What happens while a task is driven.
pub enum Happened<'a> {
    /// The run begins, or goes on where another one was interrupted.
    Begun {
        /// Its id.
        run: &'a str,
        /// Whether it goes on.
        resumed: bool,
    },
    /// An executor starts.
    Turn {
        /// What it performs.
        work: &'a Work,
        /// The number of the turn, from 1.
        turn: u32,
        /// How many there may be.
        turns: u32,
        /// Where its output is kept, below the repository.
        log: &'a str,
    },
    /// It has printed a line.
    Line(&'a str),
    /// It has run so long.
    Tick(Period),
    /// A result was accepted, an action given up, a question answered, a transition applied.
    Applied(&'a Applied),
    /// The work of an agent is done; its files will say what came of it.
    Done {
        /// What was performed.
        work: &'a Work,
        /// What it says to whoever watches.
        message: Option<&'a str>,
    },
    /// A try has failed.
    Failed {
        /// What was performed.
        work: &'a Work,
        /// Why.
        why: &'a str,
        /// How long is waited before the next try.
        wait: Option<Period>,
    },
    /// The repository does not allow a record now; it is tried again.
    Held(&'a Error),
    /// Something that whoever watches should know.
    Note(&'a Diagnostic),
}

/// How a run ended.
pub struct RunEnd {
    /// How.
    pub ending: Ending,
    /// Why.
    pub reason: String,
    /// The task as it stands.
    pub judged: Sight,
    /// Its id; empty for a dry run.
    pub run: String,
    /// How many turns it has used, and may use.
    pub turns: (u32, u32),
    /// What it has cost, as far as was reported.
    pub cost: f64,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// What it would do next: for a dry run.
    pub due: Option<NextStep>,
}

impl RunEnd {
    /// Whether a dry run has found something to do.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.due.is_some()
    }

    /// What a dry run would perform.
    #[must_use]
    pub fn work(&self) -> Option<&Work> {
        match &self.due {
            Some(NextStep::Perform(work)) => Some(work),
            _ => None,
        }
    }
}

/// What hears of it.
pub(super) type Tell<'a> = dyn FnMut(&Happened<'_>) + 'a;

/// What a run would do now; nothing is written and nobody is started.
pub fn foresee_run(writer: &Writer<'_>, task: &TaskRef, options: &RunOptions) -> Result<RunEnd, Error> {
    let judged = writer.workspace.look(task)?;
    refuse_untracked(&judged)?;
    let workflow = judged.workflow();
    let mode = options.mode.or(state_of(&judged)?.run.mode).unwrap_or(Mode::Interactive);
    let budget = budget(workflow, options);
    let due = first_step(writer, &judged, &budget, mode, options)?;
    let (ending, reason) = match &due {
        NextStep::End(ending, reason) => (*ending, reason.clone()),
        NextStep::Perform(work) => (Ending::Waiting, format!("`{}` would be performed", work.name())),
        NextStep::GiveUp(failed) => (Ending::Waiting, format!("`{}` would be given up", failed.action)),
        NextStep::Answer(answer) => {
            (Ending::Waiting, format!("question `{}` would be answered by its default", answer.ask))
        }
        NextStep::Apply => (Ending::Waiting, format!("a transition is due: {}", judged.decision.reason)),
    };
    let due = (!matches!(due, NextStep::End(..))).then_some(due);
    let turns = (0, budget.turns);
    Ok(RunEnd { ending, reason, judged, run: String::new(), turns, cost: 0.0, interrupted: false, due })
}

/// What comes first in a new run of a judged task.
fn first_step(
    writer: &Writer<'_>,
    judged: &Sight,
    budget: &Budget,
    mode: Mode,
    options: &RunOptions,
) -> Result<NextStep, Error> {
    let has = |agent: &str| command_for(writer, [agent], options).is_some();
    Ok(match driver::case(judged, &has) {
        Ok(case) => next(&case, &Usage::default(), budget, mode),
        Err(blocker) => NextStep::End(Ending::Error, blocker.why),
    })
}

/// Refuses a run whose first executor cannot be started, before anything is counted or recorded. What
/// an earlier one left needs none.
fn refuse_idle(writer: &Writer<'_>, judged: &Sight, options: &RunOptions) -> Result<(), Error> {
    let last = RunFiles::of(&writer.workspace.root, &judged.task.directory).read()?;
    if last.is_some_and(|last| last.unsettled().is_some()) {
        return Ok(());
    }
    let workflow = judged.workflow();
    let mode = options.mode.or(state_of(judged)?.run.mode).unwrap_or(Mode::Interactive);
    let NextStep::Perform(work) = first_step(writer, judged, &budget(workflow, options), mode, options)?
    else {
        return Ok(());
    };
    let (executor, _) = executor_for(writer, workflow, &work, options)?;
    let program = executor.command.first().map_or("", String::as_str);
    let path = writer.caller.path.as_deref().map(std::ffi::OsStr::new);
    match unstartable(program, &writer.workspace.root, path) {
        Some(why) => Err(cannot_start(&why)),
        None => Ok(()),
    }
}

/// The executor of the first of these names that has one.
fn command_for<'n>(
    writer: &Writer<'_>,
    names: impl IntoIterator<Item = &'n str>,
    options: &RunOptions,
) -> Option<ExecutorConfig> {
    let configured = writer.workspace.setting.config.executors.find(names);
    if options.command.is_empty() {
        return configured.cloned();
    }
    Some(ExecutorConfig { command: options.command.clone(), ..configured.cloned().unwrap_or_default() })
}

/// What performs a work, and how long it may take.
fn executor_for(
    writer: &Writer<'_>,
    workflow: &Workflow,
    work: &Work,
    options: &RunOptions,
) -> Result<(ExecutorConfig, Times), Error> {
    let action = work.action().and_then(|action| workflow.action(action));
    let named = action.and_then(|action| action.executor.as_deref());
    let executor = command_for(writer, named.into_iter().chain([work.name()]), options);
    let Some(executor) = executor else {
        let name = named.unwrap_or(work.name());
        let message = format!("nothing performs `{name}`: no executor is configured for it");
        let hint = "add [executor.default] with its command to orch.toml, or: orch run TASK -- COMMAND";
        return Err(Diagnostic::error(Code::NoExecutor, message).hint(hint).into());
    };
    let times = action.map(|action| action.times).unwrap_or_default().or(executor.times);
    Ok((executor, times))
}

/// What a run may use.
fn budget(workflow: &Workflow, options: &RunOptions) -> Budget {
    let limits = &workflow.limits;
    let turns = options.max_turns.map_or(limits.turns, |turns| turns.min(limits.turns));
    Budget { turns, time: limits.time, cost: limits.cost }
}

fn state_of(judged: &Sight) -> Result<&State, Error> {
    judged.state().ok_or_else(|| {
        let hint = Some(command(&["orch", "recover", judged.task.id.as_str()]));
        Error::new(Code::StateUnusable, judged.decision.reason.clone()).with_hint(hint)
    })
}

fn refuse_untracked(judged: &Sight) -> Result<(), Error> {
    if judged.untracked {
        let hint = command(&["orch", "new", judged.task.id.as_str()]);
        return Err(Diagnostic::error(Code::Untracked, not_here(&judged.task.id)).hint(hint).into());
    }
    Ok(())
}

fn not_here(task: &TaskId) -> String {
    format!("no state of `{task}` is on this branch")
}

/// An executor that nobody could start: a slip of the settings or of the command line.
fn cannot_start(why: &str) -> Error {
    let hint = "see `command` in [executor.*] of orch.toml, or: orch run TASK -- COMMAND";
    Diagnostic::error(Code::CannotStart, why).hint(hint).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server has its watch on a thread of its own, orders from others, and runs on as many as it likes.
    #[test]
    fn what_goes_on_by_itself_can_be_sent() {
        fn is_send<T: Send>() {}
        is_send::<Watching>();
        is_send::<WatchLoop>();
        is_send::<WatchHandle>();
        is_send::<OrderRequest>();
        is_send::<WatchEffect>();
        is_send::<Applied>();
        is_send::<StopFlag>();
        is_send::<RunOptions>();
        is_send::<RunEnd>();
        is_send::<crate::decide::RunMachine>();
    }
}
