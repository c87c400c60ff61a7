//! One try of an executor: starts it, passes the prompt, reads its output, and waits for or forces its end.

use super::group::{Group, RunningExecutor};
use super::output::{Output, RESULT_CAP};
use super::pipes::Pipes;
use super::process_tree;
use super::trial::{Ended, ExecutorTry, Live, millis};
use crate::base::{Period, Reason};
use crate::decide::Printed;
use crate::scan::open_regular;
use crate::workflow::Times;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A program to start, and where its output and result go.
#[derive(Debug, Clone)]
pub struct Executor {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The working directory of the process.
    pub directory: PathBuf,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
    /// The text on its standard input.
    pub prompt: String,
    /// Its soft, hard and idle time limits.
    pub times: Times,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Period,
    /// The path of the log of its output.
    pub log: PathBuf,
    /// The path of its result file.
    pub result: PathBuf,
}

/// The outcome of a try.
#[derive(Debug)]
pub struct Performed {
    /// How the executor ended.
    pub ended: Ended,
    /// The JSON result, or why it is invalid; `None` if there is no result.
    pub result: Option<Result<Value, Reason>>,
    /// The cost that the program printed; `None` if it printed none.
    pub cost: Option<f64>,
    /// The error that the program printed, whatever its exit code.
    pub failure: Option<String>,
    /// Whether the executor left processes behind, which were then ended.
    pub left_processes: bool,
    /// Why its output could not be logged, if so.
    pub log_fault: Option<String>,
}

impl Executor {
    /// Starts the executor and waits for its end. `log` receives its output. `running` holds it meanwhile;
    /// `wants_stop` is polled; `hear` receives what happens and must return quickly, because limits are not
    /// checked meanwhile. Returns an error if the process cannot be waited for; a program that cannot be started
    /// is an [`Ended::NotStarted`].
    pub fn perform(
        &self,
        log: File,
        running: &RunningExecutor,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<Performed> {
        let output = Output::new(log);
        let before = process_tree::children();
        let started = running.start(|| {
            let child = self.start()?;
            let group = Group::of(&child, before);
            Ok((child, group))
        });
        let (mut child, group) = match started {
            Ok(started) => started,
            Err(error) => {
                tracing::warn!(log = %self.log.display(), %error, "cannot start the executor");
                let program = self.argv.first().map_or("", String::as_str);
                let ended = Ended::NotStarted(format!("cannot start `{program}`: {error}"));
                return Ok(Performed {
                    ended,
                    result: None,
                    cost: None,
                    failure: None,
                    left_processes: false,
                    log_fault: None,
                });
            }
        };
        tracing::info!(log = %self.log.display(), group = group.number(), "executor started");
        hear(Live::Started { group: group.number(), at: process_tree::started(group.number()) });
        let pipes = match Pipes::of(&mut child, &self.prompt) {
            Ok(pipes) => pipes,
            Err(error) => {
                group.kill();
                running.clear();
                child.wait()?;
                return Err(error);
            }
        };
        let mut trial = ExecutorTry::new((self.times, self.grace), group, pipes, output);
        let waited = trial.wait(&mut child, wants_stop, hear);
        let left_processes = trial.group.clear(millis(self.grace));
        running.clear();
        trial.finish(hear);
        let (status, cut) = waited?;
        let output = trial.output;
        let ended = cut.unwrap_or_else(|| match (status.code(), status.signal()) {
            (Some(0), _) => Ended::Well,
            (Some(code), _) => Ended::Code(code),
            (None, signal) => Ended::Signal(signal.unwrap_or_default()),
        });
        let Printed { result, cost, failure } = Printed::read(&output.tail());
        let result = read_result(&self.result).or_else(|| result.map(Ok));
        let log_fault = output.fault.map(|fault| fault.to_string());
        tracing::info!(?ended, has_result = result.is_some(), left_processes, log_fault, "executor ended");
        Ok(Performed { ended, result, cost, failure, left_processes, log_fault })
    }

    fn start(&self) -> io::Result<Child> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::NotFound)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the only place that starts executors, without a shell"
        )]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.directory)
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    }
}

/// Reads a result file; `None` if it is missing or contains only white space.
pub(super) fn read_result(path: &std::path::Path) -> Option<Result<Value, Reason>> {
    let file = match open_regular(path) {
        Ok(file) => file?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("cannot read the result: {error}").into())),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(RESULT_CAP as u64 + 1).read_to_end(&mut bytes) {
        return Some(Err(format!("cannot read the result: {error}").into()));
    }
    if bytes.len() > RESULT_CAP {
        return Some(Err(format!("the result is larger than {RESULT_CAP} bytes").into()));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(serde_json::from_slice(&bytes).map_err(|error| format!("the result is not JSON: {error}").into()))
}
