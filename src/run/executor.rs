//! One try of an executor: started, fed its prompt, listened to, and ended.

use super::group::Group;
use super::lines::Lines;
use super::output::{Output, RESULT_CAP};
use super::strays;
use crate::base::Period;
use crate::decide::ActionResult;
use crate::scan::open_regular;
use crate::workflow::Times;
use serde_json::Value;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

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

/// What came of a try.
#[derive(Debug)]
pub struct Performed {
    /// How it ended.
    pub ended: Ended,
    /// The JSON that it left, or why there is none; nothing where it left no result at all.
    pub result: Option<Result<Value, String>>,
    /// Whether it left processes behind, which were ended.
    pub left_processes: bool,
    /// Why its output could not be kept, if so.
    pub log_fault: Option<String>,
}

/// How often is looked whether somebody wants an end.
const TICK: Duration = Duration::from_millis(50);

/// Something that an executor printed; `true` for standard output.
type Chunk = (bool, Vec<u8>);

impl Executor {
    /// Starts it and waits for its end. `wants_stop` is asked again and again; `hear` is told what
    /// happens meanwhile.
    pub fn perform(
        &self,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<Performed> {
        let mut output = Output::create(&self.log)?;
        match fs::remove_file(&self.result) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut child = match self.start() {
            Ok(child) => child,
            Err(error) => {
                let program = self.argv.first().map_or("", String::as_str);
                let ended = Ended::NotStarted(format!("`{program}` cannot be started: {error}"));
                return Ok(Performed { ended, result: None, left_processes: false, log_fault: None });
            }
        };
        let group = Group::of(&child);
        hear(Live::Started { group: group.number(), at: strays::started(group.number()) });
        let chunks = listen(&mut child, &self.prompt);
        let mut trial =
            Trial { executor: self, group, begun: Instant::now(), heard: Instant::now(), asked: None };
        let waited = trial.wait(&mut child, &chunks, &mut output, wants_stop, hear);
        let left_processes = group.clear(millis(self.grace));
        let (status, cut) = waited?;
        // What is still in the pipes of a process that is gone is read; who holds them open is not waited for.
        while let Ok((is_answer, bytes)) = chunks.recv_timeout(Duration::from_millis(1)) {
            output.take(&bytes, is_answer);
        }
        let ended = cut.unwrap_or_else(|| match (status.code(), status.signal()) {
            (Some(0), _) => Ended::Well,
            (Some(code), _) => Ended::Code(code),
            (None, signal) => Ended::Signal(signal.unwrap_or_default()),
        });
        let result = read_result(&self.result).or_else(|| ActionResult::find(&output.tail()).map(Ok));
        let log_fault = output.fault.map(|fault| fault.to_string());
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
pub(super) fn read_result(path: &std::path::Path) -> Option<Result<Value, String>> {
    let file = match open_regular(path) {
        Ok(file) => file?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("the result cannot be read: {error}"))),
    };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(RESULT_CAP as u64 + 1).read_to_end(&mut bytes) {
        return Some(Err(format!("the result cannot be read: {error}")));
    }
    if bytes.len() > RESULT_CAP {
        return Some(Err(format!("the result is larger than {RESULT_CAP} bytes")));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(serde_json::from_slice(&bytes).map_err(|error| format!("the result is not JSON: {error}")))
}

/// Feeds the prompt, and passes on what is printed until nobody can print any more.
fn listen(child: &mut Child, prompt: &str) -> Receiver<Chunk> {
    let (send, receive) = channel();
    if let Some(mut stdin) = child.stdin.take() {
        let prompt = prompt.as_bytes().to_vec();
        // Whoever does not read its prompt closes the pipe, which is its own affair.
        thread::spawn(move || drop(stdin.write_all(&prompt)));
    }
    if let Some(stdout) = child.stdout.take() {
        pass_on(stdout, true, send.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        pass_on(stderr, false, send);
    }
    receive
}

fn pass_on(mut stream: impl Read + Send + 'static, is_answer: bool, send: Sender<Chunk>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) if send.send((is_answer, buffer[..count].to_vec())).is_ok() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    });
}

/// One try as it goes on.
struct Trial<'a> {
    executor: &'a Executor,
    group: Group,
    begun: Instant,
    /// When it last printed something.
    heard: Instant,
    /// When it was asked to end, and why it is ended then; without a reason a result still counts.
    asked: Option<(Instant, Option<Ended>)>,
}

impl Trial<'_> {
    fn wait(
        &mut self,
        child: &mut Child,
        chunks: &Receiver<Chunk>,
        output: &mut Output,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Live<'_>),
    ) -> io::Result<(ExitStatus, Option<Ended>)> {
        let (mut answer, mut rest) = (Lines::default(), Lines::default());
        let mut open = true;
        loop {
            if open {
                match chunks.recv_timeout(TICK) {
                    Ok((is_answer, bytes)) => {
                        self.heard = Instant::now();
                        output.take(&bytes, is_answer);
                        let lines = if is_answer { &mut answer } else { &mut rest };
                        lines.take(&bytes, |line| hear(Live::Line(line)));
                    }
                    Err(RecvTimeoutError::Timeout) => hear(Live::Tick(self.begun.elapsed())),
                    // Nobody can print any more, so it has ended, or is about to.
                    Err(RecvTimeoutError::Disconnected) => open = false,
                }
            } else {
                thread::sleep(Duration::from_millis(1));
            }
            if let Some(status) = child.try_wait()? {
                answer.flush(|line| hear(Live::Line(line)));
                rest.flush(|line| hear(Live::Line(line)));
                let cut = self.asked.take().and_then(|(_, why)| why);
                return Ok((status, cut));
            }
            self.watch_the_clock(wants_stop);
        }
    }

    /// Asks it to end where it is time, and ends it where it was asked long enough ago.
    fn watch_the_clock(&mut self, wants_stop: &dyn Fn() -> bool) {
        let (times, grace) = (self.executor.times, millis(self.executor.grace));
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

fn millis(period: Period) -> Duration {
    Duration::from_millis(period.milliseconds())
}
