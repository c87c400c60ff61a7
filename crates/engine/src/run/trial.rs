//! The supervision of one try: reads output and enforces time limits.

use super::child_process::ChildProcess;
use super::group::Group;
use super::lines::Lines;
use super::output::Output;
use super::pipes::Pipes;
use orch_base::Period;
use orch_core::workflow::Times;
use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How often stop requests and limits are checked.
const TICK: Duration = Duration::from_millis(50);

/// How long to read remaining output after everything has ended. Only a process that survives SIGKILL could
/// use it up.
const REST: Duration = Duration::from_secs(2);

/// An event of a running executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live<'a> {
    /// The process was started.
    Started {
        /// The id of its process group.
        group: i32,
        /// The start time of the group's leader, in clock ticks after boot.
        at: Option<u64>,
    },
    /// It has printed a line.
    Line(&'a str),
    /// The time since it was started.
    Tick(Duration),
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It exited with code 0.
    Well,
    /// It exited with another code.
    Code(i32),
    /// It was ended by a signal.
    Signal(i32),
    /// It exceeded its time limit.
    TooLong(Period),
    /// It printed nothing for too long.
    Silent(Period),
    /// It was stopped on request.
    Stopped,
    /// It could not be started.
    NotStarted(String),
}

/// A running executor with its pipes, its log and its limits.
pub(super) struct ExecutorTry {
    times: Times,
    grace: Period,
    pub group: Group,
    pipes: Pipes,
    pub output: Output,
    answer: Lines,
    rest: Lines,
    begun: Instant,
    /// When it last printed something.
    heard: Instant,
    /// When the last tick was sent.
    ticked: Instant,
    /// When SIGTERM was sent, and how the try fails because of it. Without a reason, a result still counts.
    asked: Option<(Instant, Option<Ended>)>,
}

impl ExecutorTry {
    /// Starts supervising an executor: its limits and grace period, its processes, its pipes, and its log.
    pub(super) fn new(
        (times, grace): (Times, Period),
        group: Group,
        pipes: Pipes,
        output: Output,
    ) -> Self {
        let now = Instant::now();
        let answer = Lines::default();
        let rest = Lines::default();
        Self {
            times,
            grace,
            group,
            pipes,
            output,
            answer,
            rest,
            begun: now,
            heard: now,
            ticked: now,
            asked: None,
        }
    }

    /// Waits for the end of the executor, and enforces it if a limit is reached or a stop is requested.
    /// Returns its exit status and why it was ended; an error if it cannot be waited for.
    pub(super) fn wait(
        &mut self,
        child: &ChildProcess,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<(ExitStatus, Option<Ended>)> {
        let mut pause = Duration::from_millis(1);
        loop {
            // If nothing tells of the end, an executor whose output is closed has ended or is about to; otherwise
            // check less and less often.
            self.pipes
                .wait(if self.pipes.are_silent() { pause } else { TICK });
            pause = if self.pipes.are_silent() {
                TICK.min(pause * 2)
            } else {
                pause
            };
            self.listen(hear);
            if let Some(status) = child.try_wait()? {
                let cut = self.asked.take().and_then(|(_, why)| why);
                return Ok((status, cut));
            }
            if self.ticked.elapsed() >= TICK {
                self.ticked = Instant::now();
                hear(Live::Tick(self.begun.elapsed()));
            }
            self.watch_the_clock(wants_stop);
        }
    }

    /// Reads what remains in the pipes after all writers have ended.
    pub(super) fn finish(&mut self, hear: &mut dyn FnMut(Live<'_>)) {
        let until = Instant::now() + REST;
        while self.listen(hear) && Instant::now() < until {}
        for lines in [&mut self.answer, &mut self.rest] {
            lines.flush(|line| hear(Live::Line(line)));
        }
    }

    /// Reads a piece of output, and returns whether there was any.
    fn listen(&mut self, hear: &mut dyn FnMut(Live<'_>)) -> bool {
        let output = &mut self.output;
        let answer = &mut self.answer;
        let rest = &mut self.rest;
        let has_printed = self.pipes.exchange(|bytes, is_answer| {
            output.take(bytes, is_answer);
            let lines = if is_answer { &mut *answer } else { &mut *rest };
            lines.take(bytes, |line| hear(Live::Line(line)));
        });
        if has_printed {
            self.heard = Instant::now();
        }
        has_printed
    }

    /// Sends SIGTERM when it is due, and SIGKILL after the grace period.
    fn watch_the_clock(&mut self, wants_stop: &dyn Fn() -> bool) {
        let times = self.times;
        let grace = millis(self.grace);
        let over = |limit: Option<Period>, since: Instant| {
            limit.filter(|limit| since.elapsed() >= millis(*limit))
        };
        let due = if wants_stop() {
            Some(Ended::Stopped)
        } else if let Some(limit) = over(times.hard, self.begun) {
            Some(Ended::TooLong(limit))
        } else {
            over(times.idle, self.heard).map(Ended::Silent)
        };
        match &mut self.asked {
            None if due.is_some() || over(times.soft, self.begun).is_some() => {
                tracing::info!(why = ?due, "sending SIGTERM to the executor");
                self.group.ask();
                self.asked = Some((Instant::now(), due));
            }
            None => {}
            Some((since, why)) => {
                // After the soft limit the executor may run on to the hard limit, which is then enforced
                // without SIGTERM.
                if why.is_none() && due.is_some() {
                    let is_limit = matches!(due, Some(Ended::TooLong(_)));
                    *why = due;
                    if !is_limit {
                        *since = Instant::now();
                        self.group.ask();
                        return;
                    }
                    self.group.kill();
                }
                if why.is_some() && since.elapsed() >= grace {
                    self.group.kill();
                }
            }
        }
    }
}

/// Converts a period to a duration.
pub(super) fn millis(period: Period) -> Duration {
    Duration::from_millis(period.milliseconds())
}
