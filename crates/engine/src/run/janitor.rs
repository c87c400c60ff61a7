//! The janitor: a process that ends what this process has started, executors and verifications, when this process is killed,
//! which can then do nothing itself.
//!
//! It is this program once more, in a process group of its own, and waits for the end of a pipe that only this process can write
//! to: the system closes that however this process ends. Then it ends every verification that has the entry of this process in
//! its environment. An executor may finish its work, whose result the next run takes, as long as nobody else can take the
//! task over; then it is ended, too. A process that has cleared its environment is not found, nor is any if the janitor is
//! killed too.

use super::record::Process;
use std::fmt::Write as _;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The variable by which the verifications of this process are recognised.
pub(super) const VERIFIER: &str = "ORCH_VERIFIER";
/// The variable by which its executors are recognised.
pub(super) const PERFORMER: &str = "ORCH_PERFORMER";

/// The arguments with which this program serves as a janitor; the owner follows.
const ARGUMENTS: [&str; 2] = ["verify", "--janitor"];
/// The option before the seconds for executors.
const PATIENCE: &str = "--patience";

/// The janitor of this process; `None` if there is none.
static JANITOR: OnceLock<Option<Janitor>> = OnceLock::new();

/// A running janitor.
struct Janitor {
    pid: u32,
    /// It waits for the end of this.
    _pipe: Option<ChildStdin>,
}

/// The value of these variables for what this process starts: no other process has it, also none with the same id later.
pub(super) fn owner() -> String {
    let own = Process::own();
    let mut text = own.group.to_string();
    if let Some(started) = own.started {
        let _ = write!(text, ".{started}");
    }
    text
}

/// Starts the janitor of this process, once. This program calls [`super::serve_as_janitor`] then. Executors may go on for
/// `patience` after the end of this process.
pub fn start_janitor(patience: Duration) {
    JANITOR.get_or_init(|| match started(patience) {
        Ok(janitor) => Some(janitor),
        Err(error) => {
            tracing::warn!(%error, "nothing ends what this process starts if it is killed");
            None
        }
    });
}

/// Whether a process is the janitor of this one.
pub(super) fn is_janitor(pid: i32) -> bool {
    let janitor = JANITOR.get().and_then(Option::as_ref);
    janitor.is_some_and(|janitor| u32::try_from(pid) == Ok(janitor.pid))
}

fn started(patience: Duration) -> io::Result<Janitor> {
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(ARGUMENTS)
        .arg(owner())
        .arg(PATIENCE)
        .arg(patience.as_secs().to_string())
        .current_dir("/")
        .env_clear()
        // A signal of the terminal to the group of this process must not reach it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    Ok(Janitor {
        pid: child.id(),
        _pipe: child.stdin.take(),
    })
}
