//! This program once more, in the terminal of this process, and the end of that terminal.

use orch_base::locked;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;

/// This program once more, while it runs with other arguments.
#[derive(Debug, Default)]
pub struct OwnProgram(Mutex<Option<Pid>>);

impl OwnProgram {
    /// Runs this program with other arguments and waits for its end. It shares stdout and stderr, and stdin only if
    /// `shares_input`; otherwise it reads nothing. Returns an error if it cannot be started.
    pub fn run(&self, arguments: &[OsString], shares_input: bool) -> io::Result<ExitStatus> {
        #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
        let mut command = Command::new(std::env::current_exe()?);
        let input = if shares_input {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        command.args(arguments).stdin(input);
        // A signal that comes meanwhile is passed on to what is started here.
        let mut running = locked(&self.0);
        let mut child = command.spawn()?;
        let process = Pid::from_child(&child);
        *running = Some(process);
        drop(running);
        // No other process can have its id before `wait`.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(process), ended), Err(Errno::INTR)) {}
        *locked(&self.0) = None;
        child.wait()
    }

    /// Passes a signal on to the program, if it runs.
    pub fn signal(&self, signal: i32) {
        if let (Some(process), Some(signal)) = (*locked(&self.0), Signal::from_named_raw(signal)) {
            let _ = kill_process(process, signal);
        }
    }
}

/// Waits until the terminal on stdin is gone. Returns whether it is; `false` if that cannot be determined.
pub fn wait_for_hang_up() -> bool {
    let stdin = io::stdin();
    loop {
        // Without a wanted event, poll(2) reports only that the other side is gone, or an error.
        let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut polled, None) {
            Ok(_) => return polled[0].revents().intersects(PollFlags::HUP),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
