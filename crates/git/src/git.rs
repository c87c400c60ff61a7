//! The `git` command, for what libgit2 does not do: filters, and the index in all its formats.

use super::Objects;
use super::error::GitFault;
use super::git_processes::end_with_descendants;
use orch_base::{Code, Digest, Error};
use orch_files::{FileLock, unnamed_file};
use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The `git` command, run in the work tree of a repository.
#[derive(Clone, Copy)]
pub(super) struct GitProgram<'s> {
    pub objects: &'s Objects,
    pub root: &'s Path,
}

/// How a git process ended, and what it printed.
pub(super) struct GitEnd {
    pub is_success: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl GitEnd {
    /// What it printed on stderr, as text.
    pub(super) fn message(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().to_owned()
    }
}

impl GitProgram<'_> {
    /// Runs `git` in the work tree with `input` on its stdin, and returns its stdout. Returns an error if it
    /// cannot be started or fails.
    pub(super) fn git(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
        let mut command = self.command(arguments);
        ignore_other_index(&mut command);
        answer(command, arguments, input)
    }

    /// Like [`Self::git`], but ends git and all that it has started if that takes longer.
    pub(super) fn git_within(
        &self,
        limit: Duration,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitFault> {
        let end = self.end_within(limit, arguments, input)?;
        if end.is_success {
            Ok(end.stdout)
        } else {
            Err(failed(subcommand(arguments), end.message()))
        }
    }

    /// Runs `git` like [`Self::git_within`], and returns what it printed, also if it exited with an error.
    pub(super) fn end_within(
        &self,
        limit: Duration,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<GitEnd, GitFault> {
        let name = subcommand(arguments);
        let fail = |error: io::Error| failed(name, error.to_string());
        // Not pipes: what git has started may hold them open.
        let stdout = unnamed_file()
            .map_or_else(tempfile::tempfile, Ok)
            .map_err(fail)?;
        let stderr = unnamed_file()
            .map_or_else(tempfile::tempfile, Ok)
            .map_err(fail)?;
        let mut command = self.command(arguments);
        ignore_other_index(&mut command);
        command.stdout(stdout.try_clone().map_err(fail)?);
        command.stderr(stderr.try_clone().map_err(fail)?);
        let mut process = spawn(command, arguments)?;
        // The pipe is closed at the end of the statement.
        let given = process
            .stdin
            .take()
            .map_or(Ok(()), |mut stdin| stdin.write_all(input));
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = process.try_wait().map_err(fail)? {
                break status;
            }
            let passed = begun.elapsed();
            if passed >= limit {
                end_with_descendants(&mut process).map_err(fail)?;
                let message = format!("it did not end within {} s", limit.as_secs());
                return Err(failed(name, message));
            }
            // Short steps at first, because most programs end soon.
            thread::sleep((passed / 16).clamp(Duration::from_millis(1), Duration::from_millis(50)));
        };
        if status.success() {
            given.map_err(fail)?;
        }
        Ok(GitEnd {
            is_success: status.success(),
            stdout: written(stdout).map_err(fail)?,
            stderr: written(stderr).map_err(fail)?,
        })
    }

    /// Runs a `git` command that writes another index than that of the work tree. Returns an error if it cannot be
    /// started or fails.
    pub(super) fn git_with_index(&self, index: &Path, arguments: &[&str]) -> Result<(), GitFault> {
        let mut command = self.command(arguments);
        command.env("GIT_INDEX_FILE", index);
        answer(command, arguments, &[]).map(drop)
    }

    /// Runs a reading `git` command with the index that the environment names, which is the one a hook has to
    /// check.
    pub(super) fn git_under_its_index(&self, arguments: &[&str]) -> Result<Vec<u8>, GitFault> {
        answer(self.command(arguments), arguments, &[])
    }

    /// Runs a `git` command that needs no repository, without the settings of the user and of the repository.
    pub(super) fn git_without_settings(&self, arguments: &[&str]) -> Result<Vec<u8>, GitFault> {
        let mut command = self.command(arguments);
        command
            .env("GIT_DIR", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["GIT_WORK_TREE", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"] {
            command.env_remove(name);
        }
        answer(command, arguments, &[])
    }

    /// Runs `git` as [`Self::git`] does; a failure is an answer. Returns an error if it cannot be started.
    pub(super) fn git_here(&self, arguments: &[&str]) -> Result<GitAnswer, GitFault> {
        let mut command = self.command(arguments);
        ignore_other_index(&mut command);
        GitAnswer::of(command, arguments)
    }

    /// Runs `git` in another directory, in the repository that is there; a failure is an answer. Returns an error if it
    /// cannot be started.
    pub(super) fn git_in(
        &self,
        directory: &Path,
        arguments: &[&str],
    ) -> Result<GitAnswer, GitFault> {
        GitAnswer::of(self.elsewhere(directory, arguments), arguments)
    }

    fn elsewhere(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        ignore_other_index(&mut command);
        command.current_dir(directory);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_OPTIONAL_LOCKS"] {
            command.env_remove(name);
        }
        command
    }

    /// As [`Self::git_in`], under a lock, which git holds until it ends, also if this process is killed.
    pub(super) fn git_in_under(
        &self,
        lock: &FileLock,
        directory: &Path,
        arguments: &[&str],
    ) -> Result<GitAnswer, GitFault> {
        let name = subcommand(arguments);
        let held = lock.try_clone();
        let held = held.map_err(|error| failed(name, error.to_string()))?;
        let mut command = self.elsewhere(directory, arguments);
        // As its stdin, which it does not read, git inherits the lock.
        command
            .stdin(held)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let output = command.output();
        let output = output.map_err(|error| failed(name, error.to_string()))?;
        Ok(GitAnswer::read(name, output))
    }

    /// Starts `git` in the work tree with a pipe to its stdin.
    pub(super) fn start_git(&self, arguments: &[&str]) -> Result<Child, GitFault> {
        let mut command = self.command(arguments);
        ignore_other_index(&mut command);
        spawn(command, arguments)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command
            .current_dir(self.root)
            // Otherwise the environment could name another repository than the open one. Its variables about
            // object directories stay: libgit2 follows them too.
            .env("GIT_DIR", self.objects.repo.path())
            .env("GIT_WORK_TREE", self.root)
            .env_remove("GIT_PREFIX")
            // A reading command must take no locks and cannot ask questions.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What a `git` command has answered.
pub(super) struct GitAnswer {
    command: String,
    /// Whether it succeeded.
    pub(super) is_good: bool,
    stdout: Vec<u8>,
    /// What it said on stderr.
    pub(super) message: String,
}

impl GitAnswer {
    fn of(command: Command, arguments: &[&str]) -> Result<Self, GitFault> {
        let name = subcommand(arguments);
        let mut process = spawn(command, arguments)?;
        drop(process.stdin.take());
        let output = ended(process).map_err(|error| failed(name, error.to_string()))?;
        Ok(Self::read(name, output))
    }

    fn read(name: &str, output: Output) -> Self {
        tracing::debug!(command = name, exit = output.status.code(), "git exited");
        Self {
            command: name.to_owned(),
            is_good: output.status.success(),
            stdout: output.stdout,
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
    }

    /// What it printed.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The answer, if it succeeded. Returns an error otherwise.
    pub(super) fn good(self) -> Result<Self, GitFault> {
        if self.is_good {
            Ok(self)
        } else {
            Err(self.fault())
        }
    }

    /// The fault of a command that failed.
    pub(super) fn fault(&self) -> GitFault {
        failed(&self.command, self.message.clone())
    }
}

/// The version of the `git` command. Returns an error if it cannot be started.
pub fn git_version() -> Result<String, Error> {
    let mut command = program();
    command
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let printed = answer(command, &["version"], &[])?;
    let printed = String::from_utf8_lossy(&printed);
    Ok(printed.trim().trim_start_matches("git version ").to_owned())
}

/// Whether git opens the repository around a directory, which it refuses to do if that belongs to somebody else and no
/// `safe.directory` names it.
pub(super) fn git_opens(directory: &Path) -> bool {
    let mut command = program();
    command
        .args(["rev-parse", "--git-dir"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The pager that git would use in a directory: `GIT_PAGER`, `core.pager`, `PAGER`, or what git was built with. `None`
/// if git does not say.
#[must_use]
pub fn git_pager(directory: &Path) -> Option<String> {
    variable(directory, "GIT_PAGER")
}

/// The editor that git would use in a directory: `GIT_EDITOR`, `core.editor`, `VISUAL`, `EDITOR`, or what git was built
/// with. `None` if git does not say.
#[must_use]
pub fn git_editor(directory: &Path) -> Option<String> {
    variable(directory, "GIT_EDITOR")
}

/// A logical variable of git; see git-var(1).
fn variable(directory: &Path, name: &str) -> Option<String> {
    let mut command = program();
    command
        .args(["var", name])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let said = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

pub(super) fn program() -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
    Command::new("git")
}

fn spawn(mut command: Command, arguments: &[&str]) -> Result<Child, GitFault> {
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => GitFault::NoProgram {
            command: subcommand(arguments).to_owned(),
        },
        _ => failed(subcommand(arguments), format!("cannot start git: {error}")),
    })
}

/// A git hook may run with another index than the one of the work tree.
fn ignore_other_index(command: &mut Command) {
    command.env_remove("GIT_INDEX_FILE");
}

/// Runs `git` with `input` on its stdin, and returns its stdout. Returns an error if it cannot be started or fails.
///
/// git ignores a failing write to a pipe and ends with 0, so that a lost answer would look like an empty one. It
/// reports a failing write to a file. The file is one in memory, where the system has that.
fn answer(mut command: Command, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitFault> {
    let name = subcommand(arguments);
    let Some(file) = unnamed_file() else {
        return finish_git(name, spawn(command, arguments)?, input);
    };
    let fail = |error: io::Error| failed(name, error.to_string());
    command.stdout(file.try_clone().map_err(fail)?);
    finish_git(name, spawn(command, arguments)?, input)?;
    written(file).map_err(fail)
}

/// What was written to a file.
fn written(mut file: File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    read_all(file)
}

/// Writes the input of a git process, waits for its end, and returns its stdout.
pub(super) fn finish_git(
    command: &str,
    mut process: Child,
    input: &[u8],
) -> Result<Vec<u8>, GitFault> {
    let written = match process.stdin.take() {
        // Dropped at the end of the arm, which closes the pipe.
        Some(mut stdin) => stdin.write_all(input),
        None => Ok(()),
    };
    let output = ended(process).map_err(|error| failed(command, error.to_string()))?;
    tracing::debug!(command, exit = output.status.code(), "git exited");
    if !output.status.success() {
        return Err(failed(
            command,
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    written.map_err(|error| failed(command, error.to_string()))?;
    Ok(output.stdout)
}

/// What a process answers until it ends. Returns an error if that cannot be read, where the standard library panics.
fn ended(mut process: Child) -> io::Result<Output> {
    let (stdout, stderr) = match (process.stdout.take(), process.stderr.take()) {
        // Either pipe may be full while the other is read.
        (Some(stdout), Some(stderr)) => thread::scope(|scope| {
            let other = thread::Builder::new().spawn_scoped(scope, || read_all(stderr));
            let stdout = read_all(stdout);
            let broken = || Err(io::ErrorKind::BrokenPipe.into());
            (
                stdout,
                other.and_then(|other| other.join().unwrap_or_else(|_| broken())),
            )
        }),
        (stdout, stderr) => (
            stdout.map_or(Ok(Vec::new()), read_all),
            stderr.map_or(Ok(Vec::new()), read_all),
        ),
    };
    let status = process.wait()?;
    Ok(Output {
        status,
        stdout: stdout?,
        stderr: stderr?,
    })
}

fn read_all(mut pipe: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The object id that a git command printed. Returns an error if it printed anything else.
pub(super) fn git_id(answer: &[u8]) -> Result<Digest, Error> {
    let text = String::from_utf8_lossy(answer);
    Digest::parse(text.trim())
        .ok_or_else(|| Error::new(Code::Git, format!("git printed no object id: {text}")))
}

fn subcommand<'a>(arguments: &[&'a str]) -> &'a str {
    arguments
        .iter()
        .find(|word| !word.starts_with('-'))
        .copied()
        .unwrap_or_default()
}

fn failed(command: &str, message: String) -> GitFault {
    GitFault::Refused {
        command: command.to_owned(),
        message,
    }
}
