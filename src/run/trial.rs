//! One try as it goes on: what is printed is taken in, and the clock is watched.

use super::group::Group;
use super::lines::Lines;
use super::output::Output;
use super::pipes::Pipes;
use crate::base::Period;
use crate::workflow::Times;
use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How often is looked whether somebody wants an end.
const TICK: Duration = Duration::from_millis(50);

/// How long is read, at most, what was printed before everything ended. Only what outlives even being
/// killed could make use of it.
const REST: Duration = Duration::from_secs(2);

/// What is heard of an executor while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live<'a> {
    /// It has been started: its process group, and when the system says it was.
    Started {
        /// The number of the group.
        group: i32,
        /// When its leader was started, as the system counts.
        at: Option<u64>,
    },
    /// It has printed a line.
    Line(&'a str),
    /// Some time has gone by.
    Tick(Duration),
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself, well.
    Well,
    /// By itself, with a code that is not zero.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took longer than it may.
    TooLong(Period),
    /// It printed nothing for too long.
    Silent(Period),
    /// Somebody wanted it to stop.
    Stopped,
    /// It could not be started.
    NotStarted(String),
}

/// An executor, while it runs.
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
    /// When it was last said that time goes by.
    ticked: Instant,
    /// When it was asked to end, and why it is ended then; without a reason a result still counts.
    asked: Option<(Instant, Option<Ended>)>,
}

impl ExecutorTry {
    /// Begins to listen to what was just started: how long it may take, and its grace, its processes, its
    /// pipes and where its output goes.
    pub(super) fn new((times, grace): (Times, Period), group: Group, pipes: Pipes, output: Output) -> Self {
        let now = Instant::now();
        let (answer, rest) = (Lines::default(), Lines::default());
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

    /// Waits for the end of the executor, and brings it about where that is due.
    pub(super) fn wait(
        &mut self,
        child: &mut Child,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<(ExitStatus, Option<Ended>)> {
        let mut pause = Duration::from_millis(1);
        loop {
            // Who can print no more has ended, or is about to; if not, it is asked less and less often.
            self.pipes.wait(if self.pipes.are_silent() { pause } else { TICK });
            pause = if self.pipes.are_silent() { TICK.min(pause * 2) } else { pause };
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

    /// Takes in what still is in the pipes after everybody who could print has ended.
    pub(super) fn finish(&mut self, hear: &mut dyn FnMut(Live<'_>)) {
        let until = Instant::now() + REST;
        while self.listen(hear) && Instant::now() < until {}
        for lines in [&mut self.answer, &mut self.rest] {
            lines.flush(|line| hear(Live::Line(line)));
        }
    }

    /// Takes in a piece of what was printed, and says whether there was any.
    fn listen(&mut self, hear: &mut dyn FnMut(Live<'_>)) -> bool {
        let (output, answer, rest) = (&mut self.output, &mut self.answer, &mut self.rest);
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

    /// Asks it to end where it is time, and ends it where it was asked long enough ago.
    fn watch_the_clock(&mut self, wants_stop: &dyn Fn() -> bool) {
        let (times, grace) = (self.times, millis(self.grace));
        let over =
            |limit: Option<Period>, since: Instant| limit.filter(|limit| since.elapsed() >= millis(*limit));
        let due = if wants_stop() {
            Some(Ended::Stopped)
        } else if let Some(limit) = over(times.hard, self.begun) {
            Some(Ended::TooLong(limit))
        } else {
            over(times.idle, self.heard).map(Ended::Silent)
        };
        match &mut self.asked {
            None if due.is_some() || over(times.soft, self.begun).is_some() => {
                tracing::info!(why = ?due, "the executor is asked to end");
                self.group.ask();
                self.asked = Some((Instant::now(), due));
            }
            None => {}
            Some((since, why)) => {
                // After a soft limit it may go on to the hard one; then there is no more asking.
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

/// A period as the clock counts it.
pub(super) fn millis(period: Period) -> Duration {
    Duration::from_millis(period.milliseconds())
}
