//! Signals: SIGINT, SIGTERM and SIGHUP end the process at once, except while it holds one of git's lock
//! files.

use orch_base::locked;
use orch_engine::drive::{Interruption, StopFlag};
#[cfg(any(feature = "board", feature = "repl"))]
use orch_engine::run::OwnProgram;
use orch_engine::run::kill_all;
use orch_git::IndexGate;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
#[cfg(any(feature = "board", feature = "repl"))]
use std::ffi::OsString;
use std::fs::File;
#[cfg(any(feature = "board", feature = "repl"))]
use std::io;
use std::io::Read;
#[cfg(any(feature = "board", feature = "repl"))]
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// A SIGTERM this soon after the first signal repeats it.
const REPEAT: Duration = Duration::from_millis(200);

/// The signal handling of this process.
#[derive(Clone, Default)]
pub struct Interrupts {
    /// What the next signal does instead of ending the process.
    instead: Interruption,
    heard: Arc<OnceLock<()>>,
    /// The run whose executor ends before the process does.
    run: Arc<Mutex<StopFlag>>,
    /// What is closed before the process ends, so that no lock of git's stays behind.
    gate: IndexGate,
    /// Whether Ctrl-C is meant for a program that has the terminal.
    is_childs: Arc<AtomicBool>,
    /// `orch` once more, in the terminal of this process.
    #[cfg(any(feature = "board", feature = "repl"))]
    program: Arc<OwnProgram>,
}

impl Interrupts {
    /// Signal handling for a process whose stores lock an index through this gate.
    pub(super) fn new(gate: IndexGate) -> Self {
        Self {
            gate,
            ..Self::default()
        }
    }

    /// The handling of a command that a server executes: no signal reaches it, only the server interrupts it.
    #[cfg(any(feature = "api", feature = "mcp"))]
    pub(super) fn of_served_command(&self, instead: Interruption) -> Self {
        Self {
            instead,
            heard: Arc::new(OnceLock::from(())),
            ..Self::new(self.gate.clone())
        }
    }

    /// From now on a signal that ends the process ends this run's executor first.
    pub(super) fn drives(&self, run: StopFlag) {
        *locked(&self.run) = run;
    }

    /// From now on a signal ends the process with a documented exit code and leaves no lock file behind. If
    /// the process was started with SIGHUP ignored, as `nohup` does, SIGHUP stays ignored.
    pub(super) fn listen(&self) {
        self.heard.get_or_init(|| {
            let mut heard = vec![SIGINT, SIGTERM];
            heard.extend((!ignores_hangup()).then_some(SIGHUP));
            // If no handler can be installed, the system's default action still ends the process.
            let Ok(mut signals) = Signals::new(heard) else {
                return;
            };
            let instead = self.instead.clone();
            let run = Arc::clone(&self.run);
            let gate = self.gate.clone();
            let is_childs = Arc::clone(&self.is_childs);
            #[cfg(any(feature = "board", feature = "repl"))]
            let program = Arc::clone(&self.program);
            // A thread that cannot start drops `signals`, and with it the handlers.
            let listening = thread::Builder::new().spawn(move || {
                let mut first = None::<(i32, Instant)>;
                for signal in signals.forever() {
                    if signal == SIGINT && is_childs.load(Ordering::Relaxed) {
                        continue;
                    }
                    #[cfg(any(feature = "board", feature = "repl"))]
                    program.signal(signal);
                    let now = Instant::now();
                    let is_repeated = first
                        .is_some_and(|(first, at)| repeats(first, signal, now.duration_since(at)));
                    if instead.interrupt() {
                        first = Some((signal, now));
                    } else if !is_repeated {
                        end(&locked(&run), &gate);
                    }
                }
            });
            if let Err(error) = listening {
                tracing::warn!(%error, "cannot listen to signals");
            }
        });
    }

    /// Calls `then` on the next signal, from another thread. The signal after that ends the process at once, unless it
    /// is a SIGTERM that comes with the first, or a SIGHUP: `timeout` sends SIGTERM to the process and to the group, and a
    /// shell whose terminal is gone repeats the SIGHUP of the system.
    pub(super) fn instead(&self, then: impl FnOnce() + Send + 'static) {
        self.instead.instead(then);
        self.listen();
    }

    /// Calls `work`, which starts a program that has the terminal and waits for it. Meanwhile Ctrl-C is for that program
    /// alone.
    pub(super) fn left_to_child<R>(&self, work: impl FnOnce() -> R) -> R {
        self.is_childs.store(true, Ordering::Relaxed);
        self.listen();
        let done = work();
        self.is_childs.store(false, Ordering::Relaxed);
        done
    }

    /// Runs `orch` with other arguments in this terminal, and waits for its end. Meanwhile Ctrl-C is for it alone, and
    /// other signals are for both. `shares_input` and the errors are those of [`OwnProgram::run`].
    #[cfg(any(feature = "board", feature = "repl"))]
    pub(super) fn run_self(
        &self,
        arguments: &[OsString],
        shares_input: bool,
    ) -> io::Result<ExitStatus> {
        self.left_to_child(|| self.program.run(arguments, shares_input))
    }

    /// From now on the process ends when the terminal on stdin is gone. Not every process is told so by a SIGHUP, and
    /// a line editor reads the end of a terminal again and again.
    #[cfg(feature = "repl")]
    pub(super) fn end_with_terminal(&self) {
        let run = Arc::clone(&self.run);
        let gate = self.gate.clone();
        thread::spawn(move || {
            if orch_engine::run::wait_for_hang_up() {
                end(&locked(&run), &gate);
            }
        });
    }

    /// From now on the next signal ends the process at once again.
    pub(super) fn at_once(&self) {
        self.instead.clear();
    }
}

/// Whether a signal that comes so long after the first one repeats it. A person who types Ctrl-C twice means it; but of
/// signals that come at once, SIGHUP is heard first.
fn repeats(first: i32, signal: i32, later: Duration) -> bool {
    signal == SIGHUP || later < REPEAT && (signal == SIGTERM || first == SIGHUP)
}

/// Whether the process was started with SIGHUP ignored. Always `false` on systems without `/proc`.
fn ignores_hangup() -> bool {
    // The system makes the text again for each read; this buffer takes it in one.
    let mut bytes = [0; 4096];
    let read = File::open("/proc/self/status").and_then(|mut status| status.read(&mut bytes));
    let status = String::from_utf8_lossy(&bytes[..read.unwrap_or_default()]);
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default();
    ignored >> (SIGHUP - 1) & 1 == 1
}

fn end(run: &StopFlag, gate: &IndexGate) {
    let _killed = run.kill();
    let _others = kill_all();
    let _quiet = gate.close();
    #[expect(
        clippy::exit,
        reason = "the user asked for it, and killing the process here loses nothing"
    )]
    std::process::exit(super::ExitCode::Interrupted as i32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signal_that_somebody_means_ends_the_process_at_once() {
        let soon = Duration::ZERO;
        let late = REPEAT;
        for (first, signal, later, is_repeated) in [
            (SIGINT, SIGINT, soon, false),
            (SIGTERM, SIGINT, soon, false),
            // A terminal that goes away while Ctrl-C is typed: the system reports the lower number first.
            (SIGHUP, SIGINT, soon, true),
            (SIGHUP, SIGINT, late, false),
            (SIGTERM, SIGTERM, soon, true),
            (SIGINT, SIGTERM, soon, true),
            (SIGTERM, SIGTERM, late, false),
            (SIGHUP, SIGHUP, late, true),
            (SIGINT, SIGHUP, late, true),
        ] {
            assert_eq!(
                repeats(first, signal, later),
                is_repeated,
                "{first} {signal} {later:?}"
            );
        }
    }
}
