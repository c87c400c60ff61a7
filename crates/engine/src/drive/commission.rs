//! A commission: an executor is asked for one JSON object, outside a run. Nothing of it is recorded here.

use super::agent_end::TurnEnd;
use super::leftovers::{COMMISSION as NAME, end_left};
use super::perform::executor_patience;
use super::trust::refuse_untrusted;
use super::{RunOptions, StopFlag, cannot_start, command_for, executor_environment, no_executor};
use crate::apply::Writer;
use crate::run::{
    Executor, LimitedProgram, Live, Process, adopt_orphans, start_janitor, unstartable,
};
use crate::survey::TaskRef;
use orch_base::{Code, Error, Period};
use orch_core::decide::ExecutorExit;
use orch_files::io_error;
use serde_json::Value;
use std::ffi::OsStr;

/// What an executor is asked for.
#[derive(Debug, Clone)]
pub struct Commission<'c> {
    /// The name of the executor; that of `generate`, or the default, if none has it.
    pub executor: Option<&'c str>,
    /// The text on its standard input.
    pub prompt: String,
    /// The longest that it may take. Its own time limits hold, too.
    pub limit: Period,
    /// Whether it may be started without the trust of a person.
    pub trust: bool,
}

/// Starts the executor, and waits for its answer; meanwhile nothing else drives the task. `stop` ends it.
///
/// # Errors
///
/// No executor is configured, it is not trusted or cannot be started, another process drives the task, or there is no
/// answer: it failed, took too long, was stopped, or printed none.
pub fn commission(
    writer: &Writer<'_>,
    task: &TaskRef,
    commission: &Commission<'_>,
    stop: &StopFlag,
) -> Result<Value, Error> {
    let options = RunOptions {
        trust: commission.trust,
        ..RunOptions::default()
    };
    let names = commission.executor.into_iter().chain([NAME]);
    let config = command_for(writer, names, &options).ok_or_else(|| no_executor(NAME))?;
    refuse_untrusted(writer, &config.command, &options)?;
    let root = writer.workspace.reader.root();
    let program = config.command.first().map_or("", String::as_str);
    if let Some(why) = unstartable(program, root, writer.caller.path.as_deref().map(OsStr::new)) {
        return Err(cannot_start(&why));
    }
    let files = writer.workspace.reader.run_files(task);
    let driven = || Error::busy(format!("another process runs task `{}`", task.id));
    let _lock = files.keep_idle()?.ok_or_else(driven)?;
    files.create()?;
    adopt_orphans();
    end_left(&files);
    let mut times = config.times;
    times.hard = Some(
        times
            .hard
            .map_or(commission.limit, |hard| hard.min(commission.limit)),
    );
    let result = files.result(NAME);
    let program = LimitedProgram {
        argv: config.command,
        directory: root.to_owned(),
        environment: executor_environment(writer, task, (NAME, 1), &result),
        input: commission.prompt.clone(),
        times,
        grace: config.grace,
        fence: None,
    };
    let executor = Executor {
        program,
        log: files.log(NAME),
        result,
    };
    start_janitor(executor_patience(&writer.workspace.reader.settings.config));
    let performed = executor.perform(
        files.begin_try(NAME)?,
        &stop.running,
        &|| stop.is_set(),
        &mut |live| {
            if let Live::Started { group, at } = live
                && let Err(error) = files.keep_process(NAME, &Process::new(group, at))
            {
                tracing::warn!(
                    error = error.logged(),
                    "cannot record the start of the executor"
                );
            }
        },
    );
    files.drop_process(NAME);
    let performed = performed.map_err(|source| io_error(&executor.log, source))?;
    files.drop_result(NAME);
    match TurnEnd::of(writer, &executor.program.argv, &[], &performed).exit() {
        ExecutorExit::Well => {}
        ExecutorExit::Stopped => {
            return Err(Error::new(Code::Interrupted, "the executor was stopped"));
        }
        ExecutorExit::NotStarted(why) => return Err(cannot_start(&why)),
        ExecutorExit::Badly(why) | ExecutorExit::TooLong(why) | ExecutorExit::Hopeless(why) => {
            return Err(no_answer(&why));
        }
        ExecutorExit::Limited(limit) => return Err(no_answer(&limit.why)),
    }
    match performed.result {
        Some(result) => result.map_err(|why| no_answer(why.as_str())),
        None => Err(no_answer(
            "it printed no JSON object, and wrote none to ORCH_RESULT",
        )),
    }
}

/// The error for an executor that has given no answer that can be used.
pub fn no_answer(why: &str) -> Error {
    let hint = format!("its output is in `.orch/logs/{NAME}.log` of the task");
    Error::new(
        Code::GenerationFailed,
        format!("the executor gave no answer that can be used: {why}"),
    )
    .with_hint(hint)
}
