//! This program once more, in the terminal of this process.

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
