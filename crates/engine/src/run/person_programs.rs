//! The programs of a person: the editor and the pager in the terminal of this process, and the browser.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

/// What makes a command line one for the shell, as git sees it (`run-command.c`).
const SHELL: &str = "|&;<>()$`\\\"' \t\n*?[#~=%";

/// Opens a file in an editor, and waits for its end. The editor is a shell command line, as git reads it. Returns an
/// error if the shell cannot be started.
pub fn edit(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    let mut shell = program("sh");
    shell
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(editor)
        .arg(file)
        .status()
}

/// The program that opens a URL in the browser of the person.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens a URL in the browser of the person, who may use it after this process has ended. Returns an error if the
/// program that does so cannot be started; whether it finds a browser is not awaited.
pub fn open_url(url: &str) -> io::Result<()> {
    let mut opener = program(OPENER);
    opener
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Ctrl-C is for this process, not for the browser.
    let mut child = opener
        .process_group(0)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("cannot start {OPENER}: {error}")))?;
    // A process that has ended is waited for, or it would stay in the table of processes.
    thread::spawn(move || drop(child.wait()));
    Ok(())
}

/// A pager that waits for a text.
pub struct RunningPager(Child);

impl RunningPager {
    /// Starts a pager: a program, or a shell command line. Returns an error if it cannot be started; a shell that
    /// cannot start it exits with 126 or 127.
    pub fn start(pager: &str, options: &[(&str, &str)]) -> io::Result<Self> {
        let mut command = program(if pager.contains(|sign| SHELL.contains(sign)) {
            "sh"
        } else {
            pager
        });
        if command.get_program() != pager {
            command.args(["-c", pager]);
        }
        command
            .envs(options.iter().copied())
            .stdin(Stdio::piped())
            .spawn()
            .map(Self)
    }

    /// Shows a text and waits until the person quits the pager. Returns an error if that cannot be awaited.
    pub fn show(mut self, text: &str) -> io::Result<ExitStatus> {
        // A pager that is quit early reads no more, which is not an error.
        let _ = self
            .0
            .stdin
            .take()
            .map(|mut stdin| stdin.write_all(text.as_bytes()));
        self.0.wait()
    }
}

fn program(name: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    Command::new(name)
}
