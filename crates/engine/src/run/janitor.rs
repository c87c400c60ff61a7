//! The janitor: a process that ends the programs of verifications when this process is killed, which can then do nothing
//! itself.
//!
//! It is this program once more, in a process group of its own, and waits for the end of a pipe that only this process can write
//! to: the system closes that however this process ends. Then it ends every process that has the entry of this process in
//! its environment. A process that has cleared its environment is not found, nor is any if the janitor is killed too.

use super::record::Process;
use std::fmt::Write as _;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;

/// The variable by which the programs of this process are recognised.
pub(super) const OWNER: &str = "ORCH_VERIFIER";

/// The janitor of this process; `None` if there is none.
static JANITOR: OnceLock<Option<Janitor>> = OnceLock::new();

/// A running janitor.
struct Janitor {
    pid: u32,
    /// It waits for the end of this.
    _pipe: Option<ChildStdin>,
}

/// The value of [`OWNER`] for what this process starts: no other process has it, also none with the same id later.
pub(super) fn owner() -> String {
    let own = Process::own();
    let mut text = own.group.to_string();
    if let Some(started) = own.started {
        let _ = write!(text, ".{started}");
    }
    text
}

/// Starts the janitor of this process, once. `arguments` make this program call [`super::serve_as_janitor`] with the text
/// that follows them.
pub fn start_janitor(arguments: &[&str]) {
    JANITOR.get_or_init(|| match started(arguments) {
        Ok(janitor) => Some(janitor),
        Err(error) => {
            tracing::warn!(%error, "nothing ends verifications if this process is killed");
            None
        }
    });
}

/// Whether a process is the janitor of this one.
pub(super) fn is_janitor(pid: i32) -> bool {
    let janitor = JANITOR.get().and_then(Option::as_ref);
    janitor.is_some_and(|janitor| u32::try_from(pid) == Ok(janitor.pid))
}

fn started(arguments: &[&str]) -> io::Result<Janitor> {
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(arguments)
        .arg(owner())
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
