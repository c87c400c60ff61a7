//! One try of an executor: started, fed its prompt, listened to, and ended.

use super::group::{Group, RunningExecutor};
use super::output::{Output, RESULT_CAP};
use super::pipes::Pipes;
use super::process_tree;
use super::trial::{Ended, ExecutorTry, Live, millis};
use crate::base::{Period, Reason};
use crate::decide::ActionResult;
use crate::scan::open_regular;
use crate::workflow::Times;
use serde_json::Value;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// What is started, and where what comes of it goes.
#[derive(Debug, Clone)]
pub struct Executor {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// What is added to its environment.
    pub environment: Vec<(String, String)>,
    /// What it reads on its standard input.
    pub prompt: String,
    /// How long it may take.
    pub times: Times,
    /// How long it has between being asked to end and being ended.
    pub grace: Period,
    /// Where its output is kept.
    pub log: PathBuf,
    /// Where it may leave its result.
    pub result: PathBuf,
}

/// What came of a try.
#[derive(Debug)]
pub struct Performed {
    /// How it ended.
    pub ended: Ended,
    /// The JSON that it left, or why there is none; nothing where it left no result at all.
    pub result: Option<Result<Value, Reason>>,
    /// Whether it left processes behind, which were ended.
    pub left_processes: bool,
    /// Why its output could not be kept, if so.
    pub log_fault: Option<String>,
}

impl Executor {
    /// Starts it and waits for its end. `running` names it meanwhile; `wants_stop` is asked again and
    /// again; `hear` is told what happens, and is not to wait for anybody: the clock stands still as long as
    /// it does.
    pub fn perform(
        &self,
        running: &RunningExecutor,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<Performed> {
        let output = Output::create(&self.log)?;
        match fs::remove_file(&self.result) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let before = process_tree::children();
        let mut child = match self.start() {
            Ok(child) => child,
            Err(error) => {
                tracing::warn!(log = %self.log.display(), %error, "the executor could not be started");
                let program = self.argv.first().map_or("", String::as_str);
                let ended = Ended::NotStarted(format!("`{program}` cannot be started: {error}"));
                return Ok(Performed { ended, result: None, left_processes: false, log_fault: None });
            }
        };
        let group = Group::of(&child, before);
        running.put(Some(group.clone()));
        tracing::info!(log = %self.log.display(), group = group.number(), "executor started");
        hear(Live::Started { group: group.number(), at: process_tree::started(group.number()) });
        let pipes = match Pipes::of(&mut child, &self.prompt) {
            Ok(pipes) => pipes,
            Err(error) => {
                group.kill();
                running.put(None);
                child.wait()?;
                return Err(error);
            }
        };
        let mut trial = ExecutorTry::new((self.times, self.grace), group, pipes, output);
        let waited = trial.wait(&mut child, wants_stop, hear);
        let left_processes = trial.group.clear(millis(self.grace));
        running.put(None);
        trial.finish(hear);
        let (status, cut) = waited?;
        let output = trial.output;
        let ended = cut.unwrap_or_else(|| match (status.code(), status.signal()) {
            (Some(0), _) => Ended::Well,
            (Some(code), _) => Ended::Code(code),
            (None, signal) => Ended::Signal(signal.unwrap_or_default()),
        });
        let result = read_result(&self.result).or_else(|| ActionResult::find(&output.tail()).map(Ok));
        let log_fault = output.fault.map(|fault| fault.to_string());
        tracing::info!(?ended, has_result = result.is_some(), left_processes, log_fault, "executor ended");
        Ok(Performed { ended, result, left_processes, log_fault })
    }

    fn start(&self) -> io::Result<Child> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::NotFound)?;
        #[expect(clippy::disallowed_methods, reason = "executors are started here alone, without a shell")]
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

/// The result that lies in a file; `None` where there is none, or nothing in it.
pub(super) fn read_result(path: &std::path::Path) -> Option<Result<Value, Reason>> {
    let file = match open_regular(path) {
        Ok(file) => file?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("the result cannot be read: {error}").into())),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(RESULT_CAP as u64 + 1).read_to_end(&mut bytes) {
        return Some(Err(format!("the result cannot be read: {error}").into()));
    }
    if bytes.len() > RESULT_CAP {
        return Some(Err(format!("the result is larger than {RESULT_CAP} bytes").into()));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(serde_json::from_slice(&bytes).map_err(|error| format!("the result is not JSON: {error}").into()))
}
