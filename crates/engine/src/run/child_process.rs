//! The process of a program, with its three pipes.

use super::control_group::ControlGroup;
use super::program::LimitedProgram;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
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
        let Some(group) = ControlGroup::new() else {
            return Ok((Self::start_outside(program)?, None));
        };
        if let Some(child) = Self::start_inside(program, &group)? {
            return Ok((child, Some(group)));
        }
        let child = Self::start_outside(program)?;
        // Nobody can start a process while the kernel moves one, so what this one starts is in the group, too, unless it
        // was quicker than this call.
        let group = group.take(child.pid).is_ok().then_some(group);
        Ok((child, group))
    }

    /// Starts a program in this control group; `None` if the system cannot: Linux before 5.7, another kind of processor, or
    /// a container that forbids the call.
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    fn start_inside(program: &LimitedProgram, group: &ControlGroup) -> io::Result<Option<Self>> {
        // A start elsewhere needs fewer descriptors, and has the error if there are too few for that, too.
        let (
            Ok(directory),
            Ok((theirs_in, stdin)),
            Ok((stdout, theirs_out)),
            Ok((stderr, theirs_err)),
        ) = (group.open(), io::pipe(), io::pipe(), io::pipe())
        else {
            return Ok(None);
        };
        let streams = [theirs_in.as_fd(), theirs_out.as_fd(), theirs_err.as_fd()];
        let pid = super::grouped_start::start_in(directory.as_fd(), program, streams)?;
        let child = |pid| Self {
            pid,
            stdin: Some(stdin.into()),
            stdout: Some(stdout.into()),
            stderr: Some(stderr.into()),
        };
        Ok(pid.map(child))
    }

    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    fn start_inside(_program: &LimitedProgram, _group: &ControlGroup) -> io::Result<Option<Self>> {
        Ok(None)
    }

    fn start_outside(program: &LimitedProgram) -> io::Result<Self> {
        let (name, arguments) = program.argv.split_first().ok_or(io::ErrorKind::NotFound)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "this room starts programs of the settings, without a shell"
        )]
        let mut command = Command::new(name);
        command
            .args(arguments)
            .current_dir(&program.directory)
            .envs(program.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
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
