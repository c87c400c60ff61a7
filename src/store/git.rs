//! The `git` command, for what libgit2 does not do: filters, and the index in all its formats.

use super::{Error, Store};
use std::io::Write;
use std::process::{Command, Stdio};

impl Store {
    /// Runs `git` in the work tree, with `input` on its stdin, and returns its stdout.
    pub(super) fn git(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, Error> {
        let command = arguments.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
        let fail = |message: String| Error::Command { command: command.to_owned(), message };
        #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
        let mut process = Command::new("git")
            .current_dir(&self.root)
            // Reading must not take locks, and nobody is there to answer questions.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| fail(format!("it cannot be started: {error}")))?;
        let written = match process.stdin.take() {
            // Dropped at the end of the statement, so that git sees the end of its input.
            Some(mut stdin) => stdin.write_all(input),
            None => Ok(()),
        };
        let output = process.wait_with_output().map_err(|error| fail(error.to_string()))?;
        if !output.status.success() {
            return Err(fail(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        written.map_err(|error| fail(error.to_string()))?;
        Ok(output.stdout)
    }
}
