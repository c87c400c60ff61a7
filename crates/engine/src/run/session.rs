//! A program in a session of its own, whose output goes to a file: what it leaves behind cannot hold up its end.

use super::child_process::ChildProcess;
use super::group::{Escapes, Group, RunningExecutor, adopt_orphans, end_all_marked};
use super::janitor::{PERFORMER, VERIFIER, owner};
use super::pipes::end_of;
use super::process_tree;
use super::program::SessionProgram;
use super::session_log::SessionLog;
use super::trial::{Ended, millis};
use orch_base::Period;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The variable by which processes are recognised that have left their parents.
const MARK: &str = "ORCH_VERIFICATION";

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd {
    /// How the program itself ended, or which limit ended it.
    pub ended: Ended,
    /// The names of the processes that it left, which were then ended.
    pub leftovers: Vec<String>,
}

/// The longest pause between two looks at a program.
const PAUSE: Duration = Duration::from_millis(50);

/// The pause between two looks for executors that a killed process has left.
const LOOK_AFTER_KILL: Duration = Duration::from_millis(500);

/// The time between SIGTERM and SIGKILL for what a killed process has left.
const GRACE_AFTER_KILL: Duration = Duration::from_secs(1);

impl SessionProgram<'_> {
    /// Starts the program, waits for its end, and ends whatever it has left. `wants_stop` is polled; `hear` receives each
    /// line, or the time since the start. Returns an error if the program cannot be started or waited for.
    pub fn run(
        &self,
        log: &mut SessionLog,
        wants_stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Result<&str, Duration>),
    ) -> io::Result<SessionEnd> {
        adopt_orphans();
        let mut program = self.clone();
        let mut environment = self.environment.clone();
        environment.insert(MARK.to_owned(), self.mark.to_owned());
        environment.insert(VERIFIER.to_owned(), owner());
        program.environment = &environment;
        let output = log.output()?;
        let before = process_tree::children();
        let running = RunningExecutor::default();
        let (child, group) = running.start(|| {
            let (child, control) = ChildProcess::start_session(&program, &output)?;
            let escapes = Escapes::Adopted { before };
            let mark = format!("{MARK}={}", self.mark);
            let group = Group::of(child.pid, control, mark, escapes);
            Ok((child, group))
        })?;
        drop(output);
        let waited = self.wait(&child, &group, wants_stop, &mut |begun| {
            log.listen(&mut |line| hear(Ok(line)));
            hear(Err(begun.elapsed()));
        });
        let leftovers = match &waited {
            // What a limit has ended left nothing of its own accord.
            Ok((_, Some(_))) => Vec::new(),
            _ => group.remaining_names(),
        };
        group.clear(millis(self.grace));
        running.clear();
        log.listen_to_the_end(&mut |line| hear(Ok(line)));
        let (status, cut) = waited?;
        let ended = cut.unwrap_or_else(|| ended_by(status));
        tracing::info!(?ended, ?leftovers, "program of a verification ended");
        Ok(SessionEnd { ended, leftovers })
    }

    /// Waits for the end of the program, and brings it about at its limit or on request.
    fn wait(
        &self,
        child: &ChildProcess,
        group: &Group,
        wants_stop: &dyn Fn() -> bool,
        meanwhile: &mut dyn FnMut(Instant),
    ) -> io::Result<(ExitStatus, Option<Ended>)> {
        let begun = Instant::now();
        let mut asked: Option<(Instant, Ended)> = None;
        let mut pause = Duration::from_millis(1);
        let end = end_of(child);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((status, asked.map(|(_, why)| why)));
            }
            meanwhile(begun);
            match &asked {
                Some((since, _)) if since.elapsed() >= millis(self.grace) => group.kill(),
                Some(_) => {}
                None => {
                    let why = if wants_stop() {
                        Some(Ended::Stopped)
                    } else if begun.elapsed() >= millis(self.limit) {
                        Some(Ended::TooLong(self.limit))
                    } else {
                        None
                    };
                    if let Some(why) = why {
                        group.ask();
                        asked = Some((Instant::now(), why));
                    }
                }
            }
            match &end {
                // A signal may end the wait early, which is harmless.
                Some(end) => {
                    let mut ready = [PollFd::new(end, PollFlags::IN)];
                    let _ = poll(&mut ready, Timespec::try_from(PAUSE).ok().as_ref());
                }
                None => sleep(pause),
            }
            pause = PAUSE.min(pause * 2);
        }
    }
}

/// Ends the programs with this mark: a process that was killed could not end what it had started. Returns whether there
/// were any.
pub fn end_marked(mark: &str, grace: Period) -> bool {
    end_all_marked(&format!("{MARK}={mark}"), millis(grace))
}

/// Waits until the process at the other end of stdin is gone, and ends what it has left: every program that has `owner` as its
/// owner. Executors may go on for `patience`.
pub fn serve_as_janitor(owner: &str, patience: Duration) {
    let mut rest = Vec::new();
    // An error means that there is nothing to wait for.
    let _ = io::stdin().lock().read_to_end(&mut rest);
    if owner.is_empty() {
        return;
    }
    end_all_marked(&format!("{VERIFIER}={owner}"), GRACE_AFTER_KILL);
    let performer = format!("{PERFORMER}={owner}");
    let begun = Instant::now();
    while begun.elapsed() < patience && !process_tree::marked(&performer).is_empty() {
        sleep(LOOK_AFTER_KILL);
    }
    end_all_marked(&performer, GRACE_AFTER_KILL);
}

fn ended_by(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Well,
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    }
}

/// How a program is kept from the network.
#[derive(Debug, Clone)]
pub struct NetworkFence {
    begin: Vec<String>,
}

impl NetworkFence {
    /// The fence for this user: a network namespace of its own, in which the program reaches itself only.
    #[must_use]
    pub fn new() -> Self {
        let user = rustix::process::geteuid();
        let group = rustix::process::getegid();
        let up = "ip link set lo up";
        let words = if user.is_root() {
            let then = format!("{up} && exec \"$@\"");
            vec!["unshare", "--net", "--", "sh", "-c", &then, "sh"]
                .into_iter()
                .map(str::to_owned)
                .collect()
        } else {
            // Only root of the namespace can start its loopback; then the program is the user again.
            let again = format!(
                "unshare --user --map-user={} --map-group={}",
                user.as_raw(),
                group.as_raw()
            );
            let then = format!("{up} && exec {again} -- \"$@\"");
            vec![
                "unshare",
                "--user",
                "--map-root-user",
                "--net",
                "--",
                "sh",
                "-c",
                &then,
                "sh",
            ]
            .into_iter()
            .map(str::to_owned)
            .collect()
        };
        Self { begin: words }
    }

    /// The arguments that start a program behind the fence.
    #[must_use]
    pub fn around(&self, argv: &[String]) -> Vec<String> {
        self.begin.iter().chain(argv).cloned().collect()
    }
}

impl Default for NetworkFence {
    fn default() -> Self {
        Self::new()
    }
}
