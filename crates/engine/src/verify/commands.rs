//! Runs the programs of a table in a checkout, and says when one cannot be run or was ended.

use super::{CouldNotRun, VerifyEvent, VerifyWatch};
use crate::run::{Ended, NetworkFence, SessionEnd, SessionLog, SessionProgram, unstartable};
use orch_base::{Period, command};
use orch_core::verification::NotRun;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

/// Where programs run, and with what.
pub(super) struct CommandRoom<'c> {
    pub directory: &'c Path,
    pub environment: &'c BTreeMap<String, String>,
    pub grace: Period,
    /// See [`SessionProgram::mark`].
    pub mark: &'c str,
}

/// The time that several programs have together.
pub(super) struct TimeLeft {
    begun: Instant,
    limit: Period,
}

impl TimeLeft {
    pub(super) fn new(limit: Period) -> Self {
        Self {
            begun: Instant::now(),
            limit,
        }
    }

    /// The milliseconds since the start.
    pub(super) fn passed(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn rest(&self) -> Period {
        self.limit.without(Period::from_milliseconds(self.passed()))
    }
}

impl CommandRoom<'_> {
    /// Runs a program. Returns how it ended of its own accord, or why it did not.
    pub(super) fn run(
        &self,
        argv: &[String],
        fence: Option<&NetworkFence>,
        time: &TimeLeft,
        log: &mut SessionLog,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<SessionEnd, CouldNotRun> {
        let shown = command(argv);
        let failed = |reason, message: String, log: &SessionLog| {
            let mut why = CouldNotRun::new(reason, message);
            why.log = Some(log.path().to_owned());
            why
        };
        let path = self.environment.get("PATH").map(OsStr::new);
        let program = argv.first().map_or("", String::as_str);
        if let Some(message) = unstartable(program, self.directory, path) {
            let mut why = failed(NotRun::Command, message, log);
            why.hint = Some(
                "install it, or let `setup` make it; virtual environments and directories of the repository are not \
                 on the PATH of a verification"
                    .into(),
            );
            return Err(why);
        }
        if log.note(&format!("$ {shown}")).is_err() {
            let message = "the log cannot be written".to_owned();
            return Err(failed(NotRun::System, message, log));
        }
        let fenced = fence.map(|fence| fence.around(argv));
        let program = SessionProgram {
            argv: fenced.as_deref().unwrap_or(argv),
            directory: self.directory,
            environment: self.environment,
            mark: self.mark,
            limit: time.rest(),
            grace: self.grace,
        };
        let hear = &mut watch.hear;
        let ended = program.run(log, watch.wants_stop, &mut |heard| {
            hear(match heard {
                Ok(line) => VerifyEvent::Line(line),
                Err(passed) => VerifyEvent::Tick(passed),
            });
        });
        match ended {
            Ok(end) => match &end.ended {
                Ended::TooLong(_) => {
                    let message = format!("`{shown}` was ended after {}", time.limit);
                    let mut why = failed(NotRun::Limit, message, log);
                    why.hint = Some("raise `timeout` of the table if it needs longer".into());
                    Err(why)
                }
                Ended::Stopped => {
                    let message = format!("`{shown}` was stopped");
                    Err(failed(NotRun::Stopped, message, log))
                }
                _ => Ok(end),
            },
            Err(error) => {
                let message = format!("cannot start `{shown}`: {error}");
                Err(failed(NotRun::Command, message, log))
            }
        }
    }
}
