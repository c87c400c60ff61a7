//! This program once more, in the terminal of this process, and the end of that terminal.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus, Stdio};

/// Runs this program with other arguments and waits for its end. It shares stdout and stderr, and stdin only if
/// `shares_input`; else it reads nothing. Returns an error if it cannot be started.
pub fn run_self(arguments: &[OsString], shares_input: bool) -> io::Result<ExitStatus> {
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    let mut command = Command::new(std::env::current_exe()?);
    let input = if shares_input { Stdio::inherit() } else { Stdio::null() };
    command.args(arguments).stdin(input).status()
}

/// Waits until the terminal on stdin is gone. Returns whether it is; `false` if that cannot be told.
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
