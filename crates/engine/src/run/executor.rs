//! One try of an executor: a limited program whose output is logged and searched for a result.

use super::fence::{Fence, FenceReport};
use super::group::{Escapes, RESULT, RunningExecutor};
use super::janitor::{PERFORMER, owner};
use super::limited_program::Supervised;
use super::output::{Output, RESULT_CAP};
use super::program::LimitedProgram;
use super::trial::{Ended, Live};
use orch_base::Reason;
use orch_files::{open_regular, read_up_to};
use orch_git::durable;
use orch_read::{AgentFailure, AgentOutput};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A program that performs work, and where its output and result go.
#[derive(Debug, Clone)]
pub struct Executor {
    /// The program, with the prompt as its input.
    pub program: LimitedProgram,
    /// The path of the log of its output.
    pub log: PathBuf,
    /// The path of its result file, which its environment names.
    pub result: PathBuf,
}

/// The outcome of a try.
#[derive(Debug)]
pub struct Performed {
    /// How the executor ended.
    pub ended: Ended,
    /// The JSON result, or why it is invalid; `None` if there is no result.
    pub result: Option<Result<Value, Reason>>,
    /// What it printed, as far as that is the output of an agent program; its result is above.
    pub printed: AgentOutput,
    /// Why it failed, if it printed plain text that says so.
    pub plain_failure: Option<AgentFailure>,
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
        let mark = format!("{RESULT}={}", self.result.display());
        let output = Output::new(Some(log));
        let escapes = |before| Escapes::Adopted { before };
        let mut program = self.program.clone();
        program.environment.push((PERFORMER.to_owned(), owner()));
        let supervised = program.supervise(output, mark, escapes, running, wants_stop, hear)?;
        let Supervised {
            ended,
            output,
            left_processes,
        } = match supervised {
            Ok(supervised) => supervised,
            Err(why) => {
                let ended = Ended::NotStarted(why);
                return Ok(Performed {
                    ended,
                    result: None,
                    printed: AgentOutput::default(),
                    plain_failure: None,
                    left_processes: false,
                    log_fault: None,
                });
            }
        };
        let ended = match self.program.fence.as_ref().and_then(Fence::report) {
            Some(FenceReport::NotStarted(why)) => Ended::NotStarted(why),
            Some(FenceReport::Refused { step, why, .. }) => {
                let step = step.as_str();
                Ended::NotStarted(format!("cannot put up the fence, step `{step}`: {why}"))
            }
            Some(FenceReport::Up) | None => ended,
        };
        let tail = output.tail();
        let errors = output.errors();
        let mut printed = AgentOutput::read(&tail, &errors);
        let is_plain = !printed.is_wrapped && matches!(ended, Ended::Code(_));
        let plain_failure = if is_plain {
            AgentOutput::plain_failure(&tail, &errors)
        } else {
            None
        };
        let result = read_result(&self.result).or_else(|| printed.result.take().map(Ok));
        let log_fault = output.fault.map(|fault| fault.to_string());
        let log = self.log.display();
        tracing::info!(%log, ?ended, has_result = result.is_some(), left_processes, log_fault, "executor ended");
        Ok(Performed {
            ended,
            result,
            printed,
            plain_failure,
            left_processes,
            log_fault,
        })
    }
}

impl Performed {
    /// The error that the program reported, whatever its exit code.
    #[must_use]
    pub fn failure(&self) -> Option<&AgentFailure> {
        self.printed
            .failure
            .as_ref()
            .or(self.plain_failure.as_ref())
    }
}

/// Reads a result file; `None` if it is missing or contains only white space.
pub(super) fn read_result(path: &std::path::Path) -> Option<Result<Value, Reason>> {
    let file = match open_regular(path) {
        Ok(file) => file?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("cannot read the result: {error}").into())),
    };
    let bytes = match read_up_to(&file, RESULT_CAP as u64) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            // It is rejected, and would only fill the disk.
            durable::remove(durable::parent(path), path);
            return Some(Err(
                format!("the result is larger than {RESULT_CAP} bytes").into()
            ));
        }
        Err(error) => return Some(Err(format!("cannot read the result: {error}").into())),
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(
        serde_json::from_slice(&bytes)
            .map_err(|error| format!("the result is not JSON: {error}").into()),
    )
}
