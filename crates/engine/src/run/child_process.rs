//! The process of a program, with its three pipes.

use super::control_group::{ControlGroup, ENTERS_ITSELF};
use super::program::{LimitedProgram, SessionProgram};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

/// A process that this one has started as the leader of a process group, and has to wait for.
pub(super) struct ChildProcess {
    /// Its id, and that of its process group.
    pub pid: Pid,
    /// Where to write what it reads.
    pub stdin: Option<OwnedFd>,
    /// Where to read what it writes.
    pub stdout: Option<OwnedFd>,
    /// Where to read its messages.
    pub stderr: Option<OwnedFd>,
}

impl ChildProcess {
    /// Starts a program, in a control group of its own where the system permits one. Returns an error if the program
    /// cannot be started.
    pub(super) fn start(program: &LimitedProgram) -> io::Result<(Self, Option<ControlGroup>)> {
        Self::start_with(&|| command_of(program), false)
    }

    /// Starts a program as the leader of a session, whose output goes to a file. Returns an error if it cannot be started.
    pub(super) fn start_session(
        program: &SessionProgram<'_>,
        output: &File,
    ) -> io::Result<(Self, Option<ControlGroup>)> {
        Self::start_with(&|| session_command(program, output), true)
    }

    fn start_with(
        command: &dyn Fn() -> io::Result<Command>,
        leads_session: bool,
    ) -> io::Result<(Self, Option<ControlGroup>)> {
        if let Some(group) = ControlGroup::new()
            && let Ok(entrance) = group.entrance()
            && let Ok(child) = Self::spawn(&mut prepared(command()?, Some(entrance), leads_session))
        {
            return Ok((child, Some(group)));
        }
        // Nothing of the program has run yet. If it is not the group that it cannot enter, this fails, too.
        let mut command = command()?;
        if leads_session {
            command = prepared(command, None, true);
        }
        Ok((Self::spawn(&mut command)?, None))
    }

    fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        Ok(Self {
            pid: Pid::from_child(&child),
            stdin: child.stdin.take().map(Into::into),
            stdout: child.stdout.take().map(Into::into),
            stderr: child.stderr.take().map(Into::into),
        })
    }

    /// How it ended; `None` if it has not. To be asked until it has ended, and not again. Returns an error if it cannot
    /// be waited for.
    pub(super) fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        self.wait_with(WaitOptions::NOHANG)
    }

    /// Waits until it has ended. Returns an error if it cannot be waited for.
    pub(super) fn wait(&self) -> io::Result<()> {
        self.wait_with(WaitOptions::empty()).map(drop)
    }

    fn wait_with(&self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        let ended = retry_on_intr(|| waitpid(Some(self.pid), options))?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
    }
}

/// What starts a program of these arguments. Returns an error if it has no name.
fn program_of(argv: &[String]) -> io::Result<Command> {
    let (name, arguments) = argv.split_first().ok_or(io::ErrorKind::NotFound)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this room starts programs of the settings, without a shell"
    )]
    let mut command = Command::new(name);
    command.args(arguments);
    Ok(command)
}

/// What starts a program whose output goes to a file, and which reads nothing. Returns an error if it has no name.
fn session_command(program: &SessionProgram<'_>, output: &File) -> io::Result<Command> {
    let mut command = program_of(program.argv)?;
    command
        .current_dir(program.directory)
        .env_clear()
        .envs(program.environment)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    Ok(command)
}

/// What starts a program as the leader of a process group, with three pipes. Returns an error if it has no name.
fn command_of(program: &LimitedProgram) -> io::Result<Command> {
    let fenced = program
        .fence
        .as_ref()
        .map(|fence| fence.around(&program.argv));
    let mut command = program_of(fenced.as_ref().unwrap_or(&program.argv))?;
    command
        .current_dir(&program.directory)
        .envs(program.environment.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    Ok(command)
}

/// Lets the process enter a control group by itself before it becomes the program: if it were moved later, it might have
/// started others already. Lets it lead a session if it has to.
#[expect(
    unsafe_code,
    reason = "the standard library starts no process in a control group or in a session of its own"
)]
fn prepared(mut command: Command, entrance: Option<File>, leads_session: bool) -> Command {
    let prepare = move || {
        if let Some(entrance) = &entrance {
            (&*entrance).write_all(ENTERS_ITSELF)?;
        }
        if leads_session {
            rustix::process::setsid()?;
        }
        Ok(())
    };
    // SAFETY: between fork(2) and execve(2) the closure does no more than write(2) and setsid(2): it takes no lock and
    // allocates nothing.
    unsafe {
        command.pre_exec(prepare);
    }
    command
}
