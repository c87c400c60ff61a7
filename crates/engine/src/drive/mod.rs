//! Drives tasks without further commands: runs and the watch.

mod agent_end;
mod answer;
mod attended;
mod commission;
mod complete;
mod control;
mod driver;
mod foresee;
mod home_settings;
mod interruption;
mod known_task;
mod later;
mod lease_watch;
mod leftovers;
mod looks_ahead;
mod overreach;
mod parallel;
mod perform;
mod program_settings;
mod prompt;
mod publish;
mod recording;
mod rerun;
mod run_lease;
mod run_verification;
mod runs;
mod spent;
mod task_notice;
mod task_trees;
mod trust;
mod turn_commits;
mod turn_fence;
mod verification;
mod verify_health;
mod wake_ups;
mod watch_events;
mod watch_loop;
mod watch_verifier;
mod watching;

pub use crate::watch::Stop;
pub use answer::{Asked, Standstill, answer, extend_list, standstill};
pub use attended::{Attendant, run_attended};
pub use commission::{Commission, commission, no_answer};
pub use control::{Controlled, control, resume};
pub use driver::run;
pub use foresee::foresee_run;
use foresee::{RunAhead, look_ahead};
pub use interruption::Interruption;
pub use later::LaterWork;
pub use lease_watch::LeaseWatch;
pub use orch_fleet::queue::QueueNews;
pub use parallel::{ParallelNews, ParallelOptions, ParallelTask, TaskStage, run_parallel};
pub use prompt::prompt;
pub use publish::catch_up;
pub use rerun::{RecordedVerification, Rerun, rerun};
pub use runs::{RunInfo, last_end, runs, runs_in, work_tree_of_run};
pub use task_notice::TaskNotice;
pub use task_trees::{TreeStanding, task_trees};
pub use trust::{NotificationLeave, Trustee, revoke_trust, trust, trustees};
pub use turn_fence::{FENCED_VARIABLE, examine_fence};
pub use verification::{
    CleanedCheckouts, KnownCheckouts, VerifyEnd, VerifyOptions, VerifyPlan, WantedVerification,
    clean_checkouts, known_checkouts, new_results, plan_verifications, verifications_before,
    verify_wanted,
};
pub use verify_health::examine_verifications;
pub use wake_ups::{WatchPublisher, wake_workers};
pub use watch_events::{OrderRequest, WatchEffect, WatchEvent, WatchMode};
pub use watch_loop::{Waited, WatchHandle, WatchLoop, follow, wait_for};
pub use watch_verifier::{VerifierReport, WatchVerifier};
pub use watching::Watching;

use crate::apply::{Applied, Writer};
use crate::run::{RESULT, RunState, RunningExecutor, unstartable};
use crate::survey::{Error, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint, Period};
use orch_core::config::ExecutorConfig;
use orch_core::decide::{
    Budget, Ending, LimitWait, Mode, NextStep, State, Transition, Usage, Work, next,
};
use orch_core::workflow::{Times, Workflow};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Whether questions are asked; by default as in the previous run, and asked in the first.
    pub mode: Option<Mode>,
    /// A limit on turns, below that of the workflow.
    pub max_turns: Option<u32>,
    /// The command for all work, instead of the configured executors.
    pub command: Vec<String>,
    /// Whether to start what `orch.toml` names in this run without the trust of a person.
    pub trust: bool,
    /// Whether to start the next executor although a limit of the last one has not passed.
    pub no_wait: bool,
    /// The remote to which each step is pushed as it is recorded.
    pub publish: Option<String>,
}

/// Stops a run from another thread.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    is_set: Arc<AtomicBool>,
    running: RunningExecutor,
}

impl StopFlag {
    /// Requests the end of the run.
    pub fn stop(&self) {
        self.is_set.store(true, Ordering::SeqCst);
    }

    /// Ends the executor that runs now at once; for a process that is about to end itself. The run does not go
    /// on while the result lives.
    pub fn kill(&self) -> impl Drop {
        self.running.kill()
    }

    /// Whether the end was requested.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }
}

/// An event during a run.
pub enum Happened<'a> {
    /// The run starts or continues.
    Begun {
        /// The id of the run.
        run: &'a str,
        /// Whether it continues an interrupted run.
        resumed: bool,
    },
    /// An executor starts.
    Turn {
        /// The work that starts.
        work: &'a Work,
        /// The number of the turn, from 1.
        turn: u32,
        /// The maximum number of turns.
        turns: u32,
        /// The path of the executor's log, relative to the repository.
        log: &'a str,
    },
    /// A command of a verification starts.
    Verifies {
        /// The name of the verification.
        name: &'a str,
        /// The program and its arguments.
        argv: &'a [String],
    },
    /// Whether the executors work inside a fence.
    Fence(&'a FenceNews),
    /// The executor, or a verification, has printed a line.
    Line(&'a str),
    /// How long the executor has been running.
    Tick(Period),
    /// A result, a given-up action, an answer or a transition was recorded.
    Applied(&'a Applied),
    /// An agent has finished; its files are evaluated next.
    Done {
        /// The work that was done.
        work: &'a Work,
        /// The message of the agent's result for people.
        message: Option<&'a str>,
    },
    /// A try has failed.
    Failed {
        /// The work that failed.
        work: &'a Work,
        /// The reason for people.
        why: &'a str,
        /// The delay before the next try; `None` if there is none.
        wait: Option<Period>,
    },
    /// The run waits for a limit of an executor.
    Limited {
        /// The work that waits.
        work: &'a Work,
        /// The limit, and until when the run waits.
        limit: &'a LimitWait,
    },
    /// The repository does not allow a commit now; the run tries again.
    Held(&'a Error),
    /// A finding for the user.
    Note(&'a Diagnostic),
}

/// Whether executors work inside a fence, as it was said at the first turn of a phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FenceNews {
    /// They do, and this is what they may write.
    Up(Vec<String>),
    /// They do not, and why.
    None(String),
}

/// How a run ended.
pub struct RunEnd {
    /// The kind of ending.
    pub ending: Ending,
    /// The reason for people.
    pub reason: String,
    /// The task after the run.
    pub sight: Sight,
    /// The id of the run; empty for a dry run.
    pub run: String,
    /// The number of turns used, and its maximum.
    pub turns: (u32, u32),
    /// The cost, as far as executors reported it.
    pub cost: f64,
    /// How many turns were killed before they could report their costs.
    pub unpriced: u32,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Whether the task stays taken: its branch has to be joined yet, or not all of it is pushed.
    pub keeps_lease: bool,
    /// The next step; only for a dry run.
    pub due: Option<NextStep>,
    /// The steps that a run would record before that; only for a dry run.
    pub foreseen: Vec<Transition>,
    /// Whether its last executor worked inside a fence; `None` if nobody wanted one, or none was started.
    pub fence: Option<FenceNews>,
}

impl RunEnd {
    /// Whether a dry run has found a next step.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.due.is_some()
    }

    /// The work that a dry run would start.
    #[must_use]
    pub fn work(&self) -> Option<&Work> {
        match &self.due {
            Some(NextStep::Perform(work)) => Some(work),
            _ => None,
        }
    }
}

/// Receives the events of a run.
pub(super) type Reporter<'a> = dyn FnMut(&Happened<'_>) + 'a;

/// The options of a run, with the command that the run it continues was started with, unless they name another.
/// Returns an error if the record of that run cannot be read.
fn continued(
    writer: &Writer<'_>,
    task: &TaskRef,
    options: &RunOptions,
) -> Result<RunOptions, Error> {
    let mut options = options.clone();
    if options.command.is_empty() {
        let last = writer.workspace.reader.run_files(task).last()?;
        options.command = last
            .filter(RunState::goes_on)
            .map(|last| last.command)
            .unwrap_or_default();
    }
    Ok(options)
}

/// The next step of a run of an evaluated task, after this usage.
fn first_step(
    writer: &Writer<'_>,
    sight: &Sight,
    (usage, budget, mode): (&Usage, &Budget, Mode),
    options: &RunOptions,
) -> NextStep {
    let has = |agent: &str| command_for(writer, [agent], options).is_some();
    match driver::case(sight, &has) {
        Ok(case) => next(&case, usage, budget, mode),
        Err(blocker) => NextStep::End(Ending::Error, blocker.why),
    }
}

/// The first executor, if one has to be started. Returns an error if it cannot be, before a turn is counted or a step
/// recorded. A run with unrecorded work needs no executor.
fn refuse_idle(
    writer: &Writer<'_>,
    sight: &Sight,
    ahead: &RunAhead,
    options: &RunOptions,
) -> Result<Option<ExecutorConfig>, Error> {
    let last = writer.workspace.reader.run_files(&sight.task).last()?;
    if last.is_some_and(|last| last.unsettled().is_some()) {
        return Ok(None);
    }
    let NextStep::Perform(work) = &ahead.due else {
        return Ok(None);
    };
    let (executor, _) = executor_for(writer, sight.workflow(), work, options)?;
    let program = executor.command.first().map_or("", String::as_str);
    let path = writer.caller.path.as_deref().map(std::ffi::OsStr::new);
    match unstartable(program, &writer.workspace.reader.root, path) {
        Some(why) => Err(cannot_start(&why)),
        None => Ok(Some(executor)),
    }
}

/// The executor of the first of these names that has one.
fn command_for<'n>(
    writer: &Writer<'_>,
    names: impl IntoIterator<Item = &'n str>,
    options: &RunOptions,
) -> Option<ExecutorConfig> {
    let configured = writer
        .workspace
        .reader
        .settings
        .config
        .executors
        .find(names);
    if options.command.is_empty() {
        return configured.cloned();
    }
    Some(ExecutorConfig {
        command: options.command.clone(),
        ..configured.cloned().unwrap_or_default()
    })
}

/// The executor for some work, and its time limits. Returns an error if none is configured.
fn executor_for(
    writer: &Writer<'_>,
    workflow: &Workflow,
    work: &Work,
    options: &RunOptions,
) -> Result<(ExecutorConfig, Times), Error> {
    let action = work.action().and_then(|action| workflow.action(action));
    let named = action.and_then(|action| action.executor.as_deref());
    let executor = command_for(writer, named.into_iter().chain([work.name()]), options);
    let executor = executor.ok_or_else(|| {
        let hint = Hint::from("add [executor.default] with a command to orch.toml").or(&RUN_ONCE);
        no_executor(named.unwrap_or(work.name())).with_hint(hint)
    })?;
    let times = action
        .map(|action| action.times)
        .unwrap_or_default()
        .or(executor.times);
    Ok((executor, times))
}

/// The variables added to the environment of an executor for an attempt at some work; `result` is where its result may
/// be.
fn executor_environment(
    writer: &Writer<'_>,
    task: &TaskRef,
    (work, attempt): (&str, u32),
    result: &Path,
) -> Vec<(String, String)> {
    let state = task.state_path().under(writer.workspace.reader.root());
    [
        ("ORCH_TASK", task.id.to_string()),
        ("ORCH_ACTION", work.to_owned()),
        ("ORCH_ATTEMPT", attempt.to_string()),
        ("ORCH_STATE", state.display().to_string()),
        (RESULT, result.display().to_string()),
        ("ORCH_ACTOR", format!("agent:{work}")),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .chain(writer.workspace.environment.for_executors())
    .collect()
}

/// The error for work that no executor is configured for.
/// The command that runs a task without a configured executor.
const RUN_ONCE: [&str; 5] = ["orch", "run", "TASK", "--", "COMMAND"];

fn no_executor(name: &str) -> Error {
    Error::new(
        Code::NoExecutor,
        format!("no executor is configured for `{name}`"),
    )
    .with_hint("add [executor.default] with a command to orch.toml")
}

/// The limits of a run.
fn budget(workflow: &Workflow, options: &RunOptions) -> Budget {
    let limits = &workflow.limits;
    let turns = options
        .max_turns
        .map_or(limits.turns, |turns| turns.min(limits.turns));
    Budget {
        turns,
        time: limits.time,
        cost: limits.cost,
    }
}

fn state_of(sight: &Sight) -> Result<&State, Error> {
    sight
        .state()
        .ok_or_else(|| sight.unusable(Hint::run(&["orch", "recover", sight.task.id.as_str()])))
}

/// The error for an executor that cannot be started, because of the configuration or the command line.
fn cannot_start(why: &str) -> Error {
    let hint = Hint::from("correct `command` in [executor.*] of orch.toml").or(&RUN_ONCE);
    Diagnostic::error(Code::CannotStart, why).hint(hint).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server runs its watch in one thread, sends orders from others, and drives any number of tasks.
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
        is_send::<orch_core::decide::RunMachine>();
    }
}
