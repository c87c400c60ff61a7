//! What an executor is waited for by: its three pipes, all non-blocking, and its end.

use super::child_process::ChildProcess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The pipes that are still open.
pub(super) struct Pipes {
    /// Readable once the process has ended; `None` if the system has no such descriptor.
    end: Option<OwnedFd>,
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
    prompt: Vec<u8>,
    /// How many bytes of the prompt are written.
    given: usize,
    buffer: Vec<u8>,
}

impl Pipes {
    /// Takes the pipes of a process that was just started. Returns an error if they cannot be made
    /// non-blocking.
    pub(super) fn of(child: &mut ChildProcess, prompt: &str) -> io::Result<Self> {
        let [stdin, stdout, stderr] =
            [&mut child.stdin, &mut child.stdout, &mut child.stderr].map(Option::take);
        for pipe in [&stdin, &stdout, &stderr].into_iter().flatten() {
            ioctl_fionbio(pipe, true)?;
        }
        let [stdin, stdout, stderr] = [stdin, stdout, stderr].map(|pipe| pipe.map(File::from));
        let prompt = prompt.as_bytes().to_vec();
        Ok(Self {
            end: end_of(child),
            stdin,
            stdout,
            stderr,
            prompt,
            given: 0,
            buffer: vec![0; 16 << 10],
        })
    }

    /// Whether [`wait`](Self::wait) does not notice the end of the process: standard output and standard error
    /// are both closed, and the system reports the end in no other way.
    pub(super) fn are_silent(&self) -> bool {
        self.end.is_none() && self.stdout.is_none() && self.stderr.is_none()
    }

    /// Waits until a pipe is ready or the process has ended, at most for `longest`.
    pub(super) fn wait(&self, longest: Duration) {
        let mut ready = Vec::with_capacity(4);
        ready.extend(self.end.as_ref().map(|end| PollFd::new(end, PollFlags::IN)));
        ready.extend(
            self.stdin
                .as_ref()
                .map(|pipe| PollFd::new(pipe, PollFlags::OUT)),
        );
        ready.extend(
            self.stdout
                .as_ref()
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        ready.extend(
            self.stderr
                .as_ref()
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        // A signal may end the wait early, which is harmless.
        let _ = poll(&mut ready, Timespec::try_from(longest).ok().as_ref());
    }

    /// Writes as much of the prompt as fits, and reads one piece from each stream; `pass_on` receives `true`
    /// for standard output. Returns whether anything was read.
    pub(super) fn exchange(&mut self, mut pass_on: impl FnMut(&[u8], bool)) -> bool {
        self.give();
        let answered = read(&mut self.stdout, &mut self.buffer, |bytes| {
            pass_on(bytes, true)
        });
        let printed = read(&mut self.stderr, &mut self.buffer, |bytes| {
            pass_on(bytes, false)
        });
        answered || printed
    }

    fn give(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        let rest = self.prompt.get(self.given..).unwrap_or_default();
        let is_over = match stdin.write(rest) {
            Ok(count) => {
                self.given += count;
                self.given >= self.prompt.len()
            }
            // An executor that does not read its prompt may close the pipe.
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        if is_over {
            self.stdin = None;
        }
    }
}

/// A descriptor of the process, see pidfd_open(2).
#[cfg(target_os = "linux")]
pub(super) fn end_of(child: &ChildProcess) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(child.pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end_of(_child: &ChildProcess) -> Option<OwnedFd> {
    None
}

/// Reads one piece if there is one, and drops a stream that is at its end.
fn read(stream: &mut Option<impl Read>, buffer: &mut [u8], pass_on: impl FnOnce(&[u8])) -> bool {
    loop {
        match stream.as_mut().map(|stream| stream.read(buffer)) {
            None => return false,
            Some(Ok(count)) if count > 0 => {
                pass_on(&buffer[..count]);
                return true;
            }
            Some(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => return false,
            Some(_) => *stream = None,
        }
    }
}
