//! A program that is given a text: started in a group of its own, supervised, and ended at its limits with all that it
//! started.

use super::child_process::ChildProcess;
use super::group::{Escapes, Group, RunningExecutor};
use super::output::Output;
use super::pipes::Pipes;
use super::process_tree;
use super::program::LimitedProgram;
use super::trial::{Ended, ExecutorTry, Live, millis};
use std::io;
use std::os::unix::process::ExitStatusExt;

/// How a program ended that was started.
pub(super) struct Supervised {
    pub ended: Ended,
    pub output: Output,
    /// Whether it left processes behind, which were then ended.
    pub left_processes: bool,
}

impl LimitedProgram {
    /// Starts the program and waits for its end. `mark` is an entry of its environment that no other process has.
    /// Returns how it ended and the last line that it printed, and an error if it cannot be waited for.
    pub fn run(&self, mark: &(String, String)) -> io::Result<(Ended, Option<String>)> {
        let mut program = self.clone();
        program.environment.push(mark.clone());
        let mark = format!("{}={}", mark.0, mark.1);
        let mut last = None;
        let mut hear = |live: Live<'_>| {
            if let Live::Line(line) = live
                && !line.trim().is_empty()
            {
                last = Some(line.trim().to_owned());
            }
        };
        let running = RunningExecutor::default();
        let supervised = program.supervise(
            Output::new(None),
            mark,
            |_| Escapes::Marked,
            &running,
            &|| false,
            &mut hear,
        )?;
        Ok((
            supervised.map_or_else(Ended::NotStarted, |supervised| supervised.ended),
            last,
        ))
    }

    /// Starts the program and waits for its end. `mark` is an entry of its environment that no other process has; `escapes`
    /// says how processes are found that have left the group, given the children of this process that existed before.
    /// `running` holds the group meanwhile; `wants_stop` is polled; `hear` receives what happens and must
    /// return quickly, because limits are not checked meanwhile. Returns why it cannot be started, and an error if it
    /// cannot be waited for.
    pub(super) fn supervise(
        &self,
        output: Output,
        mark: String,
        escapes: fn(Vec<i32>) -> Escapes,
        running: &RunningExecutor,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<Result<Supervised, String>> {
        let name = self.argv.first().map_or("", String::as_str);
        let before = process_tree::children();
        let started = running.start(|| {
            let (child, control) = ChildProcess::start(self)?;
            let group = Group::of(child.pid, control, mark, escapes(before));
            Ok((child, group))
        });
        let (mut child, group) = match started {
            Ok(started) => started,
            Err(error) => {
                tracing::warn!(program = name, %error, "cannot start a program");
                return Ok(Err(format!("cannot start `{name}`: {error}")));
            }
        };
        tracing::info!(program = name, group = group.number(), "program started");
        hear(Live::Started {
            group: group.number(),
            at: process_tree::started(group.number()),
        });
        let pipes = match Pipes::of(&mut child, &self.input) {
            Ok(pipes) => pipes,
            Err(error) => {
                group.kill();
                running.clear();
                child.wait()?;
                return Err(error);
            }
        };
        let mut trial = ExecutorTry::new((self.times, self.grace), group, pipes, output);
        let waited = trial.wait(&child, wants_stop, hear);
        let left_processes = trial.group.clear(millis(self.grace));
        running.clear();
        trial.finish(hear);
        let (status, cut) = waited?;
        let ended = cut.unwrap_or_else(|| match (status.code(), status.signal()) {
            (Some(0), _) => Ended::Well,
            (Some(code), _) => Ended::Code(code),
            (None, signal) => Ended::Signal(signal.unwrap_or_default()),
        });
        Ok(Ok(Supervised {
            ended,
            output: trial.output,
            left_processes,
        }))
    }
}
